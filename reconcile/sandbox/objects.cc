#include "reconcile/sandbox/objects.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "log/format.h"
#include "log/timestamp.h"

namespace berth::sandbox {
namespace {

constexpr int kMostCount = 1'000'000;

std::string Text(kube::JsonView view) { return std::string(view.StringOr("")); }

std::vector<std::string> Texts(kube::JsonView view) {
  std::vector<std::string> texts;
  texts.reserve(view.size());
  view.ForEachItem([&](kube::JsonView item) { texts.push_back(Text(item)); });
  return texts;
}

std::optional<async::WallTime> Time(kube::JsonView view) {
  const auto text = view.String();
  return text ? ParseTime(*text) : std::nullopt;
}

int Count(kube::JsonView view, int otherwise = 0) {
  return static_cast<int>(std::clamp<std::int64_t>(view.Int().value_or(otherwise), 0, kMostCount));
}

Json Tree(kube::JsonView view) {
  if (!view.exists() || view.is_null()) return Json::null();
  return Json::parse(view.ToJson());
}

Phase PhaseOf(std::string_view text, bool assigned) {
  for (const Phase phase : {Phase::kPending, Phase::kBound, Phase::kRunning, Phase::kLost,
                            Phase::kFailed, Phase::kExpired, Phase::kTerminating}) {
    if (text != ToString(phase)) continue;
    return phase == Phase::kPending && assigned ? Phase::kBound : phase;
  }
  return assigned ? Phase::kBound : Phase::kPending;
}

// Appends a text so that no two lists of texts give the same.
void Append(std::string& to, std::string_view text) {
  to += Format("{}:", text.size());
  to += text;
}

void Append(std::string& to, const std::vector<std::string>& texts) {
  to += Format("{};", texts.size());
  for (const std::string& text : texts) Append(to, text);
}

}  // namespace

std::string_view ToString(Phase phase) {
  switch (phase) {
    case Phase::kPending:
      return "Pending";
    case Phase::kBound:
      return "Bound";
    case Phase::kRunning:
      return "Running";
    case Phase::kLost:
      return "Lost";
    case Phase::kFailed:
      return "Failed";
    case Phase::kExpired:
      return "Expired";
    case Phase::kTerminating:
      return "Terminating";
  }
  return "";
}

SandboxSpec SandboxSpec::From(kube::JsonView spec) {
  SandboxSpec result{
      .image = Text(spec["image"]),
      .pool = Text(spec["poolRef"]),
      .command = Texts(spec["command"]),
      .args = Texts(spec["args"]),
      .envs = {},
      .working_dir = Text(spec["workingDir"]),
      .expires = Time(spec["expireTime"]),
      .ports = {},
      .auto_recreate = spec["failurePolicy"].StringOr("") == "AutoRecreate",
      .recovery_seconds =
          std::max(1, Count(spec["recoveryTimeoutSeconds"], kDefaultRecoverySeconds)),
      .reset = Time(spec["resetRevision"]),
      .reset_text = Text(spec["resetRevision"]),
  };
  spec["envs"].ForEachItem([&](kube::JsonView env) {
    result.envs.push_back(
        {.name = Text(env["name"]),
         .value = Text(env["value"]),
         .has_value_from = env["valueFrom"].exists() && !env["valueFrom"].is_null()});
  });
  spec["exposedPorts"].ForEachItem(
      [&](kube::JsonView port) { result.ports.push_back(Count(port)); });
  return result;
}

std::string SpecHashOf(const SandboxSpec& spec) {
  std::string text;
  Append(text, spec.pool);
  Append(text, spec.image);
  Append(text, spec.command);
  Append(text, spec.args);
  text += Format("{};", spec.envs.size());
  for (const Env& env : spec.envs) {
    Append(text, env.name);
    Append(text, env.value);
  }
  Append(text, spec.working_dir);
  for (const int port : spec.ports) text += Format("{},", port);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  constexpr std::size_t kBytes = 16;
  std::string hex;
  hex.reserve(2 * kBytes);
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t i = 0; i < kBytes; ++i) {
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 0xf];
  }
  return hex;
}

SandboxStatus SandboxStatus::From(kube::JsonView status) {
  const auto [phase, pod, uid, node, id, allocation, attempt, endpoints, reset, lost, conditions] =
      status.Members("phase", "assignedPod", "assignedPodUID", "nodeName", "sandboxID",
                     "allocationID", "attempt", "endpoints", "acceptedResetRevision", "lostAt",
                     "conditions");
  SandboxStatus result{.phase = Phase::kPending,
                       .phase_text = Text(phase),
                       .assigned_pod = Text(pod),
                       .assigned_pod_uid = Text(uid),
                       .node = Text(node),
                       .sandbox_id = Text(id),
                       .allocation_id = Text(allocation),
                       .attempt = std::max<std::int64_t>(attempt.Int().value_or(0), 0),
                       .endpoints = Texts(endpoints),
                       .accepted_reset = Time(reset),
                       .accepted_reset_text = Text(reset),
                       .lost_at = Time(lost),
                       .conditions = Tree(conditions)};
  result.phase = PhaseOf(result.phase_text, !result.assigned_pod_uid.empty());
  return result;
}

