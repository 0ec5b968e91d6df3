#include "reconcile/sandbox/work.h"

#include <algorithm>
#include <chrono>
#include <tuple>
#include <utility>

#include "log/format.h"
#include "reconcile/sandbox/stamp.h"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;

// A pass may wait for an agent that takes 35 s to create: one that hangs holds as many as it has
// slots.
constexpr std::size_t kAtOnce = 500;
constexpr auto kLongestBackOff = 10s;
// Pools follow their sandboxes at this distance, so that a burst of creates is one pass.
constexpr auto kPoolDelay = 500ms;

std::string PoolKeyOf(const Pod& pod) { return runtime::KeyBeside(pod.id.Key(), pod.pool); }

std::string PoolKeyOf(const Sandbox& sandbox) {
  return runtime::KeyBeside(sandbox.id.Key(), sandbox.spec.pool);
}

SlotRequest RequestOf(const Sandbox& sandbox) {
  return {.ns = sandbox.id.ns,
          .pool = sandbox.spec.pool,
          .image = sandbox.spec.image,
          .ports = sandbox.spec.ports};
}

}  // namespace

Work::Work(Parts parts)
    : parts_(std::move(parts)),
      events_(parts_.executor, parts_.transport,
              {.controller = "berth.dev/sandbox",
               .instance = parts_.leadership.identity(),
               .registry = parts_.registry}),
      waiting_([this](const std::string& key) { sandboxes_.Add(key); }),
      book_({.executor = parts_.executor,
             .agents = parts_.agents,
             .each = parts_.probe_each,
             .heard = [this](const std::string& uid,
                             const std::vector<std::string>& changed) { Heard(uid, changed); }}),
      reconciler_(
          {.executor = parts_.executor,
           .api = kube::Api(parts_.leadership.fenced()),
           .events = events_,
           .sandboxes = parts_.latest,
           .agents = parts_.agents,
           .registry = registry_,
           .book = book_,
           .waiting = waiting_,
           .stamp_key = parts_.stamp_key,
           .pool_exists =
               [this](const std::string& key) { return parts_.caches.pools.Get(key) != nullptr; },
           .pod_exists =
               [this](const std::string& uid) {
                 return parts_.caches.pods.CountIn(parts_.caches.pods_by_uid, uid) > 0;
               },
           .pool_wanted = [this](const std::string& key) { pools_.Add(key); },
           .ready = [this] { return ready(); }}),
      pool_reconciler_({.executor = parts_.executor,
                        .api = kube::Api(parts_.leadership.fenced()),
                        .events = events_,
                        .pools = parts_.latest_pools,
                        .sandboxes = parts_.caches.sandboxes,
                        .sandboxes_by_pool = parts_.caches.sandboxes_by_pool,
                        .sandboxes_by_uid = parts_.caches.sandboxes_by_uid,
                        .pods = parts_.caches.pods,
                        .pods_by_pool = parts_.caches.pods_by_pool,
                        .registry = registry_,
                        .book = book_}),
      orphans_({.executor = parts_.executor,
                .api = kube::Api(parts_.leadership.fenced()),
                .agents = parts_.agents,
                .book = book_,
                .on_deleted =
                    [this] {
                      if (parts_.metrics) parts_.metrics->Orphaned();
                    }}),
      pools_(parts_.executor,
             {.name = "SandboxPool",
              .back_off = {.max = kLongestBackOff},
              .registry = parts_.registry},
             [this](std::string key) { return pool_reconciler_.Reconcile(std::move(key)); }),
      sandboxes_(parts_.executor,
                 {.name = "Sandbox",
                  .concurrency = kAtOnce,
                  .back_off = {.max = kLongestBackOff},
                  .registry = parts_.registry},
                 [this](std::string key) -> async::Task<SandboxReconciler::Outcome> {
                   auto outcome = co_await reconciler_.Reconcile(std::move(key));
                   Flush();
                   co_return outcome;
                 }) {
  Rebuild();
}

