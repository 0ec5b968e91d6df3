# The subnet IPAM, seen by someone who asks for address blocks with kubectl. Every test has a pool of its own: pools of a namespace must not overlap.
load helpers
load ipam

setup_file() {
  make_namespace ipam
  eventually 120 webhooks_in_force
}
teardown_file() { drop_ipam_namespace; }

# Whatever a test did, the next one finds a server.
teardown() {
  if [ "$E2E_CLUSTER" = loopback ] && ! running "$E2E_DIR" berth; then "$root/e2e/berth" start "$E2E_DIR"; fi
}

stamp='{.metadata.annotations.ipam\.plexaubnet\.io/allocation}'

# --- Manifests as they were written for plexaubnet

@test "manifests of plexaubnet apply unchanged, and their claims are bound" {
  kubectl apply -n "$NS" -f - <<'END'
apiVersion: plexaubnet.io/v1alpha1
kind: SubnetPool
metadata:
  name: site
spec:
  cidr: 10.0.0.0/16
  defaultBlockSize: 24
  minBlockSize: 16
  maxBlockSize: 28
  strategy: Linear
---
apiVersion: plexaubnet.io/v1alpha1
kind: SubnetClaim
metadata:
  name: by-size
spec:
  poolRef: site
  clusterID: cluster-a
  blockSize: 24
---
apiVersion: plexaubnet.io/v1alpha1
kind: SubnetClaim
metadata:
  name: by-cidr
spec:
  poolRef: site
  clusterID: cluster-b
  requestedCIDR: 10.0.5.0/24
END
  bound by-size
  bound by-cidr
  field_is subnetclaim by-size '{.status.allocatedCIDR}' 10.0.0.0/24
  field_is subnetclaim by-cidr '{.status.allocatedCIDR}' 10.0.5.0/24
  reason_becomes subnetclaim by-size Bound
}

@test "a Subnet stands for the claim, by name and uid" {
  output=$(kubectl get subnet site-10-0-0-0-24 -n "$NS" -o json)
  expect_json .spec.cidr 10.0.0.0/24
  expect_json .spec.poolRef site
  expect_json .spec.clusterID cluster-a
  expect_json .spec.claimRef.name by-size
  expect_json .spec.claimRef.uid "$(field subnetclaim by-size '{.metadata.uid}')"
  expect_json '.metadata.labels["plexaubnet.io/ipam"]' true
  phase_becomes subnet site-10-0-0-0-24 Allocated
  output=$(kubectl get subnet site-10-0-0-0-24 -n "$NS" -o json)
  expect_json '.status.allocatedAt | fromdate > 0' true
  kubectl get subnet site-10-0-5-0-24 -n "$NS"
}

@test "the stamp is gone from a bound claim, and observedGeneration is its generation" {
  eventually 120 field_is subnetclaim by-size "$stamp" ''
  output=$(kubectl get subnetclaim by-size -n "$NS" -o json)
  expect_json '.status.observedGeneration == .metadata.generation' true
}

@test "the pool's status is exact, for every size and under both forms of key" {
  eventually 120 field_is subnetpool site '{.status.allocatedCount}' 2
  eventually 120 free_is site 16:0 17:1 18:3 19:7 20:15 21:31 22:62 23:126 24:254 25:508 26:1016 27:2032 28:4064
  output=$(kubectl get subnetpool site -n "$NS" -o json)
  expect_json '.status.allocatedCIDRs | to_entries | map("\(.key)=\(.value)") | sort | join(" ")' '10.0.0.0/24=cluster-a 10.0.5.0/24=cluster-b'
  expect_json '.status.observedGeneration == .metadata.generation' true
  expect_json '.status.conditions[] | select(.type == "Ready") | "\(.status) \(.reason)"' 'True Ready'
}

@test "a pool claim of plexaubnet gets a child pool" {
  kubectl apply -n "$NS" -f - <<'END'
apiVersion: plexaubnet.io/v1alpha1
kind: SubnetPoolClaim
metadata:
  name: region
spec:
  parentPoolRef: site
  desiredBlockSize: 20
END
  phase_becomes subnetpoolclaim region Bound
  [ -n "$(field subnetpc region '{.status.boundPoolName}')" ]
  field_is subnetpool "$(field subnetpc region '{.status.boundPoolName}')" '{.spec.cidr}' 10.0.16.0/20
}

