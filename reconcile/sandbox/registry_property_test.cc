#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "log/format.h"
#include "reconcile/sandbox/registry.h"

// The registry against a model that scans everything.
namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;

struct ModelAgent {
  AgentFacts facts;
  bool cordoned = false;
  std::map<std::string, Slot> slots;

  bool IsOpen() const { return facts.open && !cordoned; }
  bool HasFree() const { return IsOpen() && static_cast<int>(slots.size()) < facts.capacity; }
  bool HasPorts(const std::vector<int>& ports) const {
    return std::ranges::none_of(slots, [&](const auto& entry) {
      return std::ranges::any_of(
          ports, [&](int port) { return std::ranges::contains(entry.second.ports, port); });
    });
  }
};

class World {
 public:
  void Act() {
    switch (Below(14)) {
      case 0:
      case 1:
        return PutAgent();
      case 2:
        if (Below(3) == 0) RemoveAgent();
        return;
      case 3:
        return Cordon();
      case 4:
      case 5:
        return Allocate();
      case 6:
      case 7:
        return Reserve();
      case 8:
        return Bind();
      case 9:
        return Restore();
      case 10:
        registry_.Drain(Holder());
        return Change(last_, [](Slot& slot) {
          if (slot.state == SlotState::kBound) slot.state = SlotState::kDraining;
        });
      case 11:
      case 12:
        return Release();
      default:
        now_ += std::chrono::seconds(Below(6));
        registry_.Expire(now_);
        Expire();
    }
  }

  // All tables agree.
  void Compare() {
    RC_ASSERT(registry_.agents() == agents_.size());
    std::size_t holders = 0;
    std::size_t reservations = 0;
    for (const auto& [uid, agent] : agents_) {
      const auto* slots = registry_.SlotsOf(uid);
      RC_ASSERT(slots != nullptr);
      RC_ASSERT(*slots == agent.slots);
      RC_ASSERT(registry_.IsCordoned(uid) == agent.cordoned);
      holders += slots->size();
      for (const auto& [holder, slot] : *slots) reservations += slot.state == SlotState::kReserved;
    }
    RC_ASSERT(registry_.holders() == holders);
    RC_ASSERT(registry_.reservations() == reservations);
    for (const char* pool : {"p0", "p1"}) CompareCounts(pool);
  }

 private:
  static int Below(int limit) { return *rc::gen::resize(100, rc::gen::inRange(0, limit)); }
  std::string Holder() { return last_ = Format("s{}", Below(8)); }
  static std::string Uid() { return Format("u{}", Below(5)); }

  static std::vector<int> Ports() {
    std::set<int> ports;
    for (int i = Below(3); i > 0; --i) ports.insert(80 + Below(3));
    return {ports.begin(), ports.end()};
  }
  static SlotRequest Request() {
    return {.ns = "ns",
            .pool = Format("p{}", Below(2)),
            .image = Format("i{}", Below(3)),
            .ports = Ports()};
  }

  void CompareCounts(const std::string& pool) {
    SlotCounts counts;
    for (const auto& [uid, agent] : agents_) {
      if (agent.facts.pool != pool) continue;
      ++counts.agents;
      counts.capacity += static_cast<std::size_t>(agent.facts.capacity);
      for (const auto& [holder, slot] : agent.slots) {
        counts.bound += slot.state == SlotState::kBound;
        counts.reserved += slot.state == SlotState::kReserved;
        counts.draining += slot.state == SlotState::kDraining;
      }
      if (agent.HasFree()) {
        counts.free += static_cast<std::size_t>(agent.facts.capacity) - agent.slots.size();
      }
    }
    RC_ASSERT(registry_.CountsOf("ns", pool) == counts);
  }

  void PutAgent() {
    const std::string uid = Uid();
    AgentFacts facts{.pod_uid = uid,
                     .pod = "pod-" + uid,
                     .ns = "ns",
                     .pool = uid < "u3" ? "p0" : "p1",
                     .node = {},
                     .ip = {},
                     .capacity = Below(4),
                     .open = Below(5) > 0,
                     .images = {}};
    for (int i = 0; i < 3; ++i) {
      if (Below(2) == 0) facts.images.push_back(Format("i{}", i));
    }
    agents_[uid].facts = facts;
    registry_.PutAgent(std::move(facts));
  }

