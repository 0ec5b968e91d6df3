#include "cloud/sandbox_agent.h"

#include <algorithm>

namespace berth::cloud {

std::string_view Name(AgentPhase phase) {
  switch (phase) {
    case AgentPhase::kCreating:
      return "creating";
    case AgentPhase::kRunning:
      return "running";
    case AgentPhase::kTerminating:
      return "terminating";
    case AgentPhase::kStopped:
      return "stopped";
    case AgentPhase::kFailed:
      return "failed";
    case AgentPhase::kTerminated:
      return "terminated";
    case AgentPhase::kUnknown:
      break;
  }
  return "unknown";
}

const AgentSandbox* AgentStatus::Find(std::string_view sandbox_id) const {
  const auto found = std::ranges::find(sandboxes, sandbox_id, &AgentSandbox::sandbox_id);
  return found == sandboxes.end() ? nullptr : &*found;
}

}  // namespace berth::cloud
