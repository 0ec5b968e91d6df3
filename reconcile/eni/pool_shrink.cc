#include <algorithm>
#include <chrono>
#include <ranges>
#include <vector>

#include "reconcile/eni/nic_stock.h"
#include "reconcile/eni/pod_addresses.h"
#include "reconcile/eni/pool.h"
#include "reconcile/eni/pool_survey.h"

namespace berth::eni {
namespace {

using namespace std::chrono_literals;

constexpr async::Duration kReclaimInterval = 2min;  // of a spec without one
constexpr async::Duration kLeastInterval = 15s;     // each is a write
constexpr async::Duration kMostInterval = 30 * 24h;
constexpr double kJitter = 0.1;  // of a spec without one
constexpr double kMostJitter = 10;

void ThawPrefixes(NodeStatus& status, async::WallTime now) {
  for (auto& [id, nic] : status.nics) {
    for (auto* prefixes : {&nic.ipv4_prefixes, &nic.ipv6_prefixes}) {
      for (Prefix& prefix : *prefixes) {
        if (prefix.status != kFrozen || !prefix.frozen_until || *prefix.frozen_until > now)
          continue;
        prefix.status = kValid;
        prefix.frozen_until.reset();
      }
    }
  }
}

// A warm-up that has no room left is over: it would hold up every release.
void KeepWarmUp(const Node& node, NodeStatus& status, const PoolSurvey& survey) {
  if (status.warm_up_completed) return;
  if (status.warm_up_target <= 0) status.warm_up_target = std::max(node.spec.warm_up, 0);
  const Lane& lane = survey.standard;
  const bool full = lane.room == 0 && lane.coming == 0 && lane.coming_room == 0 &&
                    survey.secondaries == 0 && survey.trunks == 0;
  status.warm_up_completed =
      node.spec.warm_up <= 0 || status.warm_up_allocated >= status.warm_up_target || full;
}

async::WallTime::duration JitteredInterval(const NodeSpec& spec, double random) {
  const async::Duration interval = std::clamp<async::Duration>(
      spec.reclaim_interval.value_or(kReclaimInterval), kLeastInterval, kMostInterval);
  const double jitter =
      spec.reclaim_jitter > 0 ? std::min(spec.reclaim_jitter, kMostJitter) : kJitter;
  return std::chrono::duration_cast<async::WallTime::duration>(interval * (1 + random * jitter));
}

// Marks up to `count` addresses; those that could not be marked stay.
void MarkIdle(std::map<std::string, Ip>& addresses, int count) {
  for (auto& [address, ip] : addresses) {
    if (count <= 0) return;
    if (ip.status != kValid || !ip.pod.empty() || ip.primary) continue;
    ip.status = kDeleting;
    --count;
  }
}

// Pods' worth of addresses that the Nic can give back without its primary one.
int Releasable(const NodeSpec& spec, const Nic& nic) {
  const NicStock stock = NicStock::Of(nic);
  const int idle = stock.Idle(spec);
  if (spec.ipv6) return idle;  // an IPv6 address is never a primary one
  const auto is_idle_primary = [](const auto& entry) {
    return entry.second.primary && entry.second.status == kValid && entry.second.pod.empty();
  };
  return idle - static_cast<int>(std::ranges::count_if(nic.ipv4, is_idle_primary));
}

bool IsUnused(const Nic& nic, const PodAddresses& pods) {
  return nic.type == kSecondaryType && !IsErdma(nic) && nic.ipv4_prefixes.empty() &&
         nic.ipv6_prefixes.empty() && !pods.HasAnyOf(nic);
}

// Whether any of the Nics could do with an address less, or be done without.
bool HasReleasable(const NodeSpec& spec, const std::vector<Nic*>& nics, const PodAddresses& pods) {
  return std::ranges::any_of(nics, [&](const Nic* nic) {
    return Releasable(spec, *nic) > 0 ||
           (NicStock::Of(*nic).Idle(spec) > 0 && IsUnused(*nic, pods));
  });
}

// The number of idle addresses that the reclaim rule lets go now, of `spare` ones. The time of the
// next is set only while there is something to let go: it is a write.
int Reclaim(const NodeSpec& spec, NodeStatus& status, int spare, async::WallTime now,
            double random) {
  const auto modified = status.last_modified.value_or(async::WallTime{});
  const async::Duration after = spec.reclaim_after.value_or(async::Duration::zero());
  if (!spec.has_reclaim || spec.reclaim_batch <= 0 || spare <= 0 || now - modified < after) {
    status.next_reclaim.reset();
    return 0;
  }
  if (status.next_reclaim && *status.next_reclaim > now) return 0;
  const bool due = status.next_reclaim.has_value();
  status.next_reclaim = now + JitteredInterval(spec, random);
  return due ? std::min(spec.reclaim_batch, spare) : 0;
}

// Releases `excess` idle addresses of the Nics, which are in the order in which they are filled.
void Release(const NodeSpec& spec, const std::vector<Nic*>& nics, const PodAddresses& pods,
             int excess) {
  for (Nic* nic : nics | std::views::reverse) {
    if (excess <= 0) return;
    const int idle = NicStock::Of(*nic).Idle(spec);
    if (idle > excess || !IsUnused(*nic, pods)) continue;
    nic->status = kDeleting;
    excess -= idle;
  }
  for (Nic* nic : nics | std::views::reverse) {
    if (excess <= 0) return;
    if (!IsInPool(*nic)) continue;
    const int count = std::min(excess, Releasable(spec, *nic));
    if (count <= 0) continue;
    if (spec.ipv4) MarkIdle(nic->ipv4, count);
    if (spec.ipv6) MarkIdle(nic->ipv6, count);
    excess -= count;
  }
}

}  // namespace

void Shrink(const Node& node, NodeStatus& status, const PodsView& pods, async::WallTime now,
            double random) {
  ThawPrefixes(status, now);
  if (InPrefixMode(node)) return;
  const PoolSurvey survey = PoolSurvey::Of(node, status);
  KeepWarmUp(node, status, survey);
  if (!status.warm_up_completed) return;

  const NodeSpec& spec = node.spec;
  const int most = std::max({spec.max_pool, spec.min_pool, 0});
  const PodAddresses addresses(pods);
  std::vector<Nic*> standard;
  std::vector<Nic*> erdma;
  for (Nic* nic : PoolNics(status)) (IsErdma(*nic) ? erdma : standard).push_back(nic);
  const int idle = survey.standard.idle;
  const int beyond = std::max(idle - most, 0);
  const int spare =
      HasReleasable(spec, standard, addresses) ? idle - beyond - std::max(spec.min_pool, 0) : 0;
  const int reclaimed = Reclaim(spec, status, spare, now, random);
  Release(spec, standard, addresses, beyond + reclaimed);
  Release(spec, erdma, addresses, survey.erdma.idle - most);
}

}  // namespace berth::eni
