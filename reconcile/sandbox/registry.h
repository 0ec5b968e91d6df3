#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "reconcile/sandbox/ranked_agents.h"

namespace berth::sandbox {

// An agent without its slots. Put by whoever follows pods and probes.
struct AgentFacts {
  std::string pod_uid;
  std::string pod;
  std::string ns;
  std::string pool;
  std::string node;
  std::string ip;
  int capacity = 0;   // slots; 0: none, never "no limit"
  bool open = false;  // gets new sandboxes: ready, answers, not restarted, not being deleted
  std::vector<std::string> images;  // sorted
  friend bool operator==(const AgentFacts&, const AgentFacts&) = default;
};

enum class SlotState : std::uint8_t {
  kReserved,  // for an object that is being created; ends with its time
  kBound,     // of a sandbox
  kDraining,  // of a sandbox, or of a container that nobody knows, until its absence is proven
};

struct Slot {
  SlotState state = SlotState::kBound;
  std::vector<int> ports;  // sorted
  // Of a reservation.
  async::WallTime expires{};
  std::string sandbox;  // "ns/name"; the name is empty for generateName
  std::string spec_hash;
  friend bool operator==(const Slot&, const Slot&) = default;
};

// Which agent a holder's slot is on. Valid until the next call of the registry.
struct Placement {
  const AgentFacts* agent = nullptr;
  const Slot* slot = nullptr;
};

// A sandbox's demands on an agent.
struct SlotRequest {
  std::string ns;
  std::string pool;
  std::string image;
  std::vector<int> ports;
};

enum class Unplaced : std::uint8_t {
  kNoAgents,      // the pool has no open agent
  kNoCapacity,    // all of its open agents are full
  kPortConflict,  // every open agent with a free slot has one of the ports taken
  kTooMany,       // reservations, of the pool or of all pools
};
std::string_view ToString(Unplaced why);

// Reservation that a webhook makes. With a name, the same (namespace, name, spec hash) gets the
// same reservation while that lasts: the API server may ask twice.
struct Reservation {
  std::string id;
  AgentFacts agent;
  async::WallTime expires{};
  bool is_new = true;
};

// How an annotation's reservation becomes a sandbox's slot.
enum class Binding : std::uint8_t {
  kBound,     // the sandbox has the reserved slot now
  kHeld,      // the sandbox has had a slot before; a reservation that was left is released
  kConsumed,  // the reservation was bound before, by another sandbox
  kLapsed,    // its time is over, or its agent is gone or cannot take it any more
};

struct SlotCounts {
  std::size_t agents = 0;
  std::size_t capacity = 0;
  std::size_t bound = 0;
  std::size_t reserved = 0;
  std::size_t draining = 0;
  std::size_t free = 0;  // of open agents
  friend bool operator==(const SlotCounts&, const SlotCounts&) = default;
};

// The slots of all agents, by identity: an agent is a pod's UID, a slot's holder is a sandbox's
// UID, a reservation's ID, or the ID of a container that no sandbox claims. Nothing is counted that
// is not in a map: releasing twice is releasing once. A holder has at most one slot. An agent never
// gets more slots than its capacity by Reserve, Bind or Allocate, nor a port twice; Restore tells
// the truth about the past and may overfill, and then the agent has no free slot.
//
// A plain engine: synchronous, no I/O, no lock, no clock; the caller passes the time. It copies
// what it is given and owns all it hands out. Of the control thread. n is the agents of a pool.
class Registry {
 public:
  static constexpr std::chrono::seconds kReservationTtl{15};
  static constexpr std::size_t kMostReservations = 16'384;  // of all pools
  static constexpr std::size_t kMostReservationsOfPool = 4'096;

  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Adds an agent or changes what is known of it; its slots stay, also when it is not open any more
  // or its capacity is smaller than what it holds. O(images), and nothing when `facts` are as
  // before.
  void PutAgent(AgentFacts facts);
  // The pod's UID is gone, and with it all that was on it: the holders whose slots ended, sandboxes
  // and reservations alike. O(slots + images).
  std::vector<std::string> RemoveAgent(const std::string& pod_uid);
  // No new slots from now on, if it has none at all: false, and nothing happens, when it has one.
  // Until RemoveAgent or Uncordon. O(images).
  bool Cordon(const std::string& pod_uid);
  void Uncordon(const std::string& pod_uid);

  // A slot for an object that is being created, until `now + kReservationTtl`. `id` is the new
  // reservation's, unique. Of agents with a free slot and free ports one that has the image is
  // taken, else any; among these one with the fewest slots taken. Amortised O(capacity + ports +
  // images of the agent), and O(1) for each agent on the way whose ports are taken.
  std::expected<Reservation, Unplaced> Reserve(const std::string& id, const SlotRequest& request,
                                               const std::string& name,
                                               const std::string& spec_hash, async::WallTime now);

  // The reservation becomes the sandbox's slot. For one that is not known, of the leader before
  // this one for example, pass `pod_uid`, `request` and `expires` of its verified stamp: it binds
  // if `now` is before its end and that agent can take it. Twice is once. O(ports + images).
  Binding Bind(const std::string& id, const std::string& sandbox_uid, const std::string& pod_uid,
               const SlotRequest& request, async::WallTime expires, async::WallTime now);

  // As Bind, of a leader that rebuilds its registry: the agents are not open yet. The stamp has
  // been verified. False when the reservation was bound before, or its agent is gone or full.
  bool Adopt(const std::string& id, const std::string& sandbox_uid, const std::string& pod_uid,
             const SlotRequest& request, async::WallTime now);

