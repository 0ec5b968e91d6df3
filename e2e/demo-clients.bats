# Clients other than kubectl against `berth demo`: helm, client-go with controller-runtime, the official Python client and kube-rs. Needs no cluster.
NEEDS_CLUSTER=no
load helpers

setup_file() {
  export DEMO=$BATS_FILE_TMPDIR/demo
  kubectl=$("$root/e2e/controlplane/kubectl")
  export PATH=$(dirname "$kubectl"):$PATH KUBECONFIG=$DEMO/state/kubeconfig
  spawn "$DEMO" berth "${BERTH_BIN:-$root/build/release/server/berth}" demo --port 0 --state-dir "$DEMO/state"
  await "$DEMO" berth 120 grep -q 'export KUBECONFIG' "$DEMO/logs/berth.log"
}

teardown_file() {
  stop "$DEMO" berth
  [ "$(cat "$DEMO/run/berth.exit")" = 0 ]
}

# run_client LANGUAGE: its program of e2e/clients.
run_client() {
  find_client "$1"
  run timeout 300 $client
  [ "$status" = 0 ] || fail "$output"
}

@test "helm installs the chart's CRDs, upgrades and uninstalls them" {
  helm=$(command -v helm || compgen -G "${BERTH_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/berth}/controlplane/*/helm" | head -n 1)
  [ -n "$helm" ] || skip "helm is neither in PATH nor built (e2e/controlplane/build)"
  export HOME=$BATS_TEST_TMPDIR
  chart=$BATS_TEST_TMPDIR/crds
  mkdir -p "$chart/templates"
  printf 'apiVersion: v2\nname: crds\nversion: 0.0.1\n' >"$chart/Chart.yaml"
  "$helm" template berth "$root/charts/berth" --show-only templates/crds.yaml >"$chart/templates/crds.yaml"
  run "$helm" install crds "$chart" --take-ownership
  [ "$status" = 1 ]
  expect 'helm: --server-side=false'
  "$helm" uninstall crds
  "$helm" install crds "$chart" --take-ownership --server-side=false
  run kubectl get crd subnetpools.plexaubnet.io -o 'jsonpath={.metadata.annotations}'
  expect_json '."meta.helm.sh/release-name"' crds
  "$helm" upgrade crds "$chart" --server-side=false
  run "$helm" list
  expect crds deployed
  "$helm" uninstall crds
  kubectl get crd subnetpools.plexaubnet.io
}

@test "client-go and controller-runtime" { run_client go; }

@test "the Python client" { run_client python; }

@test "kube-rs" { run_client rust; }
