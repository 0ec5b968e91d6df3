#include "reconcile/sandbox/admission.h"

#include <algorithm>
#include <set>

#include "log/format.h"

namespace berth::sandbox {
namespace {

using runtime::Verdict;

constexpr int kHighestPort = 65535;

std::string AnnotationField() { return Format("metadata.annotations[{}]", kAllocationAnnotation); }

std::string Listed(const std::vector<int>& ports) {
  std::string text;
  for (const int port : ports) text += Format("{}{}", text.empty() ? "" : ",", port);
  return text;
}

Verdict JudgeSpec(const SandboxSpec& spec) {
  Verdict verdict;
  if (spec.image.empty()) verdict.Required("spec.image", "the image to run");
  if (spec.pool.empty()) verdict.Required("spec.poolRef", "the SandboxPool to run in");
  if (spec.ports.size() > kMostPorts) {
    verdict.TooMany("spec.exposedPorts", spec.ports.size(), kMostPorts);
  }
  std::set<int> seen;
  for (std::size_t i = 0; i < spec.ports.size(); ++i) {
    const std::string field = Format("spec.exposedPorts[{}]", i);
    const int port = spec.ports[i];
    if (port < 1 || port > kHighestPort) {
      verdict.Invalid(field, std::int64_t{port}, "must be 1 to 65535");
    } else if (!seen.insert(port).second) {
      verdict.Duplicate(field, std::to_string(port), "spec.exposedPorts");
    }
  }
  for (std::size_t i = 0; i < spec.envs.size(); ++i) {
    if (spec.envs[i].name.empty()) {
      verdict.Required(Format("spec.envs[{}].name", i), "the variable's name");
    }
    if (spec.envs[i].has_value_from) {
      verdict.Forbidden(Format("spec.envs[{}].valueFrom", i),
                        "an agent takes values only; write it as value");
    }
  }
  return verdict;
}

// Members that hold a slot cannot change while one is held.
void KeepAssignment(const Sandbox& now, const Sandbox& before, Verdict& verdict) {
  if (before.status.assigned_pod_uid.empty() && !before.allocation) return;
  if (now.spec.pool != before.spec.pool) {
    verdict.Invalid("spec.poolRef", now.spec.pool, "immutable while the sandbox is assigned");
  }
  if (now.spec.ports != before.spec.ports) {
    verdict.Invalid("spec.exposedPorts", Listed(now.spec.ports),
                    "immutable while the sandbox is assigned");
  }
}

}  // namespace

Verdict JudgeSandbox(const Sandbox& now, const Sandbox* before, bool by_berth) {
  Verdict verdict = JudgeSpec(now.spec);
  if (before) {
    verdict.Ratchet(JudgeSpec(before->spec));
    KeepAssignment(now, *before, verdict);
    if (!by_berth && now.allocation != before->allocation) {
      verdict.Forbidden(AnnotationField(), "only Berth writes it");
    }
    return verdict;
  }
  if (now.spec.expires && now.id.created != 0) {
    const auto created = async::WallTime(std::chrono::seconds(now.id.created));
    if (*now.spec.expires <= created) {
      verdict.warnings.emplace_back("spec.expireTime is past: the sandbox never runs");
    }
  }
  return verdict;
}

Verdict JudgePool(const Pool& now, const Pool* before) {
  const auto judge = [](const Pool& pool) {
    Verdict verdict;
    if (pool.pool_max > 0 && pool.pool_min > pool.pool_max) {
      verdict.Invalid("spec.capacity.poolMin", std::int64_t{pool.pool_min},
                      Format("must not be above poolMax, {}", pool.pool_max));
    }
    if (pool.buffer_max > 0 && pool.buffer_min > pool.buffer_max) {
      verdict.Invalid("spec.capacity.bufferMin", std::int64_t{pool.buffer_min},
                      Format("must not be above bufferMax, {}", pool.buffer_max));
    }
    return verdict;
  };
  Verdict verdict = judge(now);
  if (before) verdict.Ratchet(judge(*before));
  const Json& containers = now.agent_template["spec"]["containers"];
  if (!containers.is_array() || containers.empty()) {
    verdict.warnings.emplace_back(
        "spec.agentTemplate.spec.containers is empty: the pool has no agents");
  }
  return verdict;
}

}  // namespace berth::sandbox
