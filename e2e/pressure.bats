# Clients that take all the memory they can get: the server stays below 200 MiB, answers others meanwhile, and gives the memory back.
load helpers

setup() { needs_loopback "the server's own ports and process"; }

# endures ATTACK: how the server fares under one of e2e/pressure.py.
endures() {
  run "$root/e2e/pressure.py" "$1" "$(cat "$E2E_DIR/run/berth.pid")" "$E2E_DIR/berth/ca.crt" "$E2E_WEBHOOK_PORT" "$E2E_METRICS_PORT"
  [ "$status" = 0 ] || fail "$output"
  echo "# $1: $output" >&3
  jq -e '.peak < 200 and .after < 100 and .codes == [200]' <<<"$output" || fail "$output"
  running "$E2E_DIR" berth
}

@test "60 clients that post 6.9 MiB each and do not read are endured" { endures cidr; }

@test "30 clients that ask for metrics without end and do not read are endured" { endures metrics; }

@test "8 clients that post millions of numbers are endured" { endures numbers; }
