#include "reconcile/sandbox/sandbox_reconciler.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "kube/object.h"
#include "log/format.h"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;
using runtime::Requeue;

// More actions than any way through Decide has: against going round in a circle.
constexpr int kMostSteps = 12;
// An agent's restart may show in its list before it shows in its pod's status: an absence is proven
// once it has lasted for so long.
constexpr auto kDoubt = 5s;
// Another look without an event: a wake-up that was missed costs no more than this.
constexpr auto kLookAgain = 10s;

}  // namespace

async::Task<SandboxReconciler::Outcome> SandboxReconciler::Reconcile(std::string key) {
  const Sandbox* found = parts_.sandboxes.Get(key);
  if (!found) {
    memories_.erase(key);
    parts_.waiting.Leave(key);
    co_return Requeue{};
  }
  Memory& memory = memories_[key];
  if (memory.uid != found->id.uid) memory = {.uid = found->id.uid};
  Pass pass{.key = key, .sandbox = *found, .memory = memory, .now = parts_.executor.WallNow()};
  for (int i = 0; i < kMostSteps; ++i) {
    if (memory.attempt != pass.sandbox.status.attempt) {
      memory = {.uid = memory.uid,
                .attempt = pass.sandbox.status.attempt,
                .not_before = memory.not_before};
    }
    pass.now = parts_.executor.WallNow();
    const auto tended = co_await Tend(&pass);
    if (!tended && runtime::IsGone(tended.error())) co_return Requeue{};
    if (!tended) co_return std::unexpected(tended.error());
    const Wish wish = WishOf(pass.sandbox, pass.now);
    pass.is_in_doubt = false;
    const Sight sight = See(&pass);
    if (pass.is_in_doubt) {
      const auto confirmed = co_await ConfirmPod(&pass);
      if (!confirmed) co_return std::unexpected(confirmed.error());
      if (*confirmed) co_return **confirmed;
      continue;
    }
    const Action action = Decide(wish, pass.sandbox.status.phase, sight, CircumstancesOf(pass));
    if (action != Action::kAssign) {
      parts_.waiting.Leave(key);
      if (pass.sandbox.allocation && pass.sandbox.id.deleting == 0) {
        const auto removed = co_await RemoveAnnotation(&pass);
        if (!removed && runtime::IsGone(removed.error())) co_return Requeue{};
        if (!removed) co_return std::unexpected(removed.error());
      }
    }
    auto next = co_await Take(&pass, action, wish, sight);
    if (!next && runtime::IsGone(next.error())) co_return Requeue{};
    if (!next) co_return std::unexpected(std::move(next.error()));
    if (*next) co_return **next;
  }
  co_return std::unexpected(Error{ErrorClass::kRetry, {}, "too many steps"});
}

