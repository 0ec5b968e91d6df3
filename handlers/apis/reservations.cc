#include "handlers/apis/reservations.h"

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

// The name of "ns/name", which is empty for generateName.
std::string NameIn(const std::string& key) {
  const auto slash = key.find('/');
  return slash == key.npos ? key : key.substr(slash + 1);
}

LiveCollection::Draft DraftOf(const std::string& id, const AgentFacts& agent, const Slot& slot) {
  const std::string sandbox = NameIn(slot.sandbox);
  const std::string expires = FormatTime(slot.expires);
  LiveCollection::Draft draft{.ns = agent.ns, .name = id};
  draft.fields["spec.pool"] = agent.pool;
  draft.cells = {Cell::Text(sandbox.empty() ? kNothing : sandbox), Cell::Text(agent.pool),
                 Cell::Text(agent.pod), Cell::Text(expires.substr(sizeof("2026-01-02")))};
  Json& spec = draft.content["spec"];
  if (!sandbox.empty()) spec["sandboxName"] = sandbox;
  spec["pool"] = agent.pool;
  spec["agent"] = agent.pod;
  spec["podUID"] = agent.pod_uid;
  spec["specHash"] = slot.spec_hash;
  Json ports = Json::Array();
  for (const int port : slot.ports) ports.push_back(port);
  spec["exposedPorts"] = std::move(ports);
  draft.content["status"]["expiresAt"] = FormatMilliTime(slot.expires);
  return draft;
}

}  // namespace

ResourceType ReservationType() {
  ResourceType type("Reservation");
  type.namespaced = true;
  type.categories = {"berth"};
  type.selectable_fields = {"spec.pool"};
  type.description =
      "A slot of an agent that is held for a Sandbox that is being created. It ends when the "
      "Sandbox has it, or with its time.";
  type.columns = {{"Sandbox", "string", "The Sandbox; none when its name is to be generated.", 0},
                  {"Pool", "string", "The SandboxPool.", 0},
                  {"Agent", "string", "The agent's pod.", 0},
                  {"Expires", "string", "When it ends unless the Sandbox comes.", 0}};
  type.properties = Json::Object();
  type.properties["spec"] = ObjectSchema(
      "What is held.",
      {{"sandboxName", "string", "The Sandbox, in the same namespace."},
       {"pool", "string", "The SandboxPool, in the same namespace."},
       {"agent", "string", "The agent's pod."},
       {"podUID", "string", "The UID of that pod."},
       {"specHash", "string", "A hash of what the Sandbox runs."},
       {"exposedPorts", "integer[]", "Ports of the pod that are held with it.", "int32"}});
  type.properties["status"] = ObjectSchema(
      "How long.",
      {{"expiresAt", "string", "When it ends unless the Sandbox comes.", "date-time"}});
  return type;
}

Reservations::Reservations() : reservations_(ReservationType(), kLimits) {}

void Reservations::Publish(sandbox::Slots* slots) {
  const auto shown = shown_.lock();
  const auto alive = slots ? slots->alive().lock() : nullptr;
  const bool is_new = shown != alive || !alive;
  if (is_new && !namespaces_.empty()) {
    reservations_.Clear();
    namespaces_.clear();
  }
  shown_ = alive;
  if (!alive) return;

  sandbox::Registry& registry = slots->registry();
  std::set<std::string> changed = registry.TakeChangedReservations();
  if (is_new) {
    registry.ForEachAgent([&](const AgentFacts&, const auto& taken) {
      for (const auto& [holder, slot] : taken) {
        if (slot.state == SlotState::kReserved) changed.insert(holder);
      }
    });
  }
  for (const std::string& id : changed) Show(registry, id);
}

void Reservations::Show(const sandbox::Registry& registry, const std::string& id) {
  const auto found = registry.Find(id);
  if (found && found->slot->state == SlotState::kReserved) {
    namespaces_.insert_or_assign(id, found->agent->ns);
    reservations_.Put(DraftOf(id, *found->agent, *found->slot));
  } else if (const auto gone = namespaces_.extract(id)) {
    reservations_.Remove(gone.mapped(), id);
  }
}

}  // namespace berth::apis
