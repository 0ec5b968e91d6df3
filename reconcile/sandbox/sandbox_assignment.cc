#include <algorithm>
#include <chrono>
#include <utility>

#include "log/format.h"
#include "reconcile/sandbox/sandbox_reconciler.h"
#include "reconcile/sandbox/stamp.h"

// The way of a Sandbox to an agent.
namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;
using runtime::Requeue;

constexpr auto kLookSoon = 100ms;
constexpr auto kWaitForSlot = 30s;
constexpr auto kFirstRetry = 1s;
constexpr auto kLastRetry = 30s;

std::string PoolKeyOf(const Sandbox& sandbox) {
  return runtime::KeyBeside(sandbox.id.Key(), sandbox.spec.pool);
}

SlotRequest RequestOf(const Sandbox& sandbox) {
  return {.ns = sandbox.id.ns,
          .pool = sandbox.spec.pool,
          .image = sandbox.spec.image,
          .ports = sandbox.spec.ports};
}

// Whether a new sandbox may begin in the slot: spec may have changed since it was taken.
bool Suits(const Placement& held, const Sandbox& sandbox) {
  return held.agent->open && held.agent->pool == sandbox.spec.pool &&
         std::ranges::is_permutation(held.slot->ports, sandbox.spec.ports);
}

std::string MessageOf(Unplaced why, const std::string& pool) {
  switch (why) {
    case Unplaced::kNoAgents:
      return Format("no agent of SandboxPool {} is ready", pool);
    case Unplaced::kPortConflict:
      return Format("every agent of SandboxPool {} with a free slot has one of the ports taken",
                    pool);
    case Unplaced::kNoCapacity:
    case Unplaced::kTooMany:
      break;
  }
  return Format("SandboxPool {} has no free slot", pool);
}

cloud::SandboxRequest CreateRequestOf(const Sandbox& sandbox) {
  cloud::SandboxRequest request{.sandbox_id = sandbox.AgentId(),
                                .claim_uid = sandbox.id.uid,
                                .claim_name = sandbox.id.name,
                                .image = sandbox.spec.image,
                                .cpu = {},
                                .memory = {},
                                .command = sandbox.spec.command,
                                .args = sandbox.spec.args,
                                .env = {},
                                .working_dir = sandbox.spec.working_dir,
                                .pod_uid = sandbox.status.assigned_pod_uid,
                                .attempt = sandbox.status.attempt};
  for (const Env& env : sandbox.spec.envs) request.env[env.name] = env.value;
  return request;
}

}  // namespace

std::optional<std::string> SandboxReconciler::BindStamp(Pass* pass) {
  const Sandbox& sandbox = pass->sandbox;
  // An annotation is for the first attempt only.
  if (!sandbox.allocation || sandbox.status.attempt > 0) return std::nullopt;
  const std::string hash = SpecHashOf(sandbox.spec);
  const auto stamp = ReadStamp(*sandbox.allocation, parts_.stamp_key, sandbox.id.ns,
                               sandbox.spec.pool, hash, pass->now);
  if (!stamp) {
    parts_.registry.ReleaseReservationOf(sandbox.id.ns, sandbox.id.name, hash);
    if (stamp.error() == StampFault::kCorrupt) {
      Record(*pass, kube::EventType::kWarning, "CorruptAllocation", "Assign",
             "the allocation annotation is not one of Berth's; it is removed");
    } else if (stamp.error() == StampFault::kForged) {
      Record(*pass, kube::EventType::kWarning, "ForgedAllocation", "Assign",
             "the allocation annotation was not signed by Berth; it is removed");
    }
    return std::nullopt;
  }
  switch (parts_.registry.Bind(stamp->reservation, sandbox.id.uid, stamp->pod_uid,
                               RequestOf(sandbox), stamp->expires, pass->now)) {
    case Binding::kBound:
    case Binding::kHeld:
      return stamp->reservation;
    case Binding::kConsumed:
      Record(*pass, kube::EventType::kWarning, "ForgedAllocation", "Assign",
             "the allocation annotation is another Sandbox's; it is removed");
      break;
    case Binding::kLapsed:
      break;
  }
  return std::nullopt;
}

