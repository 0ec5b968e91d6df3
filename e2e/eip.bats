# Elastic IPs, seen by someone who asks for them with kubectl; the cloud is a simulated one, over TLS, with the real client in front of it.
load helpers
load eip

setup_file() {
  load helpers
  load eip
  needs_loopback "the simulated cloud is a process beside the server"
  eventually 120 eip_webhooks_in_force
  # Lost to somebody who deletes it in the cloud; it takes minutes until that is believed, so the last test looks at it.
  create_eip lost '{"bandwidth": "5"}'
  ready lost
  in_cloud "/eips/$(id_of lost)" -X DELETE
}

teardown_file() {
  load helpers
  load eip
  kubectl annotate eips --all --overwrite eip.alibabacloud.com/on-stuck=abandon
  kubectl delete eips --all --timeout=120s
}

# Whatever a test did, the next one finds a server.
teardown() {
  if ! running "$E2E_DIR" berth; then "$root/e2e/berth" start "$E2E_DIR"; fi
}

# --- A life

@test "a manifest of AlibabaCloud-EIP-Operator applies unchanged, and gets an address" {
  kubectl apply -f - <<'END'
apiVersion: eip.alibabacloud.com/v1alpha1
kind: EIP
metadata:
  name: web
spec:
  bandwidth: "10"
  internetChargeType: PayByTraffic
  instanceChargeType: PostPaid
  isp: BGP
  name: web
  description: the shop
  tags:
    team: shop
  releaseStrategy: OnDelete
END
  ready web
  output=$(kubectl get eip web -o json)
  expect_json .status.bandwidth 10
  expect_json .status.status Available
  expect_json .status.origin Created
  expect_json '.spec.allocationID == .status.allocationID' true
  expect_json '.metadata.finalizers[0]' eip.alibabacloud.com/finalizer
  expect_json '.status.observedGeneration == .metadata.generation' true
}

@test "the cloud has it as the spec says, with its owner's tag" {
  id=$(id_of web)
  output=$(in_cloud "/eips/$id")
  expect_json .name web
  expect_json .tags.team shop
  expect_json '.tags["berth.dev/eip-uid"]' "$(eip_field web '{.metadata.uid}')"
}

@test "kubectl shows the columns of AlibabaCloud-EIP-Operator, and READY when asked for more" {
  [ "$(kubectl get eips | head -n 1 | xargs)" = "NAME ALLOCATIONID EIP ADDRESS STATUS BANDWIDTH AGE" ]
  [[ $(kubectl get eips -o wide | head -n 1 | xargs) == *'READY REASON MESSAGE'* ]]
  kubectl get eip web -o wide | grep -F 'True' | grep -F 'in sync with spec'
}

@test "kubectl describe tells the story" {
  eventually 120 event web Created
  run kubectl describe eip web
  expect "$(id_of web)" Created 'in sync with spec'
}

@test "another bandwidth is set in the cloud, and told of" {
  kubectl patch eip web --type merge -p '{"spec":{"bandwidth":"20"}}'
  eventually 120 cloud_is "$(id_of web)" bandwidth 20
  eventually 120 eip_is web '{.status.bandwidth}' 20
  eventually 120 ready_reason web Updated
  eventually 120 event web Updated
}

@test "what others change in the cloud is put right" {
  in_cloud "/eips/$(id_of web)" -X PATCH -d '{"name": "meddled", "description": "meddled"}'
  eventually 120 cloud_is "$(id_of web)" name web
  eventually 120 cloud_is "$(id_of web)" description 'the shop'
}

@test "a bandwidth package is joined and left" {
  package=$(in_cloud /packages -X POST | jq -r .bandwidthPackageID)
  kubectl patch eip web --type merge -p "{\"spec\":{\"bandwidthPackageID\":\"$package\"}}"
  eventually 120 cloud_is "$(id_of web)" bandwidthPackageID "$package"
  eventually 120 eip_is web '{.status.bandwidthPackageID}' "$package"
  kubectl patch eip web --type merge -p '{"spec":{"bandwidthPackageID":null}}'
  eventually 120 cloud_is "$(id_of web)" bandwidthPackageID ''
}

@test "the status is not written while nothing changes" {
  ready web
  version=$(eip_field web '{.metadata.resourceVersion}')
  # Two resyncs, seen by the cloud.
  before=$(ledger calls.DescribeEipAddresses)
  looked_twice() { [ "$(ledger calls.DescribeEipAddresses)" -ge $((before + 2)) ]; }
  eventually 120 looked_twice
  eip_is web '{.metadata.resourceVersion}' "$version"
}

@test "the address is released with its object" {
  id=$(id_of web)
  kubectl delete eip web --timeout=120s
  cloud_lacks "$id"
  eventually 120 event web Released
}

# --- What is not Berth's

