#include "reconcile/difftracker/service_reconciler.h"

#include <algorithm>
#include <utility>

#include "kube/object.h"
#include "log/format.h"
#include "reconcile/difftracker/admission.h"

namespace berth::difftracker {
namespace {

using runtime::Requeue;

constexpr auto kTurnIsAwaited = std::chrono::seconds(5);

bool IsProvisioned(const Json& condition) {
  return condition.get_value_or<std::string>("type", "") == kProvisioned;
}

bool HasCondition(const Service& service) {
  return service.conditions.is_array() &&
         std::ranges::any_of(service.conditions.array_range(), IsProvisioned);
}

// Berth has written to it, or is to.
bool IsConcern(const Service& service) {
  return service.IsOurs() || service.id.finalizer || HasCondition(service);
}

std::string MessageOf(const std::vector<Refusal>& refusals) {
  std::string message;
  for (const Refusal& refusal : refusals) {
    if (!message.empty()) message += "; ";
    message += Format("{}: {} ({})", refusal.field, refusal.why, refusal.reason);
  }
  return message;
}

struct Reason {
  std::string_view reason;
  std::string message;
};

// Why an operation of the service does not get on; the operation itself when it does.
Reason ReasonOf(const ServiceView& view, std::string_view otherwise, std::string_view doing) {
  if (view.quota) return {"QuotaExceeded", view.error};
  if (view.throttled) return {"Throttled", view.error};
  if (view.hold == Hold::kParked || view.hold == Hold::kRejected) return {"Parked", view.error};
  return {otherwise, view.error.empty() ? std::string(doing)
                                        : Format("{}; the last try failed: {}", doing, view.error)};
}

Reason ReasonOf(const ServiceView& view) {
  switch (view.state) {
    case State::kNotStarted:
    case State::kCreationInProgress:
      return ReasonOf(view, "Creating",
                      view.running ? "the load balancer is being made" : "waits for its turn");
    case State::kUpdateInProgress:
      return ReasonOf(view, "Updating", "the load balancer is being changed");
    case State::kCreated:
      if (view.hold != Hold::kNone) return ReasonOf(view, "Parked", "");
      return {"Provisioned", "the load balancer is as the Service says"};
    default:
      return {"Draining", view.error.empty() ? "the load balancer is being removed" : view.error};
  }
}

Json IngressOf(const std::vector<std::string>& addresses) {
  Json ingress = Json::Array();
  for (const std::string& address : addresses) {
    Json entry;
    entry["ip"] = address;
    ingress.push_back(std::move(entry));
  }
  return ingress;
}

}  // namespace

std::optional<kube::Condition> ProvisionedOf(const Service& service, const ServiceView* view) {
  if (!service.IsOurs()) return std::nullopt;
  kube::Condition condition{.type = std::string(kProvisioned),
                            .status = kube::ConditionStatus::kFalse,
                            .reason = {},
                            .message = {},
                            .observed_generation = service.id.generation};
  const auto refusals = RefusalsOf(service);
  const bool is_ending = service.id.deleting != 0;
  if (!refusals.empty() && !is_ending) {
    condition.reason = std::string(refusals.front().reason);
    condition.message = MessageOf(refusals);
    return condition;
  }
  if (!view) {
    if (is_ending) return std::nullopt;
    condition.reason = "Creating";
    condition.message = "waits for its turn";
    return condition;
  }
  Reason told = ReasonOf(*view);
  condition.reason = std::string(told.reason);
  condition.message = std::move(told.message);
  if (told.reason == "Provisioned") condition.status = kube::ConditionStatus::kTrue;
  return condition;
}

async::Task<kube::Result<Requeue>> ServiceReconciler::Reconcile(std::string key) {
  const Service* found = parts_.services.Get(key);
  if (!found || !IsConcern(*found)) co_return Requeue{};
  const Service service = *found;
  const std::string uid = service.GatewayKey();
  const bool is_wanting = service.IsOurs() && service.id.deleting == 0;
  const auto refusals = RefusalsOf(service);
  if (is_wanting && !refusals.empty()) {
    parts_.events.Record(service.id.Reference(kServices), kube::EventType::kWarning,
                         "ServiceGatewayConfigurationRejected", "Provision", MessageOf(refusals));
  }
  if (!parts_.engine.started()) {  // all keys come again then
    if (const auto told = co_await TellUnreadable(service); !told)
      co_return std::unexpected(told.error());
    co_return Requeue{};
  }
  if (const auto view = parts_.engine.Find(uid);
      is_wanting && !service.id.finalizer && view && IsServing(view->state)) {
    if (const auto added = co_await AddFinalizer(service); !added)
      co_return std::unexpected(added.error());
    if (parts_.metrics) parts_.metrics->FinalizerRecovered();
    co_return Requeue{};  // the watch brings it back
  } else if (is_wanting && !service.id.finalizer && view && view->error.empty()) {
    // Its creation begins with the finalizer. One that waits for its turn is told so.
    if (view->running) co_return Requeue{};
    const auto left = view->since + kTurnIsAwaited - parts_.executor.Now();
    if (left > left.zero()) co_return Requeue{left};
  }
  if (const auto written = co_await WriteStatus(service); !written)
    co_return std::unexpected(written.error());
  if (is_wanting || parts_.engine.Tracks(uid) || !service.id.finalizer) co_return Requeue{};
  const Service* latest = parts_.services.Get(key);
  if (!latest || latest->id.uid != service.id.uid) co_return Requeue{};
  if (const auto removed = co_await RemoveFinalizers(*latest); !removed)
    co_return std::unexpected(removed.error());
  co_return Requeue{};
}

async::Task<kube::Result<void>> ServiceReconciler::TellUnreadable(Service service) {
  const std::string& why = parts_.unreadable();
  const bool is_served =
      service.conditions.is_array() &&
      std::ranges::any_of(service.conditions.array_range(), [](const Json& one) {
        return IsProvisioned(one) && one.get_value_or<std::string>("status", "") == "True";
      });
  const bool is_told = service.IsOurs() && RefusalsOf(service).empty() &&
                       (service.id.deleting != 0 ? service.id.finalizer : !is_served);
  if (why.empty() || !is_told) co_return kube::Result<void>();
  Json conditions = service.conditions.is_array() ? service.conditions : Json::Array();
  const kube::Condition condition{.type = std::string(kProvisioned),
                                  .status = kube::ConditionStatus::kFalse,
                                  .reason = "GatewayUnreadable",
                                  .message = why,
                                  .observed_generation = service.id.generation};
  if (!kube::SetCondition(conditions, condition, parts_.executor.WallNow()))
    co_return kube::Result<void>();
  Json patch = runtime::PatchOf(service.id);
  patch["status"]["conditions"] = std::move(conditions);
  co_return co_await Patch(service, patch.to_string(), "status");
}

async::Task<kube::Result<void>> ServiceReconciler::EnsureFinalizer(std::string key,
                                                                   std::string uid) {
  const Service* found = parts_.services.Get(key);
  if (!found || found->id.uid != uid || found->id.deleting != 0)
    co_return Terminal("the Service is gone");
  if (found->id.finalizer) co_return kube::Result<void>();
  const Service service = *found;
  auto added = co_await AddFinalizer(service);
  if (added || added.error().error_class != ErrorClass::kConflict) co_return added;
  // Somebody else has written to it, which the watch has not brought yet.
  const auto read = co_await parts_.api.Get(kServices, service.id.ns, service.id.name);
  if (!read) co_return std::unexpected(read.error());
  auto now = kube::Decode<Service>(*read);
  if (!now) co_return std::unexpected(now.error());
  if (now->id.uid != uid || now->id.deleting != 0) co_return Terminal("the Service is gone");
  if (now->id.finalizer) co_return kube::Result<void>();
  co_return co_await AddFinalizer(std::move(*now));
}

async::Task<kube::Result<void>> ServiceReconciler::AddFinalizer(Service service) {
  Json patch = runtime::PatchOf(service.id);
  patch["metadata"]["finalizers"] = runtime::FinalizersOf(service.id, kServiceFinalizer);
  auto added = co_await Patch(service, patch.to_string(), "");
  if (!added && added.error().error_class != ErrorClass::kConflict) {
    parts_.events.Record(service.id.Reference(kServices), kube::EventType::kWarning,
                         "ServiceGatewayFinalizerAddFailed", "AddFinalizer", added.error().message);
  }
  co_return added;
}

// The finalizer of cloud-provider-azure goes with ours: nobody else takes it off any more, unless
// the Service is now another controller's.
async::Task<kube::Result<void>> ServiceReconciler::RemoveFinalizers(Service service) {
  Json patch = runtime::PatchOf(service.id);
  if (service.IsOurs() || !service.is_load_balancer)
    std::erase(service.id.other_finalizers, kLegacyFinalizer);
  patch["metadata"]["finalizers"] = runtime::FinalizersOf(service.id, "");
  co_return co_await Patch(service, patch.to_string(), "");
}

async::Task<kube::Result<void>> ServiceReconciler::WriteStatus(Service service) {
  const std::string uid = service.GatewayKey();
  const auto view = parts_.engine.Find(uid);
  Json status = Json::Object();
  const auto condition = ProvisionedOf(service, view ? &*view : nullptr);
  Json conditions = service.conditions.is_array() ? service.conditions : Json::Array();
  if (condition) {
    if (kube::SetCondition(conditions, *condition, parts_.executor.WallNow()))
      status["conditions"] = conditions;
  } else if (HasCondition(service) && service.id.deleting == 0) {
    Json others = Json::Array();
    for (const Json& other : conditions.array_range()) {
      if (!IsProvisioned(other)) others.push_back(other);
    }
    status["conditions"] = std::move(others);
  }
  const auto& addresses = parts_.addresses_of(uid);
  const bool is_served = view && IsServing(view->state) && service.is_load_balancer;
  if (is_served && !addresses.empty() &&
      (service.ingress_ips != addresses || service.foreign_ingress)) {
    status["loadBalancer"]["ingress"] = IngressOf(addresses);
  } else if (!service.is_load_balancer &&
             (!service.ingress_ips.empty() || service.foreign_ingress)) {
    status["loadBalancer"]["ingress"] = Json::null();
  }
  if (status.empty()) co_return kube::Result<void>();
  Json patch = runtime::PatchOf(service.id);
  patch["status"] = std::move(status);
  co_return co_await Patch(service, patch.to_string(), "status");
}

async::Task<kube::Result<void>> ServiceReconciler::Patch(Service service, std::string body,
                                                         std::string subresource) {
  const auto answer =
      co_await parts_.api.Patch(kServices, service.id.ns, service.id.name, kube::PatchType::kMerge,
                                std::move(body), {.subresource = std::move(subresource)});
  if (!answer && runtime::IsGone(answer.error())) co_return kube::Result<void>();
  if (!answer) co_return std::unexpected(answer.error());
  // The answer to the last finalizer's removal is of an object that is gone.
  if (auto now = kube::Decode<Service>(*answer);
      now && !(now->id.deleting != 0 && !now->id.finalizer))
    parts_.services.Note(std::move(*now));
  co_return kube::Result<void>();
}

}  // namespace berth::difftracker
