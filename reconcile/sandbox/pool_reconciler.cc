#include "reconcile/sandbox/pool_reconciler.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "kube/conditions.h"
#include "kube/object.h"
#include "log/format.h"
#include "reconcile/sandbox/agent_pod.h"
#include "reconcile/sandbox/phases.h"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;
using runtime::Requeue;

// A pod that was created comes through the watch sooner.
constexpr auto kExpectFor = 30s;
// A busy pool changes all the time: its figures are written no more often than this.
constexpr auto kTellEach = 2s;
constexpr auto kLookAgain = 30s;
// Pods that one pass creates; the next one goes on.
constexpr std::size_t kMostNewPods = 50;

std::string_view NameOf(const Pod& pod) { return pod.id.name; }

}  // namespace

async::Task<PoolReconciler::Outcome> PoolReconciler::Reconcile(std::string key) {
  const Pool* found = parts_.pools.Get(key);
  if (!found || found->id.deleting != 0) {
    if (!found) told_.erase(key);
    for (const auto& [uid, until] : expected_[key]) counted_.erase(uid);
    expected_.erase(key);
    co_return Requeue{};
  }
  const Pool pool = *found;
  const View view = Look(pool);
  kube::Result<void> done;
  for (const Pod& pod : view.forgetful) {
    if (done && MayEnd(pod)) done = co_await Delete(pod);
  }
  const std::size_t expected = Expected(key);
  const ScalingStep step = Scale(pool, DemandOf(pool), view.pods, expected);
  for (const PoolPod& pod : view.pods) {
    const bool is_leaving = std::ranges::contains(step.remove, pod.pod_uid);
    if (!is_leaving && parts_.registry.IsCordoned(pod.pod_uid)) {
      parts_.registry.Uncordon(pod.pod_uid);
    }
  }
  if (done) done = co_await Create(&pool, std::min(step.create, kMostNewPods));
  for (const std::string& uid : step.remove) {
    if (done) done = co_await Remove(&pool, uid);
  }
  const std::string failure = done ? "" : done.error().message;
  const auto now = parts_.executor.Now();
  const auto told = told_.find(key);
  if (told != told_.end() && now - told->second < kTellEach && done) {
    co_return Requeue{told->second + kTellEach - now};
  }
  const Pool* latest = parts_.pools.Get(key);
  if (!latest || latest->id.uid != pool.id.uid) co_return Requeue{};
  const Pool to_tell = *latest;
  auto written = co_await Tell(&to_tell, Look(to_tell).status, failure);
  told_[key] = parts_.executor.Now();
  if (!done) co_return std::unexpected(done.error());
  if (!written) co_return std::unexpected(written.error());
  co_return Requeue{expected + step.create > 0 ? async::Duration(kLookAgain) : async::Duration()};
}

Demand PoolReconciler::DemandOf(const Pool& pool) const {
  Demand demand;
  const async::WallTime now = parts_.executor.WallNow();
  parts_.sandboxes.ForEachIn(parts_.sandboxes_by_pool, pool.id.Key(),
                             [&](const std::string&, const Sandbox& sandbox) {
                               const Wish wish = WishOf(sandbox, now);
                               if (wish == Wish::kDelete || wish == Wish::kExpire) return;
                               const Phase phase = sandbox.status.phase;
                               if (phase == Phase::kBound || phase == Phase::kRunning) {
                                 ++demand.active;
                               } else if (phase == Phase::kPending || wish == Wish::kReset) {
                                 ++demand.pending;
                               }
                             });
  // A reservation's object may have come already.
  const SlotCounts counts = parts_.registry.CountsOf(pool.id.ns, pool.id.name);
  demand.pending = std::max(demand.pending, counts.reserved);
  return demand;
}

PoolReconciler::View PoolReconciler::Look(const Pool& pool) const {
  View view;
  int ready = 0;
  parts_.pods.ForEachIn(parts_.pods_by_pool, pool.id.uid, [&](const std::string&, const Pod& pod) {
    const std::string& uid = pod.id.uid;
    const auto* slots = parts_.registry.SlotsOf(uid);
    const AgentFacts* facts = parts_.registry.FindAgent(uid);
    const std::size_t taken = slots ? slots->size() : 0;
    if (facts) {
      ++view.status.total_agents;
      ++(taken > 0 ? view.status.busy_agents : view.status.idle_agents);
    }
    if (pod.id.deleting != 0) return;
    ++view.status.current_pods;
    const AgentBook::Agent* agent = parts_.book.Find(uid);
    const bool forgetful = pod.ended || (agent && agent->restarted());
    if (forgetful) view.forgetful.push_back(pod);
    const bool open = facts && facts->open;
    ready += open;
    view.pods.push_back(
        {.pod_uid = uid,
         .name = pod.id.name,
         .usable = !forgetful,
         .open = open,
         .slots = taken,
         .capacity = facts && facts->capacity > 0 ? facts->capacity : pool.slots_per_pod});
  });
  view.status.ready_pods = ready;
  view.status.free_slots =
      static_cast<int>(parts_.registry.CountsOf(pool.id.ns, pool.id.name).free);
  std::ranges::sort(view.forgetful, {}, NameOf);
  return view;
}

