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

@test "an upgrade keeps the values of the install, and the certificate" {
  before=$(kubectl get secret berth-tls -n berth-system -o 'jsonpath={.data.tls\.crt}')
  values=$(helm get values berth -n berth-system)
  helm upgrade berth "$root/charts/berth" -n berth-system --reset-then-reuse-values
  [ -n "$before" ]
  [ "$(kubectl get secret berth-tls -n berth-system -o 'jsonpath={.data.tls\.crt}')" = "$before" ]
  [ "$(helm get values berth -n berth-system)" = "$values" ]
}

@test "every command of the chart's notes can be typed" {
  helm get notes berth -n berth-system >"$BATS_TEST_TMPDIR/notes"
  run type_printed "$BATS_TEST_TMPDIR/notes"
  NS=default delete_all
  [ "$status" = 0 ]
  expect 'condition met'
}
