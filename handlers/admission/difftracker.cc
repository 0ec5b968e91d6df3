#include "handlers/admission/difftracker.h"

#include <optional>
#include <utility>

#include "handlers/admission/rules.h"
#include "reconcile/difftracker/admission.h"

namespace berth::admission {
namespace {

using difftracker::Service;

Response JudgeReview(const Request& request) {
  // The last updates of a Service being deleted only remove finalizers.
  if (request.object["metadata"]["deletionTimestamp"].exists()) return Response::Allow();
  const auto now = Service::From(request.object);
  if (!now) return Response::Deny(kube::BadRequest(now.error().message));
  std::optional<Service> before;
  if (request.operation == Operation::kUpdate) {
    if (auto read = Service::From(request.old_object)) before = std::move(*read);
  }
  return ResponseOf(JudgeService(*now, before ? &*before : nullptr), difftracker::kServices,
                    request.name);
}

}  // namespace

void RegisterDiffTracker(Webhooks& webhooks, bool enabled) {
  webhooks.On(Phase::kValidate, difftracker::kServices, {Operation::kCreate, Operation::kUpdate},
              [enabled](const Request& request, async::Executor&, Webhooks::Reply reply) {
                reply(enabled ? JudgeReview(request) : Response::Allow());
              });
}

}  // namespace berth::admission
