# Helpers of the tests of ENIs; after "load helpers". VSWITCH is the vSwitch of the file, RUN a word that its instances have in their names.

make_cloud() {
  export RUN=$RANDOM
  export VSWITCH=vsw-$RUN
  make_vswitch "$VSWITCH" 10.80.0.0/16
}
make_vswitch() { in_cloud /vswitches -X POST -d "{\"vSwitchID\": \"$1\", \"cidr\": \"$2\", \"zoneID\": \"cn-hangzhou-h\"}"; }

# make_instances NAME...: in the cloud, and their nodes in Kubernetes. Over one connection.
make_instances() {
  local name separator=
  for name; do
    printf '%surl = "https://localhost:%s/instances"\ndata = "{\\"instanceID\\": \\"i-%s-%s\\", \\"vSwitchID\\": \\"%s\\", \\"adapters\\": %s, \\"ipv4PerAdapter\\": %s}"\n' \
      "$separator" "$E2E_CLOUD_PORT" "$RUN" "$name" "$VSWITCH" "${ADAPTERS:-4}" "${PER_ADAPTER:-10}"
    printf 'output = /dev/null\nfail\nnoproxy = "*"\ncacert = "%s"\n' "$E2E_DIR/cloud/certs/ca.crt"
    separator=$'next\n'
  done | curl -sS -K -
  core_nodes "$@" | kubectl apply -f - >/dev/null
}
list_of() { jq -s '{apiVersion: "v1", kind: "List", items: .}'; }
core_nodes() { printf '%s\n' "$@" | jq -R '{apiVersion: "v1", kind: "Node", metadata: {name: .}}' | list_of; }

# eninode NAME [SPEC_FIELDS]: a Node's manifest; without fields of its own it wants one ENI with two idle addresses.
eninode() {
  jq -n --arg name "$1" --arg instance "i-$RUN-$1" --arg vswitch "$VSWITCH" --argjson adapters "${ADAPTERS:-4}" --argjson ips "${PER_ADAPTER:-10}" --argjson more "${2:-{\}}" '
    {apiVersion: "network.alibabacloud.com/v1beta1", kind: "Node", metadata: {name: $name}, spec: ({
      nodeMetadata: {regionID: "cn-hangzhou", zoneID: "cn-hangzhou-h", instanceType: "ecs.g7.xlarge", instanceID: $instance},
      nodeCap: {adapters: $adapters, totalAdapters: $adapters, ipv4PerAdapter: $ips},
      eni: {vSwitchOptions: [$vswitch], vSwitchSelectPolicy: "ordered", securityGroupIDs: ["sg-1"], enableIPv4: true},
      pool: {minPoolSize: 2, maxPoolSize: 5},
      flavor: [{networkInterfaceType: "Secondary", networkInterfaceTrafficMode: "Standard", count: ($adapters - 1)}]} * $more)}'
}
# create_nodes SPEC_FIELDS NAME...: their instances, and the Nodes at once.
create_nodes() {
  local fields=$1 name
  shift
  make_instances "$@"
  for name; do eninode "$name" "$fields"; done | list_of | kubectl create -f -
}
names() { seq -f "$1-%g" "$2"; } # PREFIX N

# create_pod NAME NODE: bound to the node; no kubelet will ever run it.
create_pod() {
  jq -n --arg name "$1" --arg namespace "$NS" --arg node "$2" '{apiVersion: "v1", kind: "Pod", metadata: {name: $name, namespace: $namespace}, spec: {nodeName: $node, containers: [{name: "shop", image: "shop"}]}}' |
    kubectl create -f -
}
drop_pod() { kubectl delete pod "$@" -n "$NS" --force --grace-period=0 --ignore-not-found; }