@test "kubectl get shows the columns" {
  columns subnetpools 'NAME CIDR STRATEGY ALLOCATED AGE'
  columns subnetpools 'NAME CIDR STRATEGY ALLOCATED PARENT READY REASON MESSAGE AGE' -o wide
  columns subnetclaims 'NAME PHASE CLUSTERID POOL ALLOCATED REASON MESSAGE AGE' -o wide
  columns subnets 'NAME CIDR CLUSTERID POOL PHASE AGE'
  columns subnetclaims 'NAME PHASE CLUSTERID POOL ALLOCATED AGE'
  columns subnetpc 'NAME PHASE PARENT BOUNDPOOL AGE'
  run kubectl get subnetclaim by-size -n "$NS" --no-headers
  expect by-size Bound cluster-a site 10.0.0.0/24
  run kubectl get berth -n "$NS" -o name
  expect subnetpool.plexaubnet.io/site subnet.plexaubnet.io/site-10-0-0-0-24 subnetclaim.plexaubnet.io/by-size subnetpoolclaim.plexaubnet.io/region
}

@test "explain has words for the fields" {
  run kubectl explain subnetclaims.spec
  [ "$status" = 0 ]
  expect requestedCIDR blockSize 'Prefix length'
  run kubectl explain subnetpools.spec.preAllocations
  expect 'Blocks kept for claims'
}

@test "events tell of the allocation" {
  allocated_event() { kubectl get events -n "$NS" --field-selector reason=SubnetAllocated,involvedObject.name=by-size | grep -F 10.0.0.0/24; }
  eventually 120 allocated_event
}

# --- Admission of claims

@test "a claim has its block when it is created; a dry run takes none" {
  ready_pool instant 10.20.0.0/24 '{"maxBlockSize": 28}'
  claim tried instant tried '{"blockSize": 26}' | kubectl create --dry-run=server -f -
  output=$(create_claim first instant first '{"blockSize": 26}')
  expect_json '.metadata.annotations["ipam.plexaubnet.io/allocation"] | contains("10.20.0.0/26")' true
  bound first
  field_is subnetclaim first '{.status.allocatedCIDR}' 10.20.0.0/26
}

@test "a claim that names no size gets the pool's default" {
  ready_pool plain 10.21.0.0/16 '{"defaultBlockSize": 27}'
  create_claim plain plain plain
  bound plain
  field_is subnetclaim plain '{.status.allocatedCIDR}' 10.21.0.0/27
}

@test "claims that cannot be meant are refused, with the field" {
  ready_pool strict 10.22.0.0/16 '{"minBlockSize": 20, "maxBlockSize": 28}'
  refused() {
    run kubectl create -f <(claim wrong strict wrong "$1")
    [ "$status" -ne 0 ] || fail "accepted: $1"
    expect "${@:2}"
  }
  refused '{"blockSize": 24, "requestedCIDR": "10.22.1.0/24"}' blockSize requestedCIDR
  refused '{"blockSize": 29}' spec.blockSize 28
  refused '{"blockSize": 19}' spec.blockSize 20
  refused '{"requestedCIDR": "10.23.0.0/24"}' spec.requestedCIDR 10.22.0.0/16
  refused '{"requestedCIDR": "10.22.0.5/24"}' spec.requestedCIDR 10.22.0.0/24
  refused '{"requestedCIDR": "here"}' spec.requestedCIDR
  run kubectl create -f <(claim wrong strict 'Not_An_ID' '{"blockSize": 24}')
  [ "$status" -ne 0 ]
  expect spec.clusterID
}

@test "the pool of a claim and the spec of a Subnet cannot be changed" {
  run kubectl patch subnetclaim by-size -n "$NS" --type=merge -p '{"spec":{"poolRef":"other"}}'
  [ "$status" -ne 0 ]
  expect spec.poolRef
  for spec in '{"cidr":"10.0.9.0/24"}' '{"claimRef":{"uid":"another"}}' '{"claimRef":null}' '{"clusterID":"another"}'; do
    run kubectl patch subnet site-10-0-0-0-24 -n "$NS" --type=merge -p "{\"spec\":$spec}"
    [ "$status" -ne 0 ]
    expect 'the spec of a Subnet cannot be changed'
  done
}