// A sandbox that fast-sandbox has assigned keeps its agent if its pod is there.
async::Task<kube::Result<void>> SandboxReconciler::Adopt(Pass* pass) {
  SandboxStatus to = pass->sandbox.status;
  const std::string pod =
      parts_.agent_uid(runtime::KeyBeside(pass->key, to.assigned_pod), pass->sandbox.spec.pool);
  if (pod.empty()) co_return kube::Result<void>();
  to.assigned_pod_uid = pod;
  SetAssigned(to, pass->sandbox.id, true, "Adopted",
              Format("agent {}, by fast-sandbox", to.assigned_pod), pass->now);
  auto written = co_await WriteStatus(pass, std::move(to));
  if (written) {
    parts_.registry.Restore(pass->sandbox.id.uid, pod, pass->sandbox.spec.ports, SlotState::kBound);
  }
  co_return written;
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Assign(Pass* pass) {
  const Sandbox& sandbox = pass->sandbox;
  if (!sandbox.id.finalizer) {
    auto added = co_await AddFinalizer(pass);
    if (!added) co_return std::unexpected(std::move(added.error()));
    co_return std::nullopt;
  }
  const auto now = parts_.executor.Now();
  if (now < pass->memory.not_before) {
    co_return UntilNextTime(*pass, pass->memory.not_before - now);
  }
  // Agents that have not been asked yet look as if there were none.
  if (!parts_.ready()) co_return Requeue{kLookSoon};
  const auto reservation = BindStamp(pass);
  // A slot whose status could not be written: nothing of it is on this agent yet.
  if (const auto held = parts_.registry.Find(sandbox.id.uid); held && !Suits(*held, sandbox)) {
    parts_.registry.Release(sandbox.id.uid);
  }
  const auto placed = parts_.registry.Allocate(sandbox.id.uid, RequestOf(sandbox));
  if (!placed) co_return co_await Unplace(pass, placed.error());
  co_return co_await Assigned(pass, *placed, reservation.value_or(""));
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Assigned(Pass* pass, Placement placement,
                                                                 std::string allocation) {
  const AgentFacts agent = *placement.agent;
  SandboxStatus to = pass->sandbox.status;
  const Identity id = pass->sandbox.id;
  ClearAssignment(to);
  to.phase = Phase::kBound;
  to.assigned_pod = agent.pod;
  to.assigned_pod_uid = agent.pod_uid;
  to.node = agent.node;
  ++to.attempt;
  to.sandbox_id = AgentIdOf(id.uid, to.attempt);
  to.allocation_id = allocation.empty() ? to.sandbox_id : std::move(allocation);
  SetAssigned(to, id, true, "Assigned", Format("agent {}", agent.pod), pass->now);
  SetReady(to, id, kube::ConditionStatus::kFalse, "Creating", "the agent has to start it",
           pass->now);
  const std::int64_t attempt = to.attempt;
  auto written = co_await WriteStatus(pass, std::move(to));
  if (!written) co_return std::unexpected(std::move(written.error()));
  pass->memory = {.uid = id.uid, .attempt = attempt, .began = true};
  Record(*pass, kube::EventType::kNormal, "Assigned", "Assign",
         Format("assigned to agent {} on node {}", agent.pod, agent.node));
  parts_.waiting.WakeNext(pass->key);
  co_return std::nullopt;
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Unplace(Pass* pass, Unplaced why) {
  const Sandbox& sandbox = pass->sandbox;
  const std::string pool = PoolKeyOf(sandbox);
  const bool is_known = parts_.pool_exists(pool);
  std::string reason = why == Unplaced::kPortConflict ? "PortConflict" : "NoCapacity";
  std::string message = MessageOf(why, sandbox.spec.pool);
  if (!is_known) {
    reason = "PoolNotFound";
    message = Format("SandboxPool {} does not exist", sandbox.spec.pool);
  }
  parts_.waiting.Enter(pool, pass->key, sandbox.id.created);
  if (why == Unplaced::kPortConflict) parts_.waiting.WakeNext(pass->key);
  parts_.pool_wanted(pool);
  SandboxStatus to = sandbox.status;
  to.phase = Phase::kPending;
  SetAssigned(to, sandbox.id, false, reason, message, pass->now);
  SetReady(to, sandbox.id, kube::ConditionStatus::kFalse, reason, message, pass->now);
  const bool is_news = to.conditions != sandbox.status.conditions;
  auto written = co_await WriteStatus(pass, std::move(to));
  if (!written) co_return std::unexpected(std::move(written.error()));
  if (is_news) Record(*pass, kube::EventType::kWarning, reason, "Assign", message);
  if (pass->sandbox.allocation) {
    auto removed = co_await RemoveAnnotation(pass);
    if (!removed) co_return std::unexpected(std::move(removed.error()));
  }
  co_return UntilNextTime(*pass, kWaitForSlot);
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Create(Pass* pass) {
  Memory& memory = pass->memory;
  const auto address = AddressOf(*pass);
  const auto now = parts_.executor.Now();
  if (!address || now < memory.not_before) {
    if (!memory.failure.empty()) {
      SandboxStatus to = pass->sandbox.status;
      SetReady(to, pass->sandbox.id, kube::ConditionStatus::kFalse, "CreateFailed", memory.failure,
               pass->now);
      auto written = co_await WriteStatus(pass, std::move(to));
      if (!written) co_return std::unexpected(std::move(written.error()));
    }
    co_return UntilNextTime(*pass, address ? memory.not_before - now : kFirstRetry);
  }
  const std::string pod_uid = pass->sandbox.status.assigned_pod_uid;
  // The call may end with this pass, and then nobody knows what it did.
  const int creates = memory.creates++;
  const auto created = co_await parts_.agents.Create(*address, CreateRequestOf(pass->sandbox));
  memory.acted = parts_.executor.Now();
  memory.unlisted.reset();
  memory.rejected = false;
  memory.not_before = memory.acted + std::min<async::Duration>(
                                         kFirstRetry * (1 << std::min(creates, 5)), kLastRetry);
  if (created) {
    memory.failure.clear();
  } else {
    memory.failure = created.error().message;
    const bool did_nothing = created.error().error_class != ErrorClass::kAmbiguous;
    if (did_nothing) memory.creates = creates;
    memory.rejected = cloud::IsRejected(created.error());
    if (did_nothing && !memory.rejected) co_return std::unexpected(created.error());
  }
  co_await parts_.book.Ask(pod_uid);
  co_return std::nullopt;
}

async::Task<SandboxReconciler::Next> SandboxReconciler::Start(Pass* pass) {
  SandboxStatus to = pass->sandbox.status;
  const bool was_lost = to.phase == Phase::kLost;
  const auto address = AddressOf(*pass);
  to.phase = Phase::kRunning;
  to.lost_at.reset();
  to.endpoints.clear();
  to.endpoints.reserve(pass->sandbox.spec.ports.size());
  for (const int port : pass->sandbox.spec.ports) {
    const std::string ip = address ? address->ip : "";
    to.endpoints.push_back(ip.contains(':') ? Format("[{}]:{}", ip, port)
                                            : Format("{}:{}", ip, port));
  }
  SetReady(to, pass->sandbox.id, kube::ConditionStatus::kTrue, "Running", "the container runs",
           pass->now);
  auto written = co_await WriteStatus(pass, std::move(to));
  if (!written) co_return std::unexpected(std::move(written.error()));
  pass->memory.creates = 0;
  pass->memory.began = false;
  pass->memory.failure.clear();
  parts_.registry.Undrain(pass->sandbox.id.uid);
  Record(*pass, kube::EventType::kNormal, "Started", "Start",
         Format("{} on agent {}", was_lost ? "listed again" : "runs",
                pass->sandbox.status.assigned_pod));
  co_return std::nullopt;
}

}  // namespace berth::sandbox