@test "an imported address is kept when its object goes" {
  create_eip donor '{"bandwidth": "5", "releaseStrategy": "Never"}'
  ready donor
  id=$(id_of donor)
  kubectl delete eip donor --timeout=120s
  cloud_is "$id" status Available
  # Its owner is gone: whoever has the ID may have it.
  create_eip import "{\"allocationID\": \"$id\"}"
  ready import
  eip_is import '{.status.origin}' Imported
}

@test "no two objects have one address" {
  refused twin "{\"allocationID\": \"$(id_of import)\"}"
  expect spec.allocationID Duplicate
}

@test "the imported address stays in the cloud" {
  id=$(id_of import)
  kubectl delete eip import --timeout=120s
  cloud_is "$id" status Available
  eventually 120 event import Skipped
  in_cloud "/eips/$id" -X DELETE
}

@test "an ID that the cloud does not know is told of" {
  create_eip nowhere '{"allocationID": "eip-nowhere"}'
  eventually 120 ready_reason nowhere Lost
  [[ $(ready_message nowhere) == *eip-nowhere* ]]
  kubectl delete eip nowhere --timeout=120s
}

# --- What is refused

@test "what the cloud would refuse is refused at once, with the field" {
  refused bad '{"bandwidth": "fast"}'
  expect spec.bandwidth
  refused bad '{"bandwidth": "501", "internetChargeType": "PayByBandwidth"}'
  expect spec.bandwidth
  refused bad '{"bandwidth": "201", "internetChargeType": "PayByTraffic"}'
  expect spec.bandwidth
  refused bad '{"isp": "Carrier"}'
  expect spec.isp BGP_PRO
  refused bad '{"instanceChargeType": "PrePaid", "internetChargeType": "PayByTraffic", "bandwidth": "5"}'
  expect spec.internetChargeType
  refused bad '{"name": "https://example.com"}'
  expect spec.name
  refused bad '{"tags": {"aliyun-team": "x"}}'
  expect spec.tags
  refused bad '{"releaseStrategy": "Sometimes"}'
  expect spec.releaseStrategy
}

@test "the answer is a Status with causes" {
  eip bad '{"bandwidth": "0", "isp": "Carrier"}' >"$BATS_TEST_TMPDIR/eip.json"
  through /apis/eip.alibabacloud.com/v1alpha1/eips -X POST -H 'Content-Type: application/json' --data-binary "@$BATS_TEST_TMPDIR/eip.json"
  expect_code 422
  expect_json '[.details.causes[].field] | sort | join(" ")' 'spec.bandwidth spec.isp'
}

@test "what cannot be changed once allocated is refused" {
  create_eip fixed '{"bandwidth": "5"}'
  ready fixed
  run kubectl patch eip fixed --type merge -p '{"spec":{"isp":"BGP_PRO"}}'
  expect spec.isp
  run kubectl patch eip fixed --type merge -p '{"spec":{"allocationID":"eip-other"}}'
  expect spec.allocationID
  run kubectl patch eip fixed --type merge -p '{"spec":{"internetChargeType":"PayByBandwidth"}}'
  expect spec.internetChargeType
}

@test "a PrePaid address that should go with its object is warned of" {
  run bash -c "$(declare -f eip); eip prepaid '{\"instanceChargeType\": \"PrePaid\", \"internetChargeType\": \"PayByBandwidth\", \"bandwidth\": \"5\", \"releaseStrategy\": \"OnDelete\"}' | kubectl create --dry-run=server -f -"
  [ "$status" = 0 ]
  expect Warning PrePaid
}

# --- What gets stuck

@test "an address in use is not released, and the object says why and what to do" {
  id=$(id_of fixed)
  in_cloud "/eips/$id" -X PATCH -d '{"instanceID": "i-web"}'
  kubectl delete eip fixed --wait=false
  says_why() { [[ $(ready_message fixed) == *i-web* ]]; }
  eventually 120 says_why
  eventually 120 event fixed ReleaseFailed
  cloud_is "$id" status InUse
}

@test "with the annotation it is taken off and released" {
  id=$(id_of fixed)
  kubectl annotate eip fixed eip.alibabacloud.com/on-stuck=unassociate
  eventually 120 eip_gone fixed
  cloud_lacks "$id"
}

# --- Calls to the cloud

@test "the calls to the cloud are shown, by action" {
  eventually 120 kubectl get cloudcalls allocateeipaddress
  output=$(kubectl get cloudcalls allocateeipaddress -o json)
  expect_json '.status.recent | length > 0' true
  expect_json '.status.recent[0].requestID | length > 0' true
}

@test "the metrics count them" {
  http "http://127.0.0.1:$E2E_METRICS_PORT/metrics"
  expect 'berth_cloud_calls_total{' 'action="AllocateEipAddress"' berth_eip_objects
}

