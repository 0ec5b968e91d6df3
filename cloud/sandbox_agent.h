#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "http/error.h"

namespace berth::cloud {

// The agent in one pod, by that pod's IP. A later pod may have the same IP: callers compare
// AgentStatus::agent_id with the pod's name.
struct AgentAddress {
  static constexpr std::uint16_t kPort = 5758;

  std::string ip;  // IPv4 or IPv6, without brackets
  std::uint16_t port = kPort;

  friend auto operator<=>(const AgentAddress&, const AgentAddress&) = default;
};

// A sandbox to run. Members without a value are not sent.
struct SandboxRequest {
  std::string sandbox_id;  // "<uid>-<attempt>"
  std::string claim_uid;   // the Sandbox's
  std::string claim_name;
  std::string image;
  std::string cpu;
  std::string memory;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::map<std::string, std::string> env;
  std::string working_dir;
  // The fence. An agent that knows these members refuses what is meant for another pod, or is older
  // than an attempt that it has seen of this claim, or exceeds its capacity. Agents of fast-sandbox
  // ignore them.
  std::string pod_uid;
  std::int64_t attempt = 0;

  friend bool operator==(const SandboxRequest&, const SandboxRequest&) = default;
};

// The state of a sandbox in its agent's list.
enum class AgentPhase : std::uint8_t {
  kCreating,     // the image is pulled, the container made; this takes up to 30 s
  kRunning,      // the container runs
  kTerminating,  // deleted: SIGTERM, SIGKILL 10 s later, then it leaves the list
  kStopped,      // the container has exited by itself, and stays in the list until it is deleted
  kFailed,       // likewise
  kTerminated,   // likewise
  kUnknown,      // the agent used a word that Berth does not know; treat it as running
};
std::string_view Name(AgentPhase phase);  // "creating"

struct AgentSandbox {
  std::string sandbox_id;
  std::string claim_uid;  // empty where fast-sandbox created it
  // The container's own state where the agent tells it: an agent of fast-sandbox says "running" of
  // an exited container for ever, and the truth in its message.
  AgentPhase phase = AgentPhase::kUnknown;
  std::optional<async::WallTime> created_at;

  friend bool operator==(const AgentSandbox&, const AgentSandbox&) = default;
};

struct AgentStatus {
  std::string agent_id;  // the pod's name
  std::string node_name;
  std::size_t capacity = 0;   // 0 says that the agent takes nothing, never that it has no limit
  std::size_t allocated = 0;  // sandboxes in its list, by its own count
  std::vector<std::string> images;
  std::vector<AgentSandbox> sandboxes;

  // Null for one that is not listed. O(n).
  const AgentSandbox* Find(std::string_view sandbox_id) const;
};

// All agents, each by its address. An agent of fast-sandbox has these traps:
//
//   Its list is in its memory. After a restart of its container the list is empty, and containers
//   may still run: absence from the list proves nothing then. The status says nothing of a restart;
//   the pod's restartCount does.
//   A delete of an id that is not listed deadlocks the agent, which answers nothing ever after.
//   A create ends when its caller hangs up, and a slow image pull with it.
//   A create of a listed id succeeds, even while that sandbox is terminating.
//   It has no capacity: it takes what it is told.
//
// Errors are classed:
//
//   kConflict    the agent refused a create before it did anything: IsRejected tells why
//   kRetry       nothing was done, or trying again is safe
//   kThrottled   too many calls wait for their turn; nothing was sent
//   kAmbiguous   a create or delete that may have been carried out, or may still be; of a create
//                this is also a 500, which may leave a container: read the status before the next
//                call, and send the next create with the same id
//   kNotFound    of a delete: the id is not listed, nothing was sent
//   kTerminal    what answers there is no agent, or cannot be trusted (TLS)
//
// An error's reason is the agent's code, or one of those below; its message begins with the call
// and the address. Messages are cut at 512 bytes. Of the control thread; outlives its tasks. A task
// that is destroyed hangs up: an agent gives up the create then.
class SandboxAgents {
 public:
  // The longest that a create may take; the agent's own limit is 30 s.
  static constexpr std::chrono::seconds kCreateTimeout{35};
  static constexpr std::chrono::seconds kStatusTimeout{5};
  static constexpr std::chrono::seconds kDeleteTimeout{5};
  // Of a Delete, all in all, and what the agent has to stop a container.
  static constexpr std::chrono::seconds kGrace{10};

  virtual ~SandboxAgents() = default;

  // Success says that the id is listed, not that it runs: it may be another create's, and may be
  // terminating. Read the status. Waits up to kCreateTimeout.
  virtual async::Task<Result<void>> Create(AgentAddress agent, SandboxRequest request) = 0;
  // Begins to stop the sandbox; it has stopped once it has left the list, which takes kGrace and
  // what a busy node adds. Reads the status first, and sends nothing for an id that is terminating
  // already (success) or not listed (kNotFound). If the agent restarts in between, it deadlocks:
  // its status times out ever after, and its pod has to go. One at a time for an id.
  virtual async::Task<Result<void>> Delete(AgentAddress agent, std::string sandbox_id) = 0;
  // Waits up to kStatusTimeout. An answer over 1 MiB, one that is no JSON object, and a list with
  // an entry that has no id are errors (kRetry, "Unreadable"): whether a sandbox exists is decided
  // by this list, so nothing that is missing is guessed.
  virtual async::Task<Result<AgentStatus>> Status(AgentAddress agent) = 0;
};

// Reasons of errors.
inline constexpr std::string_view kCapacityRejected = "CapacityRejected";  // the agent is full
inline constexpr std::string_view kStaleAssignment = "StaleAssignment";    // the fence held
inline constexpr std::string_view kCreateFailed = "CreateFailed";          // a 500 of a create
inline constexpr std::string_view kUnreadable = "Unreadable";              // no answer of an agent
inline constexpr std::string_view kNotListed = "NotListed";                // of a delete

// The agent refused the create before any side effect: the sandbox may be assigned elsewhere.
inline bool IsRejected(const Error& error) { return error.error_class == ErrorClass::kConflict; }

}  // namespace berth::cloud
