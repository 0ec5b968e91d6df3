// Calls of alibaba-cloud-sdk-go, which signs with V1.
package main

import (
	"errors"
	"fmt"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	sdkerrors "github.com/aliyun/alibaba-cloud-sdk-go/sdk/errors"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/vpc"

	"berth.dev/e2e/sdk/calls"
)

func on[Request, Response any](client *vpc.Client, create func() *Request, call func(*vpc.Client, *Request) (Response, error)) calls.Action {
	return func(parameters calls.Parameters) (any, error) {
		// Its models have texts for numbers and booleans.
		for name, value := range parameters {
			switch value.(type) {
			case bool, float64:
				parameters[name] = fmt.Sprint(value)
			}
		}
		request := create()
		if err := parameters.Fill(request); err != nil {
			return nil, err
		}
		return call(client, request)
	}
}

func codeOf(err error) string {
	var refused *sdkerrors.ServerError
	if errors.As(err, &refused) {
		return refused.ErrorCode()
	}
	return ""
}

func main() {
	config := sdk.NewConfig().WithScheme("HTTPS")
	client, err := vpc.NewClientWithOptions(calls.Region, config, credentials.NewAccessKeyCredential(calls.KeyID, calls.KeySecret))
	if err != nil {
		panic(err)
	}
	client.Domain = calls.Endpoint
	calls.Serve(map[string]calls.Action{
		"AllocateEipAddress":              on(client, vpc.CreateAllocateEipAddressRequest, (*vpc.Client).AllocateEipAddress),
		"DescribeEipAddresses":            on(client, vpc.CreateDescribeEipAddressesRequest, (*vpc.Client).DescribeEipAddresses),
		"ModifyEipAddressAttribute":       on(client, vpc.CreateModifyEipAddressAttributeRequest, (*vpc.Client).ModifyEipAddressAttribute),
		"AssociateEipAddress":             on(client, vpc.CreateAssociateEipAddressRequest, (*vpc.Client).AssociateEipAddress),
		"UnassociateEipAddress":           on(client, vpc.CreateUnassociateEipAddressRequest, (*vpc.Client).UnassociateEipAddress),
		"ReleaseEipAddress":               on(client, vpc.CreateReleaseEipAddressRequest, (*vpc.Client).ReleaseEipAddress),
		"DeletionProtection":              on(client, vpc.CreateDeletionProtectionRequest, (*vpc.Client).DeletionProtection),
		"TagResources":                    on(client, vpc.CreateTagResourcesRequest, (*vpc.Client).TagResources),
		"UnTagResources":                  on(client, vpc.CreateUnTagResourcesRequest, (*vpc.Client).UnTagResources),
		"ListTagResources":                on(client, vpc.CreateListTagResourcesRequest, (*vpc.Client).ListTagResources),
		"AddCommonBandwidthPackageIp":     on(client, vpc.CreateAddCommonBandwidthPackageIpRequest, (*vpc.Client).AddCommonBandwidthPackageIp),
		"RemoveCommonBandwidthPackageIp":  on(client, vpc.CreateRemoveCommonBandwidthPackageIpRequest, (*vpc.Client).RemoveCommonBandwidthPackageIp),
		"DescribeCommonBandwidthPackages": on(client, vpc.CreateDescribeCommonBandwidthPackagesRequest, (*vpc.Client).DescribeCommonBandwidthPackages),
		"MoveResourceGroup":               on(client, vpc.CreateMoveResourceGroupRequest, (*vpc.Client).MoveResourceGroup),
	}, codeOf)
}
