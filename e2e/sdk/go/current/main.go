// Calls of vpc-20160428, which signs with ACS3, or with V1 where SDK_SIGNATURE is v2.
package main

import (
	"encoding/json"
	"errors"
	"os"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/utils"
	"github.com/alibabacloud-go/tea/tea"
	vpc "github.com/alibabacloud-go/vpc-20160428/v7/client"

	"berth.dev/e2e/sdk/calls"
)

func on[Request, Response any](client *vpc.Client, call func(*vpc.Client, *Request) (*Response, error)) calls.Action {
	return func(parameters calls.Parameters) (any, error) {
		parameters["RegionId"] = calls.Region
		request := new(Request)
		if err := parameters.Fill(request); err != nil {
			return nil, err
		}
		response, err := call(client, request)
		if err != nil {
			return nil, err
		}
		return bodyOf(response)
	}
}

// bodyOf is what the cloud answered; beside it a response has the HTTP status and headers.
func bodyOf(response any) (any, error) {
	text, err := json.Marshal(response)
	if err != nil {
		return nil, err
	}
	var parts struct {
		Body json.RawMessage `json:"body"`
	}
	return &parts.Body, json.Unmarshal(text, &parts)
}

func codeOf(err error) string {
	var refused *tea.SDKError
	if errors.As(err, &refused) {
		return tea.StringValue(refused.Code)
	}
	return ""
}

func main() {
	client, err := vpc.NewClient(&openapi.Config{
		RegionId:           &calls.Region,
		Endpoint:           &calls.Endpoint,
		AccessKeyId:        &calls.KeyID,
		AccessKeySecret:    &calls.KeySecret,
		SignatureAlgorithm: signature(),
	})
	if err != nil {
		panic(err)
	}
	calls.Serve(map[string]calls.Action{
		"AllocateEipAddress":              on(client, (*vpc.Client).AllocateEipAddress),
		"DescribeEipAddresses":            on(client, (*vpc.Client).DescribeEipAddresses),
		"ModifyEipAddressAttribute":       on(client, (*vpc.Client).ModifyEipAddressAttribute),
		"AssociateEipAddress":             on(client, (*vpc.Client).AssociateEipAddress),
		"UnassociateEipAddress":           on(client, (*vpc.Client).UnassociateEipAddress),
		"ReleaseEipAddress":               on(client, (*vpc.Client).ReleaseEipAddress),
		"DeletionProtection":              on(client, (*vpc.Client).DeletionProtection),
		"TagResources":                    on(client, (*vpc.Client).TagResources),
		"UnTagResources":                  on(client, (*vpc.Client).UnTagResources),
		"ListTagResources":                on(client, (*vpc.Client).ListTagResources),
		"AddCommonBandwidthPackageIp":     on(client, (*vpc.Client).AddCommonBandwidthPackageIp),
		"RemoveCommonBandwidthPackageIp":  on(client, (*vpc.Client).RemoveCommonBandwidthPackageIp),
		"DescribeCommonBandwidthPackages": on(client, (*vpc.Client).DescribeCommonBandwidthPackages),
		"MoveResourceGroup":               on(client, (*vpc.Client).MoveResourceGroup),
	}, codeOf)
}

func signature() *string {
	if chosen := os.Getenv("SDK_SIGNATURE"); chosen != "" {
		return &chosen
	}
	return nil
}
