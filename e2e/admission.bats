# The webhooks, seen by someone who creates SubnetPools with kubectl.
load helpers

setup_file() {
  make_namespace admission
  eventually 120 webhooks_in_force
}
teardown_file() { drop_namespace; }

@test "a pool whose CIDR has host bits is refused, with the field and the CIDR that was meant" {
  run kubectl create -f <(pool crooked 10.0.0.5/16)
  [ "$status" -ne 0 ]
  expect spec.cidr 10.0.0.5/16 10.0.0.0/16
  run kubectl get subnetpool crooked -n "$NS"
  expect NotFound
}

@test "the refusal is a 422 Status with a cause for the field" {
  pool crooked 10.0.0.5/16 >"$BATS_TEST_TMPDIR/pool.json"
  through "/apis/plexaubnet.io/v1alpha1/namespaces/$NS/subnetpools" -H 'Content-Type: application/json' -d "@$BATS_TEST_TMPDIR/pool.json"
  expect_code 422
  expect_json .kind Status
  expect_json .reason Invalid
  expect_json '.details.causes[0].field' spec.cidr
  expect_json '.details.causes[0].reason' FieldValueInvalid
}

@test "what is not a CIDR is refused" {
  run kubectl create -f <(pool wrong 10.0.0.0/33)
  [ "$status" -ne 0 ]
  expect spec.cidr
}

@test "an IPv6 CIDR with host bits is refused, with its canonical form" {
  run kubectl create -f <(pool crooked6 2001:db8::1/48)
  [ "$status" -ne 0 ]
  expect spec.cidr 2001:db8::/48
}

@test "a good pool is accepted and gets a default block size of 24" {
  output=$(create_pool good 10.0.0.0/16)
  expect_json .spec.cidr 10.0.0.0/16
  expect_json .spec.defaultBlockSize 24
}

@test "a pool smaller than the default block gets its own size" {
  output=$(create_pool small 10.1.0.0/26)
  expect_json .spec.defaultBlockSize 26
}

@test "an IPv6 pool gets a default block size of 64" {
  output=$(create_pool six 2001:db8::/48)
  expect_json .spec.defaultBlockSize 64
}

@test "a block size the user gave is left alone" {
  output=$(create_pool given 10.2.0.0/16 '{"defaultBlockSize": 28}')
  expect_json .spec.defaultBlockSize 28
}

@test "a server-side dry run is judged and defaulted, and stores nothing" {
  output=$(pool dry 10.3.0.0/16 | kubectl create --dry-run=server -f - -o json)
  expect_json .spec.defaultBlockSize 24
  run kubectl create --dry-run=server -f <(pool dry 10.3.0.1/16)
  [ "$status" -ne 0 ]
  expect 10.3.0.0/16
  run kubectl get subnetpool dry -n "$NS"
  expect NotFound
}

@test "an update to a CIDR with host bits is refused" {
  create_pool changed 10.4.0.0/16
  run kubectl patch subnetpool changed -n "$NS" --type=merge -p '{"spec":{"cidr":"10.4.0.1/16"}}'
  [ "$status" -ne 0 ]
  expect spec.cidr
  run kubectl get subnetpool changed -n "$NS" -o 'jsonpath={.spec.cidr}'
  [ "$output" = 10.4.0.0/16 ]
}

@test "apply twice changes nothing the second time" {
  pool twice 10.5.0.0/16 >"$BATS_TEST_TMPDIR/pool.json"
  kubectl apply --server-side -f "$BATS_TEST_TMPDIR/pool.json"
  before=$(kubectl get subnetpool twice -n "$NS" -o 'jsonpath={.metadata.generation}')
  kubectl apply --server-side -f "$BATS_TEST_TMPDIR/pool.json"
  [ "$(kubectl get subnetpool twice -n "$NS" -o 'jsonpath={.metadata.generation}')" = "$before" ]
}

@test "a pool can be labelled and deleted" {
  create_pool goes 10.6.0.0/16
  kubectl label subnetpool goes -n "$NS" a=b
  kubectl delete subnetpool goes -n "$NS" --timeout=120s
}

@test "a namespace with pools in it can be deleted" {
  kubectl create namespace "$NS-gone"
  NS=$NS-gone create_pool inside 10.7.0.0/16
  kubectl delete namespace "$NS-gone" --timeout=120s
}
