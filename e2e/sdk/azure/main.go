// azure CLOUD_CONFIG: drives a simulated Azure with Azure's own SDK (armnetwork, azidentity) through the whole life of a public
// IP, a load balancer, a NAT gateway and the services and locations of a service gateway. Ends with 1 at the first surprise.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	net "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/network/armnetwork/v9"
)

type config struct {
	TenantID, SubscriptionID, ResourceGroup, Location, AADClientID, AADClientSecret string
	ResourceManagerEndpoint, ActiveDirectoryEndpoint                                string
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func expect(is bool, what string, got ...any) {
	if !is {
		check(fmt.Errorf("%s: got %v", what, got))
	}
}

func refused(err error, code string) {
	var answer *azcore.ResponseError
	expect(errors.As(err, &answer), "a refusal with "+code, err)
	expect(answer.ErrorCode == code, code, answer.ErrorCode)
}

// follow waits for the end of a long-running operation.
func follow[T any](ctx context.Context, poller *runtime.Poller[T], err error) T {
	check(err)
	answer, err := poller.PollUntilDone(ctx, &runtime.PollUntilDoneOptions{Frequency: time.Second})
	check(err)
	return answer
}

func main() {
	file, err := os.ReadFile(os.Args[1])
	check(err)
	var account config
	check(json.Unmarshal(file, &account))
	place := cloud.Configuration{
		ActiveDirectoryAuthorityHost: account.ActiveDirectoryEndpoint,
		Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
			cloud.ResourceManager: {Endpoint: account.ResourceManagerEndpoint, Audience: "https://management.azure.com"},
		},
	}
	options := policy.ClientOptions{Cloud: place, Retry: policy.RetryOptions{MaxRetries: -1}}
	credential, err := azidentity.NewClientSecretCredential(account.TenantID, account.AADClientID, account.AADClientSecret,
		&azidentity.ClientSecretCredentialOptions{ClientOptions: options, DisableInstanceDiscovery: true})
	check(err)
	factory, err := net.NewClientFactory(account.SubscriptionID, credential, &arm.ClientOptions{ClientOptions: options, DisableRPRegistration: true})
	check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	life{ctx, factory, account.ResourceGroup, account.Location}.all()
	fmt.Println("all is as the SDK expects")
}

type life struct {
	ctx             context.Context
	factory         *net.ClientFactory
	group, location string
}

func (l life) all() {
	v4, v6 := l.publicIP("u1-pip", net.IPVersionIPv4), l.publicIP("e1-pip-v6", net.IPVersionIPv6)
	egress := l.publicIP("e1-pip", net.IPVersionIPv4)
	balancer := l.loadBalancer("u1", v4)
	gateway := l.gateway()
	nat := l.natGateway("e1", []*net.SubResource{{ID: egress.ID}}, []*net.SubResource{{ID: v6.ID}}, gateway)
	l.services(balancer, nat)
	l.locations()
	l.end(nat)
}

func (l life) publicIP(name string, version net.IPVersion) net.PublicIPAddress {
	client := l.factory.NewPublicIPAddressesClient()
	_, err := client.Get(l.ctx, l.group, name, nil)
	refused(err, "ResourceNotFound")
	begun, err := client.BeginCreateOrUpdate(l.ctx, l.group, name, net.PublicIPAddress{
		Location: &l.location,
		Tags:     map[string]*string{"berth.dev/cluster": to.Ptr("c1")},
		SKU:      &net.PublicIPAddressSKU{Name: to.Ptr(net.PublicIPAddressSKUName("StandardV2"))},
		Properties: &net.PublicIPAddressPropertiesFormat{
			PublicIPAllocationMethod: to.Ptr(net.IPAllocationMethodStatic), PublicIPAddressVersion: &version},
	}, nil)
	made := follow(l.ctx, begun, err).PublicIPAddress
	expect(*made.Name == name && *made.Properties.IPAddress != "" && *made.Etag != "" && *made.ID != "", "a public IP", made)
	expect(*made.Properties.ProvisioningState == net.ProvisioningStateSucceeded, "Succeeded", *made.Properties.ProvisioningState)
	expect(*made.Tags["berth.dev/cluster"] == "c1", "its tag", made.Tags)
	return made
}

