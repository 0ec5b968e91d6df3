#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cloud/azure/config.h"
#include "cloud/service_gateway.h"
#include "json/json.h"

// Resources of Microsoft.Network as JSON.
namespace berth::cloud::azure {

inline constexpr std::string_view kPublicIps = "publicIPAddresses";
inline constexpr std::string_view kLoadBalancers = "loadBalancers";
inline constexpr std::string_view kNatGateways = "natGateways";
inline constexpr std::string_view kServiceGateways = "serviceGateways";

// The resource IDs of one account, which are paths of its API too once their parts are encoded.
class ResourceIds {
 public:
  explicit ResourceIds(const Config& config);

  // "/subscriptions/…/providers/Microsoft.Network/TYPE"; with a name "…/TYPE/NAME".
  std::string List(std::string_view type) const;
  std::string Of(std::string_view type, std::string_view name) const;
  const std::string& gateway() const { return gateway_; }
  const std::string& vnet() const { return vnet_; }
  // "…/loadBalancers/NAME/backendAddressPools/NAME"
  std::string Pool(std::string_view load_balancer) const;
  std::string Frontend(std::string_view load_balancer) const;

 private:
  const std::string base_;  // of Microsoft.Network in the resource group
  const std::string gateway_;
  const std::string vnet_;
};

// The last part of a resource ID, in lower case.
std::string NameIn(std::string_view id);

// None where a member is missing that every resource has: its name or its etag.
std::optional<PublicIp> ReadPublicIp(const Json& json);
std::optional<LoadBalancer> ReadLoadBalancer(const Json& json);
std::optional<NatGateway> ReadNatGateway(const Json& json, const ResourceIds& ids);
std::optional<GatewayService> ReadService(const Json& json);
std::optional<Location> ReadLocation(const Json& json);

// The bodies of PUTs.
Json Body(const PublicIp& wanted, const std::string& location);
Json Body(const LoadBalancer& wanted, const std::string& location, const ResourceIds& ids);
Json Body(const NatGateway& wanted, const std::string& location, const ResourceIds& ids);
// The bodies of POSTs.
Json Body(const std::vector<ServiceUpdate>& updates, const ResourceIds& ids);
Json Body(const std::vector<LocationUpdate>& updates);

}  // namespace berth::cloud::azure
