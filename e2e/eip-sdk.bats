# `berth simulate-cloud`, seen by Alibaba Cloud's own SDKs: each takes an EIP through its whole life. Needs no cluster.
NEEDS_CLUSTER=no
load helpers
load sdk

setup_file() { start_cloud --background 0ms; }
teardown_file() { stop_cloud; }

# described FILTERS EXPRESSION VALUE: of the EIPs that are found.
described() { does DescribeEipAddresses "$1" && expect_json "[.EipAddresses.EipAddress[]?] | $2" "$3"; }

# life COMMAND...: an EIP's, called with the SDK of that program.
life() {
  start_sdk "$@"
  local batch=life-$RANDOM$RANDOM id address package

  # One token, one address. What must be encoded for the signature is.
  local wanted="{\"Bandwidth\": \"5\", \"Name\": \"web\", \"Description\": \"shop & café, 100% *~+/=\", \"ClientToken\": \"$batch\"}"
  does AllocateEipAddress "$wanted"
  id=$(value .AllocationId) address=$(value .EipAddress)
  does AllocateEipAddress "$wanted"
  expect_json .AllocationId "$id"
  refuses IdempotentParameterMismatch AllocateEipAddress "{\"Bandwidth\": \"6\", \"ClientToken\": \"$batch\"}"
  refuses InvalidParameter AllocateEipAddress '{"Bandwidth": "501"}'
  described "{\"AllocationId\": \"$id\"}" '.[0] | "\(.Description) \(.Status) \(.BusinessStatus) \(.BizType) \(.ServiceManaged)"' \
    'shop & café, 100% *~+/= Available Normal Default 0'
  described "{\"EipAddress\": \"$address\"}" '.[0].AllocationId' "$id"
  refuses DryRunOperation DescribeEipAddresses '{"DryRun": true}'

  # Tags, and pages of what carries them.
  local ids=("$id") n
  for n in 2 3; do does AllocateEipAddress '{}' && ids+=("$(value .AllocationId)"); done
  local tag="[{\"Key\": \"batch\", \"Value\": \"$batch\"}]"
  does TagResources "{\"ResourceType\": \"EIP\", \"ResourceId\": $(jq -cn '$ARGS.positional' --args "${ids[@]}"), \"Tag\": $tag}"
  described "{\"Tag\": $tag, \"PageSize\": 2}" length 2
  expect_json .TotalCount 3
  described "{\"Tag\": $tag, \"PageSize\": 2, \"PageNumber\": 2}" length 1
  does ListTagResources "{\"ResourceType\": \"EIP\", \"ResourceId\": [\"$id\"]}"
  expect_json '.TagResources.TagResource[0].TagValue' "$batch"
  does UnTagResources "{\"ResourceType\": \"EIP\", \"ResourceId\": [\"${ids[1]}\"], \"TagKey\": [\"batch\"]}"
  does UnTagResources "{\"ResourceType\": \"EIP\", \"ResourceId\": [\"${ids[2]}\"], \"All\": true}"
  described "{\"Tag\": $tag}" '.[].AllocationId' "$id"

  # Changes.
  does ModifyEipAddressAttribute "{\"AllocationId\": \"$id\", \"Bandwidth\": \"10\", \"Name\": \"$batch\"}"
  described "{\"EipName\": \"$batch\"}" '.[0].Bandwidth' 10
  does MoveResourceGroup "{\"ResourceType\": \"eip\", \"ResourceId\": \"$id\", \"NewResourceGroupId\": \"rg-$batch\"}"
  described "{\"ResourceGroupId\": \"rg-$batch\"}" length 1
  package=$(in_cloud /packages -X POST | jq -r .bandwidthPackageID)
  does AddCommonBandwidthPackageIp "{\"BandwidthPackageId\": \"$package\", \"IpInstanceId\": \"$id\"}"
  described "{\"AllocationId\": \"$id\"}" '.[0] | "\(.BandwidthPackageId) \(.Bandwidth) \(.EipBandwidth)"' "$package 100 10"
  does DescribeCommonBandwidthPackages "{\"BandwidthPackageId\": \"$package\"}"
  expect_json '.CommonBandwidthPackages.CommonBandwidthPackage[0].PublicIpAddresses.PublicIpAddresse[0].AllocationId' "$id"
  does RemoveCommonBandwidthPackageIp "{\"BandwidthPackageId\": \"$package\", \"IpInstanceId\": \"$id\"}"

  # Use.
  does AssociateEipAddress "{\"AllocationId\": \"$id\", \"InstanceId\": \"i-$batch\", \"InstanceType\": \"EcsInstance\"}"
  described "{\"AssociatedInstanceType\": \"EcsInstance\", \"AssociatedInstanceId\": \"i-$batch\"}" '.[0].Status' InUse
  refuses IncorrectEipStatus ReleaseEipAddress "{\"AllocationId\": \"$id\"}"
  does UnassociateEipAddress "{\"AllocationId\": \"$id\", \"InstanceId\": \"i-$batch\", \"Force\": true}"

  # A lock.
  in_cloud "/eips/$id" -X PATCH -d '{"lockReason": "financial"}'
  described "{\"AllocationId\": \"$id\", \"LockReason\": \"financial\"}" \
    '.[0] | "\(.BusinessStatus) \(.OperationLocks.LockReason[0].LockReason)"' 'OperationLock financial'
  in_cloud "/eips/$id" -X PATCH -d '{"lockReason": ""}'

  # Its end.
  does DeletionProtection "{\"InstanceId\": \"$id\", \"Type\": \"EIP\", \"ProtectionEnable\": true}"
  refuses InvalidOperation.DeletionProtection ReleaseEipAddress "{\"AllocationId\": \"$id\"}"
  does DeletionProtection "{\"InstanceId\": \"$id\", \"Type\": \"EIP\", \"ProtectionEnable\": false}"
  for id in "${ids[@]}"; do does ReleaseEipAddress "{\"AllocationId\": \"$id\"}"; done
  refuses InvalidAllocationId.NotFound ReleaseEipAddress "{\"AllocationId\": \"$id\"}"
  described "{\"AllocationId\": \"$id\"}" length 0

  # A subscription.
  does AllocateEipAddress '{"InstanceChargeType": "PrePaid", "InternetChargeType": "PayByBandwidth", "Period": 5, "PricingCycle": "Year", "AutoPay": true}'
  id=$(value .AllocationId)
  expect_json '.OrderId | type' number
  described "{\"AllocationId\": \"$id\", \"ChargeType\": \"PrePaid\"}" '.[0].ExpiredTime | length' 20
  refuses Forbidden.ChargeTypeIsPrepaid ReleaseEipAddress "{\"AllocationId\": \"$id\"}"
  in_cloud "/eips/$id" -X DELETE

  end_sdk
}

@test "alibaba-cloud-sdk-go, which signs with V1" {
  programs go
  life "$programs/classic"
}

@test "vpc-20160428 for Go, which signs with ACS3" {
  programs go
  life "$programs/current"
}

@test "vpc-20160428 for Go, told to sign with V1" {
  programs go
  SDK_SIGNATURE=v2 life "$programs/current"
}

@test "vpc20160428 for Python, which signs with ACS3" {
  programs python
  life "$programs/bin/python" "$root/e2e/sdk/python/calls.py"
}

@test "vpc20160428 for Python, told to sign with V1" {
  programs python
  SDK_SIGNATURE=v2 life "$programs/bin/python" "$root/e2e/sdk/python/calls.py"
}

@test "another key is refused" {
  programs go
  SDK_KEY_SECRET=guessed start_sdk "$programs/classic"
  refuses SignatureDoesNotMatch DescribeEipAddresses '{}'
  end_sdk
}
