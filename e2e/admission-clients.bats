# Webhooks that only the API server may call: it shows a certificate because its AdmissionConfiguration says so (e2e/cluster), and Berth insists on one.
load helpers

setup_file() {
  needs_loopback "the server is started with other options"
  make_namespace clients
  "$root/e2e/berth" stop "$E2E_DIR"
  E2E_BERTH_ARGS="--webhook-client-ca-file $E2E_PKI/webhook-client-ca.crt --webhook-client-names kube-apiserver" "$root/e2e/berth" start "$E2E_DIR"
}
teardown_file() {
  [ "$E2E_CLUSTER" = loopback ] || return 0
  "$root/e2e/berth" stop "$E2E_DIR"
  "$root/e2e/berth" start "$E2E_DIR"
  drop_namespace
}

# post CURL_ARGUMENT...: an empty review, to the webhook port itself.
post() {
  http --cacert "$E2E_DIR/berth/ca.crt" "https://127.0.0.1:$E2E_WEBHOOK_PORT/validate/plexaubnet.io/subnetpools" -H 'Content-Type: application/json' -d '{}' "$@"
}

@test "the API server is served" {
  eventually 120 webhooks_in_force
}

@test "nobody is served without a certificate, or with one of another CA" {
  post
  [ "$status" != 0 ]
  post --cert "$E2E_PKI/stranger.crt" --key "$E2E_PKI/stranger.key"
  [ "$status" != 0 ]
  post --cert "$E2E_PKI/front-proxy-client.crt" --key "$E2E_PKI/front-proxy-client.key"
  [ "$status" != 0 ]
  # The right certificate is let in; an empty review is then refused for what it is.
  post --cert "$E2E_PKI/webhook-client.crt" --key "$E2E_PKI/webhook-client.key"
  expect_code 400
}
