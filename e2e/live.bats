# The aggregated API, seen by someone who looks at Berth's work queues with kubectl. The queue "housekeeping" gets an item from time to time.
load helpers

setup_file() { eventually 120 kubectl get workqueues housekeeping; }

@test "the API is available" {
  kubectl wait apiservice/v1alpha1.live.berth.dev --for=condition=Available --timeout=120s
}

@test "get shows a table" {
  run kubectl get workqueues
  [ "$status" = 0 ]
  expect NAME DEPTH housekeeping
}

@test "get -o wide shows at least as many columns" {
  narrow=$(kubectl get workqueues | awk 'NR == 1 {print NF}')
  wide=$(kubectl get workqueues -o wide | awk 'NR == 1 {print NF}')
  [ "$wide" -ge "$narrow" ]
}

@test "get -o yaml shows the object" {
  run kubectl get workqueues housekeeping -o yaml
  [ "$status" = 0 ]
  expect 'apiVersion: live.berth.dev/v1alpha1' 'kind: WorkQueue' 'name: housekeeping' 'depth:'
}

@test "get -o json shows a list that can be watched from" {
  output=$(kubectl get --raw /apis/live.berth.dev/v1alpha1/workqueues)
  expect_json .kind WorkQueueList
  expect_json '.metadata.resourceVersion | test("^[0-9]+$")' true
  expect_json '[.items[] | select(.metadata.name == "housekeeping")] | length' 1
}

@test "get -o name" {
  run kubectl get workqueues -o name
  [ "$status" = 0 ]
  expect workqueue.live.berth.dev/housekeeping
}

@test "a field selector picks one queue" {
  run kubectl get workqueues --field-selector metadata.name=housekeeping -o name
  [ "$status" = 0 ]
  [ "$output" = workqueue.live.berth.dev/housekeeping ]
}

@test "get -w shows a change" {
  watch_lines 120 2 kubectl get workqueues housekeeping -w --no-headers
  expect housekeeping
}

@test "get --watch-only shows changes of all queues as they happen" {
  watch_lines 120 1 kubectl get workqueues --watch-only --no-headers --output-watch-events
  expect MODIFIED
}

@test "a name that is not there is NotFound" {
  run kubectl get workqueues no-such-queue
  [ "$status" -ne 0 ]
  expect NotFound '"no-such-queue" not found'
}

@test "delete is refused with MethodNotAllowed" {
  run kubectl delete workqueues housekeeping
  [ "$status" -ne 0 ]
  expect MethodNotAllowed
  kubectl get workqueues housekeeping
}

@test "describe" {
  run kubectl describe workqueue housekeeping
  [ "$status" = 0 ]
  expect housekeeping WorkQueue Depth
}

@test "wait until a queue is empty" {
  kubectl wait workqueues/housekeeping --for=jsonpath='{.status.depth}'=0 --timeout=120s
}

@test "explain has words for the fields" {
  eventually 120 kubectl explain workqueues
  run kubectl explain workqueues
  expect live.berth.dev WorkQueue status DESCRIPTION
  run kubectl explain workqueues.status --recursive
  [ "$status" = 0 ]
  expect depth
}

@test "api-resources lists it" {
  run kubectl api-resources --api-group=live.berth.dev --no-headers
  [ "$status" = 0 ]
  expect workqueues live.berth.dev/v1alpha1 WorkQueue
}

@test "the group's discovery document" {
  output=$(kubectl get --raw /apis/live.berth.dev/v1alpha1)
  expect_json .kind APIResourceList
  expect_json .groupVersion live.berth.dev/v1alpha1
  expect_json '.resources[] | select(.name == "workqueues") | .kind' WorkQueue
  expect_json '.resources[] | select(.name == "workqueues") | .verbs | sort | join(" ")' 'get list watch'
}

@test "a namespace can be created and deleted while the API is there" {
  kubectl create namespace e2e-live-gone
  kubectl delete namespace e2e-live-gone --timeout=120s
}

# same_answer QUERY: Berth answers as the API server does for a resource of its own.
same_answer() {
  local theirs
  through "/apis/plexaubnet.io/v1alpha1/subnetpools?$1"
  theirs="$code $(jq -c '[.reason, .message]' <<<"$output")"
  through "/apis/live.berth.dev/v1alpha1/workqueues?$1"
  [ "$code $(jq -c '[.reason, .message]' <<<"$output")" = "$theirs" ] || fail "$1: $code $output"$'\n'"the API server: $theirs"
}

@test "options that cannot be are refused as the API server refuses them" {
  for query in resourceVersion=x resourceVersion=-1 resourceVersion=99999999999999999999 'resourceVersion=x&watch=true' limit=x \
    'resourceVersion=0&resourceVersionMatch=Exact' resourceVersionMatch=Exact 'resourceVersion=1&resourceVersionMatch=Later' \
    'watch=true&sendInitialEvents=true' 'watch=true&resourceVersionMatch=NotOlderThan' labelSelector=a%20b \
    fieldSelector=spec.none%3D1; do
    same_answer "$query"
  done
}

@test "watch without a value is a watch" {
  through '/apis/live.berth.dev/v1alpha1/workqueues?watch&timeoutSeconds=1'
  expect_code 200
  expect '"type":"ADDED"'
}

# The queues of systems are there while the replica leads.
several_queues() { [ "$(kubectl get workqueues -o name | wc -l)" -gt 1 ]; }

@test "a page tells how many are left" {
  eventually 120 several_queues
  through '/apis/live.berth.dev/v1alpha1/workqueues?limit=1'
  expect_json '.metadata.remainingItemCount > 0' true
}

# recalculation SPEC_FIELDS: a request for a pool's recalculation, with a generated name.
recalculation() {
  jq -n --argjson more "$1" '{apiVersion: "live.berth.dev/v1alpha1", kind: "PoolRecalculation", metadata: {generateName: "again-", namespace: "default"},
    spec: ({pool: "none"} + $more)}'
}

@test "strict validation names what a recalculation does not have" {
  recalculation '{"what": 1}' >"$BATS_TEST_TMPDIR/recalculation.json"
  through '/apis/live.berth.dev/v1alpha1/namespaces/default/poolrecalculations?fieldValidation=Strict' -H 'Content-Type: application/json' \
    --data-binary "@$BATS_TEST_TMPDIR/recalculation.json"
  expect_code 400
  expect 'strict decoding error: unknown field \"spec.what\"'
}

@test "a recalculation may have a generated name" {
  recalculation '{}' >"$BATS_TEST_TMPDIR/recalculation.json"
  run kubectl create -f "$BATS_TEST_TMPDIR/recalculation.json"
  expect 'subnetpools.plexaubnet.io "none" not found'
}
