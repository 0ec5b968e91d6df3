# Helpers of all tests; each loads them with "load helpers". The cluster is the one in E2E_DIR (build/e2e when not set), as e2e/run left it.
# Tests that need none say NEEDS_CLUSTER=no before.
bats_require_minimum_version 1.5.0

root=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
E2E_DIR=${E2E_DIR:-$root/build/e2e}
if [ "${NEEDS_CLUSTER:-yes}" = yes ]; then
  if [ ! -f "$E2E_DIR/env" ]; then
    printf 'no cluster in %s; start one with: e2e/run --keep\n' "$E2E_DIR" >&2
    exit 1
  fi
  source "$E2E_DIR/env"
fi
source "$root/e2e/lib.sh"

fail() { printf '%s\n' "$*" >&2; return 1; }

# expect TEXT...: the last command's output has each of them.
expect() {
  local text
  for text; do
    [[ $output == *"$text"* ]] || { fail "expected \"$text\" in:"$'\n'"$output"; return 1; }
  done
}

expect_not() { [[ $output != *"$1"* ]] || fail "did not expect \"$1\" in:"$'\n'"$output"; }

# expect_json FILTER VALUE: what jq's FILTER makes of the last output is VALUE.
expect_json() {
  local got
  got=$(jq -r "$1" <<<"$output") || fail "not JSON: $output"
  [ "$got" = "$2" ] || fail "expected $1 to be \"$2\", it is \"$got\" in:"$'\n'"$output"
}

# find_client NAME: sets client to the command of a program of e2e/clients, word by word; where it cannot be had, skips the test and says why. A file that
# gives its tests another HOME keeps the one with the caches in USER_HOME.
find_client() {
  local log=$BATS_TEST_TMPDIR/build.log status=0
  client=$(HOME=${USER_HOME:-$HOME} "$root/e2e/clients/build" "$1" 2>"$log") || status=$?
  if [ "$status" = 77 ]; then
    tail -n 1 "$log" >&3
    skip "$(tail -n 1 "$log")"
  fi
  [ "$status" = 0 ] || fail "$(tail -n 20 "$log")"
}

# delete_all: every object of every system's kinds in the namespace.
delete_all() { eventually 120 delete_kinds; }

# An object that others need is not deleted before them.
delete_kinds() {
  local crd failed=0
  for crd in $(sed -n 's/.*"group":"\([^"]*\)".*"resource":"\([^"]*\)","crd":true.*/\2.\1/p' "$root"/charts/berth/files/systems/*.yaml); do
    if kubectl get crd "$crd" >/dev/null 2>&1; then kubectl delete "$crd" --all -n "$NS" --timeout=5s || failed=1; fi
  done
  return "$failed"
}

# A namespace for the file, NS; its deletion is not waited for.
make_namespace() {
  export NS=e2e-$1-$RANDOM
  kubectl create namespace "$NS"
  eventually 120 kubectl get serviceaccount default -n "$NS"
}
drop_namespace() { kubectl delete namespace "$NS" --wait=false --ignore-not-found; }

# pool NAME CIDR [SPEC_FIELDS]: a SubnetPool's manifest.
pool() {
  jq -n --arg name "$1" --arg namespace "$NS" --arg cidr "$2" --argjson more "${3:-{\}}" \
    '{apiVersion: "plexaubnet.io/v1alpha1", kind: "SubnetPool", metadata: {name: $name, namespace: $namespace}, spec: ({cidr: $cidr} + $more)}'
}

create_pool() { pool "$@" | kubectl create -f - -o json; }

# The API server takes a moment to act on a freshly installed CRD or webhook: true once a bad pool is refused and a good one is defaulted.
webhooks_in_force() {
  pool probe 10.0.0.5/16 | kubectl create --dry-run=server -f - 2>&1 | grep -F spec.cidr &&
    pool probe 10.0.0.0/16 | kubectl create --dry-run=server -f - -o json | jq -e .spec.defaultBlockSize
}

# Tests of the server's own ports need it on loopback.
needs_loopback() {
  if [ "$E2E_CLUSTER" != loopback ]; then skip "$1: only where the server is a process on loopback (E2E_CLUSTER=loopback)"; fi
}

# http ARGUMENT...: curl, then $output is the body and $code the status; $status is curl's own.
http() {
  run curl -sS --max-time 60 --noproxy '*' -w '\n%{http_code}' "$@"
  code=${output##*$'\n'}
  output=${output%$'\n'*}
}

expect_code() { [ "$code" = "$1" ] || fail "expected HTTP $1, got $code (curl: $status):"$'\n'"$output"; }

# direct PATH CURL_ARGUMENT...: a request to the server itself, past the API server.
direct() { http --cacert "$E2E_DIR/berth/ca.crt" "https://127.0.0.1:$E2E_API_PORT$1" "${@:2}"; }

# The administrator's certificate and key, as files client-certificate and client-key of the test.
client_files() {
  local part
  for part in certificate key; do
    kubectl config view --raw -o "jsonpath={.users[0].user.client-$part-data}" | base64 -d >"$BATS_TEST_TMPDIR/client-$part"
  done
}

# through PATH CURL_ARGUMENT...: a request to the API server as the cluster's administrator.
through() {
  client_files
  http --cacert "$E2E_CA" --cert "$BATS_TEST_TMPDIR/client-certificate" --key "$BATS_TEST_TMPDIR/client-key" "$E2E_SERVER$1" "${@:2}"
}

# in_cloud PATH CURL_ARGUMENT...: what others do in the simulated cloud, and what it has.
in_cloud() { curl -fsS --noproxy '*' --cacert "$E2E_DIR/cloud/certs/ca.crt" "https://localhost:$E2E_CLOUD_PORT$1" "${@:2}"; }
ledger() { in_cloud /ledger | jq -r ".$1"; }

# watch_lines SECONDS N COMMAND...: runs COMMAND until it has printed N lines, which are then $output.
watch_lines() {
  local seconds=$1 lines=$2 file=$BATS_TEST_TMPDIR/watch pid reached=0
  shift 2
  "$@" >"$file" 2>&1 3>&- &
  pid=$!
  eventually "$seconds" has_lines "$lines" "$file" || reached=1
  kill "$pid" 2>/dev/null || :
  wait "$pid" 2>/dev/null || :
  output=$(cat "$file")
  [ "$reached" = 0 ] || fail "fewer than $lines lines:"$'\n'"$output"
}
has_lines() { [ "$(wc -l <"$2")" -ge "$1" ]; }
