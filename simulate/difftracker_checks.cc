#include <algorithm>

#include "log/format.h"
#include "reconcile/difftracker/names.h"
#include "reconcile/difftracker/objects.h"
#include "reconcile/difftracker/ownership.h"
#include "simulate/difftracker.h"
#include "simulate/objects.h"
#include "simulate/world.h"

// Invariants that hold at all times, and the state that must be reached in the end.
namespace berth::simulate {
namespace {

constexpr const char* kServices = "/api/v1/namespaces/default/services";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";

bool Has(const Json& object, std::string_view finalizer) {
  const Json& finalizers = Part(object["metadata"], "finalizers");
  return std::ranges::any_of(finalizers.array_range(),
                             [&](const Json& one) { return one.as_string() == finalizer; });
}

std::string EgressOf(const Json& pod) {
  return difftracker::LowerCase(
      Text(Part(pod["metadata"], "labels"), std::string(difftracker::kEgressLabel)));
}

std::vector<std::string> Ips(const Json& object, const char* list) {
  std::vector<std::string> ips;
  const Json& items = Part(Part(object, "status"), list);
  for (const Json& item : items.array_range()) {
    if (auto ip = difftracker::CanonicalIp(Text(item, "ip"))) ips.push_back(*ip);
  }
  return ips;
}

std::string OfFamily(const std::vector<std::string>& ips, const std::string& like) {
  std::string found;
  for (const std::string& ip : ips) {
    if (difftracker::IsIpv6(ip) == difftracker::IsIpv6(like) && found.empty()) found = ip;
  }
  return found;
}

bool IsOurs(const Json& service) {
  const Json& spec = Part(service, "spec");
  const std::string of = Text(spec, "loadBalancerClass");
  return Text(spec, "type") == "LoadBalancer" && !Deleting(service) &&
         (of.empty() || of == difftracker::kLoadBalancerClass) &&
         Text(spec, "sessionAffinity") != "ClientIP";
}

bool IsIpv6(const Json& service) {
  const Json families = Part(service, "spec").get_value_or<Json>("ipFamilies", Json::Array());
  return families.size() == 1 && families[0] == "IPv6";
}

std::string PublicIpOf(const Json& service) {
  return Format("publicipaddresses/{}-pip{}", difftracker::LowerCase(UidOf(service)),
                IsIpv6(service) ? "-v6" : "");
}

// The names that only one of them has.
std::string Difference(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::vector<std::string> differences;
  std::ranges::set_symmetric_difference(a, b, std::back_inserter(differences));
  std::string text;
  for (const std::string& one : differences) text += " " + one;
  return text;
}

std::string Show(const std::map<std::string, std::map<std::string, std::set<std::string>>>& all) {
  std::string text;
  for (const auto& [node, addresses] : all) {
    text += Format(" {}:", node);
    for (const auto& [address, services] : addresses) {
      text += " " + address;
      for (const std::string& service : services) text += "/" + service;
    }
  }
  return text;
}

}  // namespace

std::optional<std::string> DiffTracker::Check(World& world, const std::string& writer,
                                              const kube::Request& request) {
  if (auto wrong = CheckCloud()) return wrong;
  if (auto wrong = CheckOthers()) return wrong;
  if (writer != "user" && writer != "machinery" && request.path.starts_with(kServices) &&
      request.path.ends_with("/status")) {
    cloud_.Settle(world.scheduler().WallNow());
    for (const Json& service : world.List(kServices)) {
      if (request.path != Format("{}/{}/status", kServices, NameOf(service))) continue;
      if (auto wrong = CheckProvisioned(service)) return wrong;
    }
  }
  if (!request.path.starts_with(kPods) || writer == "user") return std::nullopt;
  return CheckPods(world);
}

std::optional<std::string> DiffTracker::CheckCloud() const {
  const auto& services = cloud_.gateway().services();
  for (const auto& [node, addresses] : cloud_.gateway().locations()) {
    for (const auto& [address, names] : addresses) {
      for (const std::string& name : names) {
        if (!services.contains(name)) {
          return Format("{} at {} names {}, which is not registered", address, node, name);
        }
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> DiffTracker::CheckPods(World& world) {
  cloud_.Settle(world.scheduler().WallNow());
  std::map<std::string, HeldPod> held;
  const auto pods = world.List(kPods);
  for (const Json& pod : pods) {
    if (!Has(pod, difftracker::kPodFinalizer)) continue;
    held[UidOf(pod)] = {EgressOf(pod), Ips(pod, "podIPs")};
  }
  std::optional<std::string> wrong;
  for (const auto& [uid, pod] : pods_) {
    if (held.contains(uid) || meddled_ || pod.egress.empty() || forced_.contains(pod.egress))
      continue;
    for (const auto& [node, addresses] : cloud_.gateway().locations()) {
      for (const std::string& address : pod.addresses) {
        const auto found = addresses.find(address);
        if (found == addresses.end() || !found->second.contains(pod.egress)) continue;
        const bool taken = std::ranges::any_of(held, [&](const auto& other) {
          return std::ranges::contains(other.second.addresses, address);
        });
        if (!taken) wrong = Format("a pod is let go, and {} is still in {}", address, pod.egress);
      }
    }
  }
  pods_ = std::move(held);
  return wrong;
}

// A Service that was just written.
std::optional<std::string> DiffTracker::CheckProvisioned(const Json& service) const {
  const Json condition = ConditionOf(service, difftracker::kProvisioned);
  if (Text(condition, "status") != "True" || meddled_) return std::nullopt;
  const std::string name = NameOf(service);
  const std::string uid = difftracker::LowerCase(UidOf(service));
  const auto* balancer = cloud_.group().Find("loadbalancers/" + uid);
  const auto* ip = cloud_.group().Find(PublicIpOf(service));
  if (!IsOurs(service) || forced_.contains(uid)) return std::nullopt;
  if (!balancer || !ip || !cloud_.gateway().services().contains(uid)) {
    return Format("Service {} is told to be provisioned, and is not", name);
  }
  const Json generation = service["metadata"].get_value_or<Json>("generation", 0);
  if (condition.get_value_or<Json>("observedGeneration", 0) != generation) {
    return Format("Service {} has a condition of another generation", name);
  }
  std::set<int> wanted;
  for (const Json& port : service["spec"]["ports"].array_range())
    wanted.insert(port["port"].as<int>());
  std::set<int> rules;
  const Json all =
      Part(balancer->body, "properties").get_value_or<Json>("loadBalancingRules", Json::Array());
  for (const Json& rule : all.array_range())
    rules.insert(rule["properties"]["frontendPort"].as<int>());
  if (wanted != rules) return Format("Service {} is Provisioned with other ports", name);
  const Json ingress =
      Part(Part(service, "status"), "loadBalancer").get_value_or<Json>("ingress", Json::Array());
  const std::string address = Text(Part(ip->body, "properties"), "ipAddress");
  if (ingress.size() != 1 ||
      difftracker::CanonicalIp(Text(ingress[0], "ip")) != difftracker::CanonicalIp(address)) {
    return Format("Service {} is Provisioned at {} with another ingress", name, address);
  }
  return std::nullopt;
}

std::optional<std::string> DiffTracker::CheckTags(World& world, const Wanted& wanted) const {
  const std::string cluster = UidOf(world.Ask({.path = "/api/v1/namespaces/kube-system"}).body());
  for (const std::string& key : wanted.resources) {
    if (foreign_.contains(key)) continue;
    const std::string tag =
        Text(Part(cloud_.group().Find(key)->body, "tags"), std::string(difftracker::kClusterTag));
    if (tag != cluster) return Format("{} has the tag {}", key, tag);
  }
  return std::nullopt;
}

DiffTracker::Wanted DiffTracker::ComputeWanted(World& world) const {
  Wanted wanted;
  for (const auto& [key, text] : foreign_) wanted.resources.insert(key);
  for (const auto& [name, service] : foreign_services_) wanted.services.insert(name);
  wanted.locations = foreign_locations_;
  std::map<std::string, std::vector<std::string>> nodes;  // InternalIPs
  for (const Json& node : world.List("/api/v1/nodes")) {
    const Json& all = Part(Part(node, "status"), "addresses");
    for (const Json& address : all.array_range()) {
      if (Text(address, "type") != "InternalIP") continue;
      if (auto ip = difftracker::CanonicalIp(Text(address, "address"))) {
        nodes[NameOf(node)].push_back(*ip);
      }
    }
  }
  const auto slices = world.List("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices");
  for (const Json& service : world.List(kServices)) {
    if (IsOurs(service)) WantService(world, service, slices, nodes, wanted);
  }
  for (const Json& pod : world.List(kPods)) {
    const std::string egress = EgressOf(pod);
    const std::string phase = Text(Part(pod, "status"), "phase");
    if (egress.empty() || difftracker::CheckEgress(egress) || Deleting(pod)) continue;
    if (phase != "Running" && phase != "Pending") continue;
    for (const std::string& ip : Ips(pod, "podIPs")) {
      const std::string node_ip = OfFamily(Ips(pod, "hostIPs"), ip);
      if (node_ip.empty()) continue;
      wanted.egresses.insert(egress);
      const std::string public_ip =
          Format("publicipaddresses/{}-pip{}", egress, difftracker::IsIpv6(ip) ? "-v6" : "");
      // Public IPs come first: they wait for the NAT gateway of somebody else to go.
      const bool has_ips = !IsTaken(egress) ||
                           !cloud_.group().Find(Format("publicipaddresses/{}-pip", egress)) ||
                           !foreign_.contains(Format("publicipaddresses/{}-pip", egress));
      if (has_ips) wanted.resources.insert(public_ip);
      if (IsTaken(egress)) continue;
      wanted.locations[node_ip][ip].insert(egress);
      wanted.services.insert(egress);
      wanted.resources.insert("natgateways/" + egress);
    }
  }
  return wanted;
}

void DiffTracker::WantService(World& /*world*/, const Json& service, const Documents& slices,
                              const std::map<std::string, std::vector<std::string>>& nodes,
                              Wanted& wanted) const {
  const std::string uid = difftracker::LowerCase(UidOf(service));
  wanted.services.insert(uid);
  wanted.resources.insert("loadbalancers/" + uid);
  wanted.resources.insert(PublicIpOf(service));
  for (const Json& slice : slices) {
    const std::string of =
        Text(Part(slice["metadata"], "labels"), std::string(difftracker::kServiceNameLabel));
    if (of != NameOf(service)) continue;
    const Json& endpoints = Part(slice, "endpoints");
    for (const Json& endpoint : endpoints.array_range()) {
      if (!Part(endpoint, "conditions").get_value_or<bool>("ready", true)) continue;
      const auto node = nodes.find(Text(endpoint, "nodeName"));
      if (node == nodes.end()) continue;
      for (const Json& address : endpoint["addresses"].array_range()) {
        const auto ip = difftracker::CanonicalIp(address.as_string());
        if (!ip) continue;
        const std::string node_ip = OfFamily(node->second, *ip);
        if (!node_ip.empty()) wanted.locations[node_ip][*ip].insert(uid);
      }
    }
  }
}

std::optional<std::string> DiffTracker::CheckService(const Json& service) const {
  const std::string name = NameOf(service);
  const Json& ingress = Part(Part(Part(service, "status"), "loadBalancer"), "ingress");
  const bool shows = ingress.size() > 0;
  if (!IsOurs(service)) {
    const bool is_balancer = Text(Part(service, "spec"), "type") == "LoadBalancer";
    if (!is_balancer && shows) return Format("Service {} has an address and is none", name);
    if (!is_balancer && Has(service, difftracker::kServiceFinalizer)) {
      return Format("Service {} has a finalizer and needs none", name);
    }
    return std::nullopt;
  }
  if (!Has(service, difftracker::kServiceFinalizer)) {
    return Format("Service {} has no finalizer", name);
  }
  const std::string uid = difftracker::LowerCase(UidOf(service));
  const auto* balancer = cloud_.group().Find("loadbalancers/" + uid);
  const auto* ip = cloud_.group().Find(PublicIpOf(service));
  if (!balancer || !ip) return Format("Service {} has no load balancer", name);
  const Json& rules = Part(Part(balancer->body, "properties"), "loadBalancingRules");
  if (rules.size() != service["spec"]["ports"].size()) {
    return Format("Service {} has {} rules", name, rules.size());
  }
  if (!shows) return Format("Service {} shows no address", name);
  const std::string address = Text(Part(ip->body, "properties"), "ipAddress");
  if (difftracker::CanonicalIp(Text(ingress[0], "ip")) != difftracker::CanonicalIp(address)) {
    return Format("Service {} shows {} and has {}", name, Text(ingress[0], "ip"), address);
  }
  return std::nullopt;
}

std::optional<std::string> DiffTracker::Unsettled(World& world) {
  cloud_.Settle(world.scheduler().WallNow());
  for (const char* collection : {kServices, kPods}) {
    for (const Json& object : world.List(collection)) {
      if (Deleting(object)) return Format("{} {} is being deleted", collection, NameOf(object));
      if (collection != kServices) continue;
      if (auto wrong = CheckService(object)) return wrong;
    }
  }
  const Wanted wanted = ComputeWanted(world);
  for (const Json& pod : world.List(kPods)) {
    const std::string egress = EgressOf(pod);
    const bool needs = wanted.egresses.contains(egress);
    if (needs != Has(pod, difftracker::kPodFinalizer)) {
      return Format("pod {} of {} has a finalizer: {}", NameOf(pod), egress, !needs);
    }
  }
  if (cloud_.gateway().locations() != wanted.locations) {
    return Format("the locations are{}, and{} are wanted", Show(cloud_.gateway().locations()),
                  Show(wanted.locations));
  }
  std::set<std::string> services;
  for (const auto& [name, service] : cloud_.gateway().services()) {
    if (!service.is_default) services.insert(name);
  }
  if (services != wanted.services) {
    return Format("registrations differ:{}", Difference(services, wanted.services));
  }
  std::set<std::string> resources;
  for (const auto& [key, resource] : cloud_.group().all()) resources.insert(key);
  if (resources == wanted.resources) return CheckTags(world, wanted);
  return Format("resources differ:{}", Difference(resources, wanted.resources));
}

std::optional<std::string> DiffTracker::Left(World& world) {
  if (auto wrong = Unsettled(world)) return wrong;
  for (const char* collection : {kServices, kPods}) {
    for (const Json& object : world.List(collection)) {
      if (NameOf(object) != "kubernetes") return Format("{} {}", collection, NameOf(object));
    }
  }
  return CheckMemory();
}

}  // namespace berth::simulate
