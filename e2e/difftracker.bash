# Helpers of the tests of DiffTracker; after "load helpers". There is neither a kubelet nor an EndpointSlice controller: nodes, the status of pods and
# slices are written here. RUN is a word that egresses have in their names.

in_azure() { curl -fsS --noproxy '*' --cacert "$E2E_DIR/azure/certs/ca.crt" "https://localhost:$E2E_AZURE_CONSOLE_PORT$1" "${@:2}"; }
azure_faults() { in_azure /faults -X PUT -d "$1"; }
azure_state() { in_azure /state; }

# make_node NAME IP
make_node() {
  jq -n --arg name "$1" '{apiVersion: "v1", kind: "Node", metadata: {name: $name}}' | kubectl apply -f - >/dev/null
  kubectl patch node "$1" --subresource=status --type=merge -p "{\"status\":{\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"$2\"}]}}" >/dev/null
}

# service NAME [SPEC_FIELDS] [ANNOTATIONS]: a LoadBalancer's manifest.
service() {
  jq -n --arg name "$1" --arg namespace "$NS" --argjson more "${2:-{\}}" --argjson annotations "${3:-{\}}" '{apiVersion: "v1", kind: "Service",
    metadata: {name: $name, namespace: $namespace, annotations: $annotations}, spec: ({type: "LoadBalancer", ports: [{port: 80, targetPort: 8080}]} * $more)}'
}
create_service() { service "$@" | kubectl create -f -; }
uid_of() { kubectl get svc "$1" -n "$NS" -o 'jsonpath={.metadata.uid}'; }
provisioned() { kubectl wait "${@/#/svc/}" -n "$NS" --for=condition=berth.dev/Provisioned --timeout=60s; }
ingress_of() { kubectl get svc "$1" -n "$NS" -o 'jsonpath={.status.loadBalancer.ingress[*].ip}'; }

# slice NAME SERVICE "ADDRESS NODE"...
slice() {
  local name=$1 service=$2
  shift 2
  printf '%s\n' "$@" | jq -R 'split(" ") | {addresses: [.[0]], nodeName: .[1]}' | jq -s --arg name "$name" --arg namespace "$NS" --arg service "$service" \
    '{apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata: {name: $name, namespace: $namespace, labels: {"kubernetes.io/service-name": $service}},
      addressType: "IPv4", ports: [{port: 8080}], endpoints: .}' | kubectl apply -f - >/dev/null
}

# egress_pod NAME EGRESS NODE NODE_IP ADDRESS: Running, though nothing runs.
egress_pod() {
  jq -n --arg name "$1" --arg namespace "$NS" --arg egress "$2" --arg node "$3" '{apiVersion: "v1", kind: "Pod",
    metadata: {name: $name, namespace: $namespace, labels: {"kubernetes.azure.com/service-egress-gateway": $egress}},
    spec: {nodeName: $node, containers: [{name: "shop", image: "shop"}]}}' | kubectl create -f - >/dev/null
  kubectl patch pod "$1" -n "$NS" --subresource=status --type=merge \
    -p "{\"status\":{\"phase\":\"Running\",\"podIP\":\"$5\",\"podIPs\":[{\"ip\":\"$5\"}],\"hostIP\":\"$4\",\"hostIPs\":[{\"ip\":\"$4\"}]}}" >/dev/null
}
drop_pod() { kubectl delete pod "$@" -n "$NS" --force --grace-period=0 --wait=false 2>/dev/null; }
gone() { [ -z "$(kubectl get "$1" "$2" -n "$NS" --ignore-not-found -o name)" ] || fail "$1 $2 is still there"; }

# addresses_of SERVICE: those that the gateway has under this name, in order.
addresses_of() {
  azure_state | jq -r --arg service "$1" '[.addressLocations[].addresses[]? | select(.services | map(ascii_downcase) | index($service)) | .address] | sort | join(" ")'
}
has_addresses() { [ "$(addresses_of "$1")" = "$2" ] || fail "$1 has the addresses $(addresses_of "$1"), not $2"; }
# in_group TYPE NAME: the resource group has it.
in_group() { azure_state | jq -e --arg type "$1" --arg name "$2" '.[$type][] | select(.name == $name)' >/dev/null; }
# nothing_of NAME: neither the group nor the gateway has anything of the service.
nothing_of() {
  local left
  left=$(azure_state | jq -r --arg name "$1" '[.publicIPAddresses, .loadBalancers, .natGateways, .services | .[].name | select(startswith($name))] | join(" ")')
  [ -z "$left$(addresses_of "$1")" ] || fail "left: $left $(addresses_of "$1")"
}
# tsvc NAME FILTER
tsvc() { kubectl get tsvc "$1" -o json | jq -r "$2"; }

kill_berth() {
  kill -KILL "$(cat "$E2E_DIR/run/berth.pid")"
  eventually 120 stopped "$E2E_DIR" berth
  "$root/e2e/berth" start "$E2E_DIR"
}