  void RemoveAgent() {
    const std::string uid = Uid();
    std::vector<std::string> expected;
    if (const auto found = agents_.find(uid); found != agents_.end()) {
      for (const auto& [holder, slot] : found->second.slots) expected.push_back(holder);
      agents_.erase(found);
    }
    RC_ASSERT(registry_.RemoveAgent(uid) == expected);
  }

  void Cordon() {
    const std::string uid = Uid();
    const auto found = agents_.find(uid);
    if (Below(2) == 0) {
      registry_.Uncordon(uid);
      if (found != agents_.end()) found->second.cordoned = false;
      return;
    }
    const bool may = found != agents_.end() && found->second.slots.empty();
    RC_ASSERT(registry_.Cordon(uid) == may);
    if (may) found->second.cordoned = true;
  }

  // Why no agent suits; none when one does.
  std::optional<Unplaced> Refusal(const SlotRequest& request) const {
    bool any = false;
    bool free = false;
    bool suits = false;
    for (const auto& [uid, agent] : agents_) {
      if (agent.facts.pool != request.pool) continue;
      any = any || agent.IsOpen();
      free = free || agent.HasFree();
      suits = suits || (agent.HasFree() && agent.HasPorts(request.ports));
    }
    if (suits) return std::nullopt;
    if (!any) return Unplaced::kNoAgents;
    return free ? Unplaced::kPortConflict : Unplaced::kNoCapacity;
  }

  // The chosen agent is one of the best.
  void CheckChoice(const SlotRequest& request, const std::string& chosen) const {
    const auto rank = [&](const ModelAgent& agent) {
      return std::pair(!std::ranges::contains(agent.facts.images, request.image),
                       agent.slots.size());
    };
    const ModelAgent& taken = agents_.at(chosen);
    RC_ASSERT(taken.facts.pool == request.pool);
    RC_ASSERT(taken.HasFree() && taken.HasPorts(request.ports));
    for (const auto& [uid, agent] : agents_) {
      if (agent.facts.pool != request.pool || !agent.HasFree()) continue;
      if (agent.HasPorts(request.ports)) RC_ASSERT(rank(taken) <= rank(agent));
    }
  }

  ModelAgent* Find(const std::string& holder) {
    for (auto& [uid, agent] : agents_) {
      if (agent.slots.contains(holder)) return &agent;
    }
    return nullptr;
  }
  template <typename With>
  void Change(const std::string& holder, With with) {
    if (ModelAgent* agent = Find(holder)) with(agent->slots.at(holder));
  }

  void Allocate() {
    const std::string uid = Holder();
    const SlotRequest request = Request();
    const ModelAgent* held = Find(uid);
    const auto refusal = Refusal(request);
    const auto placed = registry_.Allocate(uid, request);
    if (held) {
      RC_ASSERT(placed.has_value());
      RC_ASSERT(placed->agent->pod_uid == held->facts.pod_uid);
      return;
    }
    RC_ASSERT(placed.has_value() == !refusal.has_value());
    if (!placed) {
      RC_ASSERT(placed.error() == *refusal);
      return;
    }
    const std::string chosen = placed->agent->pod_uid;
    CheckChoice(request, chosen);
    agents_.at(chosen).slots[uid] = {.state = SlotState::kBound, .ports = request.ports};
  }

  void Reserve() {
    Expire();
    const std::string id = Format("r{}", ++last_reservation_);
    const SlotRequest request = Request();
    const std::string name = Below(3) == 0 ? "" : Format("n{}", Below(3));
    const std::string hash = Format("h{}", Below(2));
    for (auto& [uid, agent] : agents_) {
      for (auto& [holder, slot] : agent.slots) {
        const bool same = slot.state == SlotState::kReserved && slot.sandbox == "ns/" + name &&
                          slot.spec_hash == hash && !name.empty();
        if (!same) continue;
        if (!agent.facts.open) {  // that one ends, and another begins
          agent.slots.erase(holder);
          return ReserveNew(id, request, name, hash);
        }
        const auto made = registry_.Reserve(id, request, name, hash, now_);
        RC_ASSERT(made.has_value());
        RC_ASSERT(made->id == holder && !made->is_new);
        return;
      }
    }
    ReserveNew(id, request, name, hash);
  }

