# Helpers of the tests in which Alibaba Cloud's SDKs call `berth simulate-cloud`; after "load helpers".

# start_cloud ARGUMENT...: of berth simulate-cloud.
start_cloud() {
  export CLOUD=$BATS_FILE_TMPDIR/cloud
  spawn "$CLOUD" cloud "${BERTH_BIN:-$root/build/release/server/berth}" simulate-cloud --port 0 --state-dir "$CLOUD/state" \
    --latency 1ms --until-visible 0ms "$@"
  await "$CLOUD" cloud 120 grep -q 'curl --cacert' "$CLOUD/logs/cloud.log"
  SDK_ENDPOINT=$(grep -oE 'localhost:[0-9]+' "$CLOUD/logs/cloud.log" | head -n 1)
  export SDK_ENDPOINT SDK_REGION=cn-hangzhou NO_PROXY=localhost
  export SDK_KEY_ID=$(cat "$CLOUD/state/credentials/accessKeyID") SDK_KEY_SECRET=$(cat "$CLOUD/state/credentials/accessKeySecret")
  export SSL_CERT_FILE=$CLOUD/state/certs/ca.crt
}

stop_cloud() {
  stop "$CLOUD" cloud
  [ "$(cat "$CLOUD/run/cloud.exit")" = 0 ]
}

# programs LANGUAGE: sets $programs to the folder with the SDK's programs, or skips the test.
programs() {
  local status=0
  # Downloads do not go to the simulated cloud.
  programs=$(unset SSL_CERT_FILE; "$root/e2e/sdk/build" "$1" | tail -n 1; exit "${PIPESTATUS[0]}") || status=$?
  if [ "$status" = 77 ]; then
    printf '# SKIPPED: the SDKs for %s cannot be had here\n' "$1" >&3
    skip "the SDKs for $1 cannot be had here"
  fi
  [ "$status" = 0 ]
}

# in_cloud PATH CURL_ARGUMENT...: what others do in the cloud.
in_cloud() { curl -fsS --noproxy '*' --cacert "$SSL_CERT_FILE" "https://$SDK_ENDPOINT$1" "${@:2}"; }

# sdk ACTION PARAMETERS: a call of the SDK that the test has started; $output is the answer.
sdk() {
  printf '%s %s\n' "$1" "$2" >&"${SDK[1]}"
  read -r -t 60 -u "${SDK[0]}" output || fail "no answer to $1"
}
# EFLO has a Code in every answer: 0 when the call was carried out.
does() { sdk "$@" && expect_json '.Code // 0 | if . == 0 then "OK" else . end' OK; }
refuses() { sdk "$2" "$3" && expect_json .Code "$1"; }
value() { jq -r "$1" <<<"$output"; }

# start_sdk COMMAND...: the program that the calls are for.
start_sdk() {
  coproc SDK { "$@" 3>&-; }
  sdk_process=$SDK_PID
}
# The program ends with its input. bash forgets SDK_PID when it has ended, not its status.
end_sdk() {
  eval "exec ${SDK[1]}>&-"
  wait "$sdk_process"
}
