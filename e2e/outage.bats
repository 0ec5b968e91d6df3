# The API server goes away for a minute under a controller that is built on Berth's runtime (simulate/toy_controller): two replicas that stand for
# election, with informers, a work queue and fenced writes. What users asked for before and after must come true, once, without anybody's help.
load helpers

setup_file() {
  load helpers
  needs_loopback "the API server is stopped and started"
  for replica in one two; do
    spawn "$E2E_DIR" "toy-$replica" "$root/build/release/simulate/simulate" live --kubeconfig "$KUBECONFIG" --identity "$replica"
  done
  eventually 120 kubectl get crd gadgets.toy.berth.dev parts.toy.berth.dev
  make_namespace outage
}

teardown_file() {
  load helpers
  # While somebody is there to see to their finalizers.
  kubectl delete gadgets --all -n "$NS" --timeout=120s
  for replica in one two; do stop "$E2E_DIR" "toy-$replica"; done
  kubectl delete crd gadgets.toy.berth.dev parts.toy.berth.dev --timeout=120s
  drop_namespace
  # The other tests' control plane must be itself again: its own informers may wait up to a minute more before they look.
  restart kube-controller-manager 0 kubectl get --raw /readyz
}

gadget() {
  jq -n --arg name "$1" --arg namespace "$NS" --argjson size "$2" \
    '{apiVersion: "toy.berth.dev/v1", kind: "Gadget", metadata: {name: $name, namespace: $namespace}, spec: {size: $size}}'
}

ready() { [ "$(kubectl get gadget "$1" -n "$NS" -o jsonpath='{.status.ready}')" = "$2" ]; }
parts() { [ "$(kubectl get parts -n "$NS" -o name | wc -l)" = "$1" ]; }
holder() { kubectl get lease toy -n default -o jsonpath='{.spec.holderIdentity}'; }
rss() { awk '/^VmRSS/ {print $2}' "/proc/$(cat "$E2E_DIR/run/toy-$1.pid")/status"; }

# restart NAME SECONDS READY...: a process of the control plane is gone for that long, then it runs again as it was started.
restart() {
  local name=$1 command
  mapfile -d '' -t command <"/proc/$(cat "$E2E_DIR/run/$name.pid")/cmdline"
  stop "$E2E_DIR" "$name"
  sleep "$2"
  spawn "$E2E_DIR" "$name" "${command[@]}"
  await "$E2E_DIR" "$name" 120 "${@:3}"
}

@test "a controller does its work on a real API server, one replica at a time" {
  gadget before 3 | kubectl create -f -
  gadget shrinks 2 | kubectl create -f -
  eventually 120 ready before 3
  eventually 120 ready shrinks 2
  parts 5
  [[ $(holder) =~ ^(one|two)$ ]]
}

@test "after a minute without the API server everything goes on by itself" {
  local before_one before_two
  before_one=$(rss one) before_two=$(rss two)
  # The last words before the silence may or may not have been heard by the controller.
  kubectl patch gadget shrinks -n "$NS" --type merge -p '{"spec":{"size":1}}'
  kubectl delete gadget before -n "$NS" --wait=false
  restart kube-apiserver 60 kubectl get --raw /readyz
  gadget after 2 | kubectl create -f -
  eventually 120 ready after 2
  eventually 120 ready shrinks 1
  eventually 120 bash -c "! kubectl get gadget before -n $NS"
  eventually 120 parts 3
  [[ $(holder) =~ ^(one|two)$ ]]
  # Bounded: a minute of failures costs no memory to speak of.
  [ "$(rss one)" -lt $((before_one + 8192)) ]
  [ "$(rss two)" -lt $((before_two + 8192)) ]
}

@test "a leader that ends in good order gives its lease back at once" {
  local leader other
  leader=$(holder)
  other=$([ "$leader" = one ] && echo two || echo one)
  stop "$E2E_DIR" "toy-$leader"
  # Far less than the 30 s that a lease is good for.
  eventually 20 bash -c "[ \"\$(kubectl get lease toy -n default -o jsonpath='{.spec.holderIdentity}')\" = $other ]"
  gadget last 1 | kubectl create -f -
  eventually 120 ready last 1
}
