# ENIs of nodes and the addresses of pods, seen by someone who has Terway's objects and kubectl; the cloud is a simulated one. There is no kubelet: pods
# are bound to their nodes and never run.
load helpers
load eni

setup_file() {
  load helpers
  load eni
  needs_loopback "the simulated cloud is a process beside the server"
  make_namespace eni
  make_cloud
}

teardown_file() {
  load helpers
  load eni
  [ -n "${RUN:-}" ] || return 0
  faults '[]'
  kubectl delete pods --all -n "$NS" --force --grace-period=0
  kubectl delete eninodes --all --timeout=300s
  kubectl delete noderuntimes --all
  kubectl get nodes -o name | xargs -r kubectl delete
  drop_namespace
}

# Whatever a test did, the next one finds a server, and a cloud without faults.
teardown() {
  faults '[]'
  if ! running "$E2E_DIR" berth; then "$root/e2e/berth" start "$E2E_DIR"; fi
}

# --- A life

@test "a Node as Terway writes it applies unchanged, and gets an ENI" {
  make_instances shop
  cat >"$BATS_FILE_TMPDIR/shop.yaml" <<END
apiVersion: network.alibabacloud.com/v1beta1
kind: Node
metadata:
  name: shop
  labels:
    name: shop
    k8s.aliyun.com/exclusive-mode-eni-type: default
spec:
  nodeMetadata:
    regionID: cn-hangzhou
    zoneID: cn-hangzhou-h
    instanceType: ecs.g7.xlarge
    instanceID: i-$RUN-shop
  nodeCap:
    adapters: 4
    totalAdapters: 4
    ipv4PerAdapter: 10
    ipv6PerAdapter: 10
    memberAdapterLimit: 0
    maxMemberAdapterLimit: 0
    eriQuantity: 0
    instanceBandwidthRx: 10240000
    instanceBandwidthTx: 10240000
    networkCardsCount: 0
  datapath:
    type: datapathv2
  eni:
    vSwitchOptions: [$VSWITCH]
    vSwitchSelectPolicy: ordered
    securityGroupIDs: [sg-1, sg-2]
    tag:
      team: shop
    tagFilter: {}
    resourceGroupID: ""
    enableIPv4: true
    enableIPv6: false
    enableERDMA: false
    enableTrunk: false
    enableIPPrefix: false
  pool:
    maxPoolSize: 5
    minPoolSize: 2
    warmUpSize: 0
    poolSyncPeriod: 1m
  flavor:
    - networkInterfaceType: Secondary
      networkInterfaceTrafficMode: Standard
      count: 3
END
  kubectl apply --warnings-as-errors -f "$BATS_FILE_TMPDIR/shop.yaml"
  nodes_ready shop
  eventually 180 attached shop
  output=$(node_json shop)
  expect_json '.metadata.finalizers[0]' network.alibabacloud.com/node-controller
  expect_json '.status.networkInterfaces[].securityGroupIDs | join(" ")' 'sg-1 sg-2'
  run kubectl apply -f "$BATS_FILE_TMPDIR/shop.yaml"
  expect unchanged
}

@test "the cloud has the ENI on the instance, with the tags of the spec and of its owner" {
  output=$(in_cloud "/enis/$(enis_of shop)")
  expect_json '.status + " " + .instanceID' "InUse i-$RUN-shop"
  expect_json '.tags.team + " " + .tags.creator' 'shop terway'
  expect_json '.tags["berth.dev/node-uid"]' "$(node_json shop | jq -r .metadata.uid)"
  no_leak
}

@test "kubectl shows ENIs and addresses, and who is ready" {
  [ "$(kubectl get eninodes | head -n 1 | xargs)" = "NAME INSTANCE ENIS IPS IDLE ATTACHING READY AGE" ]
  [[ $(kubectl get eninode shop --no-headers | xargs) =~ ^shop\ i-$RUN-shop\ 1\ 2\ 2\ 0\ True\  ]]
}

@test "pods get addresses, each its own, and the pool keeps two more" {
  for pod in 1 2 3 4; do create_pod "web-$pod" shop; done
  for pod in 1 2 3 4; do eventually 180 has_address "web-$pod" shop; done
  no_twins
  eventually 180 node_has shop .status.pool.idle 2
  # The cloud has them on the same ENI.
  id=$(enis_of shop)
  [ "$(in_cloud "/enis/$id" | jq -c '.ipv4 | sort')" = "$(node_json shop | jq -c '.status.networkInterfaces[].ipv4 | keys | sort')" ]
}