kube::Result<Sandbox> Sandbox::From(kube::JsonView object) {
  Sandbox sandbox{.id = Identity::From(object, kFinalizer),
                  .spec = SandboxSpec::From(object["spec"]),
                  .status = SandboxStatus::From(object["status"]),
                  .allocation = std::nullopt};
  if (const auto text = object["metadata"]["annotations"][kAllocationAnnotation].String()) {
    sandbox.allocation = std::string(*text);
  }
  return sandbox;
}

std::string AgentIdOf(std::string_view uid, std::int64_t attempt) {
  return Format("{}-{}", uid, attempt);
}

std::string Sandbox::AgentId() const {
  if (status.attempt == 0 && !status.sandbox_id.empty()) return status.sandbox_id;
  return AgentIdOf(id.uid, status.attempt);
}

bool Sandbox::IsOfFastSandbox() const {
  return status.attempt == 0 && !status.assigned_pod.empty() && status.assigned_pod_uid.empty() &&
         status.phase != Phase::kFailed && status.phase != Phase::kExpired;
}

std::optional<std::pair<std::string, std::int64_t>> ParseAgentId(std::string_view id) {
  const auto dash = id.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view digits = id.substr(dash + 1);
  std::int64_t attempt = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), attempt);
  if (error != std::errc() || end != digits.data() + digits.size() || attempt < 1) {
    return std::nullopt;
  }
  return std::pair(std::string(id.substr(0, dash)), attempt);
}

kube::Result<sandbox::Pool> Pool::From(kube::JsonView object) {
  const kube::JsonView spec = object["spec"];
  const kube::JsonView capacity = spec["capacity"];
  const kube::JsonView status = object["status"];
  sandbox::Pool pool{
      .id = Identity::From(object, kFinalizer),
      .pool_min = Count(capacity["poolMin"]),
      .pool_max = Count(capacity["poolMax"]),
      .buffer_min = Count(capacity["bufferMin"]),
      .buffer_max = Count(capacity["bufferMax"]),
      .slots_per_pod = Count(spec["maxSandboxesPerPod"]),
      .runtime_type = Text(spec["runtimeType"]),
      .agent_template = Tree(spec["agentTemplate"]),
      .status = {.current_pods = Count(status["currentPods"]),
                 .ready_pods = Count(status["readyPods"]),
                 .total_agents = Count(status["totalAgents"]),
                 .idle_agents = Count(status["idleAgents"]),
                 .busy_agents = Count(status["busyAgents"]),
                 .free_slots = Count(status["freeSlots"]),
                 .observed_generation = status["observedGeneration"].Int().value_or(0),
                 .conditions = Tree(status["conditions"])}};
  pool.slots_per_pod =
      pool.slots_per_pod == 0 ? kDefaultSlots : std::min(pool.slots_per_pod, kMostSlots);
  return pool;
}

kube::Result<sandbox::Pod> Pod::From(kube::JsonView object) {
  const kube::JsonView status = object["status"];
  sandbox::Pod pod{.id = Identity::From(object, kFinalizer),
                   .pool = {},
                   .pool_uid = {},
                   .node = Text(object["spec"]["nodeName"]),
                   .ip = Text(status["podIP"])};
  const std::string group_version = Format("{}/{}", kPools.group, kPools.version);
  object["metadata"]["ownerReferences"].ForEachItem([&](kube::JsonView owner) {
    if (!owner["controller"].Bool().value_or(false)) return;
    if (owner["kind"].StringOr("") != kPools.kind) return;
    if (owner["apiVersion"].StringOr("") != group_version) return;
    pod.pool = Text(owner["name"]);
    pod.pool_uid = Text(owner["uid"]);
  });
  if (pod.pool.empty()) return pod;
  const std::string_view phase = status["phase"].StringOr("");
  pod.ended = phase == "Succeeded" || phase == "Failed";
  status["conditions"].ForEachItem([&](kube::JsonView condition) {
    if (condition["type"].StringOr("") != "Ready") return;
    pod.ready = phase == "Running" && condition["status"].StringOr("") == "True";
  });
  const kube::JsonView agent = object["spec"]["containers"].At(0);
  const std::string_view name = agent["name"].StringOr("");
  status["containerStatuses"].ForEachItem([&](kube::JsonView container) {
    if (container["name"].StringOr("") != name) return;
    pod.restarts = Count(container["restartCount"]);
    pod.started = Time(container["state"]["running"]["startedAt"]);
  });
  agent["env"].ForEachItem([&](kube::JsonView env) {
    if (env["name"].StringOr("") != "AGENT_CAPACITY") return;
    const std::string_view value = env["value"].StringOr("");
    int number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) {
      pod.capacity = std::clamp(number, 0, kMostSlots);
    }
  });
  return pod;
}

}  // namespace berth::sandbox
