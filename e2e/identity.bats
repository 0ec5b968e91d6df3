# Users who may see the work queues: through the API server (front proxy), and past it with a bearer token.
load helpers

queues=/apis/live.berth.dev/v1alpha1/workqueues
as_masters=(-H 'X-Remote-User: admin' -H 'X-Remote-Group: system:masters')

setup_file() { make_namespace identity; }
teardown_file() {
  kubectl delete clusterrolebinding,clusterrole -l "e2e=$NS"
  drop_namespace
}

# allow NAME SUBJECT_FLAG: the chart's ClusterRole for that subject; goes with the file.
allow() {
  kubectl create clusterrolebinding "$NS-$1" --clusterrole=berth-live-view "$2"
  kubectl label clusterrolebinding "$NS-$1" "e2e=$NS"
}

# answers CODE PATH CURL_ARGUMENT...: for what becomes true in a while, such as a new binding.
answers() { direct "${@:2}" && expect_code "$1"; }

@test "a user without rights is refused, and let in after the binding" {
  run kubectl --as=alice get workqueues
  [ "$status" -ne 0 ]
  expect Forbidden alice
  allow alice --user=alice
  eventually 120 kubectl --as=alice get workqueues
}

@test "the cluster's own view role includes the queues" {
  kubectl create clusterrolebinding "$NS-viewer" --clusterrole=view --user=viewer
  kubectl label clusterrolebinding "$NS-viewer" "e2e=$NS"
  eventually 120 kubectl --as=viewer get workqueues
}

@test "forged identity headers without a client certificate are 401" {
  needs_loopback "a forged request"
  direct "$queues" "${as_masters[@]}"
  expect_code 401
  expect_json .kind Status
  expect_json .reason Unauthorized
}

@test "identity headers with a certificate of another authority are refused" {
  needs_loopback "a forged request"
  direct "$queues" "${as_masters[@]}" --cert "$E2E_PKI/stranger.crt" --key "$E2E_PKI/stranger.key"
  # In the TLS handshake (curl fails, no status) or after it.
  [ "$status" -ne 0 ] || expect_code 401
  expect_not housekeeping
}

@test "identity headers with the right authority but a name that is not allowed are 401" {
  needs_loopback "a forged request"
  direct "$queues" "${as_masters[@]}" --cert "$E2E_PKI/other-client.crt" --key "$E2E_PKI/other-client.key"
  [ "$status" -ne 0 ] || expect_code 401
  expect_not housekeeping
}

@test "the front proxy's certificate is believed" {
  needs_loopback "a request as the front proxy"
  direct "$queues" "${as_masters[@]}" --cert "$E2E_PKI/front-proxy-client.crt" --key "$E2E_PKI/front-proxy-client.key"
  expect_code 200
  expect_json .kind WorkQueueList
}

@test "the front proxy's certificate without a user is 401" {
  needs_loopback "a request as the front proxy"
  direct "$queues" --cert "$E2E_PKI/front-proxy-client.crt" --key "$E2E_PKI/front-proxy-client.key"
  expect_code 401
}

@test "no credentials at all are 401" {
  needs_loopback "a direct request"
  direct "$queues"
  expect_code 401
}

@test "an unknown bearer token is 401" {
  needs_loopback "a direct request"
  direct "$queues" -H 'Authorization: Bearer not-a-token'
  expect_code 401
  expect_json .reason Unauthorized
}

@test "a token meant for someone else is 401" {
  needs_loopback "a direct request"
  token=$(kubectl create token default -n "$NS" --audience=someone-else)
  direct "$queues" -H "Authorization: Bearer $token"
  expect_code 401
}

@test "a service account's token is reviewed: 403 without rights, 200 with them" {
  needs_loopback "a direct request"
  kubectl create serviceaccount reader -n "$NS"
  token=$(kubectl create token reader -n "$NS")
  direct "$queues" -H "Authorization: Bearer $token"
  expect_code 403
  expect_json .reason Forbidden
  # Its headers do not make it anyone else.
  direct "$queues" -H "Authorization: Bearer $token" "${as_masters[@]}"
  [ "$code" = 401 ] || expect_code 403
  allow reader "--serviceaccount=$NS:reader"
  eventually 120 answers 200 "$queues" -H "Authorization: Bearer $token"
  # Only what the role says.
  direct "$queues/housekeeping" -X DELETE -H "Authorization: Bearer $token"
  [ "$code" = 405 ] || expect_code 403
}

# A service account that may list and watch the queue "housekeeping" alone, and its token.
restricted_reader() {
  kubectl create serviceaccount "$1" -n "$NS"
  kubectl create clusterrole "$NS-$1" --verb=get,list,watch --resource=workqueues.live.berth.dev --resource-name=housekeeping
  kubectl label clusterrole "$NS-$1" "e2e=$NS"
  kubectl create clusterrolebinding "$NS-$1" --clusterrole="$NS-$1" "--serviceaccount=$NS:$1"
  kubectl label clusterrolebinding "$NS-$1" "e2e=$NS"
  token=$(kubectl create token "$1" -n "$NS")
}
# As that service account, through the API server.
as_restricted() { http --cacert "$E2E_CA" -H "Authorization: Bearer $token" "$E2E_SERVER$1" "${@:2}"; }
sees_housekeeping() { as_restricted "$queues?fieldSelector=metadata.name%3Dhousekeeping" && expect_code 200; }

@test "who may see one queue by name lists and watches that one, and no other" {
  restricted_reader restricted
  eventually 120 sees_housekeeping
  as_restricted "$queues?fieldSelector=metadata.name%3Dhousekeeping"
  expect_code 200
  expect_json '[.items[].metadata.name] | join(" ")' housekeeping
  as_restricted "$queues?fieldSelector=metadata.name%3Dhousekeeping&watch=1&timeoutSeconds=1"
  expect_code 200
  expect '"ADDED"'
  as_restricted "$queues/housekeeping"
  expect_code 200
  as_restricted "$queues"
  expect_code 403
  # The API server authorises by the first selector; the header's name has the FNV-1a hash of x-remote-group.
  as_restricted "$queues?fieldSelector=metadata.name%3Dhousekeeping&fieldSelector="
  expect_code 400
  as_restricted "$queues?fieldSelector=metadata.name%3Dhousekeeping&fieldSelector=" -H '17dr62mrvlcl4llmg2xz581e: system:masters'
  expect_code 400
  as_restricted "$queues?fieldSelector=metadata.name%3Dhousekeeping" -H '17dr62mrvlcl4llmg2xz581e: system:masters' \
    -X GET -H 'Content-Type: application/x-www-form-urlencoded' --data 'fieldSelector='
  expect_code 200
  expect_json '[.items[].metadata.name] | join(" ")' housekeeping
}

@test "past the API server, too, who may see one queue by name sees no other" {
  needs_loopback "a direct request"
  restricted_reader named
  eventually 120 answers 200 "$queues?fieldSelector=metadata.name%3Dhousekeeping" -H "authorization: bearer $token"
  direct "$queues?fieldSelector=metadata.name%3Dother" -H "Authorization: Bearer $token"
  expect_code 403
  direct "$queues" -H "Authorization: Bearer $token"
  expect_code 403
}

@test "the answer to a stranger is never a redirect" {
  needs_loopback "a direct request"
  for path in / /apis /healthz /apis/live.berth.dev/v1alpha1 //apis /%2e%2e/apis; do
    direct "$path" --path-as-is
    [[ $code == 4?? || $code == 200 ]] || fail "$path: $code"
  done
}
