#include <array>

#include "log/format.h"
#include "reconcile/difftracker/names.h"
#include "simulate/difftracker.h"
#include "simulate/objects.h"
#include "simulate/world.h"

// Users of the cluster, and others at the cloud.
namespace berth::simulate {
namespace {

constexpr std::array kEgresses = {"egress-a", "Egress-B",   "default-natgw",
                                  "corp-nat", "taken-name", "egress-z"};

std::string ServicePath(const std::string& name) {
  return "/api/v1/namespaces/default/services/" + name;
}
std::string PodPath(const std::string& name) { return "/api/v1/namespaces/default/pods/" + name; }

}  // namespace

void DiffTracker::Act(World& world) {
  const std::uint64_t kind = Below(20);
  if (kind < 8) return ActOnService(world, Format("s{}", Below(3)));
  if (kind < 19) return ActOnPod(world, Format("p{}", Below(6)));
  ActOnNode(world, Format("n{}", Below(3)));
}

void DiffTracker::CreateService(World& world, const std::string& name) {
  const std::uint64_t app = Below(2);
  std::string ports = Format(R"({{"name":"a","port":80,"targetPort":{}}})", 8080 + Below(2));
  if (Below(3) == 0) {
    ports += R"(,{"name":"b","protocol":"UDP","port":53,"targetPort":5353})";
  }
  std::string more;
  if (Below(12) == 0) more += R"(,"loadBalancerClass":"example.com/other")";
  if (Below(12) == 0) more += R"(,"sessionAffinity":"ClientIP")";
  if (dual_stack_ && Below(4) == 0) more += R"(,"ipFamilies":["IPv6"])";
  const auto made =
      world.Ask({.method = kube::Method::kPost,
                 .path = "/api/v1/namespaces/default/services",
                 .body = Format(R"({{"metadata":{{"name":"{}"}},"spec":{{"type":"LoadBalancer",)"
                                R"("selector":{{"app":"a{}"}},"ports":[{}]{}}}}})",
                                name, app, ports, more)});
  if (made.code == 201 && more.empty() && Below(6) == 0) {
    MakeMigratedService(difftracker::LowerCase(UidOf(made.body())));
  }
}

void DiffTracker::ActOnService(World& world, const std::string& name) {
  if (world.Ask({.path = ServicePath(name)}).code == 404) return CreateService(world, name);
  switch (Below(dual_stack_ ? 7 : 6)) {
    case 6:
      world.Merge(ServicePath(name),
                  Format(R"({{"spec":{{"ipFamilies":["{}"]}}}})", Below(2) == 0 ? "IPv4" : "IPv6"));
      return;
    case 0:
    case 1:
      world.Ask({.method = kube::Method::kDelete, .path = ServicePath(name)});
      return;
    case 2:
      world.Merge(ServicePath(name), R"({"spec":{"type":"ClusterIP"}})");
      return;
    case 3:
      world.Merge(ServicePath(name), R"({"spec":{"type":"LoadBalancer"}})");
      return;
    case 4:
      world.Merge(ServicePath(name),
                  Format(R"({{"spec":{{"selector":{{"app":"a{}"}}}}}})", Below(2)));
      return;
    default:
      world.Merge(ServicePath(name),
                  Format(R"({{"spec":{{"ports":[{{"name":"a","port":{},"targetPort":8080}}]}}}})",
                         80 + Below(3)));
  }
}

void DiffTracker::CreatePod(World& world, const std::string& name) {
  std::string labels = Format(R"("app":"a{}")", Below(2));
  if (Below(3) != 0) {
    labels += Format(R"(,"kubernetes.azure.com/service-egress-gateway":"{}")",
                     kEgresses[Below(Below(6) == 0 ? kEgresses.size() : 2)]);
  }
  world.Ask({.method = kube::Method::kPost,
             .path = "/api/v1/namespaces/default/pods",
             .body = Format(R"({{"metadata":{{"name":"{}","labels":{{{}}}}},"spec":{{)"
                            R"("containers":[{{"name":"a","image":"b"}}]}}}})",
                            name, labels)});
}

void DiffTracker::ActOnPod(World& world, const std::string& name) {
  if (world.Ask({.path = PodPath(name)}).code == 404) return CreatePod(world, name);
  switch (Below(5)) {
    case 0:
      world.Merge(PodPath(name),
                  Format(R"({{"metadata":{{"labels":{{)"
                         R"("kubernetes.azure.com/service-egress-gateway":"{}"}}}}}})",
                         kEgresses[Below(Below(6) == 0 ? kEgresses.size() : 2)]));
      return;
    case 1:
      world.Merge(
          PodPath(name),
          R"({"metadata":{"labels":{"kubernetes.azure.com/service-egress-gateway":null}}})");
      return;
    default:
      world.Ask({.method = kube::Method::kDelete,
                 .path = PodPath(name) + (Below(2) == 0 ? "?gracePeriodSeconds=0" : "")});
  }
}

void DiffTracker::ActOnNode(World& world, const std::string& name) {
  if (world.Ask({.path = "/api/v1/nodes/" + name}).code == 404) {
    world.Ask({.method = kube::Method::kPost,
               .path = "/api/v1/nodes",
               .body = Format(R"({{"metadata":{{"name":"{}"}}}})", name)});
  } else if (Below(2) == 0) {
    world.Ask({.method = kube::Method::kDelete, .path = "/api/v1/nodes/" + name});
  }
}

// Others delete a part of what Berth has made, or write a location.
void DiffTracker::Meddle(World& world) {
  meddled_ = true;
  cloud_.Settle(world.scheduler().WallNow());
  const auto& services = cloud_.gateway().services();
  if (services.empty()) return;
  auto chosen = services.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(Below(services.size())));
  const std::string name = chosen->first;
  if (chosen->second.is_default || foreign_services_.contains(name)) return;
  const std::uint64_t kind = Below(7);
  world.Trace("others meddle with {} ({})", name, kind);
  // Azure lets nobody delete a public IP or a NAT gateway that is in use.
  const auto erase = [this](const std::string& key) {
    if (cloud_.group().ReferrersOf(key).empty()) cloud_.group().Erase(key);
  };
  switch (kind) {
    case 0:
      cloud_.gateway().SetLocation("10.9.9.9", {{"10.8.8.8", {name}}});
      return;
    case 1:
      cloud_.group().Erase("loadbalancers/" + name);
      return;
    case 2:
      return erase("natgateways/" + name);
    case 3:
      return erase(Format("publicipaddresses/{}-pip", name));
    case 4:
      return RemoveSomeTag(name);
    case 5:
      // A resource without the tag would be nobody's.
      if (cloud_.gateway().MappingsOf(name) == 0 && IsTagged(name))
        cloud_.gateway().EraseService(name);
      return;
    default: {
      const auto locations = cloud_.gateway().locations();
      if (!locations.empty() && !foreign_locations_.contains(locations.begin()->first))
        cloud_.gateway().SetLocation(locations.begin()->first, {});
    }
  }
}