node_json() { kubectl get eninode "$1" -o json; }
# of_node NAME JQ_ARGUMENT...: fails without the node, too.
of_node() {
  local json
  json=$(node_json "$1") || return
  jq -r "${@:2}" <<<"$json"
}
# node_has NAME FILTER VALUE: what jq's FILTER makes of it is VALUE.
node_has() {
  local got
  got=$(of_node "$1" "$2") || return
  [ "$got" = "$3" ] || fail "$1: $2 is \"$got\", not \"$3\""
}
nodes_ready() { kubectl wait eninode "$@" --for=condition=Ready --timeout=180s; }
# enis_of NODE: their IDs.
enis_of() { of_node "$1" '.status.networkInterfaces // {} | keys[]'; }
# addresses_of POD NODE: those that its Node gives it.
addresses_of() { of_node "$2" --arg pod "$NS/$1" '.status.networkInterfaces[]?.ipv4[]? | select(.podID == $pod) | .ip'; }
has_address() { [ -n "$(addresses_of "$@")" ]; }
# sufficient NODE STATUS: the condition of Kubernetes' node that schedulers and people look at.
sufficient() {
  local got
  got=$(kubectl get node "$1" -o 'jsonpath={.status.conditions[?(@.type=="SufficientIP")].status}')
  [ "$got" = "$2" ] || fail "SufficientIP of $1 is \"$got\""
}

# task_of NODE STATE: the first task of the node in the state, as kubectl names it; fails when there is none.
task_of() {
  kubectl get enitasks --field-selector "spec.nodeName=$1" -o json | jq -er --arg state "$2" 'first(.items[] | select(.status.state == $state) | "enitask/" + .metadata.name)'
}
# attached NODE: its one ENI is in use.
attached() { node_has "$1" '[.status.networkInterfaces[]?.status] | join(" ")' InUse; }
# all_attached PREFIX N ENIS: the N nodes have that many ENIs each, all in use, and none on its way.
all_attached() {
  local count
  count=$(kubectl get eninodes -o json | jq --arg prefix "$1-" --argjson enis "$3" '[.items[] | select(.metadata.name | startswith($prefix))
    | [.status.networkInterfaces[]?.status] | select(length == $enis and all(. == "InUse"))] | length')
  [ "$count" = "$2" ] || fail "$count of $2 nodes have $3 ENIs in use"
}
none_left() { [ -z "$(kubectl get eninodes -o name | grep "/$1-")" ]; } # PREFIX

# cloud_enis [JQ_FILTER]: IDs of the ENIs that Berth made, in order.
cloud_enis() { in_cloud /enis | jq -r ".[] | select(.tags.creator == \"terway\") | ${1:-.} | .networkInterfaceID" | sort; }
# no_leak: the cloud has the ENIs that Nodes show, each of them in one Node, and no others; on the instances that the Nodes say.
no_leak() {
  local shown='.items[] | .spec.nodeMetadata.instanceID as $instance | .status.networkInterfaces[]? | select(.networkInterfaceType != "Primary") | "\(.id) \($instance)"'
  diff <(in_cloud /enis | jq -r '.[] | select(.tags.creator == "terway") | "\(.networkInterfaceID) \(.instanceID)"' | sort) \
    <(kubectl get eninodes -o json | jq -r "$shown" | sort)
}
# no_twins: no two pods have one address, and no pod has two.
no_twins() {
  local bound
  bound=$(kubectl get eninodes -o json | jq -r '.items[].status.networkInterfaces[]?.ipv4[]? | select(.podID) | "\(.ip) \(.podID)"')
  [ -z "$(cut -d ' ' -f 1 <<<"$bound" | sort | uniq -d)$(cut -d ' ' -f 2 <<<"$bound" | sort | uniq -d | grep .)" ] || fail "$bound"
}
# some_eni FILTER: the cloud has one of Berth's that is so.
some_eni() { [ -n "$(cloud_enis "select($1)")" ]; }

faults() { in_cloud /faults -X PUT -d "$1"; }

kill_berth() {
  kill -KILL "$(cat "$E2E_DIR/run/berth.pid")"
  eventually 120 stopped "$E2E_DIR" berth
  "$root/e2e/berth" start "$E2E_DIR"
}