void Work::Resync() {
  parts_.caches.sandboxes.ForEach(
      [this](const std::string& key, const Sandbox&) { sandboxes_.AddResync(key); });
  parts_.caches.pools.ForEach(
      [this](const std::string& key, const Pool&) { pools_.AddResync(key); });
}

void Work::Rebuild() {
  parts_.caches.pods.ForEach([this](const std::string&, const Pod& pod) {
    if (!pod.pool.empty()) {
      book_.Put(pod);
      registry_.PutAgent({.pod_uid = pod.id.uid,
                          .pod = pod.id.name,
                          .ns = pod.id.ns,
                          .pool = pod.pool,
                          .node = pod.node,
                          .ip = pod.ip,
                          .capacity = pod.capacity,
                          .open = false,
                          .images = {}});
    }
  });
  RestoreStatuses();
  BindAnnotations();
  book_.ForEach([this](const std::string& uid, const AgentBook::Agent&) { Evaluate(uid); });
}

void Work::RestoreStatuses() {
  const async::WallTime now = parts_.executor.WallNow();
  parts_.caches.sandboxes.ForEach([&](const std::string&, const Sandbox& sandbox) {
    const SandboxStatus& status = sandbox.status;
    if (!status.allocation_id.empty()) registry_.MarkConsumed(status.allocation_id, now);
    if (status.assigned_pod_uid.empty()) return;
    const bool stays = WishOf(sandbox, now) == Wish::kRun && status.phase != Phase::kFailed;
    registry_.Restore(sandbox.id.uid, status.assigned_pod_uid, sandbox.spec.ports,
                      stays ? SlotState::kBound : SlotState::kDraining);
  });
}

// Agents are not open yet: a reservation of the leader before this one is restored as it was. Of
// two objects with the same annotation the older one has it.
void Work::BindAnnotations() {
  std::vector<const Sandbox*> stamped;
  parts_.caches.sandboxes.ForEach([&](const std::string&, const Sandbox& sandbox) {
    if (sandbox.allocation && sandbox.status.attempt == 0 && sandbox.id.deleting == 0) {
      stamped.push_back(&sandbox);
    }
  });
  std::ranges::sort(stamped, {}, [](const Sandbox* sandbox) {
    return std::tuple(sandbox->id.created, sandbox->id.ns, sandbox->id.name);
  });
  const async::WallTime now = parts_.executor.WallNow();
  for (const Sandbox* sandbox : stamped) {
    const auto stamp = ReadStamp(*sandbox->allocation, parts_.stamp_key, sandbox->id.ns,
                                 sandbox->spec.pool, SpecHashOf(sandbox->spec), now);
    if (!stamp) continue;
    registry_.Adopt(stamp->reservation, sandbox->id.uid, stamp->pod_uid, RequestOf(*sandbox), now);
  }
}

bool Work::ready() {
  ready_ = ready_ || book_.AllTried();
  return ready_;
}

void Work::WakeUid(const std::string& sandbox_uid) {
  parts_.caches.sandboxes.ForEachIn(
      parts_.caches.sandboxes_by_uid, sandbox_uid,
      [this](const std::string& key, const Sandbox&) { sandboxes_.Add(key); });
}

void Work::WakeAllOn(const std::string& pod_uid) {
  parts_.caches.sandboxes.ForEachIn(
      parts_.caches.sandboxes_by_pod, pod_uid,
      [this](const std::string& key, const Sandbox&) { sandboxes_.Add(key); });
  const auto* slots = registry_.SlotsOf(pod_uid);
  if (!slots) return;
  for (const auto& [holder, slot] : *slots) WakeUid(holder);
}

void Work::WakePoolSoon(const std::string& key) { pools_.AddAfter(key, kPoolDelay); }

void Work::Flush() {
  for (const std::string& pool : registry_.TakeFreedPools()) waiting_.WakeFirst(pool);
  ScheduleExpiry();
}

