#include "reconcile/difftracker/cloud_survey.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "reconcile/difftracker/names.h"
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
  Picture(const Lists& lists, std::string cluster) : cluster_(std::move(cluster)) {
    for (const auto& service : lists.services) found_[service.name].registration = &service;
    for (const auto& balancer : lists.balancers) {
      if (auto* of = Of(LowerCase(balancer.name), balancer.tags)) of->balancer = &balancer;
    }
    for (const auto& nat : lists.nats) {
      if (auto* of = Of(LowerCase(nat.name), nat.tags)) of->nat = &nat;
    }
    for (const auto& ip : lists.ips) {
      const std::string service = ServiceOfIp(LowerCase(ip.name), ip.ipv6);
      if (service.empty()) continue;
      if (auto* of = Of(service, ip.tags)) (ip.ipv6 ? of->ip_v6 : of->ip) = &ip;
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
  // Where a resource belongs; null for one that is not ours.
  Resources* Of(const std::string& name, const cloud::Tags& tags) {
    const auto tag = tags.find(std::string(kClusterTag));
    const auto known = found_.find(name);
    if (tag == tags.end()) {
      const bool is_registered = known != found_.end() && known->second.registration;
      return is_registered ? &known->second : nullptr;
    }
    return tag->second == cluster_ ? &found_[name] : nullptr;
  }

  static bool IsInSync(const std::string& name, const Resources& parts, const Expected& expected) {
    if (const auto inbound = expected.inbound(name)) return Has(parts, *inbound);
    if (const auto outbound = expected.outbound(name)) return Has(parts, *outbound);
    return true;
  }

  static bool HasIp(const Resources& parts, bool is_v6) {
    const auto* ip = parts.Ip(is_v6);
    return ip && ip->succeeded && !ip->address.empty();
  }

  static bool Has(const Resources& parts, const InboundSpec& spec) {
    return HasIp(parts, spec.ipv6) && parts.balancer && parts.balancer->succeeded &&
           parts.balancer->rules == spec.rules &&
           parts.balancer->public_ip == PublicIpName(spec.key, spec.ipv6) && parts.registration &&
           HasPoolOf(*parts.registration, spec.key);
  }

  static bool Has(const Resources& parts, const OutboundSpec& spec) {
    const auto names = [&](bool is_wanted, bool is_v6) {
      return is_wanted ? std::vector{PublicIpName(spec.key, is_v6)} : std::vector<std::string>();
    };
    return parts.nat && parts.nat->succeeded && parts.nat->in_gateway &&
           parts.nat->public_ips == names(spec.ipv4, false) &&
           parts.nat->public_ips_v6 == names(spec.ipv6, true) && HasIp(parts, false) == spec.ipv4 &&
           HasIp(parts, true) == spec.ipv6 && parts.registration &&
           !parts.registration->nat_gateway_id.empty();
  }

  const std::string cluster_;
  std::map<std::string, Resources> found_;
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
