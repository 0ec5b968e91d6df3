#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/sandbox_agent.h"
#include "kube/api.h"
#include "reconcile/sandbox/agent_book.h"

namespace berth::sandbox {

// Deletes containers that no Sandbox claims: listed by their agent and not by the API server
// itself, in two looks kLookEach apart. A cache that is behind never costs a container.
class OrphanCollector {
 public:
  static constexpr async::Duration kLookEach = std::chrono::seconds(30);

  struct Parts {
    async::Executor& executor;
    kube::Api api;
    cloud::SandboxAgents& agents;
    AgentBook& book;
    std::function<void()> on_deleted;
  };

  explicit OrphanCollector(Parts parts);

  std::size_t size() const { return suspects_.size(); }

 private:
  using Suspect = std::pair<std::string, std::string>;  // a pod's UID, an ID on that agent

  async::Task<void> Run();
  async::Task<void> Look();
  async::Task<void> LookIn(std::string ns, std::map<Suspect, std::string> found);

  const Parts parts_;
  // Containers whose Sandbox the API server did not have at the last look.
  std::map<Suspect, async::TimePoint> suspects_;
  async::Running running_;
};

}  // namespace berth::sandbox
