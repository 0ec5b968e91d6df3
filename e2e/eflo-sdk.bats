# `berth simulate-cloud`, seen by Alibaba Cloud's own SDK of EFLO: a network interface of a Lingjun node through its whole life. Needs no cluster.
NEEDS_CLUSTER=no
load helpers
load sdk

setup_file() { start_cloud --attaching 300ms --background 300ms; }
teardown_file() { stop_cloud; }

# listed FILTERS EXPRESSION VALUE: of the page of ENIs that is found.
listed() { does ListElasticNetworkInterfaces "$1" && expect_json ".Content | $2" "$3"; }
status_is() { listed "{\"ElasticNetworkInterfaceId\": \"$1\"}" '.Data[0].Status // "gone"' "$2"; }
address_is() { does ListLeniPrivateIpAddresses "{\"IpName\": \"$1\"}" && expect_json '.Content.Data[0].Status // "gone"' "$2"; }
# becomes CHECK ARGUMENT...: within a minute. A program that is spoken to does not hear a subshell, as of "eventually".
becomes() {
  local deadline=$((SECONDS + 60))
  until "$@" 2>/dev/null; do
    if ((SECONDS >= deadline)); then "$@"; return 1; fi
    sleep 0.1
  done
}

# life COMMAND...: an ENI's, called with the SDK of that program.
life() {
  local batch=life-$RANDOM$RANDOM vswitch=vsw-$RANDOM id other name
  in_cloud /vswitches -X POST -d "{\"vSwitchID\": \"$vswitch\", \"vpcID\": \"vpc-1\", \"zoneID\": \"cn-hangzhou-h\", \"cidr\": \"10.8.0.0/24\"}"
  in_cloud /instances -X POST -d "{\"backend\": \"EFLO\", \"instanceID\": \"e01-$batch\", \"vSwitchID\": \"$vswitch\", \"adapters\": 2, \"ipv4PerAdapter\": 2}"
  start_sdk "$@"

  # One token, one ENI. Its node has it from the start.
  local place="\"ZoneId\": \"cn-hangzhou-h\", \"VpcId\": \"vpc-1\", \"VSwitchId\": \"$vswitch\", \"SecurityGroupId\": \"sg-1\""
  local wanted="{\"NodeId\": \"e01-$batch\", $place, \"Tag\": [{\"Key\": \"batch\", \"Value\": \"$batch\"}], \"ClientToken\": \"$batch\"}"
  does CreateElasticNetworkInterface "$wanted"
  expect_json .Content.NodeId "e01-$batch"
  id=$(value .Content.ElasticNetworkInterfaceId)
  does CreateElasticNetworkInterface "$wanted"
  expect_json .Content.ElasticNetworkInterfaceId "$id"
  becomes status_is "$id" Available
  refuses 1011 CreateElasticNetworkInterface "{\"NodeId\": \"e01-x\", $place}"
  refuses InvalidVSwitchId.NotFound CreateElasticNetworkInterface "{\"NodeId\": \"e01-$batch\", ${place/"$vswitch"/vsw-x}}"

  # Lists: by tag, by node with its own ENI, by pages.
  listed "{\"Tag\": [{\"Key\": \"batch\", \"Value\": \"$batch\"}]}" \
    '.Data[0] | "\(.ElasticNetworkInterfaceId) \(.Type) \(.NodeId) \(.SecurityGroupId) \(.Tags[0].TagValue)"' "$id CUSTOM e01-$batch sg-1 $batch"
  listed "{\"NodeId\": \"e01-$batch\"}" .Total 2
  listed "{\"NodeId\": \"e01-$batch\", \"Type\": \"DEFAULT\"}" .Total 1
  listed "{\"NodeId\": \"e01-$batch\", \"PageSize\": 1, \"PageNumber\": 2}" '"\(.Total) \(.Data | length)"' '2 1'

  # Addresses, one by one, until the quota is used up.
  does AssignLeniPrivateIpAddress "{\"ElasticNetworkInterfaceId\": \"$id\", \"ClientToken\": \"ip-$batch\"}"
  name=$(value .Content.IpName)
  does AssignLeniPrivateIpAddress "{\"ElasticNetworkInterfaceId\": \"$id\", \"ClientToken\": \"ip-$batch\"}"
  expect_json .Content.IpName "$name"
  becomes address_is "$name" Available
  refuses 1013 AssignLeniPrivateIpAddress "{\"ElasticNetworkInterfaceId\": \"$id\"}"
  does GetElasticNetworkInterface "{\"ElasticNetworkInterfaceId\": \"$id\"}"
  expect_json '.Content.PrivateIpAddresses[0].IpName' "$name"
  does UnassignLeniPrivateIpAddress "{\"ElasticNetworkInterfaceId\": \"$id\", \"IpName\": \"$name\"}"
  becomes address_is "$name" gone
  refuses 1011 UnassignLeniPrivateIpAddress "{\"ElasticNetworkInterfaceId\": \"$id\", \"IpName\": \"$name\"}"

  # Off its node and on again. Another one, which is never finished, makes the node full.
  refuses 1017 DeleteElasticNetworkInterface "{\"ElasticNetworkInterfaceId\": \"$id\"}"
  does DetachElasticNetworkInterface "{\"ElasticNetworkInterfaceId\": \"$id\", \"NodeId\": \"e01-$batch\"}"
  becomes status_is "$id" Unattached
  refuses 1011 DetachElasticNetworkInterface "{\"ElasticNetworkInterfaceId\": \"$id\", \"NodeId\": \"e01-$batch\"}"
  does AttachElasticNetworkInterface "{\"ElasticNetworkInterfaceId\": \"$id\", \"NodeId\": \"e01-$batch\"}"
  becomes status_is "$id" Available
  in_cloud /faults -X PUT -d '[{"action": "CreateElasticNetworkInterface", "sticks": true}]'
  does CreateElasticNetworkInterface "{\"NodeId\": \"e01-$batch\", $place}"
  other=$(value .Content.ElasticNetworkInterfaceId)
  status_is "$other" Executing
  refuses 1017 DetachElasticNetworkInterface "{\"ElasticNetworkInterfaceId\": \"$other\", \"NodeId\": \"e01-$batch\"}"
  refuses EniPerInstanceLimitExceeded CreateElasticNetworkInterface "{\"NodeId\": \"e01-$batch\", $place}"

  # Faults that the console asks for.
  in_cloud /faults -X PUT -d '[{"action": "DetachElasticNetworkInterface", "code": "Throttling.User"}, {"action": "AttachElasticNetworkInterface", "falls-back": true}]'
  refuses Throttling.User DetachElasticNetworkInterface "{\"ElasticNetworkInterfaceId\": \"$id\", \"NodeId\": \"e01-$batch\"}"

  # Its end.
  does DetachElasticNetworkInterface "{\"ElasticNetworkInterfaceId\": \"$id\", \"NodeId\": \"e01-$batch\"}"
  becomes status_is "$id" Unattached
  does AttachElasticNetworkInterface "{\"ElasticNetworkInterfaceId\": \"$id\", \"NodeId\": \"e01-$batch\"}"
  becomes status_is "$id" Unattached
  does DeleteElasticNetworkInterface "{\"ElasticNetworkInterfaceId\": \"$id\"}"
  becomes status_is "$id" gone
  refuses 1011 DeleteElasticNetworkInterface "{\"ElasticNetworkInterfaceId\": \"$id\"}"
  in_cloud "/enis/$other" -X DELETE
  in_cloud "/instances/e01-$batch" -X DELETE
  end_sdk
  [ "$(in_cloud /enis | jq length)" = 0 ]
}

@test "eflo20220530 for Python, which signs with ACS3" {
  programs python
  SDK_PRODUCT=eflo20220530 life "$programs/bin/python" "$root/e2e/sdk/python/calls.py"
}

@test "eflo20220530 for Python, told to sign with V1" {
  programs python
  SDK_PRODUCT=eflo20220530 SDK_SIGNATURE=v2 life "$programs/bin/python" "$root/e2e/sdk/python/calls.py"
}
