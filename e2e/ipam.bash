# Helpers of the tests of the subnet IPAM; after "load helpers".

# claim NAME POOL CLUSTER_ID [SPEC_FIELDS], pool_claim NAME PARENT SIZE: manifests.
claim() {
  jq -n --arg name "$1" --arg namespace "$NS" --arg pool "$2" --arg cluster "$3" --argjson more "${4:-{\}}" \
    '{apiVersion: "plexaubnet.io/v1alpha1", kind: "SubnetClaim", metadata: {name: $name, namespace: $namespace}, spec: ({poolRef: $pool, clusterID: $cluster} + $more)}'
}
pool_claim() {
  jq -n --arg name "$1" --arg namespace "$NS" --arg parent "$2" --argjson size "$3" \
    '{apiVersion: "plexaubnet.io/v1alpha1", kind: "SubnetPoolClaim", metadata: {name: $name, namespace: $namespace}, spec: {parentPoolRef: $parent, desiredBlockSize: $size}}'
}

# A pool that Berth knows: what is created next is judged by it.
ready_pool() {
  create_pool "$@"
  reason_becomes subnetpool "$1" Ready
}
create_claim() { claim "$@" | kubectl create -f - -o json; }
create_pool_claim() { pool_claim "$@" | kubectl create -f - -o json; }

# claims N POOL PREFIX SIZE...: N claims, one a line, their sizes in turn.
claims() {
  jq -nc --argjson n "$1" --arg namespace "$NS" --arg pool "$2" --arg prefix "$3" --argjson sizes "[$(IFS=,; printf '%s' "${*:4}")]" \
    'range($n) | {apiVersion: "plexaubnet.io/v1alpha1", kind: "SubnetClaim", metadata: {name: "\($prefix)-\(.)", namespace: $namespace},
                  spec: {poolRef: $pool, clusterID: "\($prefix)-\(.)", blockSize: $sizes[. % ($sizes | length)]}}'
}

# create_many FILE PATH: the objects of the file, one a line, over 16 connections; prints the figures as JSON.
create_many() {
  client_files
  "$root/e2e/create_many.py" --server "$E2E_SERVER" --ca "$E2E_CA" --cert "$BATS_TEST_TMPDIR/client-certificate" --key "$BATS_TEST_TMPDIR/client-key" "$2" "$1"
}

# field KIND NAME JSONPATH, field_is KIND NAME JSONPATH VALUE
field() { kubectl get "$1" "$2" -n "$NS" -o "jsonpath=$3"; }
field_is() {
  local got
  got=$(field "$1" "$2" "$3") || return
  [ "$got" = "$4" ] || fail "$1 $2: $3 is \"$got\", not \"$4\""
}

phase_becomes() { kubectl wait "$1/$2" -n "$NS" --for=jsonpath='{.status.phase}'="$3" --timeout="${4:-120}s"; }
# For claims in the plain case.
bound() { phase_becomes subnetclaim "$1" Bound "${2:-120}"; }
# A claim in Error, or a pool that is not ready, for this reason.
reason_becomes() { eventually 120 field_is "$1" "$2" '{.status.conditions[?(@.type=="Ready")].reason}' "$3"; }
gone() { ! kubectl get "$1" "$2" -n "$NS"; }

# free_is POOL LENGTH:COUNT...: the pool's freeCountBySize is exactly this, under both forms of key.
free_is() {
  local wanted got
  wanted=$(printf '%s\n' "${@:2}" | jq -RSnc '[inputs | split(":") | {(.[0], "/" + .[0]): (.[1] | tonumber)}] | add')
  got=$(kubectl get subnetpool "$1" -n "$NS" -o json | jq -Sc .status.freeCountBySize)
  [ "$got" = "$wanted" ] || fail "freeCountBySize of $1 is $got, not $wanted"
}

# columns RESOURCE NAME...: the header that kubectl prints for it is these, in this order.
columns() {
  local header
  header=$(kubectl get "$1" -n "$NS" "${@:3}" | head -n 1 | xargs)
  [ "$header" = "$2" ] || fail "the columns of $1 are \"$header\", not \"$2\""
}

subnets_of() { kubectl get subnets -n "$NS" -o json | jq -r --arg pool "$1" '.items[].spec | select(.poolRef == $pool) | .cidr'; }
bound_count() { kubectl get subnetclaims -n "$NS" -o json | jq --arg pool "$1" '[.items[] | select(.spec.poolRef == $pool and .status.phase == "Bound")] | length'; }
bound_count_is() { [ "$(bound_count "$1")" = "$2" ] || fail "$(bound_count "$1") claims on $1 are bound, not $2"; }

# consistent POOL N: N claims are bound, N Subnets stand for them, block by block, and no two share an address.
consistent() {
  bound_count_is "$1" "$2"
  [ "$(subnets_of "$1" | "$root/e2e/disjoint.py")" = "$2" ] || fail "not $2 disjoint Subnets of $1"
  diff <(subnets_of "$1" | sort) <(kubectl get subnetclaims -n "$NS" -o json | jq -r --arg pool "$1" '.items[] | select(.spec.poolRef == $pool) | .status.allocatedCIDR' | sort)
}

# While Berth is there to see to the finalizers.
drop_ipam_namespace() {
  kubectl delete subnetclaims -n "$NS" -l 'plexaubnet.io/ipam!=true' --timeout=120s || :
  drop_namespace
}
