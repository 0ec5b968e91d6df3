#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/sandbox_agent.h"
#include "reconcile/sandbox/objects.h"

namespace berth::sandbox {

// The states of all agents, as they tell them. Each is asked every `each`, all in parallel, so that
// one that hangs delays no other; an answer may take cloud::SandboxAgents::kStatusTimeout. Of the
// control thread.
class AgentBook {
 public:
  // Questions in a row without an answer after which an agent counts as silent.
  static constexpr int kSilentAfter = 2;

  struct Agent {
    Pod pod;
    std::optional<cloud::AgentStatus> status;  // the last answer
    // When the question was asked that the last answer is of; none before the first answer.
    std::optional<async::TimePoint> asked;
    async::WallTime seen{};      // when that answer came
    int failures = 0;            // in a row
    int baseline = 0;            // restarts of the container that have lost nothing
    async::TimePoint noticed{};  // when the pod was first seen, or another restart of it
    // Listed containers that no Sandbox claims here, with the time since when.
    std::map<std::string, async::TimePoint> strangers;
    bool tried = false;  // a question has ended, with or without an answer

    bool silent() const { return !status || failures >= kSilentAfter; }
    // Its list proves nothing about what was there before.
    bool restarted() const { return pod.restarts > baseline || pod.ended; }

   private:
    friend class AgentBook;
    async::Handle timer;
    async::Running asking;
  };

  struct Parts {
    async::Executor& executor;
    cloud::SandboxAgents& agents;
    async::Duration each;
    // An agent has answered, or has become silent. `changed` are IDs that are listed in another
    // phase, not listed any more, or listed now. Silence changes all of them.
    std::function<void(const std::string& pod_uid, const std::vector<std::string>& changed)> heard;
  };

  explicit AgentBook(Parts parts) : parts_(std::move(parts)) {}

  // Adds an agent, or changes its pod; it is asked at once when it is new and has an IP.
  void Put(const Pod& pod);
  void Remove(const std::string& pod_uid) { agents_.erase(pod_uid); }
  // Null for none. Valid until it is removed.
  Agent* Find(const std::string& pod_uid);
  const Agent* Find(const std::string& pod_uid) const;
  // Asks the agent now, whatever else is under way, and waits for its answer.
  async::Task<void> Ask(std::string pod_uid);
  // Every agent with an IP has answered or failed to.
  bool AllTried() const;
  std::size_t size() const { return agents_.size(); }
  template <typename Visit>
  void ForEach(Visit&& visit) {
    for (auto& [uid, agent] : agents_) visit(uid, *agent);
  }

 private:
  void Schedule(Agent& agent, async::Duration delay);
  void Hear(const std::string& pod_uid, Agent& agent, async::TimePoint asked,
            Result<cloud::AgentStatus> answer);

  const Parts parts_;
  std::unordered_map<std::string, std::unique_ptr<Agent>> agents_;  // by pod UID
};

}  // namespace berth::sandbox