void Work::SandboxChanged(const std::string& key, const Sandbox* before, const Sandbox* now) {
  sandboxes_.Add(key);
  const Sandbox* known = now ? now : before;
  if (known) WakePoolSoon(PoolKeyOf(*known));
  if (before && now && before->spec.pool != now->spec.pool) WakePoolSoon(PoolKeyOf(*before));
  const bool is_gone = before && (!now || now->id.uid != before->id.uid);
  if (!is_gone) return;
  // With its finalizer taken off by a user its container may still be there: then it is a stranger.
  if (const auto held = registry_.Find(before->id.uid)) {
    const std::string pod_uid = held->agent->pod_uid;
    registry_.Release(before->id.uid);
    SyncInventory(pod_uid);
    Flush();
  }
}

void Work::PoolChanged(const std::string& key, const Pool* before, const Pool* now) {
  const bool is_status = before && now && before->id.uid == now->id.uid &&
                         before->id.generation == now->id.generation &&
                         before->id.deleting == now->id.deleting;
  if (is_status) return;
  pools_.Add(key);
  waiting_.WakeAll(key);
  const Pool* known = now ? now : before;
  for (const std::string& uid : registry_.AgentsOf(known->id.ns, known->id.name)) Evaluate(uid);
}

void Work::PodChanged(const Pod* before, const Pod* now) {
  const bool was_agent = before && !before->pool.empty();
  const bool is_agent = now && !now->pool.empty();
  if (was_agent && (!is_agent || before->id.uid != now->id.uid)) {
    ForgetPod(before->id.uid, PoolKeyOf(*before));
  }
  if (!is_agent) return;
  pool_reconciler_.Saw(now->id.uid);
  book_.Put(*now);
  Evaluate(now->id.uid);
  const bool is_same = was_agent && before->id.uid == now->id.uid;
  if (is_same && (before->restarts != now->restarts || before->ended != now->ended)) {
    WakeAllOn(now->id.uid);
  }
  WakePoolSoon(PoolKeyOf(*now));
}

void Work::ForgetPod(const std::string& uid, const std::string& pool_key) {
  WakeAllOn(uid);
  registry_.RemoveAgent(uid);
  book_.Remove(uid);
  WakePoolSoon(pool_key);
}

void Work::Evaluate(const std::string& pod_uid) {
  AgentBook::Agent* agent = book_.Find(pod_uid);
  if (!agent) return;
  const Pod& pod = agent->pod;
  const auto* slots = registry_.SlotsOf(pod_uid);
  // Nothing of anybody is on it: a restart has lost nothing.
  if (!slots || slots->empty()) agent->baseline = pod.restarts;
  const Pool* pool = parts_.caches.pools.Get(PoolKeyOf(pod));
  const bool has_pool = pool && pool->id.uid == pod.pool_uid && pool->id.deleting == 0;
  AgentFacts facts{.pod_uid = pod_uid,
                   .pod = pod.id.name,
                   .ns = pod.id.ns,
                   .pool = pod.pool,
                   .node = pod.node,
                   .ip = pod.ip,
                   .capacity = pod.capacity,
                   .open = false,
                   .images = {}};
  if (agent->status) {
    facts.capacity =
        static_cast<int>(std::min(agent->status->capacity, static_cast<std::size_t>(kMostSlots)));
    facts.images = agent->status->images;
    facts.open =
        pod.ready && pod.id.deleting == 0 && !agent->silent() && !agent->restarted() && has_pool;
  }
  const AgentFacts* known = registry_.FindAgent(pod_uid);
  const bool was_open = known && known->open;
  const bool is_open = facts.open;
  registry_.PutAgent(std::move(facts));
  if (was_open != is_open) {
    WakeAllOn(pod_uid);
    WakePoolSoon(PoolKeyOf(pod));
  }
  Flush();
}

bool Work::Claims(const std::string& pod_uid, const std::string& agent_id) {
  const auto parsed = ParseAgentId(agent_id);
  if (!parsed) return false;
  const auto held = registry_.Find(parsed->first);
  if (!held || held->agent->pod_uid != pod_uid) return false;
  bool claims = true;
  parts_.caches.sandboxes.ForEachIn(parts_.caches.sandboxes_by_uid, parsed->first,
                                    [&](const std::string& key, const Sandbox&) {
                                      const Sandbox* latest = parts_.latest.Get(key);
                                      claims = latest && latest->AgentId() == agent_id;
                                    });
  return claims;
}

