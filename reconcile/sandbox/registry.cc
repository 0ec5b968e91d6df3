#include "reconcile/sandbox/registry.h"

#include <algorithm>
#include <cassert>
#include <ranges>

#include "log/format.h"

namespace berth::sandbox {
namespace {

// A stamp of before a restart is valid for at most so long: that is how long a consumed reservation
// is remembered.
constexpr std::chrono::seconds kRemembered = 2 * Registry::kReservationTtl;

std::vector<int> Sorted(std::vector<int> ports) {
  std::ranges::sort(ports);
  const auto rest = std::ranges::unique(ports);
  ports.erase(rest.begin(), rest.end());
  return ports;
}

}  // namespace

std::string_view ToString(Unplaced why) {
  switch (why) {
    case Unplaced::kNoAgents:
      return "NoAgents";
    case Unplaced::kNoCapacity:
      return "NoCapacity";
    case Unplaced::kPortConflict:
      return "PortConflict";
    case Unplaced::kTooMany:
      return "TooManyReservations";
  }
  return "";
}

Registry::Registry() = default;
Registry::~Registry() = default;

std::string Registry::PoolKey(std::string_view ns, std::string_view name) {
  return std::string(ns).append("/").append(name);
}

Registry::PoolAgents& Registry::PoolAt(const AgentFacts& facts) {
  auto& pool = pools_[PoolKey(facts.ns, facts.pool)];
  if (!pool) {
    pool = std::make_unique<PoolAgents>();
    pool->ns = facts.ns;
    pool->name = facts.pool;
  }
  return *pool;
}

void Registry::ForgetPoolIfEmpty(PoolAgents& pool) {
  if (pool.uids.empty()) pools_.erase(PoolKey(pool.ns, pool.name));
}

// In the rankings are agents that can take a slot.
void Registry::Rank(Agent& agent) {
  PoolAgents& pool = *agent.pool;
  const bool is_open = agent.facts.open && !agent.cordoned;
  if (is_open) ++pool.open;
  const std::size_t taken = agent.slots.size();
  if (!is_open || std::cmp_greater_equal(taken, agent.facts.capacity)) return;
  pool.all.Enter(agent, taken);
  for (const std::string& image : agent.facts.images) pool.by_image[image].Enter(agent, taken);
  for (const auto& [port, slots] : agent.ports) ++pool.ported[port];
}

void Registry::Unrank(Agent& agent) {
  PoolAgents& pool = *agent.pool;
  if (agent.facts.open && !agent.cordoned) --pool.open;
  if (agent.places.empty()) return;
  RankedAgents::LeaveAll(agent);
  for (const auto& [port, slots] : agent.ports) {
    const auto found = pool.ported.find(port);
    if (--found->second == 0) pool.ported.erase(found);
  }
}

void Registry::NoteFreed(const Agent& agent) {
  if (!agent.places.empty()) freed_pools_.insert(PoolKey(agent.facts.ns, agent.facts.pool));
}

void Registry::PutAgent(AgentFacts facts) {
  facts.capacity = std::max(facts.capacity, 0);
  std::ranges::sort(facts.images);
  const auto repeated = std::ranges::unique(facts.images);
  facts.images.erase(repeated.begin(), repeated.end());
  const std::string uid = facts.pod_uid;
  auto& agent = agents_[uid];
  if (agent && agent->facts == facts) return;
  changed_agents_.insert(uid);
  if (!agent) {
    agent = std::make_unique<Agent>();
  } else {
    Unrank(*agent);
    std::set<std::string> dropped(agent->facts.images.begin(), agent->facts.images.end());
    PoolAgents& before = *agent->pool;
    before.uids.erase(uid);
    for (const std::string& image : dropped) {
      const auto found = before.by_image.find(image);
      if (found != before.by_image.end() && found->second.size() == 0) before.by_image.erase(found);
    }
    // A pod never changes its pool; reservations count in the one that it is in.
    assert(PoolKey(agent->facts.ns, agent->facts.pool) == PoolKey(facts.ns, facts.pool));
  }
  agent->facts = std::move(facts);
  agent->pool = &PoolAt(agent->facts);
  agent->pool->uids.insert(uid);
  Rank(*agent);
  NoteFreed(*agent);
}

std::vector<std::string> Registry::RemoveAgent(const std::string& pod_uid) {
  const auto found = agents_.find(pod_uid);
  if (found == agents_.end()) return {};
  Agent& agent = *found->second;
  std::vector<std::string> holders;
  holders.reserve(agent.slots.size());
  Unrank(agent);
  for (const auto& [holder, slot] : agent.slots) {
    if (slot.state == SlotState::kReserved) EndReservation(holder, agent, slot);
    holders_.erase(holder);
    holders.push_back(holder);
  }
  PoolAgents& pool = *agent.pool;
  pool.uids.erase(pod_uid);
  for (const std::string& image : agent.facts.images) {
    const auto ranking = pool.by_image.find(image);
    if (ranking != pool.by_image.end() && ranking->second.size() == 0) pool.by_image.erase(ranking);
  }
  agents_.erase(found);
  ForgetPoolIfEmpty(pool);
  changed_agents_.insert(pod_uid);
  return holders;
}

bool Registry::Cordon(const std::string& pod_uid) {
  const auto found = agents_.find(pod_uid);
  if (found == agents_.end() || !found->second->slots.empty()) return false;
  Agent& agent = *found->second;
  if (agent.cordoned) return true;
  Unrank(agent);
  agent.cordoned = true;
  Rank(agent);
  changed_agents_.insert(pod_uid);
  return true;
}

void Registry::Uncordon(const std::string& pod_uid) {
  const auto found = agents_.find(pod_uid);
  if (found == agents_.end() || !found->second->cordoned) return;
  Agent& agent = *found->second;
  Unrank(agent);
  agent.cordoned = false;
  Rank(agent);
  NoteFreed(agent);
  changed_agents_.insert(pod_uid);
}

bool Registry::CanTake(const Agent& agent, const std::vector<int>& ports) {
  return std::ranges::none_of(ports, [&agent](int port) {
    return std::ranges::binary_search(agent.ports, port, {}, &std::pair<int, int>::first);
  });
}

std::expected<Registry::Agent*, Unplaced> Registry::Choose(const SlotRequest& request) const {
  const auto found = pools_.find(PoolKey(request.ns, request.pool));
  if (found == pools_.end() || found->second->open == 0)
    return std::unexpected(Unplaced::kNoAgents);
  const PoolAgents& pool = *found->second;
  if (pool.all.size() == 0) return std::unexpected(Unplaced::kNoCapacity);
  for (const int port : request.ports) {
    const auto ported = pool.ported.find(port);
    if (ported != pool.ported.end() && ported->second == pool.all.size()) {
      return std::unexpected(Unplaced::kPortConflict);
    }
  }
  const auto suits = [&request](const RankedAgent& agent) {
    return CanTake(static_cast<const Agent&>(agent), request.ports);
  };
  const auto with_image = pool.by_image.find(request.image);
  if (with_image != pool.by_image.end()) {
    if (RankedAgent* agent = with_image->second.FindFirst(suits)) return static_cast<Agent*>(agent);
  }
  if (RankedAgent* agent = pool.all.FindFirst(suits)) return static_cast<Agent*>(agent);
  return std::unexpected(Unplaced::kPortConflict);
}

// The agent's rank and ports follow the slot; it leaves the rankings when it is full.
Slot& Registry::Take(Agent& agent, const std::string& holder, Slot slot) {
  const std::vector<int> ports = slot.ports;
  const bool ranked = !agent.places.empty();
  Slot& taken = agent.slots.insert_or_assign(holder, std::move(slot)).first->second;
  holders_[holder] = &agent;
  changed_agents_.insert(agent.facts.pod_uid);
  for (const int port : ports) {
    const auto at = std::ranges::lower_bound(agent.ports, port, {}, &std::pair<int, int>::first);
    if (at != agent.ports.end() && at->first == port) {
      ++at->second;
      continue;
    }
    agent.ports.insert(at, {port, 1});
    if (ranked) ++agent.pool->ported[port];
  }
  if (!ranked) return taken;
  if (std::cmp_less(agent.slots.size(), agent.facts.capacity)) {
    RankedAgents::MoveAll(agent, agent.slots.size());
    return taken;
  }
  RankedAgents::LeaveAll(agent);
  for (const auto& [port, slots] : agent.ports) {
    const auto found = agent.pool->ported.find(port);
    if (--found->second == 0) agent.pool->ported.erase(found);
  }
  return taken;
}

std::expected<Reservation, Unplaced> Registry::Reserve(const std::string& id,
                                                       const SlotRequest& request,
                                                       const std::string& name,
                                                       const std::string& spec_hash,
                                                       async::WallTime now) {
  Expire(now);
  const std::string object = request.ns + "/" + name;
  const std::string object_key = name.empty() ? "" : object + " " + spec_hash;
  if (const auto same = by_object_.find(object_key); same != by_object_.end()) {
    const Agent& agent = *holders_.at(same->second);
    const Slot& slot = agent.slots.at(same->second);
    // An agent that is not open any more is no place to begin on.
    if (agent.facts.open) return Reservation{same->second, agent.facts, slot.expires, false};
    Release(std::string(same->second));
  }
  const auto pool = pools_.find(PoolKey(request.ns, request.pool));
  if (expiries_.size() >= kMostReservations ||
      (pool != pools_.end() && pool->second->reservations >= kMostReservationsOfPool)) {
    return std::unexpected(Unplaced::kTooMany);
  }
  auto chosen = Choose(request);
  if (!chosen) return std::unexpected(chosen.error());
  Agent& agent = **chosen;
  const Slot& slot = Take(agent, id,
                          {.state = SlotState::kReserved,
                           .ports = Sorted(request.ports),
                           .expires = now + kReservationTtl,
                           .sandbox = object,
                           .spec_hash = spec_hash});
  expiries_.emplace(slot.expires, id);
  ++agent.pool->reservations;
  if (!object_key.empty()) by_object_[object_key] = id;
  changed_reservations_.insert(id);
  return Reservation{id, agent.facts, slot.expires, true};
}

// The reservation's entries beside its slot.
void Registry::EndReservation(const std::string& id, const Agent& agent, const Slot& slot) {
  expiries_.erase({slot.expires, id});
  --agent.pool->reservations;
  const auto found = by_object_.find(slot.sandbox + " " + slot.spec_hash);
  if (found != by_object_.end() && found->second == id) by_object_.erase(found);
  changed_reservations_.insert(id);
}

void Registry::MarkConsumed(const std::string& reservation, async::WallTime now) {
  const auto [entry, is_new] = consumed_.try_emplace(reservation, now + kRemembered);
  if (is_new) consumed_until_.emplace(entry->second, reservation);
}

Binding Registry::Bind(const std::string& id, const std::string& sandbox_uid,
                       const std::string& pod_uid, const SlotRequest& request,
                       async::WallTime expires, async::WallTime now) {
  Expire(now);
  const auto reserved = holders_.find(id);
  const bool is_held = holders_.contains(sandbox_uid);
  if (reserved != holders_.end() && is_held) {
    Release(id);
    MarkConsumed(id, now);
    return Binding::kHeld;
  }
  if (is_held) return Binding::kHeld;
  if (consumed_.contains(id)) return Binding::kConsumed;
  const auto found = agents_.find(pod_uid);
  if (reserved != holders_.end()) {
    Agent& agent = *reserved->second;
    // No new sandbox begins on an agent that is not open any more.
    if (&agent != (found == agents_.end() ? nullptr : found->second.get()) || !agent.facts.open) {
      Release(id);
      return Binding::kLapsed;
    }
    auto node = agent.slots.extract(id);
    EndReservation(id, agent, node.mapped());
    node.key() = sandbox_uid;
    node.mapped() = {.state = SlotState::kBound, .ports = std::move(node.mapped().ports)};
    agent.slots.insert(std::move(node));
    holders_.erase(id);
    holders_[sandbox_uid] = &agent;
    changed_agents_.insert(agent.facts.pod_uid);
    MarkConsumed(id, now);
    return Binding::kBound;
  }
  if (expires <= now || found == agents_.end()) return Binding::kLapsed;
  Agent& agent = *found->second;
  const std::vector<int> ports = Sorted(request.ports);
  if (agent.places.empty() || !CanTake(agent, ports) || agent.facts.ns != request.ns ||
      agent.facts.pool != request.pool) {
    return Binding::kLapsed;
  }
  Take(agent, sandbox_uid, {.state = SlotState::kBound, .ports = ports});
  MarkConsumed(id, now);
  return Binding::kBound;
}

bool Registry::Adopt(const std::string& id, const std::string& sandbox_uid,
                     const std::string& pod_uid, const SlotRequest& request, async::WallTime now) {
  if (consumed_.contains(id) || holders_.contains(sandbox_uid)) return false;
  const auto found = agents_.find(pod_uid);
  if (found == agents_.end()) return false;
  Agent& agent = *found->second;
  std::vector<int> ports = Sorted(request.ports);
  const bool is_same_pool = agent.facts.ns == request.ns && agent.facts.pool == request.pool;
  if (!is_same_pool || std::cmp_greater_equal(agent.slots.size(), agent.facts.capacity) ||
      !CanTake(agent, ports)) {
    return false;
  }
  Take(agent, sandbox_uid, {.state = SlotState::kBound, .ports = std::move(ports)});
  MarkConsumed(id, now);
  return true;
}

std::expected<Placement, Unplaced> Registry::Allocate(const std::string& sandbox_uid,
                                                      const SlotRequest& request) {
  if (const auto held = Find(sandbox_uid)) return *held;
  auto chosen = Choose(request);
  if (!chosen) return std::unexpected(chosen.error());
  const Slot& slot =
      Take(**chosen, sandbox_uid, {.state = SlotState::kBound, .ports = Sorted(request.ports)});
  return Placement{&(*chosen)->facts, &slot};
}

bool Registry::Restore(const std::string& holder, const std::string& pod_uid,
                       std::vector<int> ports, SlotState state) {
  assert(state != SlotState::kReserved);
  const auto found = agents_.find(pod_uid);
  if (found == agents_.end()) return false;
  if (holders_.contains(holder)) return true;
  Take(*found->second, holder, {.state = state, .ports = Sorted(std::move(ports))});
  return true;
}

void Registry::Drain(const std::string& holder) {
  const auto found = holders_.find(holder);
  if (found == holders_.end()) return;
  Slot& slot = found->second->slots.at(holder);
  if (slot.state != SlotState::kBound) return;
  slot.state = SlotState::kDraining;
  changed_agents_.insert(found->second->facts.pod_uid);
}

void Registry::Undrain(const std::string& holder) {
  const auto found = holders_.find(holder);
  if (found == holders_.end()) return;
  Slot& slot = found->second->slots.at(holder);
  if (slot.state != SlotState::kDraining) return;
  slot.state = SlotState::kBound;
  changed_agents_.insert(found->second->facts.pod_uid);
}

bool Registry::Release(const std::string& holder) {
  const auto found = holders_.find(holder);
  if (found == holders_.end()) return false;
  Agent& agent = *found->second;
  const bool was_ranked = !agent.places.empty();
  const auto node = agent.slots.extract(holder);
  holders_.erase(found);
  if (node.mapped().state == SlotState::kReserved) EndReservation(node.key(), agent, node.mapped());
  for (const int port : node.mapped().ports) {
    const auto at = std::ranges::lower_bound(agent.ports, port, {}, &std::pair<int, int>::first);
    if (--at->second > 0) continue;
    agent.ports.erase(at);
    if (!was_ranked) continue;
    const auto ported = agent.pool->ported.find(port);
    if (--ported->second == 0) agent.pool->ported.erase(ported);
  }
  changed_agents_.insert(agent.facts.pod_uid);
  if (was_ranked) {
    RankedAgents::MoveAll(agent, agent.slots.size());
  } else {
    if (agent.facts.open && !agent.cordoned) --agent.pool->open;
    Rank(agent);
  }
  NoteFreed(agent);
  return true;
}

void Registry::ReleaseReservationOf(const std::string& ns, const std::string& name,
                                    const std::string& spec_hash) {
  const auto found = by_object_.find(ns + "/" + name + " " + spec_hash);
  if (found != by_object_.end()) Release(std::string(found->second));
}

std::vector<std::string> Registry::Expire(async::WallTime now) {
  while (!consumed_until_.empty() && consumed_until_.begin()->first <= now) {
    consumed_.erase(consumed_until_.begin()->second);
    consumed_until_.erase(consumed_until_.begin());
  }
  std::vector<std::string> expired;
  while (!expiries_.empty() && expiries_.begin()->first <= now) {
    expired.push_back(expiries_.begin()->second);
    Release(expired.back());
  }
  return expired;
}

std::optional<async::WallTime> Registry::NextExpiry() const {
  std::optional<async::WallTime> next;
  if (!expiries_.empty()) next = expiries_.begin()->first;
  if (!consumed_until_.empty() && (!next || consumed_until_.begin()->first < *next)) {
    next = consumed_until_.begin()->first;
  }
  return next;
}

const AgentFacts* Registry::FindAgent(const std::string& pod_uid) const {
  const auto found = agents_.find(pod_uid);
  return found == agents_.end() ? nullptr : &found->second->facts;
}

std::optional<Placement> Registry::Find(const std::string& holder) const {
  const auto found = holders_.find(holder);
  if (found == holders_.end()) return std::nullopt;
  return Placement{&found->second->facts, &found->second->slots.at(holder)};
}

const std::map<std::string, Slot>* Registry::SlotsOf(const std::string& pod_uid) const {
  const auto found = agents_.find(pod_uid);
  return found == agents_.end() ? nullptr : &found->second->slots;
}

bool Registry::IsCordoned(const std::string& pod_uid) const {
  const auto found = agents_.find(pod_uid);
  return found != agents_.end() && found->second->cordoned;
}

std::vector<std::string> Registry::AgentsOf(const std::string& ns, const std::string& pool) const {
  const auto found = pools_.find(PoolKey(ns, pool));
  if (found == pools_.end()) return {};
  return {found->second->uids.begin(), found->second->uids.end()};
}

SlotCounts Registry::CountsOf(const std::string& ns, const std::string& pool) const {
  SlotCounts counts;
  for (const std::string& uid : AgentsOf(ns, pool)) {
    const Agent& agent = *agents_.at(uid);
    const auto capacity = static_cast<std::size_t>(agent.facts.capacity);
    ++counts.agents;
    counts.capacity += capacity;
    for (const auto& [holder, slot] : agent.slots) {
      counts.bound += slot.state == SlotState::kBound;
      counts.reserved += slot.state == SlotState::kReserved;
      counts.draining += slot.state == SlotState::kDraining;
    }
    if (!agent.places.empty()) counts.free += capacity - agent.slots.size();
  }
  return counts;
}

std::vector<std::pair<std::string, std::string>> Registry::Pools() const {
  std::vector<std::pair<std::string, std::string>> names;
  names.reserve(pools_.size());
  for (const auto& [key, pool] : pools_) names.emplace_back(pool->ns, pool->name);
  std::ranges::sort(names);
  return names;
}

std::size_t Registry::Remembered() const {
  return agents_.size() + holders_.size() + pools_.size() + expiries_.size() + by_object_.size() +
         consumed_.size() + consumed_until_.size();
}

}  // namespace berth::sandbox