@test "two claims for overlapping blocks: one gets it" {
  ready_pool exact 10.24.0.0/16 '{"maxBlockSize": 28}'
  create_claim whole exact whole '{"requestedCIDR": "10.24.0.0/24"}'
  create_claim half exact half '{"requestedCIDR": "10.24.0.0/25"}'
  bound whole
  phase_becomes subnetclaim half Error
  reason_becomes subnetclaim half RequestedCIDRTaken
  kubectl delete subnetclaim whole -n "$NS" --timeout=120s
  bound half
}

@test "excluded ranges and pre-allocations are kept out of everybody else's reach" {
  ready_pool shaped 10.25.0.0/24 '{"maxBlockSize": 28, "excludedRanges": ["10.25.0.0/26", "10.25.0.64-10.25.0.70"], "preAllocations": {"vip": "10.25.0.128/26"}}'
  create_claim anyone shaped anyone '{"blockSize": 26}'
  bound anyone
  field_is subnetclaim anyone '{.status.allocatedCIDR}' 10.25.0.192/26
  create_claim vip shaped vip '{"blockSize": 26}'
  bound vip
  field_is subnetclaim vip '{.status.allocatedCIDR}' 10.25.0.128/26
}

@test "a released block rests for the grace period" {
  ready_pool resting 10.26.0.0/24 '{"maxBlockSize": 26, "reuseGracePeriodSeconds": 3600}'
  create_claim left resting left '{"blockSize": 26}'
  bound left
  kubectl delete subnetclaim left -n "$NS" --timeout=120s
  create_claim next resting next '{"blockSize": 26}'
  bound next
  field_is subnetclaim next '{.status.allocatedCIDR}' 10.26.0.64/26
  # Its cluster is not locked out meanwhile.
  create_claim left resting left '{"blockSize": 26}'
  bound left 30
}

@test "a namespace goes at once while a block of it rests for a month" {
  local of=$NS
  kubectl create namespace "$of-rests"
  NS=$of-rests
  ready_pool month 10.26.0.0/24 '{"maxBlockSize": 26, "reuseGracePeriodSeconds": 2592000}'
  create_claim left month left '{"blockSize": 26}'
  bound left
  kubectl delete subnetclaim left -n "$NS" --timeout=120s
  eventually 60 kubectl wait subnet/month-10-26-0-0-26 -n "$NS" --for=jsonpath='{.metadata.deletionTimestamp}' --timeout=1s
  kubectl delete namespace "$NS" --timeout=120s
}

@test "an IPv6 pool gives out blocks" {
  ready_pool six 2001:db8::/48 '{"maxBlockSize": 64}'
  create_claim six six six '{"blockSize": 64}'
  bound six
  field_is subnetclaim six '{.status.allocatedCIDR}' 2001:db8::/64
  kubectl get subnets -n "$NS" -o json | jq -e '.items[] | select(.spec.cidr == "2001:db8::/64" and .spec.poolRef == "six")'
}

# --- Objects that plexaubnet left stuck

@test "an exhausted claim says so, and is bound by itself when a block is given back" {
  ready_pool tiny 10.1.0.0/28 '{"defaultBlockSize": 29, "maxBlockSize": 29}'
  create_claim tiny-1 tiny tiny-1 '{"blockSize": 29}'
  create_claim tiny-2 tiny tiny-2 '{"blockSize": 29}'
  bound tiny-1
  bound tiny-2
  create_claim tiny-3 tiny tiny-3 '{"blockSize": 29}'
  phase_becomes subnetclaim tiny-3 Error
  reason_becomes subnetclaim tiny-3 PoolExhausted
  output=$(field subnetclaim tiny-3 '{.status.message}')
  output=${output,,}
  expect exhausted
  exhausted_event() { kubectl get events -n "$NS" --field-selector reason=SubnetPoolExhausted,involvedObject.kind=SubnetClaim,involvedObject.name=tiny-3 -o name | grep .; }
  eventually 120 exhausted_event
  freed=$(field subnetclaim tiny-1 '{.status.allocatedCIDR}')
  kubectl delete subnetclaim tiny-1 -n "$NS" --timeout=120s
  bound tiny-3
  field_is subnetclaim tiny-3 '{.status.allocatedCIDR}' "$freed"
  field_is subnetclaim tiny-3 '{.status.message}' ''
  eventually 120 free_is tiny 28:0 29:0
}

@test "a claim whose pool is not there is bound when the pool appears" {
  create_claim early late early '{"blockSize": 24}'
  phase_becomes subnetclaim early Error
  reason_becomes subnetclaim early PoolNotFound
  create_pool late 10.2.0.0/16
  bound early
  field_is subnetclaim early '{.status.allocatedCIDR}' 10.2.0.0/24
}