func (l life) loadBalancer(name string, ip net.PublicIPAddress) net.LoadBalancer {
	client := l.factory.NewLoadBalancersClient()
	gateway := l.gateway()
	base := (*gateway.ID)[:len(*gateway.ID)-len("/serviceGateways/")-len(*gateway.Name)] + "/loadBalancers/" + name
	rule := func(port, backend int32) *net.LoadBalancingRule {
		return &net.LoadBalancingRule{Name: to.Ptr(fmt.Sprintf("rule-tcp-%d", port)), Properties: &net.LoadBalancingRulePropertiesFormat{
			FrontendIPConfiguration: &net.SubResource{ID: to.Ptr(base + "/frontendIPConfigurations/frontend")},
			BackendAddressPool:      &net.SubResource{ID: to.Ptr(base + "/backendAddressPools/" + name)},
			Protocol:                to.Ptr(net.TransportProtocolTCP), FrontendPort: &port, BackendPort: &backend,
			EnableFloatingIP: to.Ptr(false), EnableTCPReset: to.Ptr(true), IdleTimeoutInMinutes: to.Ptr[int32](4)}}
	}
	wanted := net.LoadBalancer{Location: &l.location,
		SKU: &net.LoadBalancerSKU{Name: to.Ptr(net.LoadBalancerSKUName("Service"))},
		Properties: &net.LoadBalancerPropertiesFormat{
			Scope: to.Ptr(net.LoadBalancerScopePublic),
			FrontendIPConfigurations: []*net.FrontendIPConfiguration{{Name: to.Ptr("frontend"),
				Properties: &net.FrontendIPConfigurationPropertiesFormat{PublicIPAddress: &net.PublicIPAddress{ID: ip.ID}}}},
			BackendAddressPools: []*net.BackendAddressPool{{Name: &name}},
			LoadBalancingRules:  []*net.LoadBalancingRule{rule(80, 8080), rule(81, 8080)},
		}}
	_, err := client.BeginCreateOrUpdate(l.ctx, l.group, name, wanted, nil)
	refused(err, "RulesUseSameBackendPortProtocolAndPool")
	wanted.Properties.LoadBalancingRules = wanted.Properties.LoadBalancingRules[:1]
	begun, err := client.BeginCreateOrUpdate(l.ctx, l.group, name, wanted, nil)
	made := follow(l.ctx, begun, err).LoadBalancer
	expect(len(made.Properties.LoadBalancingRules) == 1 && *made.Properties.LoadBalancingRules[0].Properties.BackendPort == 8080, "its rule", made)
	expect(*made.Properties.BackendAddressPools[0].ID == base+"/backendAddressPools/"+name, "its pool's ID", *made.Properties.BackendAddressPools[0].ID)
	used, err := l.factory.NewPublicIPAddressesClient().Get(l.ctx, l.group, *ip.Name, nil)
	check(err)
	expect(used.Properties.IPConfiguration != nil && *used.Properties.IPConfiguration.ID != "", "the public IP's user", used)
	_, err = l.factory.NewPublicIPAddressesClient().BeginDelete(l.ctx, l.group, *ip.Name, nil)
	refused(err, "PublicIPAddressCannotBeDeleted")
	return made
}

func (l life) gateway() net.ServiceGateway {
	found, err := l.factory.NewServiceGatewaysClient().Get(l.ctx, l.group, "servicegateway", nil)
	check(err)
	return found.ServiceGateway
}

func (l life) natGateway(name string, v4, v6 []*net.SubResource, gateway net.ServiceGateway) net.NatGateway {
	begun, err := l.factory.NewNatGatewaysClient().BeginCreateOrUpdate(l.ctx, l.group, name, net.NatGateway{
		Location: &l.location, SKU: &net.NatGatewaySKU{Name: to.Ptr(net.NatGatewaySKUName("StandardV2"))},
		Properties: &net.NatGatewayPropertiesFormat{PublicIPAddresses: v4, PublicIPAddressesV6: v6, ServiceGateway: &net.SubResource{ID: gateway.ID}},
	}, nil)
	made := follow(l.ctx, begun, err).NatGateway
	expect(len(made.Properties.PublicIPAddresses) == 1 && len(made.Properties.PublicIPAddressesV6) == 1, "its public IPs", made)
	expect(*made.Properties.ServiceGateway.ID == *gateway.ID, "its service gateway", made)
	return made
}

func (l life) updateServices(requests ...*net.ServiceGatewayServiceRequest) error {
	begun, err := l.factory.NewServiceGatewaysClient().BeginUpdateServices(l.ctx, l.group, "servicegateway",
		net.ServiceGatewayUpdateServicesRequest{Action: to.Ptr(net.ServiceUpdateActionPartialUpdate), ServiceRequests: requests}, nil)
	if err != nil {
		return err
	}
	_, err = begun.PollUntilDone(l.ctx, &runtime.PollUntilDoneOptions{Frequency: time.Second})
	return err
}

