# From plexaubnet to Berth and back, on objects as plexaubnet leaves them: all four kinds, in every phase, with their status.
# Berth is taken away for it, CRDs included, and installed again in the end.
load helpers
load ipam

berth=system:serviceaccount:berth-system:berth
kinds=(subnetpools subnets subnetclaims subnetpoolclaims)

setup_file() {
  needs_loopback "the server is stopped and started"
  export BATS_TEST_TIMEOUT=900
  remove_berth
  remove_crds
  plexaubnet_crds | kubectl apply -f -
  for kind in "${kinds[@]}"; do kubectl wait "crd/$kind.plexaubnet.io" --for=condition=Established --timeout=120s; done
  make_namespace takeover
  eventually 120 kubectl get subnetpoolclaims -n "$NS"
  leave_objects
  facts >"$BATS_FILE_TMPDIR/before"
}

teardown_file() {
  [ "$E2E_CLUSTER" = loopback ] || return 0
  drop_finalizers
  drop_namespace
  E2E_HELM_ARGS="--take-ownership --force-conflicts" "$root/e2e/install" "$E2E_DIR"
}

remove_berth() {
  helm uninstall berth -n berth-system --wait --timeout 120s
  "$root/e2e/berth" stop "$E2E_DIR"
}
# As docs/ipam.md has it, for every namespace.
drop_finalizers() {
  local kind
  for kind in "${kinds[@]}"; do
    kubectl get "$kind" -A -o json | jq -r '.items[] | select(.metadata.finalizers // [] | any(. == "ipam.plexaubnet.io/finalizer")) | "\(.metadata.namespace) \(.metadata.name)"' |
      while read -r namespace name; do
        # An object of a namespace that is being deleted may go meanwhile.
        kubectl patch "$kind" "$name" -n "$namespace" --type=json -p '[{"op": "remove", "path": "/metadata/finalizers"}]' ||
          [ -z "$(kubectl get "$kind" "$name" -n "$namespace" --ignore-not-found -o name)" ]
      done
  done
}
remove_crds() {
  drop_finalizers
  kubectl delete crd "${kinds[@]/%/.plexaubnet.io}" --timeout=120s
}

# CRDs with what plexaubnet knows, made of Berth's: without the fields that Berth added, and with plexaubnet's bounds.
plexaubnet_crds() {
  local kind
  for kind in "${kinds[@]}"; do
    kubectl create --dry-run=client -o json -f "$root/charts/berth/files/crds/$kind.yaml"
  done | jq -s '{apiVersion: "v1", kind: "List", items: [.[] | {apiVersion, kind, metadata: {name: .metadata.name}, spec: (.spec
    | .versions[0].schema.openAPIV3Schema.properties |= (
        .spec.properties |= del(.parentRef, .excludedRanges, .reuseGracePeriodSeconds, .preAllocations)
        | del(.spec["x-kubernetes-validations"])
        | if .spec.properties.claimRef then .spec.properties.claimRef = {type: "object", properties: {name: {type: "string"}, uid: {type: "string"}}} else . end
        | .spec.properties |= with_entries(if .key | test("BlockSize$|^blockSize$") then .value = {type: "integer", minimum: 16, maximum: 28} else . end)))}]}'
}

