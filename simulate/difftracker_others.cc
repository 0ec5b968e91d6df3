#include <algorithm>

#include "cloud/simulator/azure/rules.h"
#include "cloud/simulator/azure/wire.h"
#include "log/format.h"
#include "reconcile/difftracker/names.h"
#include "reconcile/difftracker/ownership.h"
#include "simulate/difftracker.h"
#include "simulate/objects.h"
#include "simulate/world.h"

// Resources that Berth did not make: those of other people and of another cluster, which it must
// leave alone, and those of cloud-provider-azure, which it takes over.
namespace berth::simulate {
namespace {

namespace azure = cloud::simulator::azure;

constexpr const char* kAnother = "another-cluster";

Json WithTag(Json body, const std::string& cluster) {
  if (!cluster.empty()) body["tags"][std::string(difftracker::kClusterTag)] = cluster;
  return body;
}

Json PublicIpBody(bool ipv6) {
  return Json::parse(Format(R"({{"location":"westeurope","sku":{{"name":"StandardV2"}},)"
                            R"("properties":{{"publicIPAllocationMethod":"Static",)"
                            R"("publicIPAddressVersion":"{}"}}}})",
                            ipv6 ? "IPv6" : "IPv4"));
}

Json Reference(const std::string& id) {
  Json reference;
  reference["id"] = id;
  return reference;
}

std::string GatewayIdOf(const azure::ResourceGroup& group) {
  const std::string balancer = group.IdOf(azure::kLoadBalancers, "");
  const std::string base = balancer.substr(0, balancer.find("/loadBalancers/"));
  return base + "/serviceGateways/servicegateway";
}

// Without a gateway where `gateway` is empty.
Json NatBody(const azure::ResourceGroup& group, const std::vector<std::string>& ips,
             const std::vector<std::string>& ips_v6, const std::string& gateway) {
  Json body = Json::parse(R"({"location":"westeurope","sku":{"name":"StandardV2"}})");
  if (!gateway.empty()) body["properties"]["serviceGateway"] = Reference(gateway);
  for (const bool v6 : {false, true}) {
    Json list = Json::Array();
    for (const std::string& ip : v6 ? ips_v6 : ips)
      list.push_back(Reference(group.IdOf(azure::kPublicIps, ip)));
    body["properties"][v6 ? "publicIpAddressesV6" : "publicIpAddresses"] = std::move(list);
  }
  return body;
}

Json BalancerBody(const azure::ResourceGroup& group, const std::string& uid) {
  const std::string id = group.IdOf(azure::kLoadBalancers, uid);
  return Json::parse(Format(
      R"({{"location":"westeurope","sku":{{"name":"Service"}},"properties":{{"scope":"Public",)"
      R"("frontendIPConfigurations":[{{"name":"frontend","properties":{{"publicIPAddress":)"
      R"({{"id":"{}"}}}}}}],"backendAddressPools":[{{"name":"{}"}}],"loadBalancingRules":[]}}}})",
      group.IdOf(azure::kPublicIps, uid + "-pip"), uid));
}

std::string TextOf(const azure::Resource& resource) {
  return Format("{} {} {}", resource.version, resource.state, resource.body.to_string());
}

}  // namespace

void DiffTracker::KeepInMind(const std::string& key) {
  foreign_[key] = TextOf(*cloud_.group().Find(key));
}

void DiffTracker::SetUpOthers() {
  auto& group = cloud_.group();
  const std::string gateway = GatewayIdOf(group);
  group.Meddle(std::string(azure::kNatGateways), "theirs", NatBody(group, {}, {}, ""));
  group.Meddle(std::string(azure::kPublicIps), "theirs-pip", PublicIpBody(false));
  // A NAT gateway of others in the gateway, and a public IP that has the name of an egress's.
  group.Meddle(std::string(azure::kPublicIps), "corp-ip", PublicIpBody(false));
  group.Meddle(std::string(azure::kNatGateways), "corp-nat",
               NatBody(group, {"corp-ip"}, {}, gateway));
  group.Meddle(std::string(azure::kPublicIps), "taken-name-pip", PublicIpBody(false));
  for (const auto& [key, resource] : group.all()) KeepInMind(key);
  // Another cluster's egress.
  group.Meddle(std::string(azure::kPublicIps), "egress-z-pip",
               WithTag(PublicIpBody(false), kAnother));
  group.Meddle(std::string(azure::kNatGateways), "egress-z",
               WithTag(NatBody(group, {"egress-z-pip"}, {}, gateway), kAnother));
  const azure::Service service{
      .name = "egress-z", .type = "Outbound", .nat = group.IdOf(azure::kNatGateways, "egress-z")};
  cloud_.gateway().Meddle(service);
  foreign_services_["egress-z"] = service;
  foreign_locations_["10.77.0.1"] = {{"10.78.0.1", {"egress-z"}}};
  cloud_.gateway().SetLocation("10.77.0.1", foreign_locations_["10.77.0.1"]);
  KeepInMind("publicipaddresses/egress-z-pip");
  KeepInMind("natgateways/egress-z");
  if (Below(2) == 0) MakeMigratedEgress("egress-a");
}

// Another cluster has one more load balancer.
void DiffTracker::AnotherClusterGrows() {
  auto& group = cloud_.group();
  const int n = ++clusters_services_;
  const std::string uid = Format("00000000-0000-4000-8000-00000000000{}", n % 10);
  if (foreign_services_.contains(uid)) return;
  group.Meddle(std::string(azure::kPublicIps), uid + "-pip",
               WithTag(PublicIpBody(false), kAnother));
  group.Meddle(std::string(azure::kLoadBalancers), uid,
               WithTag(BalancerBody(group, uid), kAnother));
  KeepInMind(Format("publicipaddresses/{}-pip", uid));
  KeepInMind("loadbalancers/" + uid);
  const azure::Service service{
      .name = uid,
      .type = "Inbound",
      .pools = {Format("{}/backendAddressPools/{}", group.IdOf(azure::kLoadBalancers, uid), uid)},
      .nat = {}};
  cloud_.gateway().Meddle(service);
  foreign_services_[uid] = service;
  const std::string node = Format("10.77.1.{}", n);
  foreign_locations_[node] = {{Format("10.78.1.{}", n), {uid}}};
  cloud_.gateway().SetLocation(node, foreign_locations_[node]);
}

// The names that an egress may have are free from here on.
void DiffTracker::SomebodyMakesRoom() {
  for (const char* key : {"natgateways/corp-nat", "publicipaddresses/taken-name-pip"}) {
    cloud_.group().Erase(key);
    foreign_.erase(key);
  }
}

bool DiffTracker::IsTaken(const std::string& egress) const {
  return foreign_.contains("natgateways/" + egress) ||
         foreign_.contains(Format("publicipaddresses/{}-pip", egress));
}

void DiffTracker::MakeMigratedEgress(const std::string& name) {
  auto& group = cloud_.group();
  group.Meddle(std::string(azure::kPublicIps), name + "-pip", PublicIpBody(false));
  group.Meddle(std::string(azure::kPublicIps), name + "-pip-v6", PublicIpBody(true));
  group.Meddle(std::string(azure::kNatGateways), name,
               NatBody(group, {name + "-pip"}, {name + "-pip-v6"}, GatewayIdOf(group)));
  cloud_.gateway().Meddle(
      {.name = name, .type = "Outbound", .nat = group.IdOf(azure::kNatGateways, name)});
}

void DiffTracker::MakeMigratedService(const std::string& uid) {
  auto& group = cloud_.group();
  if (group.Find("loadbalancers/" + uid)) return;
  group.Meddle(std::string(azure::kPublicIps), uid + "-pip", PublicIpBody(false));
  group.Meddle(std::string(azure::kLoadBalancers), uid, BalancerBody(group, uid));
  cloud_.gateway().Meddle(
      {.name = uid,
       .type = "Inbound",
       .pools = {Format("{}/backendAddressPools/{}", group.IdOf(azure::kLoadBalancers, uid), uid)},
       .nat = {}});
}

std::vector<std::string> DiffTracker::ResourcesOf(const std::string& service) const {
  std::vector<std::string> keys;
  for (const std::string& key :
       {Format("publicipaddresses/{}-pip", service), Format("publicipaddresses/{}-pip-v6", service),
        "loadbalancers/" + service, "natgateways/" + service}) {
    if (cloud_.group().Find(key)) keys.push_back(key);
  }
  return keys;
}

bool DiffTracker::IsTagged(const std::string& service) const {
  return std::ranges::all_of(ResourcesOf(service), [this](const std::string& key) {
    return Part(cloud_.group().Find(key)->body, "tags").size() > 0;
  });
}

// Others take the tag off parts of a service that is registered whole.
void DiffTracker::RemoveSomeTag(const std::string& service) {
  const auto& registered = cloud_.gateway().services().at(service);
  if (registered.pools.empty() && registered.nat.empty()) return;
  for (const std::string& key : ResourcesOf(service)) {
    const auto* resource = cloud_.group().Find(key);
    if (resource->state != "Succeeded" || foreign_.contains(key) || Below(2) == 0) continue;
    Json body = resource->body;
    body.erase("tags");
    cloud_.group().Meddle(resource->type, resource->name, std::move(body));
  }
}

std::optional<std::string> DiffTracker::CheckOthers() const {
  for (const auto& [key, text] : foreign_) {
    const auto* resource = cloud_.group().Find(key);
    if (!resource) return Format("{}, which is others', is gone", key);
    if (TextOf(*resource) != text) {
      return Format("{}, which is others', was {} and is {}", key, text, TextOf(*resource));
    }
  }
  for (const auto& [name, service] : foreign_services_) {
    const auto found = cloud_.gateway().services().find(name);
    if (found == cloud_.gateway().services().end() || found->second != service) {
      return Format("the registration {} of another cluster was changed", name);
    }
  }
  for (const auto& [node, addresses] : foreign_locations_) {
    const auto found = cloud_.gateway().locations().find(node);
    if (found == cloud_.gateway().locations().end() || found->second != addresses) {
      return Format("the location {} of another cluster was changed", node);
    }
  }
  return std::nullopt;
}

}  // namespace berth::simulate
