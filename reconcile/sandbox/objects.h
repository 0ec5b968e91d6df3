#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "json/json.h"
#include "kube/api.h"
#include "kube/json_view.h"
#include "reconcile/runtime/identity.h"

// The objects of the sandbox system: sandbox.fast.io/v1alpha1 Sandbox and SandboxPool, and the pods
// of agents.
namespace berth::sandbox {

using runtime::Identity;

inline constexpr kube::Resource kSandboxes{"sandbox.fast.io", "v1alpha1", "sandboxes", "Sandbox"};
inline constexpr kube::Resource kPools{"sandbox.fast.io", "v1alpha1", "sandboxpools",
                                       "SandboxPool"};
inline constexpr kube::Resource kPods{"", "v1", "pods", "Pod"};

inline constexpr std::string_view kFinalizer = "sandbox.fast.io/cleanup";
inline constexpr std::string_view kAllocationAnnotation = "sandbox.fast.io/allocation";
inline constexpr std::string_view kPoolLabel = "fast-sandbox.io/pool";
inline constexpr std::string_view kAppLabel = "app";
inline constexpr std::string_view kAgentApp = "sandbox-agent";

inline constexpr int kDefaultSlots = 5;  // of an agent, for maxSandboxesPerPod 0
inline constexpr int kMostSlots = 1000;  // of an agent
inline constexpr int kDefaultRecoverySeconds = 60;
inline constexpr std::size_t kMostPorts = 64;  // of a sandbox

struct Env {
  std::string name;
  std::string value;
  bool has_value_from = false;  // refused: the schema prunes its content
  friend bool operator==(const Env&, const Env&) = default;
};

struct SandboxSpec {
  std::string image;
  std::string pool;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::vector<Env> envs;
  std::string working_dir;
  std::optional<async::WallTime> expires;
  std::vector<int> ports;  // as given
  bool auto_recreate = false;
  int recovery_seconds = kDefaultRecoverySeconds;
  std::optional<async::WallTime> reset;
  std::string reset_text;  // as it was written, for acceptedResetRevision
  friend bool operator==(const SandboxSpec&, const SandboxSpec&) = default;

  // Members of the wrong type count as not given.
  static SandboxSpec From(kube::JsonView spec);
};

// A hash of the members that say what runs and where: pool, image, command, args, envs, workingDir,
// exposedPorts. 32 hex digits. Defaults of the schema and all other members do not change it.
std::string SpecHashOf(const SandboxSpec& spec);

// As in status.phase. An unknown text is kPending without an assignment, kBound with one.
enum class Phase : std::uint8_t {
  kPending,
  kBound,
  kRunning,
  kLost,
  kFailed,
  kExpired,
  kTerminating,
};
std::string_view ToString(Phase phase);

struct SandboxStatus {
  Phase phase = Phase::kPending;
  std::string phase_text;  // as it is stored; empty before the first write
  std::string assigned_pod;
  // While it is set something of the sandbox may be on that agent, and its slot is held. Cleared
  // only when absence is proven or the pod's UID is gone.
  std::string assigned_pod_uid;
  std::string node;
  std::string sandbox_id;  // "<uid>-<attempt>" from the assignment on
  std::string allocation_id;
  std::int64_t attempt = 0;  // the number of assignments so far
  std::vector<std::string> endpoints;
  std::optional<async::WallTime> accepted_reset;
  std::string accepted_reset_text;  // as it is stored
  std::optional<async::WallTime> lost_at;
  Json conditions = Json::null();  // as they are
  friend bool operator==(const SandboxStatus&, const SandboxStatus&) = default;

  static SandboxStatus From(kube::JsonView status);
};

struct Sandbox {
  Identity id;  // without a UID in a webhook's create; with generateName without a name, too
  SandboxSpec spec;
  SandboxStatus status;
  std::optional<std::string> allocation;  // the annotation, as it is

  static kube::Result<Sandbox> From(kube::JsonView object);

  // The ID under which the agent knows this attempt. One that fast-sandbox has assigned has another
  // form.
  std::string AgentId() const;
  // fast-sandbox has assigned it, which knows pods by name.
  bool IsOfFastSandbox() const;
};

// "<uid>-<attempt>".
std::string AgentIdOf(std::string_view uid, std::int64_t attempt);
// The UID and the attempt of such an ID; none for any other text.
std::optional<std::pair<std::string, std::int64_t>> ParseAgentId(std::string_view id);

struct Pool {
  Identity id;
  int pool_min = 0;
  int pool_max = 0;  // 0: no limit
  int buffer_min = 0;
  int buffer_max = 0;
  int slots_per_pod = kDefaultSlots;  // 1 to kMostSlots
  std::string runtime_type;
  Json agent_template = Json::null();  // a PodTemplateSpec, as it is

  // Of status, as it is stored.
  struct Status {
    int current_pods = 0;
    int ready_pods = 0;
    int total_agents = 0;
    int idle_agents = 0;
    int busy_agents = 0;
    int free_slots = 0;
    std::int64_t observed_generation = 0;
    Json conditions = Json::null();
    friend bool operator==(const Status&, const Status&) = default;
  };
  Status status;

  static kube::Result<Pool> From(kube::JsonView object);
};

// A pod, as far as it may be an agent. Other pods have an empty pool.
struct Pod {
  Identity id;
  std::string pool;      // the name of the SandboxPool that controls it, by its owner reference
  std::string pool_uid;  // of that reference
  std::string node;
  std::string ip;
  bool ready = false;                      // Running, and its Ready condition is True
  bool ended = false;                      // Succeeded or Failed
  int restarts = 0;                        // of the first container
  std::optional<async::WallTime> started;  // when it has last started
  int capacity = 0;  // the AGENT_CAPACITY of its first container; 0 when it has none

  static kube::Result<Pod> From(kube::JsonView object);
};

}  // namespace berth::sandbox
