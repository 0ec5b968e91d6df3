#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/sandbox_agent.h"
#include "log/format.h"

namespace berth::sandbox {

// Agents in memory, for tests only: one for each pod that `pod_at` knows, with the traps of
// fast-sandbox's. `broken` tells what must never happen.
class TestAgents : public cloud::SandboxAgents {
 public:
  struct PodFacts {
    std::string uid;
    std::string name;
    std::size_t capacity = 0;
  };
  struct Agent {
    std::map<std::string, cloud::AgentSandbox> list;
    std::map<std::string, cloud::SandboxRequest> requests;
    bool hung = false;
    std::vector<std::string> images;
    std::optional<std::size_t> capacity;  // that it tells, if not its pod's
    int statuses = 0;
  };
  // The outcome of a create instead of success, and whether the container is there all the same.
  struct Fault {
    Error error;
    bool created = false;
  };

  TestAgents(async::Executor& executor,
             std::function<std::optional<PodFacts>(const std::string& ip)> pod_at,
             std::function<bool(const std::string& uid)> pod_exists)
      : executor_(executor), pod_at_(std::move(pod_at)), pod_exists_(std::move(pod_exists)) {}

  async::Task<Result<void>> Create(cloud::AgentAddress address,
                                   cloud::SandboxRequest request) override {
    const auto pod = pod_at_(address.ip);
    ++creates;
    if (!pod) co_return Silent();
    if (agents[pod->name].hung) {
      co_await async::Sleep(executor_, kCreateTimeout);
      co_return std::unexpected(Error{ErrorClass::kAmbiguous, "Timeout", "create: no answer"});
    }
    co_await async::Sleep(executor_, create_time);
    std::optional<Fault> fault = create_fault ? create_fault(request) : std::nullopt;
    if (fault && !fault->created) co_return std::unexpected(fault->error);
    Agent& agent = agents[pod->name];
    if (!agent.list.contains(request.sandbox_id)) {
      if (fences && agent.list.size() >= pod->capacity) {
        co_return std::unexpected(Error{ErrorClass::kConflict,
                                        std::string(cloud::kCapacityRejected),
                                        "create: the agent is full", 409});
      }
      agent.list[request.sandbox_id] = {.sandbox_id = request.sandbox_id,
                                        .claim_uid = request.claim_uid,
                                        .phase = cloud::AgentPhase::kRunning,
                                        .created_at = executor_.WallNow()};
      agent.requests[request.sandbox_id] = request;
      Begin(*pod, request);
      if (agent.list.size() > pod->capacity) {
        broken.push_back(Format("{} has {} sandboxes", pod->name, agent.list.size()));
      }
    }
    if (fault) co_return std::unexpected(fault->error);
    co_return Result<void>();
  }

  async::Task<Result<void>> Delete(cloud::AgentAddress address, std::string id) override {
    const auto pod = pod_at_(address.ip);
    ++deletes;
    co_await async::Sleep(executor_, std::chrono::milliseconds(5));
    if (!pod || agents[pod->name].hung) co_return Silent();
    Agent& agent = agents[pod->name];
    const auto listed = agent.list.find(id);
    if (listed == agent.list.end()) {
      co_return std::unexpected(
          Error{ErrorClass::kNotFound, std::string(cloud::kNotListed), "delete: not listed"});
    }
    if (listed->second.phase == cloud::AgentPhase::kTerminating) co_return Result<void>();
    listed->second.phase = cloud::AgentPhase::kTerminating;
    stops_.push_back(executor_.RunAfter(stop_time, [this, pod = *pod, id] {
      agents[pod.name].list.erase(id);
      containers.erase({pod.uid, id});
    }));
    co_return Result<void>();
  }

  async::Task<Result<cloud::AgentStatus>> Status(cloud::AgentAddress address) override {
    const auto pod = pod_at_(address.ip);
    if (!pod) co_return Silent();
    ++agents[pod->name].statuses;
    if (agents[pod->name].hung) {
      co_await async::Sleep(executor_, kStatusTimeout);
      co_return Silent();
    }
    co_await async::Sleep(executor_, std::chrono::milliseconds(2));
    const Agent& agent = agents[pod->name];
    cloud::AgentStatus status{.agent_id = pod->name,
                              .node_name = {},
                              .capacity = agent.capacity.value_or(pod->capacity),
                              .allocated = agent.list.size(),
                              .images = agent.images,
                              .sandboxes = {}};
    status.sandboxes.reserve(agent.list.size());
    for (const auto& [id, sandbox] : agent.list) status.sandboxes.push_back(sandbox);
    co_return status;
  }

  // The agent's container restarts: its list is lost, its containers run.
  void Restart(const std::string& pod) { agents[pod].list.clear(); }
  // The container ends by itself.
  void Exit(const std::string& pod, const std::string& id) {
    agents[pod].list.at(id).phase = cloud::AgentPhase::kStopped;
  }
  // IDs of containers that run on pods that exist.
  std::vector<std::string> Running() const {
    std::vector<std::string> ids;
    for (const auto& [pod, id] : containers) {
      if (pod_exists_(pod)) ids.push_back(id);
    }
    return ids;
  }

  std::map<std::string, Agent> agents;                       // by the pod's name
  std::set<std::pair<std::string, std::string>> containers;  // a pod's UID and an ID
  std::function<std::optional<Fault>(const cloud::SandboxRequest&)> create_fault;
  async::Duration create_time = std::chrono::milliseconds(50);
  async::Duration stop_time = std::chrono::seconds(1);
  bool fences = true;
  int creates = 0;
  int deletes = 0;
  std::vector<std::string> broken;

 private:
  static std::unexpected<Error> Silent() {
    return std::unexpected(Error{ErrorClass::kRetry, "Timeout", "the agent does not answer"});
  }

  // A claim must never run twice.
  void Begin(const PodFacts& pod, const cloud::SandboxRequest& request) {
    for (const auto& [uid, id] : containers) {
      if (id.starts_with(request.claim_uid + "-") && pod_exists_(uid)) {
        broken.push_back(Format("{} and {} run", id, request.sandbox_id));
      }
    }
    if (request.pod_uid != pod.uid) {
      broken.push_back(Format("{} was meant for another pod", request.sandbox_id));
    }
    containers.emplace(pod.uid, request.sandbox_id);
  }

  async::Executor& executor_;
  const std::function<std::optional<PodFacts>(const std::string& ip)> pod_at_;
  const std::function<bool(const std::string& uid)> pod_exists_;
  std::vector<async::Handle> stops_;
};

}  // namespace berth::sandbox