void Work::SyncInventory(const std::string& pod_uid) {
  AgentBook::Agent* agent = book_.Find(pod_uid);
  if (!agent || !agent->status) return;
  std::map<std::string, async::TimePoint> strangers;
  for (const cloud::AgentSandbox& listed : agent->status->sandboxes) {
    const std::string& id = listed.sandbox_id;
    if (Claims(pod_uid, id)) continue;
    const auto known = agent->strangers.find(id);
    strangers[id] = known == agent->strangers.end() ? parts_.executor.Now() : known->second;
    registry_.Restore(id, pod_uid, {}, SlotState::kDraining);
  }
  for (const auto& [id, since] : agent->strangers) {
    if (!strangers.contains(id)) registry_.Release(id);
  }
  agent->strangers = std::move(strangers);
}

void Work::Heard(const std::string& pod_uid, const std::vector<std::string>& changed) {
  SyncInventory(pod_uid);
  Evaluate(pod_uid);
  for (const std::string& id : changed) {
    if (const auto parsed = ParseAgentId(id)) WakeUid(parsed->first);
  }
}

std::optional<std::string> Work::Stamp(const Sandbox& sandbox) {
  const auto unstamped = [this](std::string_view why) -> std::optional<std::string> {
    if (parts_.metrics) parts_.metrics->Unstamped(why);
    return std::nullopt;
  };
  if (!ready()) return unstamped("NotReady");
  const std::string hash = SpecHashOf(sandbox.spec);
  const async::WallTime now = parts_.executor.WallNow();
  const std::string id =
      Format("r-{:016x}{:016x}", parts_.executor.Random(), parts_.executor.Random());
  const auto reservation = registry_.Reserve(id, RequestOf(sandbox), sandbox.id.name, hash, now);
  Flush();
  if (!reservation) return unstamped(ToString(reservation.error()));
  ScheduleExpiry();
  WakePoolSoon(PoolKeyOf(sandbox));
  return WriteStamp(
      {.reservation = reservation->id,
       .pod = reservation->agent.pod,
       .pod_uid = reservation->agent.pod_uid,
       .node = reservation->agent.node,
       .spec_hash = hash,
       .allocated_at = reservation->expires - Registry::kReservationTtl,
       .expires = std::chrono::floor<std::chrono::milliseconds>(reservation->expires)},
      parts_.stamp_key, sandbox.id.ns, sandbox.spec.pool);
}

void Work::Withdraw(const std::string& annotation) {
  const auto json = Json::Parse(annotation);
  if (!json || !json->is_object()) return;
  const Json* id = json->find("allocationID");
  if (!id || !id->is_string()) return;
  const auto held = registry_.Find(id->as_string());
  if (!held || held->slot->state != SlotState::kReserved) return;
  registry_.Release(id->as_string());
  Flush();
}

void Work::ScheduleExpiry() {
  const auto next = registry_.NextExpiry();
  if (!next || (expiry_ && expires_ <= *next)) return;
  expires_ = *next;
  const auto left = std::chrono::duration_cast<async::Duration>(*next - parts_.executor.WallNow());
  expiry_ = parts_.executor.RunAfter(std::max<async::Duration>(left, {}) + 1ms, [this] {
    expiry_ = {};
    registry_.Expire(parts_.executor.WallNow());
    Flush();
    ScheduleExpiry();
  });
}

std::optional<async::WallTime> Work::SeenAt(const std::string& pod_uid) const {
  const AgentBook::Agent* agent = book_.Find(pod_uid);
  if (!agent || !agent->status) return std::nullopt;
  return agent->seen;
}

std::size_t Work::Remembered() const {
  return registry_.Remembered() + waiting_.size() + book_.size() + reconciler_.Remembered() +
         pool_reconciler_.Remembered() + orphans_.size();
}

}  // namespace berth::sandbox
