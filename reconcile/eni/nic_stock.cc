#include "reconcile/eni/nic_stock.h"

#include <map>
#include <string>

#include "cloud/eni.h"

namespace berth::eni {
namespace {

bool IsOurType(const Nic& nic) { return nic.type != kPrimaryType && nic.type != kMemberType; }

FamilyStock StockOf(const std::map<std::string, Ip>& addresses,
                    const std::vector<Prefix>& prefixes) {
  FamilyStock stock;
  for (const auto& [address, ip] : addresses) {
    stock.held += ip.status != kInvalid;
    stock.idle += ip.status == kValid && ip.pod.empty();
  }
  for (const Prefix& prefix : prefixes) stock.held += prefix.status != kInvalid;
  return stock;
}

}  // namespace

bool Nic::HasPod() const {
  const auto has_pod = [](const auto& entry) { return !entry.second.pod.empty(); };
  return std::ranges::any_of(ipv4, has_pod) || std::ranges::any_of(ipv6, has_pod);
}

bool InPrefixMode(const Node& node) { return node.spec.prefixes && node.backend == Backend::kEcs; }

bool IsErdma(const Nic& nic) { return nic.traffic_mode == kHighPerformance; }

bool IsInPool(const Nic& nic) {
  return nic.status == kInUse && !nic.unschedulable && IsOurType(nic);
}

bool IsOnItsWay(const Nic& nic) {
  return nic.status == kAttaching && !nic.unschedulable && IsOurType(nic);
}

bool IsOccupied(const Prefix& prefix) {
  return prefix.status == kValid || prefix.status == kFrozen;
}

int MostOfOneCall(const Node& node) {
  return node.backend == Backend::kEflo ? 1 : static_cast<int>(cloud::Enis::kMostAssigned);
}

NicStock NicStock::Of(const Nic& nic) {
  return {.ipv4 = StockOf(nic.ipv4, nic.ipv4_prefixes),
          .ipv6 = StockOf(nic.ipv6, nic.ipv6_prefixes)};
}

NicStock NicStock::Of(const cloud::EniRequest& request) {
  return {.ipv4 = {.held = request.ipv4_addresses + request.ipv4_prefixes,
                   .idle = request.ipv4_addresses},
          .ipv6 = {.held = request.ipv6_addresses + request.ipv6_prefixes,
                   .idle = request.ipv6_addresses}};
}

int NicStock::Idle(const NodeSpec& spec) const {
  if (spec.ipv4 && spec.ipv6) return std::min(ipv4.idle, ipv6.idle);
  if (spec.ipv4) return ipv4.idle;
  return spec.ipv6 ? ipv6.idle : 0;
}

int NicStock::Room(const NodeSpec& spec) const {
  if (!spec.ipv4 && !spec.ipv6) return 0;
  const int idle = Idle(spec);
  const auto room_of = [idle](const FamilyStock& stock, int most) {
    return std::max(most - stock.held, 0) + stock.idle - idle;
  };
  const int ipv4_room = room_of(ipv4, spec.ipv4_per_adapter);
  const int ipv6_room = room_of(ipv6, spec.ipv6_per_adapter);
  if (!spec.ipv6) return ipv4_room;
  return spec.ipv4 ? std::min(ipv4_room, ipv6_room) : ipv6_room;
}

}  // namespace berth::eni
