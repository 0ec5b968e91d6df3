# A thousand claims at once: all are bound, no block is given twice, and the API server is not written to more than needs be. Figures are printed,
# not judged: they say more about the machine than about Berth. What is judged is counted in the API server's audit log.
load helpers
load ipam

N=1000
berth=system:serviceaccount:berth-system:berth

setup_file() {
  export BATS_TEST_TIMEOUT=900
  make_namespace load
  eventually 120 webhooks_in_force
}

teardown_file() {
  kubectl delete crd bareclaims.e2e.berth.dev --ignore-not-found --timeout=120s
  drop_ipam_namespace
}

setup() { needs_loopback "the API server's audit log"; }

print() { printf '# %s\n' "$*" >&3; }

# audited FILTER: what jq's FILTER makes of the list of writes in this namespace, each as {who, verb, what, at, done} with times in seconds.
audited() {
  jq -n --arg ns "$NS" --arg berth "$berth" '
    def seconds: capture("^(?<whole>[^.Z]+)(\\.(?<fraction>[0-9]+))?Z$") | ("\(.whole)Z" | fromdate) + ("0.\(.fraction // "0")" | tonumber);
    [inputs | select(.stage == "ResponseComplete" and .objectRef.namespace == $ns)
      | {who: .user.username, verb, what: ([.objectRef.resource, .objectRef.subresource // empty] | join("/")),
         at: (.requestReceivedTimestamp | seconds), done: (.stageTimestamp | seconds)}] | '"$1" "$E2E_DIR/logs/audit.log"
}

@test "bare creates, of a kind with the same schema that nobody watches over" {
  kubectl get crd subnetclaims.plexaubnet.io -o json |
    jq '{apiVersion, kind, metadata: {name: "bareclaims.e2e.berth.dev"},
         spec: (.spec | {scope, versions} + {group: "e2e.berth.dev", names: {kind: "BareClaim", listKind: "BareClaimList", plural: "bareclaims", singular: "bareclaim"}})}' |
    kubectl create -f -
  kubectl wait crd/bareclaims.e2e.berth.dev --for=condition=Established --timeout=120s
  eventually 120 kubectl get bareclaims -n "$NS"
  claims "$N" load bare 24 25 26 27 28 | jq -c '.apiVersion = "e2e.berth.dev/v1alpha1" | .kind = "BareClaim"' >"$BATS_TEST_TMPDIR/bare"
  create_many "$BATS_TEST_TMPDIR/bare" "/apis/e2e.berth.dev/v1alpha1/namespaces/$NS/bareclaims" >"$BATS_FILE_TMPDIR/bare"
  print "bare creates: $(cat "$BATS_FILE_TMPDIR/bare")"
}

@test "a thousand claims of mixed sizes are bound, each to a block of its own" {
  ready_pool load 10.0.0.0/8 '{"maxBlockSize": 28}'
  claims "$N" load load 24 25 26 27 28 >"$BATS_TEST_TMPDIR/claims"
  create_many "$BATS_TEST_TMPDIR/claims" "/apis/plexaubnet.io/v1alpha1/namespaces/$NS/subnetclaims" >"$BATS_FILE_TMPDIR/claims"
  # The pool first: one small object to ask for, and its count is the last to be right.
  eventually 600 field_is subnetpool load '{.status.allocatedCount}' "$N"
  eventually 120 bound_count_is load "$N"
  consistent load "$N"
  audited '([.[] | select(.what == "subnetclaims" and .verb == "create") | .at] | min) as $first
           | ([.[] | select(.what == "subnetclaims/status" and .who == $berth) | .done] | max) as $last | $last - $first' >"$BATS_FILE_TMPDIR/seconds"
  audited '[.[] | select((.what == "subnetclaims" and .verb == "create") or .who == $berth)] | length' >"$BATS_FILE_TMPDIR/writes"
  jq -nr --slurpfile bare "$BATS_FILE_TMPDIR/bare" --slurpfile claims "$BATS_FILE_TMPDIR/claims" --slurpfile seconds "$BATS_FILE_TMPDIR/seconds" \
    --slurpfile writes "$BATS_FILE_TMPDIR/writes" --argjson n "$N" '
    def round1: . * 10 | round / 10;
    "writes of all kinds until all were bound: \($writes[0]), \($writes[0] / $seconds[0] | round1) a second, \(100 * $writes[0] / $seconds[0] / $bare[0].perSecond | round1) % of the rate of bare creates",
    "claims created: \($claims[0].perSecond) a second",
    "claims created and bound: \($n / $seconds[0] | round1) a second (\($seconds[0] | round1) s)",
    "of the rate of bare creates (\($bare[0].perSecond) a second): created \(100 * $claims[0].perSecond / $bare[0].perSecond | round1) %, bound \(100 * $n / $seconds[0] / $bare[0].perSecond | round1) %"' |
    while read -r line; do print "$line"; done
}

@test "a claim costs at most four writes, and a thousand of them ten of the pool's status" {
  output=$(audited '[.[] | select(.who == $berth)]
    | {each: (group_by(.what) | map({key: .[0].what, value: length}) | from_entries), pool: (map(select(.what == "subnetpools/status")) | length),
       claims: (map(select(.what | test("^(subnets|subnetclaims)(/|$)"))) | length)}')
  print "writes by Berth for $N claims: $(jq -c .each <<<"$output")"
  expect_json ".claims <= 4 * $N" true
  expect_json '.pool <= 10' true
  # Counted at all: a log that says nothing would pass.
  expect_json ".claims >= $N" true
}

@test "when all are deleted the pool is as it was" {
  through "/apis/plexaubnet.io/v1alpha1/namespaces/$NS/subnetclaims" --max-time 300 -X DELETE
  expect_code 200
  eventually 600 field_is subnetpool load '{.status.allocatedCount}' 0
  eventually 120 free_is load 8:1 9:2 10:4 11:8 12:16 13:32 14:64 15:128 16:256 17:512 18:1024 19:2048 20:4096 21:8192 22:16384 23:32768 24:65536 \
    25:131072 26:262144 27:524288 28:1048576
  [ "$(kubectl get subnets -n "$NS" -o name | wc -l)" = 0 ]
}