  // A slot for a sandbox; the one that it holds, whatever its state, when it holds one. Costs as
  // Reserve.
  std::expected<Placement, Unplaced> Allocate(const std::string& sandbox_uid,
                                              const SlotRequest& request);

  // Tells of a slot that is taken in truth, by a sandbox's status or by an agent's inventory; a
  // holder that has one already keeps it. False when the agent is not known: there is nothing to
  // hold. O(ports + images).
  bool Restore(const std::string& holder, const std::string& pod_uid, std::vector<int> ports,
               SlotState state);
  // The reservation of a status that is bound already: its stamp binds nothing any more. O(log n).
  void MarkConsumed(const std::string& reservation, async::WallTime now);

  // The holder's slot stays taken until it is released. Of a holder without one: nothing. O(1).
  void Drain(const std::string& holder);
  // Undoes Drain: the container is there after all. O(1).
  void Undrain(const std::string& holder);
  // The slot is free; false when there was none. O(ports + images).
  bool Release(const std::string& holder);
  // Releases the reservation of an object that is being created, if it has one. O(ports + images).
  void ReleaseReservationOf(const std::string& ns, const std::string& name,
                            const std::string& spec_hash);
  // Releases reservations whose time is over at `now`: the IDs. O(log n) each.
  std::vector<std::string> Expire(async::WallTime now);
  // When Expire has something to do next: a reservation ends, or a consumed one is forgotten. O(1).
  std::optional<async::WallTime> NextExpiry() const;

  // Null for none. O(1).
  const AgentFacts* FindAgent(const std::string& pod_uid) const;
  std::optional<Placement> Find(const std::string& holder) const;
  // Slots of an agent by holder; null for no such agent. O(1).
  const std::map<std::string, Slot>* SlotsOf(const std::string& pod_uid) const;
  bool IsCordoned(const std::string& pod_uid) const;
  // Pod UIDs of a pool's agents, sorted. O(n log n).
  std::vector<std::string> AgentsOf(const std::string& ns, const std::string& pool) const;
  // Of a pool. O(n + slots).
  SlotCounts CountsOf(const std::string& ns, const std::string& pool) const;
  // visit(const AgentFacts&, const std::map<std::string, Slot>& slots), in no order.
  template <typename Visit>
  void ForEachAgent(Visit&& visit) const {
    for (const auto& [uid, agent] : agents_) visit(agent->facts, agent->slots);
  }
  std::vector<std::pair<std::string, std::string>> Pools() const;  // namespace and name, sorted
  std::size_t agents() const { return agents_.size(); }
  std::size_t holders() const { return holders_.size(); }
  std::size_t reservations() const { return expiries_.size(); }
  // Entries of all tables; 0 without agents, slots and consumed reservations.
  std::size_t Remembered() const;

  // Agents and reservations that have changed since the last call, for live resources.
  std::set<std::string> TakeChangedAgents() { return std::exchange(changed_agents_, {}); }
  std::set<std::string> TakeChangedReservations() {
    return std::exchange(changed_reservations_, {});
  }
  // Pools, "ns/name", in which a slot has become free since the last call: who waits may try again.
  std::set<std::string> TakeFreedPools() { return std::exchange(freed_pools_, {}); }

 private:
  struct PoolAgents;
  struct Agent : RankedAgent {
    AgentFacts facts;
    bool cordoned = false;
    PoolAgents* pool = nullptr;
    std::map<std::string, Slot> slots;       // by holder
    std::vector<std::pair<int, int>> ports;  // a port and how many slots have it, sorted
  };
  struct PoolAgents {
    std::string ns;
    std::string name;
    std::set<std::string> uids;
    RankedAgents all;  // that are open, with a free slot
    std::unordered_map<std::string, RankedAgents> by_image;
    std::unordered_map<int, std::size_t> ported;  // of `all`, how many have a port taken
    std::size_t open = 0;
    std::size_t reservations = 0;
  };

  static std::string PoolKey(std::string_view ns, std::string_view name);
  PoolAgents& PoolAt(const AgentFacts& facts);
  void ForgetPoolIfEmpty(PoolAgents& pool);
  std::expected<Agent*, Unplaced> Choose(const SlotRequest& request) const;
  static bool CanTake(const Agent& agent, const std::vector<int>& ports);
  Slot& Take(Agent& agent, const std::string& holder, Slot slot);
  void Rank(Agent& agent);
  void Unrank(Agent& agent);
  void EndReservation(const std::string& id, const Agent& agent, const Slot& slot);
  void NoteFreed(const Agent& agent);

  std::unordered_map<std::string, std::unique_ptr<Agent>> agents_;  // by pod UID
  std::unordered_map<std::string, Agent*> holders_;
  std::unordered_map<std::string, std::unique_ptr<PoolAgents>> pools_;  // by "ns/name"
  std::set<std::pair<async::WallTime, std::string>> expiries_;          // of reservations
  std::unordered_map<std::string, std::string> by_object_;  // "ns/name hash": a reservation
  std::set<std::pair<async::WallTime, std::string>> consumed_until_;
  std::unordered_map<std::string, async::WallTime> consumed_;  // reservations that were bound
  std::set<std::string> changed_agents_;
  std::set<std::string> changed_reservations_;
  std::set<std::string> freed_pools_;
};

}  // namespace berth::sandbox
