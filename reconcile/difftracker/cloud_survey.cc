#include "reconcile/difftracker/cloud_survey.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "reconcile/difftracker/names.h"
#include "reconcile/difftracker/ownership.h"
#include "reconcile/difftracker/registrar.h"

namespace berth::difftracker {
namespace {

struct Lists {
  std::vector<cloud::GatewayService> services;
  std::vector<cloud::PublicIp> ips;
  std::vector<cloud::LoadBalancer> balancers;
  std::vector<cloud::NatGateway> nats;
};

async::Task<Result<Lists>> ReadLists(cloud::ServiceGateway* gateway) {
  Lists lists;
  auto services = co_await gateway->Services();
  if (!services) co_return std::unexpected(services.error());
  auto ips = co_await gateway->PublicIps();
  if (!ips) co_return std::unexpected(ips.error());
  auto balancers = co_await gateway->LoadBalancers();
  if (!balancers) co_return std::unexpected(balancers.error());
  auto nats = co_await gateway->NatGateways();
  if (!nats) co_return std::unexpected(nats.error());
  lists.services = std::move(*services);
  lists.ips = std::move(*ips);
  lists.balancers = std::move(*balancers);
  lists.nats = std::move(*nats);
  co_return lists;
}

// The parts of one service.
struct Resources {
  const cloud::GatewayService* registration = nullptr;
  const cloud::PublicIp* ip = nullptr;
  const cloud::PublicIp* ip_v6 = nullptr;
  const cloud::LoadBalancer* balancer = nullptr;
  const cloud::NatGateway* nat = nullptr;

  const cloud::PublicIp* Ip(bool is_v6) const { return is_v6 ? ip_v6 : ip; }
};

// The service that a public IP is named after; empty for another name.
std::string ServiceOfIp(std::string_view name, bool ipv6) {
  const std::string_view end = ipv6 ? "-pip-v6" : "-pip";
  return name.ends_with(end) ? std::string(name.substr(0, name.size() - end.size())) : "";
}

class Picture {
 public:
  Picture(const Lists& lists, std::string cluster)
      : registered_(ByName(lists.services)), owners_(std::move(cluster), registered_) {
    for (const auto& [name, service] : registered_) found_[name].registration = &service;
    for (const auto& balancer : lists.balancers) {
      const std::string name = LowerCase(balancer.name);
      if (owners_.IsOurs(balancer)) found_[name].balancer = &balancer;
      if (owners_.IsOfAnother(balancer.tags)) theirs_.insert(name);
    }
    for (const auto& nat : lists.nats) {
      const std::string name = LowerCase(nat.name);
      if (owners_.IsOurs(nat)) found_[name].nat = &nat;
      if (owners_.IsOfAnother(nat.tags)) theirs_.insert(name);
    }
    for (const auto& ip : lists.ips) {
      const std::string service = ServiceOfIp(LowerCase(ip.name), ip.ipv6);
      if (service.empty()) continue;
      if (owners_.IsOurs(ip, service)) {
        (ip.ipv6 ? found_[service].ip_v6 : found_[service].ip) = &ip;
      } else if (owners_.IsOfAnother(ip.tags)) {
        their_ips_.insert(service);
      }
    }
  }

  CloudPicture Draw(const Expected& expected) const {
    CloudPicture picture;
    for (const auto& [name, parts] : found_) {
      CloudService service{
          .name = name,
          .type = IsUidShaped(name) ? cloud::ServiceType::kInbound : cloud::ServiceType::kOutbound,
          .registered = parts.registration != nullptr,
          .is_default = parts.registration && parts.registration->is_default,
          .of_another = IsOfAnother(name, parts),
          .bare = parts.registration && !parts.ip && !parts.ip_v6 && !parts.balancer && !parts.nat,
          .in_sync = false};
      if (parts.registration) service.type = parts.registration->type;
      service.in_sync = IsInSync(name, parts, expected);
      picture.services.push_back(std::move(service));
      for (const auto* ip : {parts.ip, parts.ip_v6}) {
        if (ip && !ip->address.empty()) picture.addresses[name].push_back(ip->address);
      }
    }
    return picture;
  }

 private:
  static Registrar::Services ByName(const std::vector<cloud::GatewayService>& services) {
    Registrar::Services by_name;
    for (const auto& service : services) by_name.emplace(service.name, service);
    return by_name;
  }

  // The registration goes with its load balancer or NAT gateway; with the public IPs while a
  // deletion has removed that.
  bool IsOfAnother(const std::string& name, const Resources& parts) const {
    if (!parts.registration || parts.balancer || parts.nat) return false;
    return theirs_.contains(name) || (their_ips_.contains(name) && !parts.ip && !parts.ip_v6);
  }

  bool IsInSync(const std::string& name, const Resources& parts, const Expected& expected) const {
    // A Service that is refused has endpoints, too.
    if (IsUidShaped(name)) {
      const auto inbound = expected.inbound(name);
      return !inbound || Has(parts, *inbound);
    }
    const auto outbound = expected.outbound(name);
    return !outbound || Has(parts, *outbound);
  }

  template <typename Resource>
  bool IsMade(const Resource* resource) const {
    return resource && resource->succeeded && owners_.IsTagged(resource->tags);
  }

  bool HasIp(const Resources& parts, bool is_v6) const {
    const auto* ip = parts.Ip(is_v6);
    return IsMade(ip) && !ip->address.empty();
  }

  bool Has(const Resources& parts, const InboundSpec& spec) const {
    return HasIp(parts, spec.ipv6) && !parts.Ip(!spec.ipv6) && IsMade(parts.balancer) &&
           parts.balancer->rules == spec.rules &&
           parts.balancer->public_ip == PublicIpName(spec.key, spec.ipv6) && parts.registration &&
           HasPoolOf(*parts.registration, spec.key);
  }

  bool Has(const Resources& parts, const OutboundSpec& spec) const {
    const auto names = [&](bool is_wanted, bool is_v6) {
      return is_wanted ? std::vector{PublicIpName(spec.key, is_v6)} : std::vector<std::string>();
    };
    const auto has_ip = [&](bool is_wanted, bool is_v6) {
      return is_wanted ? HasIp(parts, is_v6) : !parts.Ip(is_v6);
    };
    return IsMade(parts.nat) && parts.nat->in_gateway &&
           parts.nat->public_ips == names(spec.ipv4, false) &&
           parts.nat->public_ips_v6 == names(spec.ipv6, true) && has_ip(spec.ipv4, false) &&
           has_ip(spec.ipv6, true) && parts.registration &&
           HasNatGateway(*parts.registration, spec.key);
  }

  const Registrar::Services registered_;
  const Ownership owners_;
  std::map<std::string, Resources> found_;
  std::set<std::string> theirs_;     // names of load balancers and NAT gateways of other clusters
  std::set<std::string> their_ips_;  // services that their public IPs are named after
};

}  // namespace

async::Task<Result<CloudPicture>> LookAtCloud(cloud::ServiceGateway* gateway, std::string cluster,
                                              const Expected* expected) {
  auto lists = co_await ReadLists(gateway);
  if (!lists) co_return std::unexpected(lists.error());
  CloudPicture picture = Picture(*lists, std::move(cluster)).Draw(*expected);
  picture.registered = std::move(lists->services);
  co_return picture;
}

}  // namespace berth::difftracker
