#include "reconcile/sandbox/agent_book.h"

#include <utility>

#include "log/log.h"

namespace berth::sandbox {
namespace {

std::vector<std::string> IdsOf(const cloud::AgentStatus& status) {
  std::vector<std::string> ids;
  ids.reserve(status.sandboxes.size());
  for (const cloud::AgentSandbox& sandbox : status.sandboxes) ids.push_back(sandbox.sandbox_id);
  return ids;
}

std::map<std::string, cloud::AgentPhase> PhasesOf(const cloud::AgentStatus& status) {
  std::map<std::string, cloud::AgentPhase> phases;
  for (const cloud::AgentSandbox& sandbox : status.sandboxes) {
    phases[sandbox.sandbox_id] = sandbox.phase;
  }
  return phases;
}

std::vector<std::string> ChangesOf(const cloud::AgentStatus& before,
                                   const cloud::AgentStatus& now) {
  std::vector<std::string> changed;
  auto left = PhasesOf(before);
  for (const auto& [id, phase] : PhasesOf(now)) {
    const auto found = left.find(id);
    if (found == left.end() || found->second != phase) changed.push_back(id);
    if (found != left.end()) left.erase(found);
  }
  for (const auto& [id, phase] : left) changed.push_back(id);
  return changed;
}

}  // namespace

void AgentBook::Put(const Pod& pod) {
  auto& agent = agents_[pod.id.uid];
  const bool had_ip = agent && !agent->pod.ip.empty();
  const bool is_news = !agent || agent->pod.restarts != pod.restarts;
  if (!agent) agent = std::make_unique<Agent>();
  agent->pod = pod;
  if (is_news) agent->noticed = parts_.executor.Now();
  if (!had_ip && !pod.ip.empty()) Schedule(*agent, {});
}

AgentBook::Agent* AgentBook::Find(const std::string& pod_uid) {
  const auto found = agents_.find(pod_uid);
  return found == agents_.end() ? nullptr : found->second.get();
}

const AgentBook::Agent* AgentBook::Find(const std::string& pod_uid) const {
  const auto found = agents_.find(pod_uid);
  return found == agents_.end() ? nullptr : found->second.get();
}

void AgentBook::Schedule(Agent& agent, async::Duration delay) {
  agent.timer = parts_.executor.RunAfter(delay, [this, &agent] {
    // The next question is asked when it is time, but not before this one has ended.
    agent.asking =
        async::Start(Ask(agent.pod.id.uid), [this, &agent] { Schedule(agent, parts_.each); });
  });
}

async::Task<void> AgentBook::Ask(std::string pod_uid) {
  const Agent* agent = Find(pod_uid);
  if (!agent || agent->pod.ip.empty()) co_return;
  const async::TimePoint asked = parts_.executor.Now();
  auto answer = co_await async::Within(parts_.executor, cloud::SandboxAgents::kStatusTimeout,
                                       parts_.agents.Status({.ip = agent->pod.ip}));
  Agent* after = Find(pod_uid);
  if (!after) co_return;
  if (!answer) {
    answer = std::unexpected(Error{ErrorClass::kRetry, "Timeout", "the agent does not answer"});
  }
  Hear(pod_uid, *after, asked, std::move(*answer));
}

void AgentBook::Hear(const std::string& pod_uid, Agent& agent, async::TimePoint asked,
                     Result<cloud::AgentStatus> answer) {
  agent.tried = true;
  // A later pod may have got the IP.
  if (answer && !answer->agent_id.empty() && answer->agent_id != agent.pod.id.name) {
    answer = std::unexpected(Error{ErrorClass::kRetry, "OtherAgent",
                                   "agent " + answer->agent_id + " answers at this address"});
  }
  if (!answer) {
    if (++agent.failures != kSilentAfter) {
      if (agent.failures == 1 && !agent.status) parts_.heard(pod_uid, {});
      return;
    }
    log::Warn("agent is silent", {{"pod", agent.pod.id.Key()}, {"error", answer.error().message}});
    parts_.heard(pod_uid, agent.status ? IdsOf(*agent.status) : std::vector<std::string>());
    return;
  }
  if (agent.asked && *agent.asked > asked) return;  // an answer to a later question came first
  const bool was_silent = agent.silent();
  const std::vector<std::string> changed =
      was_silent || !agent.status ? IdsOf(*answer) : ChangesOf(*agent.status, *answer);
  agent.status = std::move(*answer);
  agent.asked = asked;
  agent.seen = parts_.executor.WallNow();
  agent.failures = 0;
  parts_.heard(pod_uid, changed);
}

bool AgentBook::AllTried() const {
  for (const auto& [uid, agent] : agents_) {
    if (!agent->pod.ip.empty() && !agent->tried) return false;
  }
  return true;
}

}  // namespace berth::sandbox
