#include <algorithm>

#include "reconcile/eni/nic_stock.h"
#include "reconcile/eni/pool_growth.h"
#include "reconcile/eni/vswitch_choice.h"

namespace berth::eni {
namespace {

int Occupied(const std::vector<Prefix>& prefixes) {
  return static_cast<int>(std::ranges::count_if(prefixes, IsOccupied));
}

// Prefixes that are there or on their way, and room for more on ENIs that are on their way.
struct PrefixCounts {
  int ipv4 = 0;
  int ipv6 = 0;
  int coming_ipv4_room = 0;
  int coming_ipv6_room = 0;  // one an ENI
};

PrefixCounts CountPrefixes(const PoolState& pool) {
  const NodeSpec& spec = pool.node.spec;
  PrefixCounts counts;
  for (const auto& [id, nic] : pool.status.nics) {
    if (!IsInPool(nic) && !IsOnItsWay(nic)) continue;
    counts.ipv4 += Occupied(nic.ipv4_prefixes);
    counts.ipv6 += Occupied(nic.ipv6_prefixes);
    if (!IsOnItsWay(nic)) continue;
    counts.coming_ipv4_room += std::max(spec.ipv4_per_adapter - NicStock::Of(nic).ipv4.held, 0);
    counts.coming_ipv6_room += nic.ipv6_prefixes.empty();
  }
  for (const auto& [token, attempt] : pool.status.attempts) {
    const cloud::EniRequest& request = attempt.request;
    counts.ipv4 += request.ipv4_prefixes;
    counts.ipv6 += request.ipv6_prefixes;
    counts.coming_ipv4_room += std::max(spec.ipv4_per_adapter - NicStock::Of(request).ipv4.held, 0);
    counts.coming_ipv6_room += request.ipv6_prefixes == 0;
  }
  return counts;
}

std::optional<job::Assign> AssignIpv4(const PoolState& pool, int count) {
  if (count <= 0) return std::nullopt;
  for (const Nic* nic : PoolNics(pool.status)) {
    const int room = pool.node.spec.ipv4_per_adapter - NicStock::Of(*nic).ipv4.held;
    if (room <= 0 || FreeAddressesOf(pool.vswitches, nic->vswitch, pool.now) == 0) continue;
    return job::Assign{.eni = nic->id,
                       .ipv4_prefixes = std::min({count, room, MostOfOneCall(pool.node)})};
  }
  return std::nullopt;
}

// One IPv6 prefix on a Nic that lacks it: beside IPv4 ones if there are both families.
std::optional<job::Assign> AssignIpv6(const PoolState& pool, int count) {
  const NodeSpec& spec = pool.node.spec;
  if (!spec.ipv6 || (!spec.ipv4 && count <= 0)) return std::nullopt;
  for (const Nic* nic : PoolNics(pool.status)) {
    if (spec.ipv4 && Occupied(nic->ipv4_prefixes) == 0) continue;
    const bool has_prefix = std::ranges::any_of(
        nic->ipv6_prefixes, [](const Prefix& prefix) { return prefix.status != kInvalid; });
    if (has_prefix || NicStock::Of(*nic).ipv6.held >= spec.ipv6_per_adapter) continue;
    return job::Assign{.eni = nic->id, .ipv6_prefixes = 1};
  }
  return std::nullopt;
}

}  // namespace

Wanted GrowPrefixes(const PoolState& pool) {
  const NodeSpec& spec = pool.node.spec;
  const PrefixCounts counts = CountPrefixes(pool);
  const int ipv4 = spec.ipv4 ? spec.ipv4_prefixes - counts.ipv4 : 0;
  const int ipv6 = spec.ipv6 && !spec.ipv4 ? spec.ipv6_prefixes - counts.ipv6 : 0;
  if (auto assign = AssignIpv4(pool, ipv4)) return {.job = *assign, .insufficient = {}};
  if (auto assign = AssignIpv6(pool, ipv6)) return {.job = *assign, .insufficient = {}};

  // A new ENI has its primary address beside the prefixes.
  const int room = spec.ipv4_per_adapter - 1;
  const int new_ipv4 = room > 0 ? ipv4 - counts.coming_ipv4_room : 0;
  const int new_ipv6 = spec.ipv6_per_adapter > 0 ? ipv6 - counts.coming_ipv6_room : 0;
  const bool demand = new_ipv4 > 0 || new_ipv6 > 0;
  if (!demand && pool.survey.trunks == 0) return {};
  NewEni eni = MakeEni(pool, {.trunk = true, .erdma = demand, .secondary = demand});
  if (!eni.request)
    return {.job = {}, .insufficient = demand ? std::move(eni.refusal) : "", .refused = true};
  if (new_ipv4 > 0) {
    eni.request->ipv4_prefixes = std::min({new_ipv4, room, MostOfOneCall(pool.node)});
    if (spec.ipv6 && spec.ipv6_per_adapter > 0) eni.request->ipv6_prefixes = 1;
  } else if (new_ipv6 > 0) {
    eni.request->ipv6_prefixes = 1;
  }
  return {.job = job::Create{.request = std::move(*eni.request)}, .insufficient = {}};
}

}  // namespace berth::eni
