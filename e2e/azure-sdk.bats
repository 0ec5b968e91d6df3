# `berth simulate-azure`, seen by Azure's own SDK for Go: a public IP, a load balancer, a NAT gateway and a service gateway's services and locations
# through their whole life. Needs no cluster.
NEEDS_CLUSTER=no
load helpers
load sdk

setup_file() {
  export CLOUD=$BATS_FILE_TMPDIR/azure NO_PROXY=localhost
  spawn "$CLOUD" cloud "${BERTH_BIN:-$root/build/release/server/berth}" simulate-azure --port 0 --console-port 0 --state-dir "$CLOUD/state" \
    --latency 1ms --operation 300ms --page 2
  await "$CLOUD" cloud 120 grep -q 'curl --cacert' "$CLOUD/logs/cloud.log"
  export SSL_CERT_FILE=$CLOUD/state/certs/ca.crt
  SDK_ENDPOINT=$(grep -oE 'localhost:[0-9]+/state' "$CLOUD/logs/cloud.log" | cut -d/ -f1)
  export SDK_ENDPOINT
}
teardown_file() { stop_cloud; }

# Its console is what in_cloud of sdk.bash asks.
@test "armnetwork for Go: the life of all resources" {
  programs azure
  run "$programs/azure" "$CLOUD/state/cloud-config.json"
  echo "$output"
  [ "$status" = 0 ]
  output=$(in_cloud /ledger)
  expect_json '.resources.publicIPAddresses | "\(.created) \(.deleted)"' '3 3'
  expect_json '.resources.loadBalancers | "\(.created) \(.deleted)"' '1 1'
  expect_json '[.throttled[]] | add' 0
  output=$(in_cloud /state)
  expect_json '[.publicIPAddresses, .loadBalancers, .natGateways, .addressLocations | length] | add' 0
  expect_json '[.services[].name] | join(" ")' default-natgw
}

@test "armnetwork for Go: a fault of the console is an error of its code" {
  programs azure
  in_cloud /faults -X PUT -d '[{"action": "PutPublicIPAddress", "lro-failed": "QuotaExceeded"}]'
  run "$programs/azure" "$CLOUD/state/cloud-config.json"
  [ "$status" = 1 ]
  [[ "$output" == *QuotaExceeded* ]]
  in_cloud /resources/publicIPAddresses/u1-pip -X DELETE
}
