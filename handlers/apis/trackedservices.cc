#include "handlers/apis/trackedservices.h"

#include <string_view>
#include <utility>

#include "handlers/apis/calendar.h"
#include "log/format.h"
#include "reconcile/difftracker/names.h"

namespace berth::apis {
namespace {

using difftracker::Direction;
using difftracker::Forced;
using difftracker::ServiceView;
using difftracker::Tracker;

constexpr LiveCollection::Limits kLimits{.events = 4096, .bytes = 8 * 1024 * 1024};
constexpr std::string_view kInboundPrefix = "lb-";
constexpr std::string_view kOutboundPrefix = "nat-";

std::string NameOf(std::string_view service, Direction direction) {
  return Format("{}{}", direction == Direction::kInbound ? kInboundPrefix : kOutboundPrefix,
                service);
}

std::string_view TypeOf(const ServiceView& view) {
  return view.direction == Direction::kInbound ? "Inbound" : "Outbound";
}

// The object that asks for the service: a Service, or the pods of an egress.
std::string OwnerOf(const ServiceView& view) {
  if (view.direction == Direction::kInbound) return view.owner.empty() ? kNothing : view.owner;
  return Format("{} pod{}", view.pods, view.pods == 1 ? "" : "s");
}

std::string StateOf(const ServiceView& view) {
  if (view.hold != difftracker::Hold::kParked && view.hold != difftracker::Hold::kRejected)
    return std::string(ToString(view.state));
  return Format("{} (parked)", ToString(view.state));
}

std::string Joined(const std::vector<std::string>& addresses) {
  std::string text;
  for (const std::string& address : addresses) {
    if (!text.empty()) text += ",";
    text += address;
  }
  return text.empty() ? kNothing : text;
}

LiveCollection::Draft DraftOf(const ServiceView& view, const std::vector<std::string>& addresses,
                              const Calendar& calendar) {
  LiveCollection::Draft draft{.ns = {}, .name = NameOf(view.name, view.direction)};
  draft.fields["status.state"] = std::string(ToString(view.state));
  draft.cells = {Cell::Text(TypeOf(view)),
                 Cell::Text(OwnerOf(view)),
                 Cell::Text(StateOf(view)),
                 Cell::Text(Joined(addresses)),
                 Cell::Number(view.desired),
                 Cell::Number(view.synced),
                 Cell::Number(view.buffered),
                 Cell::Number(view.retries),
                 Cell::Text(calendar.Clock(view.next_retry)),
                 Cell::Text(view.blocked_by.empty() ? kNothing : view.blocked_by),
                 Cell::Age(calendar.Seconds(view.since)),
                 Cell::Text(view.error.empty() ? kNothing : view.error)};
  Json& spec = draft.content["spec"];
  spec["service"] = view.name;
  spec["type"] = TypeOf(view);
  if (!view.owner.empty()) spec["owner"] = view.owner;
  Json& status = draft.content["status"];
  status["state"] = ToString(view.state);
  status["wanted"] = view.wanted;
  status["addresses"] = addresses;
  status["desired"] = view.desired;
  status["synced"] = view.synced;
  status["buffered"] = view.buffered;
  status["toRemove"] = view.to_remove;
  status["pods"] = view.pods;
  status["retries"] = view.retries;
  if (view.next_retry) status["nextRetryAt"] = calendar.Text(*view.next_retry);
  if (!view.blocked_by.empty()) status["blockedBy"] = view.blocked_by;
  if (!view.error.empty()) status["lastError"] = view.error;
  status["since"] = calendar.Text(view.since);
  return draft;
}

kube::Status NotNow() {
  kube::Status status = kube::ServiceUnavailable("this replica tracks no services now; try again");
  status.details.retry_after_seconds = 1;
  return status;
}

// The service in the gateway that an object is of.
std::string ServiceOf(std::string_view name) {
  for (const std::string_view prefix : {kInboundPrefix, kOutboundPrefix}) {
    if (name.starts_with(prefix)) return std::string(name.substr(prefix.size()));
  }
  return "";
}

// The outcome that a forced deletion would have.
Forced Foresee(const Tracker& tracker, const std::string& service) {
  const auto view = tracker.engine().Find(service);
  if (!view) return Forced::kNoService;
  if (view->wanted) return Forced::kWanted;
  return view->running ? Forced::kBusy : Forced::kForgotten;
}

std::string Refusal(Forced forced) {
  if (forced == Forced::kWanted)
    return "a Service or pod wants it and would bring it back: delete that first";
  return "its operation runs: try again when it has ended";
}

}  // namespace

ResourceType TrackedServiceType() {
  ResourceType type("TrackedService");
  type.short_names = {"tsvc"};
  type.categories = {"berth"};
  type.deletable = true;
  type.selectable_fields = {"status.state"};
  type.description =
      "A load balancer or NAT gateway of the service gateway that the server looks after. Deleting "
      "it gives up waiting for its deletion: resources may stay in the cloud for a while.";
  type.columns = {{"Type", "string", "Inbound: a load balancer; Outbound: a NAT gateway.", 0},
                  {"Owner", "string", "The Service, or the number of pods of the egress.", 0},
                  {"State", "string", "Where it is in its life.", 0},
                  {"IP", "string", "Its public addresses.", 0},
                  {"Desired", "integer", "Addresses of its endpoints or pods.", 0},
                  {"Synced", "integer", "Those of them that the gateway has.", 0},
                  {"Buffered", "integer", "Those that wait until the service can take them.", 0},
                  {"Retries", "integer", "Tries that failed since the last success.", 0},
                  {"Next-Retry", "string", "When it is tried again.", 0},
                  {"Blocked-By", "string", "What it waits for.", 0},
                  {"Age", "date", "Since it is tracked.", 0},
                  {"Last-Error", "string", "The last error.", 1}};
  type.properties = Json::Object();
  type.properties["spec"] = ObjectSchema(
      "Which service it is.",
      {{"service", "string", "Its name in the gateway: the Service's UID, or the egress."},
       {"type", "string", "Inbound or Outbound."},
       {"owner", "string", "The Service, as namespace/name."}});
  type.properties["status"] = ObjectSchema(
      "How far it is.",
      {{"state", "string",
        "NotStarted, CreationInProgress, Created, UpdateInProgress, DeletionPending or "
        "DeletionInProgress."},
       {"wanted", "boolean", "A Service or a pod wants it."},
       {"addresses", "string[]", "Its public addresses."},
       {"desired", "integer", "Addresses of its endpoints or pods.", "int32"},
       {"synced", "integer", "Those of them that the gateway has.", "int32"},
       {"buffered", "integer", "Those that wait until the service can take them.", "int32"},
       {"toRemove", "integer", "Addresses that the gateway still has and should not.", "int32"},
       {"pods", "integer", "Live pods of an egress.", "int32"},
       {"retries", "integer", "Tries that failed since the last success.", "int32"},
       {"nextRetryAt", "string", "When it is tried again.", "date-time"},
       {"blockedBy", "string", "What it waits for."},
       {"lastError", "string", "The last error."},
       {"since", "string", "Since when it is tracked.", "date-time"}});
  return type;
}

TrackedServices::TrackedServices(async::Executor& control)
    : control_(control), services_(TrackedServiceType(), kLimits), desk_(control) {
  services_.OnDelete(
      [this](const Deletion& deletion, async::Executor& home, ResourceStore::Deleted answer) {
        Delete(deletion, home, std::move(answer));
      });
}

void TrackedServices::Publish(Tracker* tracker) {
  desk_.Open(&shown_);
  if (shown_.get() != tracker) services_.Clear();
  shown_ = {tracker, tracker ? tracker->alive() : std::weak_ptr<const void>()};
  if (!tracker) return;
  const Calendar calendar(control_);
  for (const std::string& service : tracker->TakeChangedServices()) {
    if (const auto view = tracker->engine().Find(service)) {
      services_.Put(DraftOf(*view, tracker->AddressesOf(service), calendar));
      continue;
    }
    services_.Remove("", NameOf(service, Direction::kInbound));
    services_.Remove("", NameOf(service, Direction::kOutbound));
  }
}

void TrackedServices::Delete(const Deletion& deletion, async::Executor& home,
                             ResourceStore::Deleted answer) {
  using Answered = std::expected<void, kube::Status>;
  desk_.AskWithDeadline(
      home,
      [name = deletion.name, dry_run = deletion.dry_run](Shown* shown) -> Answered {
        Tracker* tracker = shown ? shown->get() : nullptr;
        if (!tracker) return std::unexpected(NotNow());
        const std::string service = ServiceOf(name);
        const Forced forced = dry_run ? Foresee(*tracker, service) : tracker->ForceDelete(service);
        if (forced == Forced::kForgotten) return {};
        const std::string plural = "trackedservices";
        if (forced == Forced::kNoService)
          return std::unexpected(kube::NotFound(kGroup, plural, name));
        return std::unexpected(kube::Conflict(kGroup, plural, name, Refusal(forced)));
      },
      std::move(answer));
}

}  // namespace berth::apis