bool PoolReconciler::MayEnd(const Pod& pod) const {
  const auto* slots = parts_.registry.SlotsOf(pod.id.uid);
  if (!slots || slots->empty()) return pod.ended;
  const async::WallTime now = parts_.executor.WallNow();
  return std::ranges::all_of(*slots, [&](const auto& entry) {
    const auto& [holder, slot] = entry;
    if (slot.state == SlotState::kReserved) return false;
    bool may = true;  // for a container that no Sandbox claims
    parts_.sandboxes.ForEachIn(
        parts_.sandboxes_by_uid, holder, [&](const std::string&, const Sandbox& sandbox) {
          const Phase phase = sandbox.status.phase;
          may = sandbox.spec.auto_recreate || phase == Phase::kFailed || phase == Phase::kExpired ||
                WishOf(sandbox, now) != Wish::kRun;
        });
    return may;
  });
}

void PoolReconciler::Saw(const std::string& pod_uid) {
  const auto counted = counted_.find(pod_uid);
  if (counted == counted_.end()) return;
  const auto pool = expected_.find(counted->second);
  if (pool != expected_.end()) {
    pool->second.erase(pod_uid);
    if (pool->second.empty()) expected_.erase(pool);
  }
  counted_.erase(counted);
}

std::size_t PoolReconciler::Expected(const std::string& key) {
  const auto pool = expected_.find(key);
  if (pool == expected_.end()) return 0;
  const auto now = parts_.executor.Now();
  std::erase_if(pool->second, [&](const auto& entry) {
    if (entry.second > now) return false;
    counted_.erase(entry.first);
    return true;
  });
  const std::size_t left = pool->second.size();
  if (left == 0) expected_.erase(pool);
  return left;
}

async::Task<kube::Result<void>> PoolReconciler::Create(const Pool* pool, std::size_t count) {
  const std::string key = pool->id.Key();
  const std::string body = count > 0 ? AgentPodOf(*pool).to_string() : "";
  for (std::size_t i = 0; i < count; ++i) {
    const auto created = co_await parts_.api.Create(kPods, pool->id.ns, body);
    const auto until = parts_.executor.Now() + kExpectFor;
    if (!created) {
      if (created.error().error_class == ErrorClass::kAmbiguous) {
        const std::string unknown = Format("unknown {}", ++last_unknown_);
        expected_[key][unknown] = until;
        counted_[unknown] = key;
      }
      co_return std::unexpected(created.error());
    }
    const auto pod = kube::Decode<Pod>(*created);
    if (!pod || parts_.pods.Get(pod->id.Key())) continue;  // the watch was faster
    expected_[key][pod->id.uid] = until;
    counted_[pod->id.uid] = key;
  }
  co_return kube::Result<void>();
}

async::Task<kube::Result<void>> PoolReconciler::Remove(const Pool* pool, std::string pod_uid) {
  const Pod* found = nullptr;
  parts_.pods.ForEachIn(parts_.pods_by_pool, pool->id.uid, [&](const std::string&, const Pod& pod) {
    if (pod.id.uid == pod_uid) found = &pod;
  });
  if (!found) co_return kube::Result<void>();
  // An agent that is not known has no slots either.
  if (!parts_.registry.Cordon(pod_uid) && parts_.registry.FindAgent(pod_uid)) {
    co_return kube::Result<void>();
  }
  co_return co_await Delete(*found);
}

async::Task<kube::Result<void>> PoolReconciler::Delete(Pod pod) {
  const auto deleted =
      co_await parts_.api.Delete(kPods, pod.id.ns, pod.id.name, {.uid = pod.id.uid});
  if (!deleted && !runtime::IsGone(deleted.error()) &&
      deleted.error().error_class != ErrorClass::kConflict) {
    co_return std::unexpected(deleted.error());
  }
  co_return kube::Result<void>();
}

async::Task<kube::Result<void>> PoolReconciler::Tell(const Pool* pool, Pool::Status status,
                                                     std::string failure) {
  const std::size_t desired = DesiredPods(*pool, DemandOf(*pool));
  const bool ready = std::cmp_greater_equal(status.ready_pods, desired);
  kube::Condition condition{
      .type = "Ready",
      .status = ready ? kube::ConditionStatus::kTrue : kube::ConditionStatus::kFalse,
      .reason = ready ? "Ready" : "Scaling",
      .message = Format("{} of {} pods are ready", status.ready_pods, desired),
      .observed_generation = pool->id.generation};
  if (!failure.empty()) {
    condition.status = kube::ConditionStatus::kFalse;
    condition.reason = "PodsNotChanged";
    condition.message = std::move(failure);
  }
  status.observed_generation = pool->id.generation;
  status.conditions = pool->status.conditions;
  kube::SetCondition(status.conditions, condition, parts_.executor.WallNow());
  if (status == pool->status) co_return kube::Result<void>();
  Json patch = runtime::PatchOf(pool->id);
  Json& to = patch["status"];
  to["currentPods"] = status.current_pods;
  to["readyPods"] = status.ready_pods;
  to["totalAgents"] = status.total_agents;
  to["idleAgents"] = status.idle_agents;
  to["busyAgents"] = status.busy_agents;
  to["freeSlots"] = status.free_slots;
  to["observedGeneration"] = status.observed_generation;
  to["conditions"] = status.conditions;
  const auto answer =
      co_await parts_.api.Patch(kPools, pool->id.ns, pool->id.name, kube::PatchType::kMerge,
                                patch.to_string(), {.subresource = "status"});
  if (!answer && runtime::IsGone(answer.error())) co_return kube::Result<void>();
  if (!answer) co_return std::unexpected(answer.error());
  if (auto now = kube::Decode<Pool>(*answer)) parts_.pools.Note(std::move(*now));
  co_return kube::Result<void>();
}

}  // namespace berth::sandbox