@test "a second claim of one cluster is an error, and is bound when the first has gone" {
  ready_pool shared 10.3.0.0/16 '{"maxBlockSize": 28}'
  create_claim one shared same '{"blockSize": 24}'
  bound one
  create_claim two shared same '{"blockSize": 26}'
  phase_becomes subnetclaim two Error
  reason_becomes subnetclaim two ClusterIDConflict
  field_is subnetclaim one '{.status.phase}' Bound
  kubectl delete subnetclaim one -n "$NS" --timeout=120s
  bound two
  [[ $(field subnetclaim two '{.status.allocatedCIDR}') == */26 ]]
  consistent shared 1
}

@test "a Subnet that is deleted under its claim comes back with the same block" {
  ready_pool firm 10.5.0.0/16
  create_claim firm firm firm '{"blockSize": 24}'
  bound firm
  before=$(field subnet firm-10-5-0-0-24 '{.metadata.uid}')
  kubectl delete subnet firm-10-5-0-0-24 -n "$NS" --timeout=120s
  another_uid() { [ "$(field subnet firm-10-5-0-0-24 '{.metadata.uid}')" != "$before" ]; }
  eventually 120 kubectl get subnet firm-10-5-0-0-24 -n "$NS"
  another_uid
  phase_becomes subnet firm-10-5-0-0-24 Allocated
  bound firm
  field_is subnetclaim firm '{.status.allocatedCIDR}' 10.5.0.0/24
}

@test "a Subnet written by hand holds its block" {
  ready_pool manual 10.27.0.0/24 '{"maxBlockSize": 26}'
  kubectl create -n "$NS" -f - <<'END'
apiVersion: plexaubnet.io/v1alpha1
kind: Subnet
metadata:
  name: by-hand
spec:
  poolRef: manual
  cidr: 10.27.0.0/26
  clusterID: by-hand
END
  phase_becomes subnet by-hand Allocated
  create_claim beside manual beside '{"blockSize": 26}'
  bound beside
  field_is subnetclaim beside '{.status.allocatedCIDR}' 10.27.0.64/26
}

# --- Pools inside pools

@test "a pool claim divides a pool; parent and child go in order" {
  ready_pool country 10.4.0.0/16 '{"maxBlockSize": 28}'
  create_pool_claim town country 20
  phase_becomes subnetpoolclaim town Bound
  child=$(field subnetpoolclaim town '{.status.boundPoolName}')
  output=$(kubectl get subnetpool "$child" -n "$NS" -o json)
  expect_json '.metadata.labels["plexaubnet.io/parent"]' country
  expect_json .spec.cidr 10.4.0.0/20
  # The parent gives nothing of it to anybody else.
  create_claim neighbour country neighbour '{"blockSize": 24}'
  bound neighbour
  field_is subnetclaim neighbour '{.status.allocatedCIDR}' 10.4.16.0/24
  create_claim house "$child" house '{"blockSize": 24}'
  bound house
  field_is subnetclaim house '{.status.allocatedCIDR}' 10.4.0.0/24

  run kubectl delete subnetpoolclaim town -n "$NS" --timeout=30s
  [ "$status" -ne 0 ]
  expect "$child-10-4-0-0-24"
  kubectl get subnetpool "$child" -n "$NS"
  field_is subnetpoolclaim town '{.metadata.deletionTimestamp}' ''

  kubectl delete subnetclaim house -n "$NS" --timeout=120s
  kubectl delete subnetpoolclaim town -n "$NS" --timeout=120s
  eventually 120 gone subnetpool "$child"
  kubectl delete subnetclaim neighbour -n "$NS" --timeout=120s
  eventually 120 field_is subnetpool country '{.status.allocatedCount}' 0
  create_claim again country again '{"requestedCIDR": "10.4.0.0/20"}'
  bound again
}

@test "with the escape annotation a pool claim in use goes, its child pool and then its block" {
  ready_pool escape 10.28.0.0/16 '{"maxBlockSize": 28}'
  create_pool_claim hasty escape 20
  phase_becomes subnetpoolclaim hasty Bound
  child=$(field subnetpoolclaim hasty '{.status.boundPoolName}')
  create_claim stays "$child" stays '{"blockSize": 24}'
  bound stays
  run kubectl delete subnetpoolclaim hasty -n "$NS" --timeout=30s
  [ "$status" -ne 0 ]
  kubectl annotate subnetpoolclaim hasty -n "$NS" ipam.plexaubnet.io/allow-delete=true
  kubectl delete subnetpoolclaim hasty -n "$NS" --timeout=120s
  eventually 120 gone subnetpool "$child"
  eventually 120 field_is subnetpool escape '{.status.allocatedCount}' 0
}