// A user gives up waiting for a deletion.
void DiffTracker::ForceSomeDeletion(World& world) {
  std::vector<std::string> names;
  for (const auto& [name, service] : cloud_.gateway().services()) names.push_back(name);
  for (const std::string& name : names) {
    const bool is_inbound = difftracker::IsUidShaped(name);
    DeleteLive({.plural = "trackedservices",
                .name = (is_inbound ? "lb-" : "nat-") + name,
                .which = [](const Json&) { return true; },
                .on_deleted =
                    [this, &world, name](const std::string&, int code) {
                      if (code != 200) return;
                      world.Trace("a user has forced the deletion of {}", name);
                      forced_.insert(name);
                    }});
  }
}

void DiffTracker::SomeFault() {
  using Kind = cloud::simulator::Fault::Kind;
  static constexpr std::array kActions = {
      "PutPublicIPAddress",    "PutLoadBalancer",        "PutNatGateway",
      "UpdateServices",        "UpdateAddressLocations", "DeleteLoadBalancer",
      "DeletePublicIPAddress", "DeleteNatGateway",       "GetServices",
      "GetAddressLocations",   "GetNatGateway",          "GetPublicIPAddress",
      "ListPublicIPAddresses"};
  // The last one is in no list of Azure's codes.
  static constexpr std::array kCodes = {"InternalServerError", "QuotaExceeded",
                                        "AuthorizationFailed", "PolicyViolation"};
  static constexpr std::array kKinds = {Kind::kRefused, Kind::kLostAnswer, Kind::kFallsBack};
  auto faults = cloud_.faults().all();
  faults.push_back({.action = kActions[Below(kActions.size())],
                    .kind = kKinds[Below(kKinds.size())],
                    .code = kCodes[Below(kCodes.size())],
                    .count = 1 + Below(3)});
  cloud_.faults().Set(std::move(faults));
}

}  // namespace berth::simulate
