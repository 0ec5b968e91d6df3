# Helpers of the tests of sandboxes; after "load helpers". There is no kubelet: the status of agents' pods is written here, with addresses of loopback,
# where simulated agents listen. RUN is a number of 1 to 250 that addresses have in them.

in_agents() { curl -fsS --noproxy '*' --cacert "$E2E_DIR/agents/certs/ca.crt" "https://localhost:$E2E_AGENT_CONSOLE_PORT$1" "${@:2}"; }
agent_faults() { in_agents /faults -X PUT -d "$1"; }

# pool NAME PODS [SLOTS]: a SandboxPool of a fixed size.
create_pool() {
  jq -n --arg name "$1" --arg namespace "$NS" --argjson pods "$2" --argjson slots "${3:-5}" '{apiVersion: "sandbox.fast.io/v1alpha1", kind: "SandboxPool",
    metadata: {name: $name, namespace: $namespace}, spec: {capacity: {poolMin: $pods, poolMax: $pods}, maxSandboxesPerPod: $slots,
      agentTemplate: {spec: {containers: [{name: "agent", image: "agent"}]}}}}' | kubectl apply -f - >/dev/null
}

pods_of() { kubectl get pods -n "$NS" -l "fast-sandbox.io/pool=$1" -o name; }
has_pods() { [ "$(pods_of "$1" | wc -l)" = "$2" ] || fail "pool $1 has the pods $(pods_of "$1"), not $2"; }

# run_agents POOL [SLOTS]: the pods of the pool that have no address get one, and an agent there.
run_agents() {
  local pod uid ip
  for pod in $(kubectl get pods -n "$NS" -l "fast-sandbox.io/pool=$1" -o json | jq -r '.items[] | select(.status.podIP == null) | .metadata.name'); do
    last_agent=$((${last_agent:-0} + 1))
    ip=127.77.$RUN.$last_agent
    uid=$(kubectl get pod "$pod" -n "$NS" -o 'jsonpath={.metadata.uid}')
    in_agents "/agents/$ip" -X PUT -d "{\"name\":\"$pod\",\"uid\":\"$uid\",\"node\":\"n\",\"capacity\":${2:-5}}" >/dev/null
    kubectl patch pod "$pod" -n "$NS" --subresource=status --type=merge -p "{\"status\":{\"phase\":\"Running\",\"podIP\":\"$ip\",\"podIPs\":[{\"ip\":\"$ip\"}],
      \"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],\"containerStatuses\":[{\"name\":\"agent\",\"ready\":true,\"restartCount\":0,\"image\":\"a\",\"imageID\":\"a\",\"state\":{\"running\":{}}}]}}" >/dev/null
  done
}

# sandbox NAME POOL [SPEC_FIELDS] [ANNOTATIONS]: a Sandbox's manifest.
sandbox() {
  jq -n --arg name "$1" --arg namespace "$NS" --arg pool "$2" --argjson more "${3:-{\}}" --argjson annotations "${4:-{\}}" '{apiVersion: "sandbox.fast.io/v1alpha1",
    kind: "Sandbox", metadata: {name: $name, namespace: $namespace, annotations: $annotations}, spec: ({image: "alpine", poolRef: $pool} + $more)}'
}
create_sandbox() { sandbox "$@" | kubectl create -f - -o json; }
in_phase() { [ "$(field "$1" .status.phase)" = "$2" ] || fail "$1: $(kubectl get sandbox "$1" -n "$NS" -o json | jq -c .status), not $2"; }
field() { kubectl get sandbox "$1" -n "$NS" -o json | jq -r "$2"; }
free_slots() { [ "$(kubectl get sandboxpool "$1" -n "$NS" -o 'jsonpath={.status.freeSlots}')" = "$2" ] || fail "$(kubectl get sandboxpool "$1" -n "$NS" -o 'jsonpath={.status}')"; }
gone() { [ -z "$(kubectl get "$1" "$2" -n "$NS" --ignore-not-found -o name)" ] || fail "$1 $2 is still there"; }

kill_berth() {
  kill -KILL "$(cat "$E2E_DIR/run/berth.pid")"
  eventually 120 stopped "$E2E_DIR" berth
  "$root/e2e/berth" start "$E2E_DIR"
}