@test "a pool in use is not deleted, unless it is annotated" {
  ready_pool used 10.29.0.0/16
  create_claim user used user '{"blockSize": 24}'
  bound user
  run kubectl delete subnetpool used -n "$NS" --timeout=30s
  [ "$status" -ne 0 ]
  expect used-10-29-0-0-24
  field_is subnetpool used '{.metadata.deletionTimestamp}' ''
  kubectl delete subnetclaim user -n "$NS" --timeout=120s
  kubectl delete subnetpool used -n "$NS" --timeout=120s
}

@test "a pool written with parentRef is a child as well" {
  ready_pool above 10.30.0.0/16 '{"maxBlockSize": 28}'
  ready_pool below 10.30.0.0/20 '{"parentRef": "above", "maxBlockSize": 28}'
  create_claim upstairs above upstairs '{"blockSize": 24}'
  bound upstairs
  field_is subnetclaim upstairs '{.status.allocatedCIDR}' 10.30.16.0/24
}

# --- Changing a pool

@test "a pool can grow, and is counted anew" {
  ready_pool grows 10.9.0.0/24 '{"defaultBlockSize": 26, "maxBlockSize": 26}'
  create_claim grown grows grown '{"blockSize": 26}'
  bound grown
  eventually 120 free_is grows 24:0 25:1 26:3
  kubectl patch subnetpool grows -n "$NS" --type=merge -p '{"spec":{"cidr":"10.9.0.0/23"}}'
  eventually 120 free_is grows 23:0 24:1 25:3 26:7
  field_is subnetpool grows '{.status.observedGeneration}' "$(field subnetpool grows '{.metadata.generation}')"
  create_claim upper grows upper '{"requestedCIDR": "10.9.1.0/26"}'
  bound upper
}

@test "a pool in use cannot shrink" {
  run kubectl patch subnetpool grows -n "$NS" --type=merge -p '{"spec":{"cidr":"10.9.0.0/24"}}'
  [ "$status" -ne 0 ]
  expect spec.cidr
  field_is subnetpool grows '{.spec.cidr}' 10.9.0.0/23
}

@test "a pool that overlaps another is refused, with that pool's name" {
  run kubectl create -f <(pool intruder 10.9.0.0/20)
  [ "$status" -ne 0 ]
  expect spec.cidr grows
  ready_pool beside-grows 10.9.4.0/24
  run kubectl patch subnetpool beside-grows -n "$NS" --type=merge -p '{"spec":{"cidr":"10.9.0.0/21"}}'
  [ "$status" -ne 0 ]
  expect spec.cidr grows
}

@test "a CIDR with host bits is refused, with the canonical form" {
  run kubectl patch subnetpool grows -n "$NS" --type=merge -p '{"spec":{"cidr":"10.9.0.5/22"}}'
  [ "$status" -ne 0 ]
  expect spec.cidr 10.9.0.0/22
}

@test "block sizes must be in order" {
  run kubectl create -f <(pool disorder 10.32.0.0/16 '{"minBlockSize": 28, "defaultBlockSize": 24, "maxBlockSize": 26}')
  [ "$status" -ne 0 ]
  expect BlockSize
}

# --- The aggregated API

@test "poolusages shows what is used, free and delegated" {
  ready_pool gauge 10.6.0.0/24 '{"maxBlockSize": 28}'
  create_claim gauge gauge gauge '{"blockSize": 26}'
  bound gauge
  run kubectl get poolusages gauge -n "$NS" -o wide
  [ "$status" = 0 ]
  for column in CIDR USED FREE DELEGATED LARGEST; do [[ ${lines[0]} == *"$column"* ]] || fail "no column $column in: ${lines[0]}"; done
  [[ ${lines[1]} == gauge\ * ]]
  expect 10.6.0.0/24
  run kubectl get poolusages -n "$NS" -o name
  expect poolusage.live.berth.dev/gauge
  run kubectl get poolusages no-such-pool -n "$NS"
  [ "$status" -ne 0 ]
  expect NotFound
}

