# Pools inside pools: no address is given out twice, whatever becomes of their ranges.
load helpers
load ipam

setup_file() {
  make_namespace ipam-pools
  eventually 120 webhooks_in_force
}
teardown_file() { drop_ipam_namespace; }

teardown() {
  if [ "$E2E_CLUSTER" = loopback ] && ! running "$E2E_DIR" berth; then "$root/e2e/berth" start "$E2E_DIR"; fi
}

# kubectl as somebody whose writes no webhook is asked about: so they come in, too, while the webhooks are unreachable.
unasked() { kubectl --as=system:serviceaccount:berth-system:berth "$@"; }
allocated_is() { field_is subnetclaim "$1" '{.status.allocatedCIDR}' "$2"; }

# --- A child pool that grows

@test "a child pool does not grow over a block that its parent has given out" {
  ready_pool site 10.0.0.0/16 '{"maxBlockSize": 28}'
  ready_pool child 10.0.0.0/24 '{"parentRef": "site", "maxBlockSize": 28}'
  create_claim in-child child in-child '{"blockSize": 25}'
  bound in-child
  create_claim first site first '{"blockSize": 24}'
  bound first
  allocated_is first 10.0.1.0/24
  run kubectl patch subnetpool child -n "$NS" --type=merge -p '{"spec":{"cidr":"10.0.0.0/23"}}'
  [ "$status" -ne 0 ]
  expect spec.cidr 10.0.1.0/24
}

@test "a child pool that was made to grow all the same keeps its blocks, and says what is in the way" {
  unasked patch subnetpool child -n "$NS" --type=merge -p '{"spec":{"cidr":"10.0.0.0/23"}}'
  reason_becomes subnetpool child PoolOverlap
  output=$(field subnetpool child '{.status.conditions[?(@.type=="Ready")].message}')
  expect 10.0.1.0/24
  create_claim second site second '{"blockSize": 24}'
  bound second
  allocated_is second 10.0.2.0/24
}

@test "after a restart the child's Subnets are still nobody else's" {
  needs_loopback "the server is stopped and started"
  "$root/e2e/berth" stop "$E2E_DIR"
  "$root/e2e/berth" start "$E2E_DIR"
  create_claim third site third '{"blockSize": 25}'
  bound third
  allocated_is third 10.0.0.128/25
  reason_becomes subnetpool child PoolOverlap
}

@test "once nothing is in its way the child pool has its range" {
  kubectl delete subnetclaim first -n "$NS" --timeout=120s
  kubectl delete subnetclaim third -n "$NS" --timeout=120s --ignore-not-found
  reason_becomes subnetpool child Ready
  create_claim more child more '{"requestedCIDR": "10.0.1.0/25"}'
  bound more
}

# --- A child pool on somebody's block

@test "a child pool on a block that a claim has is refused" {
  ready_pool taken 10.1.0.0/16 '{"maxBlockSize": 28}'
  create_claim holder taken holder '{"blockSize": 24}'
  bound holder
  allocated_is holder 10.1.0.0/24
  run kubectl create -f <(pool squatter 10.1.0.0/24 '{"parentRef": "taken"}')
  [ "$status" -ne 0 ]
  expect spec.cidr 10.1.0.0/24 "not for this pool"
}

@test "a child pool that got there all the same gives nothing out until the block is free" {
  pool squatter 10.1.0.0/24 '{"parentRef": "taken", "maxBlockSize": 28}' | unasked create -f -
  reason_becomes subnetpool squatter PoolOverlap
  create_claim guest squatter guest '{"blockSize": 25}'
  reason_becomes subnetclaim guest PoolNotReady
  kubectl delete subnetclaim holder -n "$NS" --timeout=120s
  bound guest
  allocated_is guest 10.1.0.0/25
}