@test "the address of a pod that is gone is free once the daemon has disconnected the pod" {
  uid=$(kubectl get pod web-1 -n "$NS" -o 'jsonpath={.metadata.uid}')
  address=$(addresses_of web-1 shop)
  runtime() {
    jq -n --arg uid "$uid" --arg pod "$NS/web-1" --arg what "$1" '{apiVersion: "network.alibabacloud.com/v1beta1", kind: "NodeRuntime", metadata: {name: "shop"}, spec: {},
      status: {pods: {($uid): {podID: $pod, status: {($what): {lastUpdateTime: (now | todate)}}}}}}'
  }
  runtime initial | kubectl create -f -
  kubectl patch noderuntime shop --subresource=status --type=merge -p "$(runtime initial | jq '{status}')"
  drop_pod web-1
  # A pod that came later has an address: the deletion was seen before.
  create_pod web-5 shop
  eventually 180 has_address web-5 shop
  [ "$(addresses_of web-1 shop)" = "$address" ]
  kubectl patch noderuntime shop --subresource=status --type=merge -p "$(runtime deleted | jq '{status}' | jq --arg uid "$uid" '.status.pods[$uid].status.initial = null')"
  freed() { node_has shop "[.status.networkInterfaces[].ipv4[\"$address\"] | select(.).podID == \"$NS/web-1\"] | any" false; }
  eventually 180 freed
  kubectl delete noderuntime shop
}

@test "kubectl get enitasks -w shows a whole life" {
  make_instances life
  kubectl get enitasks -w --output-watch-events --no-headers >"$BATS_TEST_TMPDIR/watch" 3>&- &
  watcher=$!
  # An attach that is on its way to the cloud for a while is Pending.
  faults '[{"action": "AttachNetworkInterface", "delay": 3}]'
  eninode life | kubectl create -f -
  seen() { grep -E "$1" "$BATS_TEST_TMPDIR/watch"; }
  eventually 180 seen 'ADDED +eni-\S+ +life .* Attach +Pending '
  id=$(enis_of life)
  eventually 180 seen "MODIFIED +$id +life +i-$RUN-life +Attach +Running +\S+ +1 "
  eventually 180 seen "MODIFIED +$id .* Attach +Completed +InUse "
  kubectl delete eninode life --timeout=180s
  eventually 180 seen "$id .* Detach +Running "
  eventually 180 seen "$id .* Delete +(Running|Completed) "
  kill "$watcher"
  wait "$watcher" || :
  ! cloud_enis | grep "$id"
}

@test "the story is told in events of the Node" {
  told() { kubectl get events.events.k8s.io -A -o json | jq -e --arg reason "$1" '.items[] | select(.regarding.apiVersion == "network.alibabacloud.com/v1beta1" and .regarding.name == "life" and .reason == $reason)'; }
  for reason in CreateENISucceed AttachENISucceed DetachENISucceed DeleteENISucceed; do eventually 120 told "$reason"; done
}

@test "SufficientIP of Kubernetes' node says whether pods get addresses; with a second vSwitch they do" {
  sufficient shop True
  make_vswitch "vsw-$RUN-small" 10.81.0.0/29
  make_instances full
  eninode full "{\"eni\": {\"vSwitchOptions\": [\"vsw-$RUN-small\"]}, \"pool\": {\"minPoolSize\": 0, \"maxPoolSize\": 0}}" | kubectl create -f -
  for pod in 1 2 3 4 5 6; do create_pod "full-$pod" full; done
  eventually 180 sufficient full False
  eventually 180 node_has full '.status.conditions[] | select(.type == "Ready") | .status' False
  kubectl patch eninode full --type=merge -p "{\"spec\": {\"eni\": {\"vSwitchOptions\": [\"vsw-$RUN-small\", \"$VSWITCH\"]}}}"
  for pod in 1 2 3 4 5 6; do eventually 180 has_address "full-$pod" full; done
  eventually 180 sufficient full True
  no_twins
  drop_pod full-1 full-2 full-3 full-4 full-5 full-6
  kubectl delete eninode full --timeout=180s
}

# --- Cancelling

@test "an attach that the cloud has accepted is not cancelled, and the answer says why" {
  create_nodes '{}' accepted
  running_attach() { task_of accepted Running; }
  task=$(eventually 180 running_attach)
  run kubectl delete "$task"
  [ "$status" = 1 ]
  expect Conflict 'cannot be called back'
  eventually 180 attached accepted
  kubectl delete eninode accepted --timeout=180s
}

@test "an attach that was not sent is cancelled: its ENI goes, and the node gets another one" {
  faults '[{"action": "AttachNetworkInterface", "code": "Throttling.User", "count": 1000}]'
  create_nodes '{}' cancelled
  waits() { task_of cancelled Pending; }
  task=$(eventually 180 waits)
  kubectl delete "$task"
  withdrawn() { ! cloud_enis | grep -F "${task##*/}"; }
  eventually 180 withdrawn
  faults '[]'
  eventually 180 attached cancelled
  [ "$(enis_of cancelled)" != "${task##*/}" ]
  eventually 180 no_leak
  kubectl delete eninode cancelled --timeout=180s
}

@test "who may edit may cancel, and who may view may only look" {
  for role in view edit; do kubectl create clusterrolebinding "e2e-$role-$RUN" --clusterrole="$role" --user="e2e-$role"; done
  eventually 120 kubectl auth can-i delete enitasks.live.berth.dev --as=e2e-edit
  eventually 120 kubectl auth can-i list enitasks.live.berth.dev --as=e2e-view
  run --separate-stderr kubectl auth can-i delete enitasks.live.berth.dev --as=e2e-view
  [ "$output" = no ]
  kubectl delete clusterrolebinding "e2e-view-$RUN" "e2e-edit-$RUN"
}

