#include "handlers/apis/agents.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "handlers/apis/calendar.h"
#include "log/timestamp.h"

namespace berth::apis {
namespace {

using sandbox::AgentFacts;
using sandbox::Slot;
using sandbox::SlotState;

constexpr LiveCollection::Limits kLimits{.events = 8192, .bytes = 8 * 1024 * 1024};

struct Taken {
  std::uint64_t bound = 0;
  std::uint64_t reserved = 0;
  std::uint64_t draining = 0;
};

Taken CountOf(const std::map<std::string, Slot>& slots) {
  Taken taken;
  for (const auto& [holder, slot] : slots) {
    std::uint64_t& count = slot.state == SlotState::kBound      ? taken.bound
                           : slot.state == SlotState::kReserved ? taken.reserved
                                                                : taken.draining;
    ++count;
  }
  return taken;
}

LiveCollection::Draft DraftOf(const AgentFacts& facts, const std::map<std::string, Slot>& slots,
                              std::optional<async::WallTime> seen) {
  const Taken taken = CountOf(slots);
  const auto capacity = static_cast<std::uint64_t>(std::max(0, facts.capacity));
  const std::uint64_t used = taken.bound + taken.reserved + taken.draining;
  LiveCollection::Draft draft{.ns = facts.ns, .name = facts.pod};
  draft.fields["spec.pool"] = facts.pool;
  draft.fields["spec.nodeName"] = facts.node;
  std::optional<std::int64_t> since;
  if (seen) since = std::chrono::floor<std::chrono::seconds>(*seen).time_since_epoch().count();
  draft.cells = {Cell::Text(facts.pool),
                 Cell::Text(facts.node.empty() ? kNothing : facts.node),
                 Cell::Number(capacity),
                 Cell::Number(taken.bound),
                 Cell::Number(taken.reserved),
                 Cell::Number(taken.draining),
                 Cell::Age(since),
                 Cell::Text(facts.open ? "true" : "false"),
                 Cell::Text(facts.ip.empty() ? kNothing : facts.ip)};
  Json& spec = draft.content["spec"];
  spec["pool"] = facts.pool;
  spec["podUID"] = facts.pod_uid;
  spec["nodeName"] = facts.node;
  spec["address"] = facts.ip;
  spec["capacity"] = capacity;
  Json& status = draft.content["status"];
  status["bound"] = taken.bound;
  status["reserved"] = taken.reserved;
  status["draining"] = taken.draining;
  status["free"] = used < capacity && facts.open ? capacity - used : 0;
  status["open"] = facts.open;
  if (seen) status["lastSeenAt"] = FormatTime(*seen);
  status["images"] = facts.images;
  return draft;
}

}  // namespace

ResourceType AgentType() {
  ResourceType type("Agent");
  type.namespaced = true;
  type.categories = {"berth"};
  type.selectable_fields = {"spec.pool", "spec.nodeName"};
  type.description = "An agent of sandboxes, by its pod, and the slots of it that are taken.";
  type.columns = {{"Pool", "string", "The SandboxPool.", 0},
                  {"Node", "string", "The pod's node.", 0},
                  {"Capacity", "integer", "Its slots.", 0},
                  {"Bound", "integer", "Slots of sandboxes.", 0},
                  {"Reserved", "integer", "Slots for sandboxes that are being created.", 0},
                  {"Draining", "integer", "Slots of sandboxes whose end is not proven yet.", 0},
                  {"Seen", "date", "Since it last answered, to 10 seconds or so.", 0},
                  {"Open", "boolean", "Whether it gets new sandboxes.", 1},
                  {"Address", "string", "The pod's IP.", 1}};
  type.properties = Json::Object();
  type.properties["spec"] = ObjectSchema(
      "What the agent is.", {{"pool", "string", "The SandboxPool, in the same namespace."},
                             {"podUID", "string", "The UID of its pod."},
                             {"nodeName", "string", "The pod's node."},
                             {"address", "string", "The pod's IP."},
                             {"capacity", "integer", "Its slots.", "int32"}});
  type.properties["status"] = ObjectSchema(
      "Its slots.",
      {{"bound", "integer", "Slots of sandboxes.", "int32"},
       {"reserved", "integer", "Slots for sandboxes that are being created.", "int32"},
       {"draining", "integer", "Slots of sandboxes whose end is not proven yet.", "int32"},
       {"free", "integer", "Slots that a new sandbox may get.", "int32"},
       {"open", "boolean",
        "Whether it gets new sandboxes: its pod is ready, it answers, it has not restarted."},
       {"lastSeenAt", "string", "When it last answered, to 10 seconds or so.", "date-time"},
       {"images", "string[]", "Images on its node, as it tells."}});
  return type;
}

Agents::Agents(async::Executor& control) : control_(control), agents_(AgentType(), kLimits) {}

void Agents::Publish(sandbox::Slots* slots) {
  const auto shown = shown_.lock();
  const auto alive = slots ? slots->alive().lock() : nullptr;
  const bool is_new = shown != alive || !alive;
  if (is_new && !names_.empty()) {
    agents_.Clear();
    names_.clear();
    owners_.clear();
  }
  shown_ = alive;
  if (!alive) return;

  std::set<std::string> changed = slots->registry().TakeChangedAgents();
  const bool see_all = is_new || control_.Now() >= seen_again_;
  if (see_all) {
    seen_again_ = control_.Now() + kSeenEach;
    slots->registry().ForEachAgent(
        [&](const AgentFacts& facts, const auto&) { changed.insert(facts.pod_uid); });
  }
  for (const std::string& pod_uid : changed) Show(*slots, pod_uid);
}

void Agents::Show(sandbox::Slots& slots, const std::string& pod_uid) {
  const sandbox::Registry& registry = slots.registry();
  const AgentFacts* facts = registry.FindAgent(pod_uid);
  const auto* taken = registry.SlotsOf(pod_uid);
  if (!facts || !taken) {
    const auto name = names_.extract(pod_uid);
    if (!name) return;
    // A later pod of the same name may be shown already.
    const auto owner = owners_.find(name.mapped());
    if (owner == owners_.end() || owner->second != pod_uid) return;
    agents_.Remove(owner->first.ns, owner->first.name);
    owners_.erase(owner);
    return;
  }
  ListKey key{facts->ns, facts->pod};
  auto [owner, is_first] = owners_.try_emplace(key, pod_uid);
  if (!is_first && owner->second != pod_uid) {
    if (registry.FindAgent(owner->second)) return;  // two of one name: the first has to go first
    agents_.Remove(key.ns, key.name);
    owner->second = pod_uid;
  }
  names_.insert_or_assign(pod_uid, std::move(key));
  agents_.Put(DraftOf(*facts, *taken, slots.SeenAt(pod_uid)));
}

}  // namespace berth::apis