# object KIND NAME SPEC STATUS [OWNER_KIND OWNER_NAME [LABELS]]
object() {
  local owner='[]'
  if [ -n "${5:-}" ]; then
    owner=$(jq -n --arg kind "$5" --arg name "$6" --arg uid "$(kubectl get "$5" "$6" -n "$NS" -o 'jsonpath={.metadata.uid}')" \
      '[{apiVersion: "plexaubnet.io/v1alpha1", kind: $kind, name: $name, uid: $uid, controller: true, blockOwnerDeletion: true}]')
  fi
  jq -n --arg kind "$1" --arg name "$2" --arg ns "$NS" --argjson spec "$3" --argjson owner "$owner" --argjson labels "${7:-{\}}" \
    '{apiVersion: "plexaubnet.io/v1alpha1", kind: $kind, metadata: {name: $name, namespace: $ns, ownerReferences: $owner, labels: $labels}, spec: $spec}' | kubectl create -f -
  [ -z "$4" ] || kubectl patch "$1" "$2" -n "$NS" --subresource=status --type=merge -p "{\"status\": $4}"
}
# A claim that plexaubnet bound: bound_claim NAME POOL CLUSTER SIZE CIDR [OWNER_KIND OWNER_NAME]
bound_claim() {
  object SubnetClaim "$1" "{\"poolRef\": \"$2\", \"clusterID\": \"$3\", \"blockSize\": $4}" "{\"observedGeneration\": 1, \"phase\": \"Bound\", \"allocatedCIDR\": \"$5\",
    \"conditions\": [{\"type\": \"Ready\", \"status\": \"True\", \"reason\": \"Allocated\", \"message\": \"CIDR $5 allocated\", \"observedGeneration\": 1, \"lastTransitionTime\": \"2026-01-01T00:00:00Z\"}]}" "${6:-}" "${7:-}"
  object Subnet "$2-$(tr ./ -- <<<"$5")" "{\"poolRef\": \"$2\", \"cidr\": \"$5\", \"clusterID\": \"$3\",
    \"claimRef\": {\"name\": \"$1\", \"uid\": \"$(field subnetclaim "$1" '{.metadata.uid}')\"}}" '{"phase": "Allocated", "allocatedAt": "2026-01-01T00:00:00Z"}' SubnetClaim "$1"
}
error() { printf '{"observedGeneration": 1, "phase": "Error", "message": "%s", "conditions": [{"type": "Ready", "status": "False", "reason": "Error", "message": "%s", "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}' "$1" "$1"; }

leave_objects() {
  object SubnetPool site '{"cidr": "10.0.0.0/16", "defaultBlockSize": 24, "minBlockSize": 16, "maxBlockSize": 28, "strategy": "Linear"}' \
    '{"allocatedCount": 3, "freeCountBySize": {"24": 253, "/24": 253}, "allocatedCIDRs": {"10.0.0.0/24": "shop"}}'
  bound_claim shop site shop 24 10.0.0.0/24
  object SubnetClaim shop-again '{"poolRef": "site", "clusterID": "shop"}' '{"observedGeneration": 1, "phase": "Bound", "allocatedCIDR": "10.0.0.0/24"}'
  object SubnetClaim taken '{"poolRef": "site", "clusterID": "taken", "requestedCIDR": "10.0.0.0/24"}' "$(error 'requested CIDR 10.0.0.0/24 overlaps with existing allocation 10.0.0.0/24')"
  object SubnetClaim nowhere '{"poolRef": "nowhere", "clusterID": "nowhere"}' "$(error 'Pool nowhere not found')"
  object SubnetClaim retried '{"poolRef": "site", "clusterID": "retried", "blockSize": 24}' "$(error 'Failed to allocate CIDR after 65 retries due to conflicts')"
  object SubnetClaim waiting '{"poolRef": "site", "clusterID": "waiting", "blockSize": 24}' '{"phase": "Pending"}'
  object SubnetClaim new '{"poolRef": "site", "clusterID": "new"}' ''
  object Subnet ghost '{"poolRef": "nowhere", "cidr": "10.7.0.0/24", "clusterID": "ghost", "claimRef": {}}' '{"phase": "Failed"}'
  object Subnet hand '{"poolRef": "site", "cidr": "10.0.7.0/24", "clusterID": "hand", "claimRef": {}}' ''

  object SubnetPoolClaim finance '{"parentPoolRef": "site", "desiredBlockSize": 20}' '{"observedGeneration": 1, "phase": "Bound", "boundPoolName": "finance-bvd2g"}'
  bound_claim finance-x7k2p site "$(field subnetpoolclaim finance '{.metadata.uid}')" 20 10.0.16.0/20 SubnetPoolClaim finance
  object SubnetPool finance-bvd2g '{"cidr": "10.0.16.0/20"}' '{"allocatedCount": 1}' SubnetPoolClaim finance '{"plexaubnet.io/parent": "site", "plexaubnet.io/ipam": "true"}'
  bound_claim till finance-bvd2g till 24 10.0.16.0/24
  object SubnetPoolClaim branch '{"parentPoolRef": "site", "desiredBlockSize": 20}' ''
  object SubnetPoolClaim halfway '{"parentPoolRef": "site", "desiredBlockSize": 20}' '{"phase": "Pending"}'
  bound_claim halfway-q8w4z site "$(field subnetpoolclaim halfway '{.metadata.uid}')" 20 10.0.32.0/20 SubnetPoolClaim halfway
  object SubnetPoolClaim huge '{"parentPoolRef": "site", "desiredBlockSize": 16}' '{"observedGeneration": 1, "phase": "Error", "message": "pool exhausted"}'
}