# --- Trouble

# Three ENIs each, of which an instance attaches all at once.
three='{"pool": {"minPoolSize": 25, "maxPoolSize": 30}}'

@test "killed in the middle of attaches, it goes on: no ENI is lost and none is made twice" {
  create_nodes "$three" $(names crash 6)
  create_pod crash crash-1
  eventually 180 some_eni '.status == "Attaching"'
  kill_berth
  eventually 240 all_attached crash 6 3
  eventually 180 no_leak
  eventually 180 has_address crash crash-1
  # Once more, while answers are lost.
  faults '[{"action": "CreateNetworkInterface", "lost-answer": true, "count": 3}, {"action": "AttachNetworkInterface", "lost-answer": true, "count": 3}]'
  create_nodes "$three" $(names again 3)
  eventually 180 some_eni '.status == "Attaching"'
  kill_berth
  eventually 240 all_attached again 3 3
  eventually 180 no_leak
  no_twins
  kubectl delete eninode $(names again 3) --timeout=240s
}

@test "killed in the middle of deletions, it goes on: the Nodes go, and the cloud has none of their ENIs" {
  drop_pod crash
  uids=$(kubectl get eninodes -o json | jq -c '[.items[] | select(.metadata.name | startswith("crash-")) | .metadata.uid]')
  kubectl delete eninode $(names crash 6) --wait=false
  eventually 180 some_eni '.status == "Detaching"'
  kill_berth
  eventually 240 none_left crash
  ! some_eni ".tags[\"berth.dev/node-uid\"] as \$uid | any($uids[]; . == \$uid)"
  eventually 180 no_leak
}

@test "nodes deleted in the middle of attaches and added again under the same name have ENIs of their own only" {
  create_nodes "$three" $(names back 4)
  eventually 180 some_eni '.status == "Attaching"'
  kubectl delete eninode $(names back 4) --timeout=240s
  for name in $(names back 4); do eninode "$name" "$three"; done | list_of | kubectl create -f -
  eventually 240 all_attached back 4 3
  eventually 180 no_leak
  uids=$(kubectl get eninodes -o json | jq -c '[.items[] | select(.metadata.name | startswith("back-")) | .metadata.uid]')
  [ "$(cloud_enis "select(.tags[\"berth.dev/node-uid\"] as \$uid | any($uids[]; . == \$uid))" | wc -l)" = 12 ]
  kubectl delete eninode $(names back 4) --timeout=240s
  eventually 180 no_leak
}

@test "a Lingjun node gets an ENI of EFLO and its pod an address; all goes with the Node" {
  in_cloud /instances -X POST -d "{\"backend\": \"EFLO\", \"instanceID\": \"e01-$RUN\", \"vSwitchID\": \"$VSWITCH\"}"
  core_nodes lingjun | kubectl apply -f -
  eninode lingjun "{\"nodeMetadata\": {\"instanceID\": \"e01-$RUN\"}}" |
    jq '.metadata.labels = {"alibabacloud.com/lingjun-worker": "true"}' | kubectl create -f -
  create_pod gpu lingjun
  eventually 180 has_address gpu lingjun
  [[ $(enis_of lingjun) == leni-* ]]
  [[ $(kubectl get enitasks -o wide --field-selector spec.nodeName=lingjun --no-headers) == *EFLO* ]]
  output=$(in_cloud "/enis/$(enis_of lingjun)")
  expect_json '.status + " " + .instanceID' "InUse e01-$RUN"
  drop_pod gpu
  kubectl delete eninode lingjun --timeout=180s
  [ -z "$(cloud_enis 'select(.networkInterfaceID | startswith("leni-"))')" ]
}

@test "an instance that is gone from the cloud does not keep its Node" {
  create_nodes '{}' dead
  eventually 180 attached dead
  in_cloud "/instances/i-$RUN-dead" -X DELETE
  kubectl delete eninode dead --timeout=240s
  eventually 180 no_leak
}

# --- Many

# E2E_ENI_NODES=200 takes five minutes on two busy cores.
@test "many nodes with five ENIs each" {
  count=${E2E_ENI_NODES:-20}
  export ADAPTERS=6 PER_ADAPTER=2
  make_instances $(names many "$count")
  began=$SECONDS
  for name in $(names many "$count"); do eninode "$name" '{"pool": {"minPoolSize": 10, "maxPoolSize": 10}}'; done | list_of >"$BATS_TEST_TMPDIR/many.json"
  kubectl create -f "$BATS_TEST_TMPDIR/many.json" >/dev/null
  eventually 600 all_attached many "$count" 5
  attached=$SECONDS
  eventually 180 no_leak
  kubectl delete -f "$BATS_TEST_TMPDIR/many.json" --timeout=600s >/dev/null
  no_leak
  printf '# %s nodes x 5 ENIs: attached in %s s, deleted in %s s\n' "$count" $((attached - began)) $((SECONDS - attached)) >&3
}