async::Task<kube::Result<void>> SandboxReconciler::Tend(Pass* pass) {
  if (pass->sandbox.IsOfFastSandbox()) {
    auto adopted = co_await Adopt(pass);
    if (!adopted) co_return adopted;
  }
  // A user has taken the finalizer off: without it the object could go before its container.
  const Identity& id = pass->sandbox.id;
  const bool is_assigned = !pass->sandbox.status.assigned_pod_uid.empty();
  if (id.deleting == 0 && !id.finalizer && is_assigned) co_return co_await AddFinalizer(pass);
  co_return kube::Result<void>();
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Take(Pass* pass, Action action, Wish wish,
                                                             Sight sight) {
  switch (action) {
    case Action::kAssign:
      return Assign(pass);
    case Action::kCreate:
      return Create(pass);
    case Action::kWait:
      return Wait(pass, wish, sight);
    case Action::kStart:
      return Start(pass);
    case Action::kLose:
      return Lose(pass, sight);
    case Action::kFail:
      return Fail(pass, sight);
    case Action::kAgain:
      return Again(pass);
    case Action::kDelete:
      return Delete(pass, wish);
    case Action::kFree:
      return Free(pass);
    case Action::kExpire:
      return Expire(pass);
    case Action::kAccept:
      return Accept(pass);
    case Action::kFinish:
      return Finish(pass);
    case Action::kRest:
      break;
  }
  return Rest(pass);
}

Sight SandboxReconciler::See(Pass* pass) const {
  const SandboxStatus& status = pass->sandbox.status;
  const std::string& pod_uid = status.assigned_pod_uid;
  if (pod_uid.empty()) return Sight::kNone;
  if (!parts_.pod_exists(pod_uid)) return Sight::kGone;
  const AgentBook::Agent* agent = parts_.book.Find(pod_uid);
  if (!agent) return Sight::kSilent;
  if (agent->pod.ended) return Sight::kForgot;
  if (agent->silent() || !agent->status || !agent->asked) return Sight::kSilent;
  if (*agent->asked < pass->memory.acted) return Sight::kSilent;
  const std::string id = pass->sandbox.AgentId();
  const cloud::AgentSandbox* listed = agent->status->Find(id);
  if (!listed) return SeeUnlisted(pass, *agent);
  pass->memory.unlisted.reset();
  pass->memory.rejected = false;
  // An answer to a question of before the restart may be of before it, too.
  if (*agent->asked >= agent->noticed) pass->memory.listed_restarts = agent->pod.restarts;
  switch (listed->phase) {
    case cloud::AgentPhase::kCreating:
      return Sight::kCreating;
    case cloud::AgentPhase::kTerminating:
      return Sight::kStopping;
    case cloud::AgentPhase::kStopped:
    case cloud::AgentPhase::kFailed:
    case cloud::AgentPhase::kTerminated:
      return Sight::kEnded;
    case cloud::AgentPhase::kRunning:
    case cloud::AgentPhase::kUnknown:
      break;
  }
  return Sight::kRunning;
}

Sight SandboxReconciler::SeeUnlisted(Pass* pass, const AgentBook::Agent& agent) const {
  Memory& memory = pass->memory;
  // This leader has assigned it, and no create that was sent can have done anything.
  const bool is_untouched = memory.began && memory.creates == 0;
  const AgentFacts* facts = parts_.registry.FindAgent(agent.pod.id.uid);
  if (is_untouched && (!facts || !facts->open)) memory.rejected = true;  // it gets nothing new
  if (is_untouched && memory.rejected) return Sight::kAbsent;
  // The restart has not forgotten a sandbox that was listed after it.
  if (agent.restarted() && memory.listed_restarts != agent.pod.restarts) return Sight::kForgot;
  const async::TimePoint asked = agent.asked.value_or(async::TimePoint());
  if (!memory.unlisted) memory.unlisted = asked;
  if (asked - *memory.unlisted < kDoubt) return Sight::kUnlisted;
  if (memory.confirmed - *memory.unlisted >= kDoubt) return Sight::kAbsent;
  pass->is_in_doubt = true;
  return Sight::kUnlisted;
}

async::Task<SandboxReconciler::Next> SandboxReconciler::ConfirmPod(Pass* pass) {
  const SandboxStatus& status = pass->sandbox.status;
  const auto asked = parts_.executor.Now();
  const auto body = co_await parts_.api.Get(kPods, pass->sandbox.id.ns, status.assigned_pod);
  // The watch will tell that it is gone.
  if (!body && runtime::IsGone(body.error())) co_return Requeue{kLookAgain};
  if (!body) co_return std::unexpected(body.error());
  const auto pod = kube::Decode<Pod>(*body);
  if (!pod) co_return std::unexpected(pod.error());
  if (pod->id.uid != status.assigned_pod_uid) co_return Requeue{kLookAgain};
  if (const AgentBook::Agent* agent = parts_.book.Find(pod->id.uid);
      agent && agent->pod.restarts == pod->restarts && agent->pod.ended == pod->ended) {
    pass->memory.confirmed = asked;
  } else {
    parts_.book.Put(*pod);
  }
  co_return std::nullopt;
}

Circumstances SandboxReconciler::CircumstancesOf(const Pass& pass) const {
  const Sandbox& sandbox = pass.sandbox;
  const auto recovery = std::chrono::seconds(sandbox.spec.recovery_seconds);
  return {
      .auto_recreate = sandbox.spec.auto_recreate,
      .recovery_over = !sandbox.status.lost_at || pass.now >= *sandbox.status.lost_at + recovery,
      .tries_over = pass.memory.creates >= kMostCreates,
      .rejected = pass.memory.rejected};
}

std::optional<cloud::AgentAddress> SandboxReconciler::AddressOf(const Pass& pass) const {
  const AgentBook::Agent* agent = parts_.book.Find(pass.sandbox.status.assigned_pod_uid);
  if (!agent || agent->pod.ip.empty()) return std::nullopt;
  return cloud::AgentAddress{.ip = agent->pod.ip};
}

Requeue SandboxReconciler::UntilNextTime(const Pass& pass, async::Duration at_most) const {
  async::Duration after = at_most;
  const auto until = [&](async::WallTime when) {
    // Not before: a wake-up that is early by a part of a millisecond would be one for nothing.
    const auto left = std::chrono::duration_cast<async::Duration>(when - pass.now) + 1ms;
    if (left > 0ms && (after == async::Duration() || left < after)) after = left;
  };
  const Sandbox& sandbox = pass.sandbox;
  if (sandbox.spec.expires && sandbox.id.deleting == 0) until(*sandbox.spec.expires);
  if (sandbox.status.phase == Phase::kLost && sandbox.spec.auto_recreate &&
      sandbox.status.lost_at) {
    until(*sandbox.status.lost_at + std::chrono::seconds(sandbox.spec.recovery_seconds));
  }
  return {after};
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Wait(Pass* pass, Wish wish, Sight sight) {
  SandboxStatus to = pass->sandbox.status;
  const Identity& id = pass->sandbox.id;
  const auto unready = [&](std::string_view reason, std::string message) {
    SetReady(to, id, kube::ConditionStatus::kFalse, reason, std::move(message), pass->now);
  };
  const AgentBook::Agent* agent = parts_.book.Find(to.assigned_pod_uid);
  const bool is_silent = sight == Sight::kSilent && (!agent || agent->silent());
  if (wish == Wish::kDelete) {
    to.phase = Phase::kTerminating;
    unready("Terminating", "the agent has to confirm that the container is gone");
  } else if (wish == Wish::kReset) {
    unready("Resetting", "the agent has to confirm that the container is gone");
  } else if (wish == Wish::kExpire) {
    unready("Expiring", "the agent has to confirm that the container is gone");
  } else if (is_silent && (to.phase == Phase::kRunning || to.phase == Phase::kBound)) {
    SetReady(to, id, kube::ConditionStatus::kUnknown, "AgentUnreachable",
             Format("agent {} does not answer", to.assigned_pod), pass->now);
  } else if (to.phase == Phase::kBound && !pass->memory.failure.empty()) {
    unready("CreateFailed", pass->memory.failure);
  }
  auto written = co_await WriteStatus(pass, std::move(to));
  if (!written) co_return std::unexpected(std::move(written.error()));
  const bool is_close = sight == Sight::kUnlisted || (sight == Sight::kSilent && !is_silent);
  co_return UntilNextTime(*pass, is_close ? 1s : kLookAgain);
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Rest(Pass* pass) {
  SandboxStatus to = pass->sandbox.status;
  if (to.phase == Phase::kRunning && to.assigned_pod_uid == pass->sandbox.status.assigned_pod_uid) {
    SetReady(to, pass->sandbox.id, kube::ConditionStatus::kTrue, "Running", "the container runs",
             pass->now);
  }
  auto written = co_await WriteStatus(pass, std::move(to));
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return UntilNextTime(*pass, {});
}

async::Task<kube::Result<void>> SandboxReconciler::RemoveAnnotation(Pass* pass) {
  Json path = "/metadata/annotations/sandbox.fast.io~1allocation";
  Json test;
  test["op"] = "test";
  test["path"] = path;
  test["value"] = pass->sandbox.allocation.value_or("");
  Json remove;
  remove["op"] = "remove";
  remove["path"] = std::move(path);
  Json patch = Json::Array();
  patch.push_back(std::move(test));
  patch.push_back(std::move(remove));
  auto removed = co_await Patch(pass, kube::PatchType::kJson, patch.to_string(), "");
  // The test has failed: somebody has changed it since.
  if (!removed && removed.error().code == 422) removed.error().error_class = ErrorClass::kConflict;
  co_return removed;
}

async::Task<kube::Result<void>> SandboxReconciler::AddFinalizer(Pass* pass) {
  Json patch = runtime::PatchOf(pass->sandbox.id);
  patch["metadata"]["finalizers"] = runtime::FinalizersOf(pass->sandbox.id, kFinalizer);
  co_return co_await Patch(pass, kube::PatchType::kMerge, patch.to_string(), "");
}

async::Task<kube::Result<void>> SandboxReconciler::WriteStatus(Pass* pass, SandboxStatus to) {
  const auto patch = StatusPatch(pass->sandbox, to);
  if (!patch) co_return kube::Result<void>();
  co_return co_await Patch(pass, kube::PatchType::kMerge, patch->to_string(), "status");
}

async::Task<kube::Result<void>> SandboxReconciler::Patch(Pass* pass, kube::PatchType type,
                                                         std::string body,
                                                         std::string subresource) {
  const Identity& id = pass->sandbox.id;
  const auto answer = co_await parts_.api.Patch(kSandboxes, id.ns, id.name, type, std::move(body),
                                                {.subresource = std::move(subresource)});
  if (!answer) co_return std::unexpected(answer.error());
  auto now = kube::Decode<Sandbox>(*answer);
  if (!now) co_return std::unexpected(now.error());
  if (now->id.uid != pass->sandbox.id.uid) {
    co_return std::unexpected(Error{ErrorClass::kNotFound, {}, "the Sandbox is another one now"});
  }
  pass->sandbox = *now;
  // The answer to the last finalizer's removal is of an object that is gone.
  const bool is_gone =
      now->id.deleting != 0 && !now->id.finalizer && now->id.other_finalizers.empty();
  if (!is_gone) parts_.sandboxes.Note(std::move(*now));
  co_return kube::Result<void>();
}

void SandboxReconciler::Record(const Pass& pass, kube::EventType type, std::string_view reason,
                               std::string_view action, std::string_view note) {
  parts_.events.Record(pass.sandbox.id.Reference(kSandboxes), type, reason, action, note);
}

}  // namespace berth::sandbox
