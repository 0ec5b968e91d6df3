# The chart as a user would install it: default values, judged by a real API server.
load helpers

@test "the chart passes helm's own check" {
  helm lint --strict "$root/charts/berth"
}

# Under another name: beside the installed release, which on loopback has other values, and not on top of it.
@test "the default values make manifests the API server takes" {
  make_namespace chart
  helm template fresh "$root/charts/berth" -n "$NS" >"$BATS_TEST_TMPDIR/all.yaml"
  run kubectl apply --dry-run=server -f "$BATS_TEST_TMPDIR/all.yaml"
  drop_namespace
  [ "$status" = 0 ]
  expect deployment.apps/fresh-berth validatingwebhookconfiguration apiservice
}

@test "an upgrade with the same values keeps the certificate" {
  before=$(kubectl get secret berth-tls -n berth-system -o 'jsonpath={.data.tls\.crt}')
  helm upgrade berth "$root/charts/berth" -n berth-system --reuse-values
  [ -n "$before" ]
  [ "$(kubectl get secret berth-tls -n berth-system -o 'jsonpath={.data.tls\.crt}')" = "$before" ]
}
