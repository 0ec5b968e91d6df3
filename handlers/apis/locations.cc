#include "handlers/apis/locations.h"

#include "handlers/apis/calendar.h"

namespace berth::apis {
namespace {

using difftracker::LocationView;

constexpr LiveCollection::Limits kLimits{.events = 4096, .bytes = 4 * 1024 * 1024};

LiveCollection::Draft DraftOf(const LocationView& view, const std::string& node,
                              const Calendar& calendar) {
  LiveCollection::Draft draft{.ns = {}, .name = view.node_ip};
  draft.fields["status.nodeName"] = node;
  draft.cells = {Cell::Text(node.empty() ? kNothing : node),
                 Cell::Number(view.addresses),
                 Cell::Number(view.pending_add),
                 Cell::Number(view.pending_remove),
                 Cell::Text(calendar.Clock(view.last_sync)),
                 Cell::Text(view.error.empty() ? kNothing : view.error)};
  draft.content["spec"]["nodeIP"] = view.node_ip;
  Json& status = draft.content["status"];
  if (!node.empty()) status["nodeName"] = node;
  status["addresses"] = view.addresses;
  status["pendingAdd"] = view.pending_add;
  status["pendingRemove"] = view.pending_remove;
  if (view.last_sync) status["lastSyncAt"] = calendar.Text(*view.last_sync);
  if (!view.error.empty()) status["error"] = view.error;
  return draft;
}

}  // namespace

ResourceType LocationType() {
  ResourceType type("Location");
  type.categories = {"berth"};
  type.selectable_fields = {"status.nodeName"};
  type.description = "The addresses that the service gateway has behind a node's IP.";
  type.columns = {
      {"Node", "string", "The node with this InternalIP.", 0},
      {"Addresses", "integer", "Addresses that the gateway has, as last read or synced.", 0},
      {"Pending-Add", "integer", "Addresses to add or to change.", 0},
      {"Pending-Remove", "integer", "Addresses to remove.", 0},
      {"Last-Sync", "string", "When the gateway last took a change of it.", 0},
      {"Error", "string", "The last error, or an address that the cloud refuses.", 0}};
  type.properties = Json::Object();
  type.properties["spec"] =
      ObjectSchema("Which location it is.", {{"nodeIP", "string", "An InternalIP of the node."}});
  type.properties["status"] = ObjectSchema(
      "How far it is.",
      {{"nodeName", "string", "The node with this InternalIP."},
       {"addresses", "integer", "Addresses that the gateway has, as last read or synced.", "int32"},
       {"pendingAdd", "integer", "Addresses to add or to change.", "int32"},
       {"pendingRemove", "integer", "Addresses to remove.", "int32"},
       {"lastSyncAt", "string", "When the gateway last took a change of it.", "date-time"},
       {"error", "string", "The last error, or an address that the cloud refuses."}});
  return type;
}

Locations::Locations(async::Executor& control)
    : control_(control), locations_(LocationType(), kLimits) {}

void Locations::Publish(difftracker::Tracker* tracker) {
  const auto alive = tracker ? tracker->alive() : std::weak_ptr<const void>();
  if (shown_.lock() != alive.lock()) locations_.Clear();
  shown_ = alive;
  if (!tracker) return;
  const Calendar calendar(control_);
  for (const difftracker::LocationChange& change : tracker->TakeChangedLocations()) {
    if (change.view) {
      locations_.Put(DraftOf(*change.view, tracker->NodeOf(change.node_ip), calendar));
    } else {
      locations_.Remove("", change.node_ip);
    }
  }
}

}  // namespace berth::apis