# Facts that must not change: a line for each object with its identity, spec and owners, and one with what its users go by if it is bound.
facts() {
  local kind
  for kind in "${kinds[@]}"; do
    kubectl get "$kind" -n "$NS" -o json | jq -c '.items[] | {kind, name: .metadata.name} + ({uid: .metadata.uid, spec, owners: .metadata.ownerReferences, labels: .metadata.labels},
      (select(.status.phase == "Bound" or .status.phase == "Allocated") | {status: (.status | {phase, allocatedCIDR, boundPoolName, allocatedAt})}))'
  done
}
# Every line of the facts before is there; shop-again, whose block was another claim's, is let off.
nothing_moved() {
  run comm -23 <(grep -v '"name":"shop-again"' "$BATS_FILE_TMPDIR/before" | sort) <(facts | sort)
  [ -z "$output" ] || fail "changed or gone:"$'\n'"$output"
}
# written FILTER: Berth's writes in the namespace, each as "VERB RESOURCE[/SUBRESOURCE] NAME".
written() {
  jq -nr --arg ns "$NS" --arg berth "$berth" '[inputs | select(.stage == "ResponseComplete" and .user.username == $berth and .objectRef.namespace == $ns and .responseStatus.code < 300)
    | "\(.verb) \([.objectRef.resource, .objectRef.subresource // empty] | join("/")) \(.objectRef.name)"] | .[]' "$E2E_DIR/logs/audit.log"
}
times() { written | grep -cxF "$1" || :; }

# Every object with its version, and the writes that the API server has noted.
state() {
  kubectl get "$(IFS=,; printf '%s' "${kinds[*]}")" -A -o json | jq -c '.items[].metadata | [.namespace, .name, .resourceVersion]'
  jq -nr --arg ns "$NS" '[inputs | select(.stage == "ResponseComplete" and .objectRef.namespace == $ns)] | length' "$E2E_DIR/logs/audit.log"
}

@test "preflight tells what would behave otherwise, and writes nothing" {
  state >"$BATS_TEST_TMPDIR/before"
  run --separate-stderr "${BERTH_BIN:-$root/build/release/server/berth}" preflight
  [ "$status" = 1 ] || fail "$status: $output $stderr"
  diff <(cut -d: -f1 <<<"$output" | sort) <(printf '%s\n' "Subnet $NS/ghost" "SubnetClaim $NS/nowhere" "SubnetClaim $NS/shop-again" "SubnetClaim $NS/taken" "SubnetPoolClaim $NS/huge")
  expect "SubnetClaim $NS/shop-again: is in Error (ClusterIDConflict) and loses 10.0.0.0/24, which no Subnet of its own has: cluster shop holds 10.0.0.0/24"
  expect "SubnetClaim $NS/taken: is in Error (RequestedCIDRTaken)" "SubnetClaim $NS/nowhere: is in Error (PoolNotFound)" "Subnet $NS/ghost: becomes Pending"
  state | diff "$BATS_TEST_TMPDIR/before" -
}

