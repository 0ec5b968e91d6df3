# Taking Berth away must not brick the cluster. Last by its name, since it ends the server; it installs again for whoever kept the cluster.
load helpers

setup_file() { make_namespace uninstall; }
teardown_file() {
  drop_namespace
  "$root/e2e/install" "$E2E_DIR"
}

left_of_berth() { kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations,apiservices -o name | grep -E "/berth|live[.]berth[.]dev"; }
nothing_left() { ! left_of_berth; }

@test "uninstall removes webhooks and API, keeps the pools, and namespaces still go" {
  eventually 120 webhooks_in_force
  create_pool kept 10.0.0.0/16
  left_of_berth
  helm uninstall berth -n berth-system --wait --timeout 120s
  [ "$E2E_CLUSTER" != loopback ] || "$root/e2e/berth" stop "$E2E_DIR"
  eventually 120 nothing_left
  run kubectl get subnetpool kept -n "$NS" -o 'jsonpath={.spec.cidr}'
  [ "$output" = 10.0.0.0/16 ]
  eventually 120 create_pool after 10.1.0.0/16
  # The finalizer is Berth's to take off; without Berth, the chart's README says how.
  kubectl patch subnetpool kept -n "$NS" --type=merge -p '{"metadata":{"finalizers":null}}'
  kubectl delete subnetpool kept after -n "$NS" --timeout=120s
  kubectl create namespace "$NS-gone"
  kubectl delete namespace "$NS-gone" --timeout=120s
}
