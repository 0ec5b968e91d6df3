# `berth simulate-cloud`, seen by Alibaba Cloud's own SDK of ECS: an elastic network interface through its whole life. Needs no cluster.
NEEDS_CLUSTER=no
load helpers
load sdk

setup_file() { start_cloud --attaching 300ms --background 300ms; }
teardown_file() { stop_cloud; }

# described FILTERS EXPRESSION VALUE: of the ENIs that are found.
described() { does DescribeNetworkInterfaces "$1" && expect_json "[.NetworkInterfaceSets.NetworkInterfaceSet[]?] | $2" "$3"; }
status_is() { described "{\"NetworkInterfaceId\": [\"$1\"]}" '.[0].Status // "gone"' "$2"; }
# becomes ID STATUS: within a minute. A program that is spoken to does not hear a subshell, as of "eventually".
becomes() {
  local deadline=$((SECONDS + 60))
  until status_is "$@" 2>/dev/null; do
    if ((SECONDS >= deadline)); then status_is "$@"; return 1; fi
    sleep 0.1
  done
}

# life COMMAND...: an ENI's, called with the SDK of that program.
life() {
  local batch=life-$RANDOM$RANDOM vswitch=vsw-$RANDOM id other ips
  in_cloud /vswitches -X POST -d "{\"vSwitchID\": \"$vswitch\", \"cidr\": \"10.7.0.0/24\", \"ipv6CIDR\": \"fd00:7::/64\"}"
  in_cloud /instances -X POST -d "{\"instanceID\": \"i-$batch\", \"vSwitchID\": \"$vswitch\", \"adapters\": 2, \"ipv4PerAdapter\": 5}"
  start_sdk "$@"

  # One token, one ENI.
  local wanted="{\"VSwitchId\": \"$vswitch\", \"SecurityGroupIds\": [\"sg-1\", \"sg-2\"], \"SecondaryPrivateIpAddressCount\": 2, \"Ipv6AddressCount\": 1,
    \"SourceDestCheck\": false, \"Tag\": [{\"Key\": \"batch\", \"Value\": \"$batch\"}], \"ClientToken\": \"$batch\"}"
  wanted=${wanted//$'\n'/}
  does CreateNetworkInterface "$wanted"
  id=$(value .NetworkInterfaceId)
  expect_json '"\(.Status) \(.Type) \(.PrivateIpSets.PrivateIpSet | length) \(.Ipv6Sets.Ipv6Set | length) \(.SecurityGroupIds.SecurityGroupId[1])"' \
    'Available Secondary 3 1 sg-2'
  does CreateNetworkInterface "$wanted"
  expect_json .NetworkInterfaceId "$id"
  refuses InvalidVSwitchId.NotFound CreateNetworkInterface '{"VSwitchId": "vsw-x", "SecurityGroupId": "sg-1"}'

  # Lists: by tag, by instance with its primary ENI, by pages.
  described "{\"Tag\": [{\"Key\": \"batch\", \"Value\": \"$batch\"}]}" '.[0] | "\(.NetworkInterfaceId) \(.Tags.Tag[0].TagValue) \(.CreationTime | length)"' "$id $batch 20"
  described "{\"InstanceId\": \"i-$batch\"}" '.[0] | "\(.Type) \(.Attachment.InstanceId)"' "Primary i-$batch"
  described "{\"VSwitchId\": \"$vswitch\", \"MaxResults\": 1}" length 1
  described "{\"VSwitchId\": \"$vswitch\", \"MaxResults\": 1, \"NextToken\": \"$(value .NextToken)\"}" length 1
  expect_json .TotalCount 2
  does DescribeInstances "{\"InstanceIds\": \"[\\\"i-$batch\\\"]\"}"
  expect_json '.Instances.Instance[0].InstanceId' "i-$batch"

  # Attaching takes its time; then the instance is full.
  refuses InvalidOperation.InvalidEniState DetachNetworkInterface "{\"NetworkInterfaceId\": \"$id\", \"InstanceId\": \"i-$batch\"}"
  does AttachNetworkInterface "{\"NetworkInterfaceId\": \"$id\", \"InstanceId\": \"i-$batch\"}"
  refuses InvalidOperation.InvalidEniState DeleteNetworkInterface "{\"NetworkInterfaceId\": \"$id\"}"
  becomes "$id" InUse
  described "{\"NetworkInterfaceId\": [\"$id\"]}" '.[0].InstanceId' "i-$batch"
  does CreateNetworkInterface "{\"VSwitchId\": \"$vswitch\", \"SecurityGroupId\": \"sg-1\"}"
  other=$(value .NetworkInterfaceId)
  refuses EniPerInstanceLimitExceeded AttachNetworkInterface "{\"NetworkInterfaceId\": \"$other\", \"InstanceId\": \"i-$batch\"}"

  # Addresses and prefixes.
  does AssignPrivateIpAddresses "{\"NetworkInterfaceId\": \"$id\", \"SecondaryPrivateIpAddressCount\": 2, \"ClientToken\": \"ip-$batch\"}"
  ips=$(value '.AssignedPrivateIpAddressesSet.PrivateIpSet.PrivateIpAddress | tojson')
  [ "$(jq length <<<"$ips")" = 2 ]
  refuses InvalidOperation.Ipv4CountExceeded AssignPrivateIpAddresses "{\"NetworkInterfaceId\": \"$id\", \"SecondaryPrivateIpAddressCount\": 1}"
  does UnassignPrivateIpAddresses "{\"NetworkInterfaceId\": \"$id\", \"PrivateIpAddress\": $ips}"
  refuses InvalidIp.IpUnassigned UnassignPrivateIpAddresses "{\"NetworkInterfaceId\": \"$id\", \"PrivateIpAddress\": $ips}"
  does AssignPrivateIpAddresses "{\"NetworkInterfaceId\": \"$id\", \"Ipv4PrefixCount\": 1}"
  does UnassignPrivateIpAddresses "{\"NetworkInterfaceId\": \"$id\", \"Ipv4Prefix\": $(value '.AssignedPrivateIpAddressesSet.Ipv4PrefixSet.Ipv4Prefixes | tojson')}"
  does AssignIpv6Addresses "{\"NetworkInterfaceId\": \"$id\", \"Ipv6AddressCount\": 1}"
  does UnassignIpv6Addresses "{\"NetworkInterfaceId\": \"$id\", \"Ipv6Address\": $(value '.Ipv6Sets.Ipv6Address | tojson')}"
  described "{\"NetworkInterfaceId\": [\"$id\"]}" '.[0] | "\(.PrivateIpSets.PrivateIpSet | length) \(.Ipv4PrefixSets.Ipv4PrefixSet | length) \(.Ipv6Sets.Ipv6Set | length)"' '3 0 1'

  # Tags.
  does TagResources "{\"ResourceType\": \"eni\", \"ResourceId\": [\"$id\"], \"Tag\": [{\"Key\": \"more\", \"Value\": \"$batch\"}]}"
  described "{\"Tag\": [{\"Key\": \"more\"}], \"InstanceId\": \"i-$batch\"}" length 1
  does UntagResources "{\"ResourceType\": \"eni\", \"ResourceId\": [\"$id\"], \"TagKey\": [\"more\"]}"

  # Faults that the console asks for.
  in_cloud /faults -X PUT -d '[{"action": "DetachNetworkInterface", "code": "Operation.Conflict", "count": 1}]'
  refuses Operation.Conflict DetachNetworkInterface "{\"NetworkInterfaceId\": \"$id\", \"InstanceId\": \"i-$batch\"}"

  # Its end.
  does DetachNetworkInterface "{\"NetworkInterfaceId\": \"$id\", \"InstanceId\": \"i-$batch\"}"
  becomes "$id" Available
  in_cloud /faults -X PUT -d '[{"action": "AttachNetworkInterface", "falls-back": true}]'
  does AttachNetworkInterface "{\"NetworkInterfaceId\": \"$id\", \"InstanceId\": \"i-$batch\"}"
  becomes "$id" Available
  does DeleteNetworkInterface "{\"NetworkInterfaceId\": \"$id\"}"
  becomes "$id" gone
  refuses InvalidEniId.NotFound DeleteNetworkInterface "{\"NetworkInterfaceId\": \"$id\"}"
  in_cloud "/enis/$other" -X DELETE
  in_cloud "/instances/i-$batch" -X DELETE
  end_sdk
  [ "$(in_cloud /enis | jq length)" = 0 ]
}

@test "ecs20140526 for Python, which signs with ACS3" {
  programs python
  SDK_PRODUCT=ecs20140526 life "$programs/bin/python" "$root/e2e/sdk/python/calls.py"
}

@test "ecs20140526 for Python, told to sign with V1" {
  programs python
  SDK_PRODUCT=ecs20140526 SDK_SIGNATURE=v2 life "$programs/bin/python" "$root/e2e/sdk/python/calls.py"
}
