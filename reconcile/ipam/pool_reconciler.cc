#include "reconcile/ipam/pool_reconciler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kube/object.h"
#include "kube/patch.h"
#include "log/format.h"

namespace berth::ipam {
namespace {

using namespace std::chrono_literals;

constexpr auto kStillInUse = 30s;
constexpr std::size_t kDroppedAtOnce = 100;

std::size_t SubnetsIn(const Space::PoolState& state) {
  return state.space ? state.space->Count(Use::kSubnet) : 0;
}

std::string WhoUses(const Space& space, const Space::PoolState& state) {
  const std::size_t subnets = SubnetsIn(state) + state.unplaced.size();
  if (subnets > 0) return Format("it waits for {} Subnets of the pool to go", subnets);
  if (const auto children = space.Dependants(state); !children.empty()) {
    return Format("it waits for child pool {} to go", SplitKey(children.front()).second);
  }
  if (space.InUse(state.key)) return "it waits for an allocation under way";
  return "it waits for the finalizers of other controllers";
}

}  // namespace

void PoolReconciler::Changed(const std::string& key) {
  if (untold_.contains(key)) return;
  const Space::PoolState* state = context_.space.Find(key);
  untold_[key] = {context_.executor.Now(), state ? SubnetsIn(*state) : 0};
}

// How long to be silent yet.
async::Duration PoolReconciler::Wait(const Space::PoolState& state, const std::string& key) const {
  const auto found = untold_.find(key);
  if (found == untold_.end()) return {};
  const Untold& untold = found->second;
  const std::size_t now = SubnetsIn(state);
  const std::size_t news = now > untold.subnets ? now - untold.subnets : untold.subnets - now;
  const auto longest = news >= kWorthTelling ? kLeastSilence : kLongestSilence;
  const auto told = told_.find(key);
  const bool burst = told != told_.end() && untold.since - told->second < kBurst;
  return std::min(state.changed + (burst ? kQuietInBurst : kQuiet), untold.since + longest) -
         context_.executor.Now();
}

async::Task<Outcome> PoolReconciler::Reconcile(std::string key) {
  const Space::PoolState* state = context_.space.Find(key);
  if (!state) {
    untold_.erase(key);
    told_.erase(key);
    if (context_.metrics) context_.metrics->Forget(key);
    co_return runtime::Requeue{};
  }
  const auto now = context_.executor.Now();
  if (const auto wait = Wait(*state, key); wait > async::Duration::zero()) {
    co_return runtime::Requeue{wait};
  }
  if (context_.metrics) context_.metrics->Began();
  auto outcome = co_await Update(std::move(key));
  if (context_.metrics) {
    context_.metrics->Ended(outcome.has_value(), context_.executor.Now() - now);
  }
  co_return outcome;
}

async::Task<Outcome> PoolReconciler::Update(std::string key) {
  const Pool* cached = context_.caches.latest_pools.Get(key);
  if (!cached) co_return runtime::Requeue{};
  Pool pool = *cached;
  if (pool.id.deleting != 0) co_return co_await End(std::move(key), std::move(pool));
  if (!pool.id.finalizer) {
    if (auto added = co_await SetFinalizer(std::move(pool), true); !added) {
      co_return std::unexpected(added.error());
    }
  }
  if (auto told = co_await Report(std::move(key)); !told) co_return std::unexpected(told.error());
  co_return runtime::Requeue{};
}

async::Task<Outcome> PoolReconciler::End(std::string key, Pool pool) {
  if (!context_.space.InUse(key)) {
    if (!pool.id.other_finalizers.empty()) {  // it stays for a while, and says why
      if (auto told = co_await Report(key); !told) co_return std::unexpected(told.error());
    }
    if (!pool.id.finalizer) co_return runtime::Requeue{};
    const auto removed = co_await SetFinalizer(std::move(pool), false);
    if (!removed) co_return std::unexpected(removed.error());
    co_return runtime::Requeue{};
  }
  if (pool.allow_delete) {
    if (auto dropped = co_await DropSubnets(key); !dropped) {
      co_return std::unexpected(dropped.error());
    }
  }
  if (auto told = co_await Report(std::move(key)); !told) co_return std::unexpected(told.error());
  co_return runtime::Requeue{kStillInUse};
}

// Deletes the pool's Subnets, as the escape annotation asks.
async::Task<Step> PoolReconciler::DropSubnets(std::string key) {
  std::vector<Identity> subnets;
  context_.caches.subnets.ForEachIn(
      context_.caches.subnets_by_pool, key, [&](const std::string&, const Subnet& subnet) {
        if (subnets.size() < kDroppedAtOnce && subnet.id.deleting == 0) {
          subnets.push_back(subnet.id);
        }
      });
  for (const Identity& subnet : subnets) {
    const auto deleted = co_await context_.api.Delete(
        kSubnets, subnet.ns, subnet.name, {.uid = subnet.uid, .resource_version = {}, .call = {}});
    if (!deleted && !IsGone(deleted.error())) co_return std::unexpected(deleted.error());
  }
  co_return Step();
}

async::Task<Step> PoolReconciler::SetFinalizer(Pool pool, bool wanted) {
  Json patch = PatchOf(pool.id);
  patch["metadata"]["finalizers"] = FinalizersOf(pool.id, wanted ? kFinalizer : "");
  const auto written = co_await context_.api.Patch(kPools, pool.id.ns, pool.id.name,
                                                   kube::PatchType::kMerge, patch.to_string());
  if (!written) {
    if (IsGone(written.error())) co_return Step();
    co_return std::unexpected(written.error());
  }
  if (auto now = kube::Decode<Pool>(*written); now && wanted)
    context_.caches.latest_pools.Note(std::move(*now));
  co_return Step();
}

async::Task<Step> PoolReconciler::Report(std::string key) {
  const Space::PoolState* state = context_.space.Find(key);
  const Pool* cached = context_.caches.latest_pools.Get(key);
  if (!state || !cached) co_return Step();
  // Changes from here on are for the next time.
  untold_.erase(key);
  const Json before = cached->status.empty() ? Json::Object() : Json::parse(cached->status);
  Json from = PatchOf(cached->id);
  Json to = from;
  from["status"] = before;
  to["status"] = StatusOf(*state, before);
  if (context_.metrics) context_.metrics->Reported(key, *state, context_.executor.WallNow());
  const auto patch = kube::MergePatch(from, to);
  if (!patch) co_return Step();
  told_[key] = context_.executor.Now();
  const std::string name = cached->id.name;
  const std::string ns = cached->id.ns;
  const auto written =
      co_await context_.api.Patch(kPools, ns, name, kube::PatchType::kMerge, patch->to_string(),
                                  {.subresource = "status", .call = {}});
  if (!written) {
    if (IsGone(written.error())) co_return Step();
    Changed(key);
    co_return std::unexpected(written.error());
  }
  if (auto now = kube::Decode<Pool>(*written)) context_.caches.latest_pools.Note(std::move(*now));
  co_return Step();
}

Json PoolReconciler::StatusOf(const Space::PoolState& state, const Json& before) const {
  Json status = before;  // what others put there stays
  status["observedGeneration"] = state.pool.id.generation;
  Json free;
  Json listed;
  std::size_t count = 0;
  if (state.rules) {
    for (int prefix = state.rules->range.prefix(); prefix <= state.rules->max_block; ++prefix) {
      const std::int64_t blocks = state.space->Free(prefix, true);
      free[std::to_string(prefix)] = blocks;
      free[Format("/{}", prefix)] = blocks;
    }
  }
  if (state.space) {
    const Allocator& space = *state.space;
    count = space.Count(Use::kSubnet);
    space.ForEach(0, [&](const Hold& hold) {
      if (hold.use != Use::kSubnet) return true;
      const Subnet* subnet = context_.caches.SubnetAt(state.pool.id.Key(), hold.block, hold.owner);
      // A Subnet that the watch has yet to bring is listed then.
      if (subnet) listed[hold.block.ToString()] = subnet->cluster;
      return listed.size() < kMostListed;
    });
  }
  status["allocatedCount"] = count;
  status["freeCountBySize"] = std::move(free);
  const bool truncated = listed.size() == kMostListed && count > kMostListed;
  status["allocatedCIDRs"] = std::move(listed);
  status["conditions"] =
      ConditionsOf(state, before.get_value_or<Json>("conditions", Json::Array()), truncated);
  return status;
}

Json PoolReconciler::ConditionsOf(const Space::PoolState& state, const Json& before,
                                  bool truncated) const {
  Json conditions = before.is_array() ? before : Json::Array();
  const auto now = context_.executor.WallNow();
  const auto generation = state.pool.id.generation;
  kube::Condition ready{.type = "Ready",
                        .status = kube::ConditionStatus::kTrue,
                        .reason = "Ready",
                        .message = "blocks can be allocated",
                        .observed_generation = generation};
  if (state.problem) {
    ready.status = kube::ConditionStatus::kFalse;
    ready.reason = state.problem->reason;
    ready.message = state.problem->message;
    if (ready.reason == "Deleting") ready.message += "; " + WhoUses(context_.space, state);
  }
  kube::SetCondition(conditions, ready, now);
  const bool known = std::ranges::any_of(conditions.array_range(), [](const Json& condition) {
    return condition.get_value_or<std::string>("type", "") == "ListTruncated";
  });
  if (truncated || known) {
    kube::SetCondition(
        conditions,
        {.type = "ListTruncated",
         .status = truncated ? kube::ConditionStatus::kTrue : kube::ConditionStatus::kFalse,
         .reason = truncated ? "TooMany" : "Complete",
         .message = truncated ? Format("allocatedCIDRs shows the first {} blocks; the Subnets "
                                       "of the pool are all of them",
                                       kMostListed)
                              : "allocatedCIDRs shows all blocks",
         .observed_generation = generation},
        now);
  }
  return conditions;
}

}  // namespace berth::ipam
