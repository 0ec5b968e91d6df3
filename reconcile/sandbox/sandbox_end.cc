#include <chrono>
#include <utility>

#include "log/format.h"
#include "reconcile/sandbox/sandbox_reconciler.h"

// The way of a Sandbox from its agent. The slot is released after the write that says so: a crash
// in between leaves a status that the slot is restored from.
namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;
using runtime::Requeue;

// Between two deletes of the same container.
constexpr auto kDeleteAgain = 2s;

}  // namespace

async::Task<SandboxReconciler::Next> SandboxReconciler::Lose(Pass* pass, Sight sight) {
  SandboxStatus to = pass->sandbox.status;
  to.phase = Phase::kLost;
  to.lost_at = std::chrono::floor<std::chrono::milliseconds>(pass->now);
  std::string message = sight == Sight::kForgot
                            ? Format("agent {} has restarted and does not list it", to.assigned_pod)
                            : Format("pod {} is gone", to.assigned_pod);
  SetReady(to, pass->sandbox.id, kube::ConditionStatus::kFalse, "AgentLost", message, pass->now);
  auto written = co_await WriteStatus(pass, std::move(to));
  if (!written) co_return std::unexpected(std::move(written.error()));
  Record(*pass, kube::EventType::kWarning, "AgentLost", "Watch", message);
  co_return std::nullopt;
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Fail(Pass* pass, Sight sight) {
  SandboxStatus to = pass->sandbox.status;
  const bool is_create = to.phase == Phase::kBound && sight == Sight::kAbsent;
  std::string reason = is_create ? "CreateFailed" : "Exited";
  std::string message = is_create ? pass->memory.failure : "the container has exited";
  if (is_create && message.empty()) message = "the agent does not list it";
  to.phase = Phase::kFailed;
  to.endpoints.clear();
  SetReady(to, pass->sandbox.id, kube::ConditionStatus::kFalse, reason, message, pass->now);
  const std::string uid = pass->sandbox.id.uid;
  if (sight == Sight::kAbsent) {
    to.assigned_pod_uid.clear();
    SetAssigned(to, pass->sandbox.id, false, reason, message, pass->now);
  } else {
    parts_.registry.Drain(uid);
  }
  auto written = co_await WriteStatus(pass, std::move(to));
  if (!written) co_return std::unexpected(std::move(written.error()));
  if (sight == Sight::kAbsent) parts_.registry.Release(uid);
  Record(*pass, kube::EventType::kWarning, reason, "Watch", message);
  co_return std::nullopt;
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Again(Pass* pass) {
  SandboxStatus to = pass->sandbox.status;
  const bool was_lost = to.phase == Phase::kLost;
  const std::string why =
      pass->memory.rejected && !pass->memory.failure.empty() ? pass->memory.failure : "rescheduled";
  ClearAssignment(to);
  to.phase = Phase::kPending;
  SetAssigned(to, pass->sandbox.id, false, "Released", why, pass->now);
  SetReady(to, pass->sandbox.id, kube::ConditionStatus::kFalse, "Pending", why, pass->now);
  auto written = co_await WriteStatus(pass, std::move(to));
  if (!written) co_return std::unexpected(std::move(written.error()));
  parts_.registry.Release(pass->sandbox.id.uid);
  pass->memory = {.uid = pass->sandbox.id.uid,
                  .attempt = pass->sandbox.status.attempt,
                  .not_before = pass->memory.not_before};
  if (was_lost) {
    Record(*pass, kube::EventType::kNormal, "Recreated", "Recreate",
           "recoveryTimeoutSeconds are over; it is started anew");
  }
  co_return std::nullopt;
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Delete(Pass* pass, Wish wish) {
  SandboxStatus to = pass->sandbox.status;
  const Identity& id = pass->sandbox.id;
  const auto unready = [&](std::string_view reason) {
    SetReady(to, id, kube::ConditionStatus::kFalse, reason,
             "the agent has to confirm that the container is gone", pass->now);
  };
  if (wish == Wish::kDelete) {
    to.phase = Phase::kTerminating;
    unready("Terminating");
  } else if (wish == Wish::kReset) {
    unready("Resetting");
  } else if (wish == Wish::kExpire) {
    unready("Expiring");
  }
  parts_.registry.Drain(id.uid);
  auto written = co_await WriteStatus(pass, std::move(to));
  if (!written) co_return std::unexpected(std::move(written.error()));
  Memory& memory = pass->memory;
  const auto address = AddressOf(*pass);
  const auto now = parts_.executor.Now();
  if (!address || now < memory.not_before) {
    co_return UntilNextTime(*pass, address ? memory.not_before - now : kDeleteAgain);
  }
  const std::string pod_uid = pass->sandbox.status.assigned_pod_uid;
  const auto deleted = co_await parts_.agents.Delete(*address, pass->sandbox.AgentId());
  memory.acted = parts_.executor.Now();
  memory.unlisted.reset();
  memory.not_before = memory.acted + kDeleteAgain;
  if (!deleted && deleted.error().error_class != ErrorClass::kNotFound &&
      deleted.error().error_class != ErrorClass::kAmbiguous) {
    co_return std::unexpected(deleted.error());
  }
  co_await parts_.book.Ask(pod_uid);
  co_return std::nullopt;
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Free(Pass* pass) {
  SandboxStatus to = pass->sandbox.status;
  to.assigned_pod_uid.clear();
  SetAssigned(to, pass->sandbox.id, false, "Released", "its container is gone", pass->now);
  auto written = co_await WriteStatus(pass, std::move(to));
  if (!written) co_return std::unexpected(std::move(written.error()));
  parts_.registry.Release(pass->sandbox.id.uid);
  co_return std::nullopt;
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Expire(Pass* pass) {
  SandboxStatus to = pass->sandbox.status;
  ClearAssignment(to);
  to.phase = Phase::kExpired;
  SetAssigned(to, pass->sandbox.id, false, "Expired", "expireTime has passed", pass->now);
  SetReady(to, pass->sandbox.id, kube::ConditionStatus::kFalse, "Expired", "expireTime has passed",
           pass->now);
  auto written = co_await WriteStatus(pass, std::move(to));
  if (!written) co_return std::unexpected(std::move(written.error()));
  parts_.registry.Release(pass->sandbox.id.uid);
  Record(*pass, kube::EventType::kNormal, "Expired", "Expire", "expireTime has passed");
  co_return std::nullopt;
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Accept(Pass* pass) {
  SandboxStatus to = pass->sandbox.status;
  ClearAssignment(to);
  to.phase = Phase::kPending;
  to.accepted_reset_text = pass->sandbox.spec.reset_text;
  SetAssigned(to, pass->sandbox.id, false, "Reset", "its container is gone", pass->now);
  SetReady(to, pass->sandbox.id, kube::ConditionStatus::kFalse, "Reset", "it is started anew",
           pass->now);
  auto written = co_await WriteStatus(pass, std::move(to));
  if (!written) co_return std::unexpected(std::move(written.error()));
  parts_.registry.Release(pass->sandbox.id.uid);
  Record(*pass, kube::EventType::kNormal, "Reset", "Reset",
         Format("resetRevision {} is accepted", pass->sandbox.spec.reset_text));
  co_return std::nullopt;
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Finish(Pass* pass) {
  const std::string uid = pass->sandbox.id.uid;
  if (pass->sandbox.id.finalizer) {
    Json patch = runtime::PatchOf(pass->sandbox.id);
    patch["metadata"]["finalizers"] = runtime::FinalizersOf(pass->sandbox.id, "");
    auto removed = co_await Patch(pass, kube::PatchType::kMerge, patch.to_string(), "");
    if (!removed) co_return std::unexpected(std::move(removed.error()));
  }
  parts_.registry.Release(uid);
  co_return Requeue{};
}

}  // namespace berth::sandbox