@test "preflight says why it cannot look" {
  run "${BERTH_BIN:-$root/build/release/server/berth}" preflight --kubeconfig "$BATS_TEST_TMPDIR/none"
  [ "$status" = 2 ]
  expect "cannot look: " "$BATS_TEST_TMPDIR/none"
}

@test "the chart takes CRDs over that were applied with kubectl" {
  run helm install berth "$root/charts/berth" -n berth-system --create-namespace --dry-run=server
  [ "$status" != 0 ]
  expect 'cannot be imported into the current release'
  E2E_HELM_ARGS="--take-ownership --force-conflicts" "$root/e2e/install" "$E2E_DIR"
  run kubectl get crd subnetpools.plexaubnet.io -o 'jsonpath={.metadata.labels.app\.kubernetes\.io/managed-by} {.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.parentRef.type}'
  [ "$output" = "Helm string" ]
}

@test "nothing that plexaubnet bound moves, and what waited goes on" {
  reason_becomes subnetpoolclaim finance Bound
  for claim in waiting new retried; do bound "$claim"; done
  phase_becomes subnetpoolclaim branch Bound
  phase_becomes subnetpoolclaim halfway Bound
  eventually 60 field_is subnetpool "$(field subnetpoolclaim halfway '{.status.boundPoolName}')" '{.spec.cidr}' 10.0.32.0/20
  phase_becomes subnet hand Allocated
  reason_becomes subnetclaim taken RequestedCIDRTaken
  reason_becomes subnetclaim nowhere PoolNotFound
  reason_becomes subnetclaim shop-again ClusterIDConflict
  phase_becomes subnet ghost Pending
  reason_becomes subnetpoolclaim huge InvalidRequest
  eventually 60 field_is subnetpool site '{.status.allocatedCount}' 8
  nothing_moved
  subnets_of site | "$root/e2e/disjoint.py"
}

@test "nothing is written but what is new" {
  run written
  expect_not delete
  # A block that is allocated is left alone; a bound claim is told once.
  for subnet in site-10-0-0-0-24 site-10-0-16-0-20 finance-bvd2g-10-0-16-0-24; do expect_not " $subnet"; done
  for claim in shop till finance-x7k2p; do [ "$(times "patch subnetclaims/status $claim")" -le 1 ]; expect_not "patch subnetclaims $claim"; done
  [ "$(times 'patch subnetpoolclaims finance')" -le 1 ]
  [ "$(times 'patch subnetpoolclaims/status finance')" -le 1 ]
  [ "$(grep -c '^create subnetpools' <<<"$output")" = 2 ]
  [ "$(grep -c '^create subnetclaims' <<<"$output")" = 1 ]
}

@test "a pool that is in use through its pool claim is not given up" {
  run kubectl delete subnetpoolclaim finance -n "$NS" --timeout=10s
  [ "$status" != 0 ]
  expect finance-bvd2g
  nothing_moved
}

@test "back to plexaubnet: everything is where it was, and can be deleted" {
  remove_berth
  drop_finalizers
  plexaubnet_crds | kubectl apply -f -
  nothing_moved
  # plexaubnet leaves alone what is Bound and observed.
  run kubectl get subnetclaims,subnetpoolclaims -n "$NS" -o json
  expect_json '[.items[] | select(.status.phase == "Bound" and .status.observedGeneration != .metadata.generation)] | length' 0
  kubectl delete subnetclaim shop till -n "$NS" --timeout=60s
  eventually 60 gone subnet site-10-0-0-0-24
  kubectl delete subnetpoolclaim finance -n "$NS" --timeout=60s
  eventually 60 gone subnetpool finance-bvd2g
}