func (l life) services(balancer net.LoadBalancer, nat net.NatGateway) {
	check(l.updateServices(
		&net.ServiceGatewayServiceRequest{Service: &net.ServiceGatewayService{Name: to.Ptr("u1"), Properties: &net.ServiceGatewayServicePropertiesFormat{
			ServiceType: to.Ptr(net.ServiceTypeInbound), LoadBalancerBackendPools: []*net.BackendAddressPool{{ID: balancer.Properties.BackendAddressPools[0].ID}}}}},
		&net.ServiceGatewayServiceRequest{Service: &net.ServiceGatewayService{Name: to.Ptr("e1"), Properties: &net.ServiceGatewayServicePropertiesFormat{
			ServiceType: to.Ptr(net.ServiceTypeOutbound), PublicNatGatewayID: nat.ID}}}))
	known := map[string]*net.ServiceGatewayService{}
	for pager := l.factory.NewServiceGatewaysClient().NewGetServicesPager(l.group, "servicegateway", nil); pager.More(); {
		page, err := pager.NextPage(l.ctx)
		check(err)
		for _, service := range page.Value {
			known[*service.Name] = service
		}
	}
	expect(len(known) == 3 && *known["default-natgw"].Properties.IsDefault, "three services", known)
	expect(*known["e1"].Properties.PublicNatGatewayID == *nat.ID, "its NAT gateway", known["e1"])
	_, err := l.factory.NewLoadBalancersClient().BeginDelete(l.ctx, l.group, "u1", nil)
	refused(err, "InUseLoadBalancerCannotBeDeleted")
}

func (l life) updateLocations(location string, action net.AddressUpdateAction, addresses ...*net.ServiceGatewayAddress) {
	if addresses == nil {
		addresses = []*net.ServiceGatewayAddress{}
	}
	begun, err := l.factory.NewServiceGatewaysClient().BeginUpdateAddressLocations(l.ctx, l.group, "servicegateway",
		net.ServiceGatewayUpdateAddressLocationsRequest{Action: to.Ptr(net.UpdateActionPartialUpdate), AddressLocations: []*net.ServiceGatewayAddressLocation{
			{AddressLocation: &location, AddressUpdateAction: &action, Addresses: addresses}}}, nil)
	follow(l.ctx, begun, err)
}

func (l life) locations() {
	address := func(ip, service string) *net.ServiceGatewayAddress {
		return &net.ServiceGatewayAddress{Address: &ip, Services: []*string{&service}}
	}
	l.updateLocations("10.0.0.1", net.AddressUpdateActionFullUpdate, address("10.1.0.1", "u1"), address("10.1.0.2", "e1"))
	l.updateLocations("fd00::a", net.AddressUpdateActionFullUpdate, address("fd00:1::a", "e1"))
	seen := map[string]int{}
	for pager := l.factory.NewServiceGatewaysClient().NewGetAddressLocationsPager(l.group, "servicegateway", nil); pager.More(); {
		page, err := pager.NextPage(l.ctx)
		check(err)
		for _, location := range page.Value {
			seen[*location.AddressLocation] = len(location.Addresses)
		}
	}
	expect(seen["10.0.0.1"] == 2 && seen["FD00::A"] == 1, "two locations, IPv6 in upper case", seen)
	refused(l.updateServices(&net.ServiceGatewayServiceRequest{IsDelete: to.Ptr(true), Service: &net.ServiceGatewayService{Name: to.Ptr("e1")}}),
		"ServiceWithOverlayMappingsCannotBeDeleted")
}

func (l life) end(nat net.NatGateway) {
	l.updateLocations("10.0.0.1", net.AddressUpdateActionFullUpdate)
	l.updateLocations("FD00::A", net.AddressUpdateActionFullUpdate)
	check(l.updateServices(&net.ServiceGatewayServiceRequest{IsDelete: to.Ptr(true), Service: &net.ServiceGatewayService{Name: to.Ptr("u1")}},
		&net.ServiceGatewayServiceRequest{IsDelete: to.Ptr(true), Service: &net.ServiceGatewayService{Name: to.Ptr("e1")}}))
	balancers, nats, ips := l.factory.NewLoadBalancersClient(), l.factory.NewNatGatewaysClient(), l.factory.NewPublicIPAddressesClient()
	gone, err := balancers.BeginDelete(l.ctx, l.group, "u1", nil)
	follow(l.ctx, gone, err)
	nat.Properties.ServiceGateway = nil
	changed, err := nats.BeginCreateOrUpdate(l.ctx, l.group, "e1", nat, nil)
	follow(l.ctx, changed, err)
	left, err := nats.BeginDelete(l.ctx, l.group, "e1", nil)
	follow(l.ctx, left, err)
	for _, name := range []string{"u1-pip", "e1-pip", "e1-pip-v6"} {
		deleted, err := ips.BeginDelete(l.ctx, l.group, name, nil)
		follow(l.ctx, deleted, err)
	}
	for pager := ips.NewListPager(l.group, nil); pager.More(); {
		page, err := pager.NextPage(l.ctx)
		check(err)
		expect(len(page.Value) == 0, "no public IP left", len(page.Value))
	}
}
