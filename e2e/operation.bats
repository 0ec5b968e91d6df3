# Operators rely on these: health, metrics, a clean end and a clean start.
load helpers

setup() { needs_loopback "the server's own ports and process"; }

# Whatever a test did, the next one finds a server.
teardown_file() {
  if [ "$E2E_CLUSTER" = loopback ] && ! running "$E2E_DIR" berth; then "$root/e2e/berth" start "$E2E_DIR"; fi
}

has_metric() { curl -fsS --noproxy '*' "http://127.0.0.1:$E2E_METRICS_PORT/metrics" | grep "^$1"; }

@test "it is alive and ready" {
  for probe in livez readyz; do
    http "http://127.0.0.1:$E2E_HEALTH_PORT/$probe"
    expect_code 200
  done
}

@test "metrics count the admission reviews" {
  NS=default
  kubectl create --dry-run=server -f <(pool counted 10.0.0.0/16)
  eventually 120 has_metric berth_admission_reviews_total
}

@test "SIGTERM ends it with 0, and a start brings the API and the webhooks back" {
  NS=default
  "$root/e2e/berth" stop "$E2E_DIR"
  eventually 120 test -f "$E2E_DIR/run/berth.exit"
  [ "$(cat "$E2E_DIR/run/berth.exit")" = 0 ]
  "$root/e2e/berth" start "$E2E_DIR"
  kubectl wait apiservice/v1alpha1.live.berth.dev --for=condition=Available --timeout=120s
  eventually 120 kubectl get workqueues housekeeping
  eventually 120 webhooks_in_force
}

@test "an open watch does not hold up the end" {
  kubectl get workqueues -w >"$BATS_TEST_TMPDIR/watch" 2>&1 3>&- &
  watcher=$!
  eventually 120 grep -q housekeeping "$BATS_TEST_TMPDIR/watch"
  "$root/e2e/berth" stop "$E2E_DIR"
  eventually 120 test -f "$E2E_DIR/run/berth.exit"
  [ "$(cat "$E2E_DIR/run/berth.exit")" = 0 ]
  kill "$watcher" 2>/dev/null || :
  wait "$watcher" || :
  "$root/e2e/berth" start "$E2E_DIR"
  eventually 120 kubectl get workqueues housekeeping
}
