#include "cloud/azure/resources.h"

#include <algorithm>
#include <utility>

#include "cloud/answer.h"
#include "cloud/names.h"
#include "log/format.h"

namespace berth::cloud::azure {
namespace {

constexpr std::string_view kFrontend = "frontend";

// The address as RFC 5952 writes it; as the cloud has it when it is none.
std::string AddressIn(const Json& object, std::string_view member) {
  std::string text = Text(object, member);
  return CanonicalAddress(text).value_or(text);
}

const Json& Properties(const Json& json) { return Member(json, "properties"); }

std::string IdIn(const Json& object, std::string_view member) {
  return Text(Member(object, member), "id");
}

// Calls `visit` with each item of a list; with none where there is no list.
void ForEachIn(const Json& object, std::string_view member, auto visit) {
  const Json& list = Member(object, member);
  if (!list.is_array()) return;
  for (const Json& item : list.array_range()) visit(item);
}

std::vector<std::string> NamesIn(const Json& object, std::string_view member) {
  std::vector<std::string> names;
  ForEachIn(object, member, [&](const Json& item) { names.push_back(NameIn(Text(item, "id"))); });
  return names;
}

Tags ReadTags(const Json& json) {
  Tags tags;
  for (const auto& tag : Member(json, "tags").object_range()) {
    tags.emplace(tag.key(), Text(Member(json, "tags"), tag.key()));
  }
  return tags;
}

// The members of all resources; none where one is missing.
template <typename Resource>
std::optional<Resource> ReadCommon(const Json& json) {
  Resource resource;
  resource.name = Lower(Text(json, "name"));
  resource.etag = Text(json, "etag");
  if (resource.name.empty() || resource.etag.empty()) return std::nullopt;
  resource.tags = ReadTags(json);
  resource.succeeded = Text(Properties(json), "provisioningState") == "Succeeded";
  return resource;
}

int NumberIn(const Json& object, std::string_view member) {
  const Json& value = Member(object, member);
  return value.is_int64()
             ? static_cast<int>(std::clamp<std::int64_t>(value.as<std::int64_t>(), 0, 1'000'000))
             : 0;
}

Json Reference(const std::string& id) {
  Json reference;
  reference["id"] = id;
  return reference;
}

Json ReferencesTo(const std::vector<std::string>& public_ips, const ResourceIds& ids) {
  Json list = Json::Array();
  for (const std::string& name : public_ips) list.push_back(Reference(ids.Of(kPublicIps, name)));
  return list;
}

Json CommonBody(const Tags& tags, const std::string& location, std::string_view sku) {
  Json body;
  body["location"] = location;
  body["sku"]["name"] = sku;
  Json shown;
  for (const auto& [key, value] : tags) shown[key] = value;
  body["tags"] = std::move(shown);
  return body;
}

Json RuleBody(const LoadBalancerRule& rule, const std::string& pool, const std::string& frontend) {
  Json properties;
  properties["frontendIPConfiguration"] = Reference(frontend);
  properties["backendAddressPool"] = Reference(pool);
  properties["protocol"] = rule.udp ? "Udp" : "Tcp";
  properties["frontendPort"] = rule.frontend_port;
  properties["backendPort"] = rule.backend_port;
  properties["enableFloatingIP"] = false;
  properties["idleTimeoutInMinutes"] = rule.idle_timeout_minutes;
  if (!rule.udp) properties["enableTcpReset"] = true;
  Json body;
  body["name"] = Format("rule-{}-{}", rule.udp ? "udp" : "tcp", rule.frontend_port);
  body["properties"] = std::move(properties);
  return body;
}

std::string_view NameOf(ServiceType type) {
  switch (type) {
    case ServiceType::kOutbound:
      return "Outbound";
    case ServiceType::kInboundOutbound:
      return "InboundOutbound";
    case ServiceType::kInbound:
    case ServiceType::kUnknown:
      return "Inbound";
  }
  std::unreachable();
}

ServiceType TypeOf(std::string_view name) {
  for (const auto type :
       {ServiceType::kInbound, ServiceType::kOutbound, ServiceType::kInboundOutbound}) {
    if (NameOf(type) == name) return type;
  }
  return ServiceType::kUnknown;
}

Json PoolsOf(const std::string& load_balancer, const ResourceIds& ids) {
  Json pools = Json::Array();
  if (load_balancer.empty()) return pools;
  Json pool = Reference(ids.Pool(load_balancer));
  pool["name"] = load_balancer;
  pool["properties"]["virtualNetwork"] = Reference(ids.vnet());
  pools.push_back(std::move(pool));
  return pools;
}

Json ServiceBody(const ServiceUpdate& update, const ResourceIds& ids) {
  Json properties;
  properties["serviceType"] = NameOf(update.type);
  if (update.load_balancer) {
    properties["loadBalancerBackendPools"] = PoolsOf(*update.load_balancer, ids);
  }
  if (update.nat_gateway) {
    properties["publicNatGatewayId"] = update.nat_gateway->empty()
                                           ? Json::null()
                                           : Json(ids.Of(kNatGateways, *update.nat_gateway));
  }
  Json request;
  request["isDelete"] = update.is_delete;
  request["service"]["name"] = update.name;
  request["service"]["properties"] = std::move(properties);
  return request;
}

}  // namespace

ResourceIds::ResourceIds(const Config& config)
    : base_(Format("/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Network",
                   config.subscription, config.resource_group)),
      gateway_(Of(kServiceGateways, config.gateway)),
      vnet_(Format("/subscriptions/{}/resourceGroups/{}/providers/Microsoft.Network/"
                   "virtualNetworks/{}",
                   config.subscription, config.vnet_resource_group, config.vnet)) {}

std::string ResourceIds::List(std::string_view type) const { return Format("{}/{}", base_, type); }

std::string ResourceIds::Of(std::string_view type, std::string_view name) const {
  return Format("{}/{}/{}", base_, type, name);
}

std::string ResourceIds::Pool(std::string_view load_balancer) const {
  return Format("{}/backendAddressPools/{}", Of(kLoadBalancers, load_balancer), load_balancer);
}

std::string ResourceIds::Frontend(std::string_view load_balancer) const {
  return Format("{}/frontendIPConfigurations/{}", Of(kLoadBalancers, load_balancer), kFrontend);
}

std::string NameIn(std::string_view id) {
  const auto slash = id.rfind('/');
  return Lower(slash == id.npos ? id : id.substr(slash + 1));
}

std::optional<PublicIp> ReadPublicIp(const Json& json) {
  auto ip = ReadCommon<PublicIp>(json);
  if (!ip) return ip;
  const Json& properties = Properties(json);
  ip->ipv6 = Text(properties, "publicIPAddressVersion") == "IPv6";
  ip->address = AddressIn(properties, "ipAddress");
  ip->used_by = IdIn(properties, "ipConfiguration");
  if (ip->used_by.empty()) ip->used_by = IdIn(properties, "natGateway");
  return ip;
}

std::optional<LoadBalancer> ReadLoadBalancer(const Json& json) {
  auto balancer = ReadCommon<LoadBalancer>(json);
  if (!balancer) return balancer;
  const Json& properties = Properties(json);
  ForEachIn(properties, "frontendIPConfigurations", [&](const Json& frontend) {
    if (balancer->public_ip.empty()) {
      balancer->public_ip = NameIn(IdIn(Properties(frontend), "publicIPAddress"));
    }
  });
  ForEachIn(properties, "loadBalancingRules", [&](const Json& rule) {
    const Json& told = Properties(rule);
    balancer->rules.push_back({.udp = Lower(Text(told, "protocol")) == "udp",
                               .frontend_port = NumberIn(told, "frontendPort"),
                               .backend_port = NumberIn(told, "backendPort"),
                               .idle_timeout_minutes = NumberIn(told, "idleTimeoutInMinutes")});
  });
  std::ranges::sort(balancer->rules);
  return balancer;
}

std::optional<NatGateway> ReadNatGateway(const Json& json, const ResourceIds& ids) {
  auto nat = ReadCommon<NatGateway>(json);
  if (!nat) return nat;
  const Json& properties = Properties(json);
  nat->in_gateway = Lower(IdIn(properties, "serviceGateway")) == Lower(ids.gateway());
  nat->public_ips = NamesIn(properties, "publicIpAddresses");
  nat->public_ips_v6 = NamesIn(properties, "publicIpAddressesV6");
  return nat;
}

std::optional<GatewayService> ReadService(const Json& json) {
  const Json& properties = Properties(json);
  GatewayService service{.name = Lower(Text(json, "name")),
                         .type = TypeOf(Text(properties, "serviceType")),
                         .is_default = Text(properties, "isDefault") == "true",
                         .backend_pools = {},
                         .nat_gateway_id = Text(properties, "publicNatGatewayId")};
  if (service.name.empty()) return std::nullopt;
  ForEachIn(properties, "loadBalancerBackendPools",
            [&](const Json& pool) { service.backend_pools.push_back(Text(pool, "id")); });
  return service;
}

std::optional<Location> ReadLocation(const Json& json) {
  Location location{.node_ip = AddressIn(json, "addressLocation"), .addresses = {}};
  if (location.node_ip.empty()) return std::nullopt;
  bool is_whole = true;
  ForEachIn(json, "addresses", [&](const Json& item) {
    LocatedAddress address{.address = AddressIn(item, "address"), .services = {}};
    is_whole = is_whole && !address.address.empty();
    ForEachIn(item, "services", [&](const Json& service) {
      if (service.is_string()) address.services.push_back(Lower(service.as_string_view()));
    });
    location.addresses.push_back(std::move(address));
  });
  return is_whole ? std::optional(std::move(location)) : std::nullopt;
}

Json Body(const PublicIp& wanted, const std::string& location) {
  Json body = CommonBody(wanted.tags, location, "StandardV2");
  body["properties"]["publicIPAllocationMethod"] = "Static";
  body["properties"]["publicIPAddressVersion"] = wanted.ipv6 ? "IPv6" : "IPv4";
  return body;
}

Json Body(const LoadBalancer& wanted, const std::string& location, const ResourceIds& ids) {
  Json frontend;
  frontend["name"] = kFrontend;
  frontend["properties"]["publicIPAddress"] = Reference(ids.Of(kPublicIps, wanted.public_ip));
  Json pool;
  pool["name"] = wanted.name;
  Json rules = Json::Array();
  for (const LoadBalancerRule& rule : wanted.rules) {
    rules.push_back(RuleBody(rule, ids.Pool(wanted.name), ids.Frontend(wanted.name)));
  }
  Json properties;
  properties["scope"] = "Public";
  properties["frontendIPConfigurations"] = Json::Array({std::move(frontend)});
  properties["backendAddressPools"] = Json::Array({std::move(pool)});
  properties["loadBalancingRules"] = std::move(rules);
  Json body = CommonBody(wanted.tags, location, "Service");
  body["properties"] = std::move(properties);
  return body;
}

Json Body(const NatGateway& wanted, const std::string& location, const ResourceIds& ids) {
  Json properties;
  properties["serviceGateway"] = wanted.in_gateway ? Reference(ids.gateway()) : Json::null();
  properties["publicIpAddresses"] = ReferencesTo(wanted.public_ips, ids);
  properties["publicIpAddressesV6"] = ReferencesTo(wanted.public_ips_v6, ids);
  Json body = CommonBody(wanted.tags, location, "StandardV2");
  body["properties"] = std::move(properties);
  return body;
}

Json Body(const std::vector<ServiceUpdate>& updates, const ResourceIds& ids) {
  Json requests = Json::Array();
  for (const ServiceUpdate& update : updates) requests.push_back(ServiceBody(update, ids));
  Json body;
  body["action"] = "PartialUpdate";
  body["serviceRequests"] = std::move(requests);
  return body;
}

Json Body(const std::vector<LocationUpdate>& updates) {
  Json locations = Json::Array();
  for (const LocationUpdate& update : updates) {
    Json addresses = Json::Array();
    for (const LocatedAddress& located : update.location.addresses) {
      Json address;
      address["address"] = located.address;
      address["services"] = located.services;
      addresses.push_back(std::move(address));
    }
    Json location;
    location["addressLocation"] = update.location.node_ip;
    location["addressUpdateAction"] = update.full ? "FullUpdate" : "PartialUpdate";
    location["addresses"] = std::move(addresses);
    locations.push_back(std::move(location));
  }
  Json body;
  body["action"] = "PartialUpdate";
  body["addressLocations"] = std::move(locations);
  return body;
}

}  // namespace berth::cloud::azure