@test "no secret is in the log, nor in what the API shows" {
  secret=$(cat "$E2E_DIR/berth/cloud/accessKeySecret")
  [ -n "$secret" ]
  ! grep -F "$secret" "$E2E_DIR/logs/berth.log"
  output=$(kubectl get cloudcalls -o yaml)
  expect_not "$secret"
}

# --- Many, and trouble

# make_many PREFIX N: N objects at once.
make_many() {
  jq -n --arg prefix "$1" --argjson n "$2" '{apiVersion: "v1", kind: "List", items: [range($n) | {apiVersion: "eip.alibabacloud.com/v1alpha1", kind: "EIP", metadata: {name: "\($prefix)-\(.)"}, spec: {bandwidth: "5", tags: {batch: $prefix}}}]}' |
    kubectl create -f -
}
# drop_many PREFIX: and none of their addresses is left.
drop_many() {
  kubectl get eips -o name | grep "/$1-" | xargs kubectl delete --timeout=120s
  [ "$(in_cloud /eips | jq --arg batch "$1" '[.[] | select(.tags.batch == $batch)] | length')" = 0 ]
}

@test "the access key is changed under load, and nothing is lost" {
  before=$(ledger allocated)
  old=$(cat "$E2E_DIR/berth/cloud/accessKeyID")
  make_many rotate 20
  in_cloud /keys/LTAInext -X PUT -d 'another-secret'
  # As the kubelet does it: one after the other is replaced; half-new pairs are refused by the cloud and read again.
  printf 'LTAInext' >"$E2E_DIR/berth/cloud/accessKeyID"
  printf 'another-secret' >"$E2E_DIR/berth/cloud/accessKeySecret"
  in_cloud "/keys/$old" -X DELETE
  make_many again 20
  eventually 120 all_ready rotate- 20
  eventually 120 all_ready again- 20
  [ "$(ledger allocated)" = $((before + 40)) ]
}

@test "with a key of another account an EIP is left alone and says which key it needs; with its own key it is released" {
  create_eip moved '{"bandwidth": "5"}'
  ready moved
  id=$(id_of moved)
  account=$(eip_field moved '{.status.account}')
  eip_is moved '{.status.region}' cn-hangzhou
  own_id=$(cat "$E2E_DIR/berth/cloud/accessKeyID") own_secret=$(cat "$E2E_DIR/berth/cloud/accessKeySecret")
  in_cloud /keys/LTAIother/42 -X PUT -d other-secret
  give_key LTAIother other-secret
  eventually 120 ready_reason moved WrongAccount
  kubectl delete eip moved --wait=false
  eventually 120 deletion_seen moved
  ready_reason moved WrongAccount
  eip_is moved '{.status.conditions[?(@.type=="Ready")].status}' False
  [[ $(ready_message moved) == *"access key of account $account"* ]]
  cloud_is "$id" status Available
  # A rotated key of the first account is as good as the first.
  in_cloud /keys/LTAIthird -X PUT -d third-secret
  give_key LTAIthird third-secret
  eventually 120 eip_gone moved
  cloud_lacks "$id"
  give_key "$own_id" "$own_secret"
}

@test "a fault that passes leaves Ready alone, and half a minute after it every EIP is ready" {
  create_eip steady '{"bandwidth": "5"}'
  ready steady
  for code in InvalidTimeStamp.Expired Unheard.Of; do
    in_cloud "/refusal/$code" -X PUT -d ""
    create_eip "late-${code,,}" '{"bandwidth": "5"}'
    eventually 120 ready_reason "late-${code,,}" SyncFailed
    [[ $(ready_message "late-${code,,}") == *"$code"*"request ID"* ]]
    eip_is steady '{.status.conditions[?(@.type=="Ready")].status}' True
    in_cloud /refusal -X DELETE
    kubectl wait eip "late-${code,,}" --for=condition=Ready --timeout=30s
    kubectl delete eip "late-${code,,}" --timeout=120s
  done
  kubectl delete eip steady --timeout=120s
}

@test "killed in the middle, it goes on without a second address for anybody" {
  before=$(ledger allocated)
  make_many crash 30
  kill -KILL "$(cat "$E2E_DIR/run/berth.pid")"
  eventually 120 stopped "$E2E_DIR" berth
  "$root/e2e/berth" start "$E2E_DIR"
  eventually 120 all_ready crash- 30
  [ "$(ledger allocated)" = $((before + 30)) ]
}

@test "all of them are released" {
  drop_many rotate
  drop_many again
  drop_many crash
}

# --- Out of band

@test "an address that is gone from the cloud is told of, and another one allocated on request" {
  old=$(id_of lost)
  eventually 180 ready_reason lost Lost
  kubectl annotate eip lost eip.alibabacloud.com/on-lost=reallocate
  ready lost
  [ "$(id_of lost)" != "$old" ]
  cloud_is "$(id_of lost)" status Available
}
