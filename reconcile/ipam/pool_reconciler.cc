#include "reconcile/ipam/pool_reconciler.h"

#include <algorithm>
#include <optional>
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

// Names a claim that is being deleted and keeps its block until other controllers let it go.
std::optional<std::string> ClaimThatStays(const Context& context, const std::string& pool) {
  std::optional<std::string> stays;
  const auto& claims = context.caches.claims;
  claims.ForEachIn(context.caches.told_claims_by_pool, pool,
                   [&](const std::string&, const Claim& claim) {
                     const Identity& id = claim.id;
                     if (stays || id.deleting == 0 || id.other_finalizers.empty() ||
                         !context.space.AssignmentOf(Fingerprint(id.uid))) {
                       return;
                     }
                     stays = Format("SubnetClaim {} to go, which has the finalizer {}", id.name,
                                    id.other_finalizers.front());
                   });
  return stays;
}

std::string WhoUses(const Context& context, const Space::PoolState& state) {
  const std::size_t subnets = SubnetsIn(state) + state.unplaced.size();
  if (subnets > 0) {
    return Format("it waits for {} Subnet{} of the pool to go", subnets, subnets == 1 ? "" : "s");
  }
  if (const auto children = context.space.Dependants(state); !children.empty()) {
    return Format("it waits for child pool {} to go", SplitKey(children.front()).second);
  }
  if (!context.space.InUse(state.key)) {
    return state.pool.id.other_finalizers.empty()
               ? "nothing uses it any more"
               : "it waits for the finalizers of other controllers";
  }
  return "it waits for " + ClaimThatStays(context, state.key).value_or("an allocation under way");
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
    refusals_.Forget(key);
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
  if (const auto* refusal = refusals_.Waiting(pool.id, context_.executor.Now())) {
    const auto left = refusal->until - context_.executor.Now();
    co_return co_await Tell(std::move(key), left);
  }
  if (pool.id.deleting != 0) co_return co_await End(std::move(key), std::move(pool));
  if (!pool.id.finalizer) {
    const Identity id = pool.id;
    if (auto added = co_await SetFinalizer(std::move(pool), true); !added) {
      co_return co_await Refused(std::move(key), id, added.error());
    }
  }
  refusals_.Forget(key);
  co_return co_await Tell(std::move(key));
}

async::Task<Outcome> PoolReconciler::Tell(std::string key, async::Duration again) {
  if (auto told = co_await Report(std::move(key)); !told) co_return std::unexpected(told.error());
  co_return runtime::Requeue{again};
}

async::Task<Outcome> PoolReconciler::Refused(std::string key, Identity pool, kube::Error error) {
  if (error.error_class != kube::ErrorClass::kTerminal) co_return std::unexpected(std::move(error));
  const auto now = context_.executor.Now();
  const auto wait = refusals_.Note(pool, std::move(error.message), now).wait;
  co_return co_await Tell(std::move(key), wait);
}

async::Task<Outcome> PoolReconciler::End(std::string key, Pool pool) {
  const Identity id = pool.id;
  if (!context_.space.InUse(key)) {
    if (!pool.id.other_finalizers.empty()) {  // it stays for a while, and says why
      if (auto told = co_await Report(key); !told) co_return std::unexpected(told.error());
    }
    if (!pool.id.finalizer) co_return runtime::Requeue{};
    const auto removed = co_await SetFinalizer(std::move(pool), false);
    if (!removed) co_return co_await Refused(std::move(key), id, removed.error());
    refusals_.Forget(key);
    co_return runtime::Requeue{};
  }
  if (pool.allow_delete) {
    if (auto dropped = co_await DropSubnets(key); !dropped) {
      co_return co_await Refused(std::move(key), id, dropped.error());
    }
  }
  refusals_.Forget(key);
  co_return co_await Tell(std::move(key), kStillInUse);
}

// The next Subnets to delete. After a refusal they begin at a random one, so that Subnets that
// cannot be deleted are not in the way of the others.
std::vector<Identity> PoolReconciler::SubnetsToDrop(const std::string& key) const {
  const auto& subnets = context_.caches.subnets;
  const std::size_t count = subnets.CountIn(context_.caches.subnets_by_pool, key);
  const bool refused = refusals_.Knows(key) && count > kDroppedAtOnce;
  const std::size_t first = refused ? context_.executor.Random() % count : 0;
  std::vector<Identity> some;
  std::vector<Identity> before;  // for want of others
  std::size_t at = 0;
  subnets.ForEachIn(context_.caches.subnets_by_pool, key,
                    [&](const std::string&, const Subnet& subnet) {
                      auto& list = at++ < first ? before : some;
                      if (list.size() < kDroppedAtOnce && subnet.id.deleting == 0) {
                        list.push_back(subnet.id);
                      }
                    });
  for (Identity& id : before) {
    if (some.size() < kDroppedAtOnce) some.push_back(std::move(id));
  }
  return some;
}

// Deletes the pool's Subnets, as the escape annotation asks. The first error is told once all have
// been tried.
async::Task<Step> PoolReconciler::DropSubnets(std::string key) {
  const std::vector<Identity> subnets = SubnetsToDrop(key);
  Step dropped;
  for (const Identity& subnet : subnets) {
    const auto deleted = co_await context_.api.Delete(
        kSubnets, subnet.ns, subnet.name, {.uid = subnet.uid, .resource_version = {}, .call = {}});
    if (deleted || IsGone(deleted.error()) || !dropped) continue;
    dropped = std::unexpected(Explained(deleted.error(), kSubnets.kind, subnet.name, "deleted"));
  }
  co_return dropped;
}

async::Task<Step> PoolReconciler::SetFinalizer(Pool pool, bool wanted) {
  Json patch = PatchOf(pool.id);
  patch["metadata"]["finalizers"] = FinalizersOf(pool.id, wanted ? kFinalizer : "");
  const auto written = co_await context_.api.Patch(kPools, pool.id.ns, pool.id.name,
                                                   kube::PatchType::kMerge, patch.to_string());
  if (!written) {
    if (IsGone(written.error())) co_return Step();
    co_return std::unexpected(Explained(written.error(), kPools.kind, pool.id.name,
                                        wanted ? "given its finalizer" : "let go"));
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
    if (ready.reason == "Deleting") ready.message += "; " + WhoUses(context_, state);
  }
  if (const auto* refusal = refusals_.Waiting(state.pool.id, context_.executor.Now())) {
    ready.message += "; " + refusal->message;
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
