#include "reconcile/sandbox/status.h"

#include <utility>

#include "log/timestamp.h"

namespace berth::sandbox {
namespace {

void Set(SandboxStatus& status, const Identity& id, const char* type, kube::ConditionStatus value,
         std::string_view reason, std::string message, async::WallTime now) {
  kube::SetCondition(status.conditions,
                     {.type = type,
                      .status = value,
                      .reason = std::string(reason),
                      .message = std::move(message),
                      .observed_generation = id.generation},
                     now);
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json::null() : Json(text); }

}  // namespace

void SetReady(SandboxStatus& status, const Identity& id, kube::ConditionStatus value,
              std::string_view reason, std::string message, async::WallTime now) {
  Set(status, id, "Ready", value, reason, std::move(message), now);
}

void SetAssigned(SandboxStatus& status, const Identity& id, bool value, std::string_view reason,
                 std::string message, async::WallTime now) {
  Set(status, id, "Assigned", value ? kube::ConditionStatus::kTrue : kube::ConditionStatus::kFalse,
      reason, std::move(message), now);
}

std::optional<async::WallTime> AssignedSince(const SandboxStatus& status) {
  if (!status.conditions.is_array()) return std::nullopt;
  for (const Json& condition : status.conditions.array_range()) {
    if (condition.get_value_or<std::string>("type", "") != "Assigned") continue;
    if (condition.get_value_or<std::string>("status", "") != "True") return std::nullopt;
    return ParseTime(condition.get_value_or<std::string>("lastTransitionTime", ""));
  }
  return std::nullopt;
}

void ClearAssignment(SandboxStatus& status) {
  status.assigned_pod.clear();
  status.assigned_pod_uid.clear();
  status.node.clear();
  status.sandbox_id.clear();
  status.endpoints.clear();
  status.lost_at.reset();
}

std::optional<Json> StatusPatch(const Sandbox& read, const SandboxStatus& to) {
  const SandboxStatus& from = read.status;
  Json status = Json::Object();
  if (from.phase_text != ToString(to.phase)) status["phase"] = ToString(to.phase);
  const auto text = [&status](const char* name, const std::string& before, const std::string& now) {
    if (before != now) status[name] = TextOrNull(now);
  };
  text("assignedPod", from.assigned_pod, to.assigned_pod);
  text("assignedPodUID", from.assigned_pod_uid, to.assigned_pod_uid);
  text("nodeName", from.node, to.node);
  text("sandboxID", from.sandbox_id, to.sandbox_id);
  text("allocationID", from.allocation_id, to.allocation_id);
  text("acceptedResetRevision", from.accepted_reset_text, to.accepted_reset_text);
  if (from.attempt != to.attempt) status["attempt"] = to.attempt;
  if (from.endpoints != to.endpoints) {
    status["endpoints"] = to.endpoints.empty() ? Json::null() : Json(to.endpoints);
  }
  if (from.lost_at != to.lost_at) {
    status["lostAt"] = to.lost_at ? Json(FormatMilliTime(*to.lost_at)) : Json::null();
  }
  if (from.conditions != to.conditions) status["conditions"] = to.conditions;
  if (status.empty()) return std::nullopt;
  Json patch = runtime::PatchOf(read.id);
  patch["status"] = std::move(status);
  return patch;
}

}  // namespace berth::sandbox