  void ReserveNew(const std::string& id, const SlotRequest& request, const std::string& name,
                  const std::string& hash) {
    const auto refusal = Refusal(request);
    const auto made = registry_.Reserve(id, request, name, hash, now_);
    RC_ASSERT(made.has_value() == !refusal.has_value());
    if (!made) {
      RC_ASSERT(made.error() == *refusal);
      return;
    }
    RC_ASSERT(made->id == id && made->is_new);
    CheckChoice(request, made->agent.pod_uid);
    agents_.at(made->agent.pod_uid).slots[id] = {.state = SlotState::kReserved,
                                                 .ports = request.ports,
                                                 .expires = now_ + Registry::kReservationTtl,
                                                 .sandbox = "ns/" + name,
                                                 .spec_hash = hash};
  }

  // Reservations of this leader; with its agent, as a stamp has it.
  void Bind() {
    Expire();
    const std::string uid = Holder();
    const std::string id = Format("r{}", Below(last_reservation_ + 1));
    ModelAgent* reserved = Find(id);
    ModelAgent* held = Find(uid);
    SlotRequest request = Request();
    std::string pod = Uid();
    if (reserved) {
      pod = reserved->facts.pod_uid;
      request = {.ns = "ns",
                 .pool = reserved->facts.pool,
                 .image = "i0",
                 .ports = reserved->slots.at(id).ports};
    }
    const bool consumed = consumed_.contains(id) && consumed_.at(id) > now_;
    Binding expected = Binding::kLapsed;
    if (held) {
      expected = Binding::kHeld;
      if (reserved) {
        reserved->slots.erase(id);
        consumed_.try_emplace(id, now_ + 2 * Registry::kReservationTtl);
      }
    } else if (consumed) {
      expected = Binding::kConsumed;
    } else if (reserved) {
      const std::vector<int> ports = reserved->slots.at(id).ports;
      reserved->slots.erase(id);
      if (reserved->facts.open) {
        expected = Binding::kBound;
        reserved->slots[uid] = {.state = SlotState::kBound, .ports = ports};
      }
    } else if (const auto found = agents_.find(pod);
               found != agents_.end() && found->second.HasFree() &&
               found->second.HasPorts(request.ports) && found->second.facts.pool == request.pool) {
      expected = Binding::kBound;
      found->second.slots[uid] = {.state = SlotState::kBound, .ports = request.ports};
    }
    if (expected == Binding::kBound) consumed_[id] = now_ + 2 * Registry::kReservationTtl;
    RC_ASSERT(registry_.Bind(id, uid, pod, request, now_ + 15s, now_) == expected);
  }

  void Restore() {
    const std::string uid = Holder();
    const std::string pod = Uid();
    const std::vector<int> ports = Ports();
    const auto state = Below(2) == 0 ? SlotState::kBound : SlotState::kDraining;
    const auto found = agents_.find(pod);
    RC_ASSERT(registry_.Restore(uid, pod, ports, state) == (found != agents_.end()));
    if (found == agents_.end() || Find(uid)) return;
    found->second.slots[uid] = {.state = state, .ports = ports};
  }

  void Release() {
    const std::string holder =
        Below(2) == 0 ? Holder() : Format("r{}", Below(last_reservation_ + 1));
    ModelAgent* agent = Find(holder);
    if (agent) agent->slots.erase(holder);
    RC_ASSERT(registry_.Release(holder) == (agent != nullptr));
  }

  void Expire() {
    for (auto& [uid, agent] : agents_) {
      std::erase_if(agent.slots, [&](const auto& entry) {
        return entry.second.state == SlotState::kReserved && entry.second.expires <= now_;
      });
    }
    std::erase_if(consumed_, [&](const auto& entry) { return entry.second <= now_; });
  }

  Registry registry_;
  std::map<std::string, ModelAgent> agents_;
  std::map<std::string, async::WallTime> consumed_;
  async::WallTime now_{std::chrono::seconds(1'767'323'045)};
  int last_reservation_ = 0;
  std::string last_;
};

TEST(RegistryPropertyTest, DoesAsAModelThatScansEverything) {
  EXPECT_TRUE(rc::check("registry", [] {
    for (int worlds = 0; worlds < 5; ++worlds) {
      World world;
      const int acts = *rc::gen::inRange(1, 150);
      for (int i = 0; i < acts; ++i) {
        world.Act();
        world.Compare();
      }
    }
  }));
}

}  // namespace
}  // namespace berth::sandbox