@test "a recalculation can be ordered, for a pool that is there" {
  recalculation() { printf '{"apiVersion": "live.berth.dev/v1alpha1", "kind": "PoolRecalculation", "metadata": {"name": "now", "namespace": "%s"}, "spec": {"pool": "%s"}}' "$NS" "$1"; }
  run kubectl create -f <(recalculation site)
  [ "$status" = 0 ] || fail "$output"
  expect created
  run kubectl create -f <(recalculation no-such-pool)
  [ "$status" -ne 0 ]
  expect NotFound no-such-pool
}

@test "view may look, edit may order a recalculation" {
  may() { kubectl get clusterrole "$1" -o json | jq -e --arg resource "$2" --arg verb "$3" 'any(.rules[]; (.resources // [] | index($resource)) and (.verbs | index($verb)))'; }
  eventually 120 may edit poolrecalculations create
  eventually 120 may edit subnetclaims create
  eventually 120 may view subnetclaims list
  run may view poolrecalculations create
  [ "$status" -ne 0 ]
  run may view subnetclaims create
  [ "$status" -ne 0 ]
}

@test "the metrics of plexaubnet are there, by their names" {
  needs_loopback "the server's own ports"
  has_metric() { curl -fsS --noproxy '*' "http://127.0.0.1:$E2E_METRICS_PORT/metrics" | grep "^$1"; }
  for metric in 'subnetpool_parent_requeue_total{' 'subnetpool_parent_reconcile_duration_seconds_count{result="success"' \
    'subnetpool_parent_status_last_timestamp_seconds{' subnetpool_parent_reconcile_inflight 'workqueue_depth{.*name="PoolStatus"' \
    'berth_ipam_pool_free_addresses{' 'berth_ipam_pool_addresses{' 'berth_ipam_claims{phase="Bound"'; do
    eventually 120 has_metric "$metric"
  done
}

# --- Restarts

# in_the_middle PREFIX: 50 claims on pool PREFIX, and what follows happens while Berth is at work on them.
in_the_middle() {
  claims 50 "$1" "$1" 24 25 26 27 28 >"$BATS_TEST_TMPDIR/claims"
  create_many "$BATS_TEST_TMPDIR/claims" "/apis/plexaubnet.io/v1alpha1/namespaces/$NS/subnetclaims"
}

after_the_restart() {
  "$root/e2e/berth" start "$E2E_DIR"
  eventually 120 bound_count_is "$1" 50
  consistent "$1" 50
  eventually 120 field_is subnetpool "$1" '{.status.allocatedCount}' 50
}

@test "claims survive a restart of Berth" {
  needs_loopback "the server is stopped and started"
  ready_pool stopped 10.7.0.0/16 '{"maxBlockSize": 28}'
  in_the_middle stopped
  "$root/e2e/berth" stop "$E2E_DIR"
  after_the_restart stopped
}

@test "claims survive a crash of Berth" {
  needs_loopback "the server is killed"
  ready_pool killed 10.8.0.0/16 '{"maxBlockSize": 28, "strategy": "Buddy"}'
  in_the_middle killed
  kill -KILL "$(cat "$E2E_DIR/run/berth.pid")"
  eventually 120 stopped "$E2E_DIR" berth
  after_the_restart killed
}

@test "a claim deleted while Berth is away gives its block back" {
  needs_loopback "the server is stopped and started"
  ready_pool absent 10.33.0.0/24 '{"maxBlockSize": 26}'
  create_claim leaves absent leaves '{"blockSize": 26}'
  bound leaves
  "$root/e2e/berth" stop "$E2E_DIR"
  kubectl delete subnetclaim leaves -n "$NS" --wait=false
  "$root/e2e/berth" start "$E2E_DIR"
  eventually 120 gone subnetclaim leaves
  eventually 120 free_is absent 24:1 25:2 26:4
}

# --- The end

@test "a namespace with pools, claims and subnets in it can be deleted" {
  before=$NS
  export NS=$before-gone
  kubectl create namespace "$NS"
  ready_pool parent 10.0.0.0/16 '{"maxBlockSize": 28}'
  create_pool_claim child parent 20
  phase_becomes subnetpoolclaim child Bound
  create_claim inside "$(field subnetpoolclaim child '{.status.boundPoolName}')" inside '{"blockSize": 24}'
  bound inside
  kubectl delete namespace "$NS" --timeout=180s
}
