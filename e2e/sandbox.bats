# Sandboxes, seen by someone who has kubectl; agents are simulated. There is no kubelet: the tests give the agents' pods their addresses.
load helpers
load sandbox

setup_file() {
  load helpers
  load sandbox
  needs_loopback "the simulated agents are a process beside the server"
  make_namespace sandbox
  export RUN=$((RANDOM % 250 + 1)) last_agent=0
  create_pool p 2
  eventually 60 has_pods p 2
  run_agents p
  eventually 60 free_slots p 10
}

teardown_file() {
  load helpers
  load sandbox
  [ -n "${RUN:-}" ] || return 0
  agent_faults '[]'
  kubectl delete sandboxes,sandboxpools --all -n "$NS" --timeout=120s
  kubectl delete pods --all -n "$NS" --force --grace-period=0 --wait=false
  drop_namespace
}

teardown() {
  agent_faults '[]'
  if ! running "$E2E_DIR" berth; then "$root/e2e/berth" start "$E2E_DIR"; fi
}

@test "the write that creates a sandbox carries its allocation, and it runs" {
  run create_sandbox fast p '{"exposedPorts": [8080]}'
  [ "$status" = 0 ]
  expect_json '.metadata.annotations["sandbox.fast.io/allocation"] | fromjson | .assignedPod | startswith("p-agent-")' true
  expect_json '.metadata.finalizers[0]' sandbox.fast.io/cleanup
  eventually 30 in_phase fast Running
  run kubectl get sandbox fast -n "$NS" -o json
  expect_json '.metadata.annotations["sandbox.fast.io/allocation"] // "none"' none
  expect_json '.status.endpoints[0] | test("^127[.]77[.][0-9.]+:8080$")' true
  run in_agents /sandboxes
  expect "$(field fast .status.sandboxID)" running
  run kubectl get sbx -n "$NS"
  expect NAME PHASE POOL POD NODE READY REASON EXPIRES AGE fast Running True
}

@test "a forged allocation gives nothing" {
  run create_sandbox forged p '{}' '{"sandbox.fast.io/allocation": "{\"assignedPod\":\"mine\",\"assignedNode\":\"n\",\"allocatedAt\":\"2026-01-01T00:00:00Z\"}"}'
  [ "$status" = 0 ]
  expect_not '\"mine\"'
  eventually 30 in_phase forged Running
  run -1 kubectl annotate sandbox forged -n "$NS" sandbox.fast.io/allocation=mine
  expect 'only Berth writes it'
}

@test "ports beyond 65535, a port of 0 and a valueFrom are refused" {
  run -1 create_sandbox bad p '{"exposedPorts": [0]}'
  expect spec.exposedPorts
  run -1 create_sandbox bad p '{"exposedPorts": [65536]}'
  expect spec.exposedPorts
  run -1 create_sandbox bad p '{"envs": [{"name": "A", "valueFrom": {}}]}'
  expect valueFrom
}

@test "a dry run takes no slot" {
  before=$(kubectl get sandboxpool p -n "$NS" -o 'jsonpath={.status.freeSlots}')
  sandbox dry p | kubectl create --dry-run=server -f -
  free_slots p "$before"
  gone sandbox dry
}

@test "two sandboxes with one port run on two agents, and a third waits until one is gone" {
  for name in one two; do create_sandbox "$name" p '{"exposedPorts": [9090]}'; done
  for name in one two; do eventually 30 in_phase "$name" Running; done
  [ "$(field one .status.assignedPod)" != "$(field two .status.assignedPod)" ]
  create_sandbox three p '{"exposedPorts": [9090]}'
  port_conflict() { kubectl get sandbox three -n "$NS" -o json | jq -e '.status.conditions[] | select(.type == "Assigned") | .reason == "PortConflict"'; }
  eventually 30 port_conflict
  kubectl delete sandbox one -n "$NS" --timeout=60s
  eventually 30 in_phase three Running
  kubectl delete sandbox two three -n "$NS" --timeout=60s
}

@test "a reset starts it anew under another ID" {
  before=$(field fast .status.sandboxID)
  kubectl patch sandbox fast -n "$NS" --type=merge -p "{\"spec\":{\"resetRevision\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"}}"
  is_new() { [ "$(field fast .status.sandboxID)" != "$before" ] && in_phase fast Running; }
  eventually 60 is_new
  run in_agents /sandboxes
  expect_not "\"$before\""
}

@test "expireTime ends the container and keeps the object" {
  create_sandbox short p "{\"expireTime\": \"$(date -u -d '+3 seconds' +%Y-%m-%dT%H:%M:%SZ)\"}"
  eventually 60 in_phase short Expired
  [ "$(field short '.status.assignedPod // "none"')" = none ]
  kubectl delete sandbox short -n "$NS" --timeout=60s
}

@test "after kill -9 nothing runs twice and nothing is lost" {
  for i in 1 2 3; do create_sandbox "k$i" p; done
  kill_berth
  for i in 1 2 3; do eventually 60 in_phase "k$i" Running; done
  run in_agents /sandboxes
  for i in 1 2 3; do
    expect_json "[.[] | select(.claimUid == \"$(field "k$i" .metadata.uid)\")] | length" 1
  done
  kubectl delete sandbox k1 k2 k3 -n "$NS" --timeout=60s
}

@test "a sandbox whose agent is gone is Lost, and runs elsewhere with AutoRecreate" {
  create_sandbox manual p
  create_sandbox auto p '{"failurePolicy": "AutoRecreate", "recoveryTimeoutSeconds": 1}'
  for name in manual auto; do eventually 30 in_phase "$name" Running; done
  for pod in $(field manual .status.assignedPod) $(field auto .status.assignedPod); do
    kubectl delete pod "$pod" -n "$NS" --force --grace-period=0 --ignore-not-found
  done
  eventually 60 in_phase manual Lost
  new_agents() { run_agents p; in_phase auto Running; }
  eventually 90 new_agents
  in_phase manual Lost
  kubectl delete sandbox manual auto -n "$NS" --timeout=60s
}

@test "a deletion waits until the agent has shown that the container is gone" {
  create_sandbox last p
  eventually 30 in_phase last Running
  id=$(field last .status.sandboxID)
  kubectl delete sandbox last -n "$NS" --timeout=60s
  run in_agents /sandboxes
  expect_not "\"$id\""
}
