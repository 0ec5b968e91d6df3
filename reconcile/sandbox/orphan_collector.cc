#include "reconcile/sandbox/orphan_collector.h"

#include <set>
#include <vector>

#include "log/log.h"

namespace berth::sandbox {
namespace {

// The IDs that Sandboxes have on agents, with the UID of the agent's pod, or its name where
// fast-sandbox has assigned them.
using Claims = std::set<std::pair<std::string, std::string>>;

void AddClaims(const Sandbox& sandbox, Claims& claims) {
  const SandboxStatus& status = sandbox.status;
  const std::string& pod =
      status.assigned_pod_uid.empty() ? status.assigned_pod : status.assigned_pod_uid;
  // Failed and its absence proven: what is listed after all is no more than an orphan.
  if (pod.empty() || (status.assigned_pod_uid.empty() && status.attempt > 0)) return;
  claims.emplace(pod, sandbox.AgentId());
  if (!status.sandbox_id.empty()) claims.emplace(pod, status.sandbox_id);
}

}  // namespace

OrphanCollector::OrphanCollector(Parts parts)
    : parts_(std::move(parts)), running_(async::Start(Run())) {}

async::Task<void> OrphanCollector::Run() {
  while (true) {
    co_await async::Sleep(parts_.executor, kLookEach);
    co_await Look();
  }
}

async::Task<void> OrphanCollector::Look() {
  std::map<std::string, std::map<Suspect, std::string>> found;  // by namespace, with the pod's name
  parts_.book.ForEach([&found](const std::string& uid, const AgentBook::Agent& agent) {
    if (agent.silent()) return;
    for (const auto& [id, since] : agent.strangers) {
      found[agent.pod.id.ns][{uid, id}] = agent.pod.id.name;
    }
  });
  std::erase_if(suspects_, [&found](const auto& entry) {
    for (const auto& [ns, strangers] : found) {
      if (strangers.contains(entry.first)) return false;
    }
    return true;
  });
  for (auto& [ns, strangers] : found) co_await LookIn(ns, std::move(strangers));
}

async::Task<void> OrphanCollector::LookIn(std::string ns, std::map<Suspect, std::string> found) {
  Claims claims;
  const auto listed =
      co_await parts_.api.ListAll(kSandboxes, ns, {}, [&claims](const kube::Api::Page& page) {
        if (page.first) claims.clear();
        page.list["items"].ForEachItem([&claims](kube::JsonView item) {
          if (const auto sandbox = Sandbox::From(item)) AddClaims(*sandbox, claims);
        });
      });
  if (!listed) co_return;
  const auto now = parts_.executor.Now();
  std::vector<Suspect> orphans;
  for (const auto& [suspect, pod] : found) {
    if (claims.contains(suspect) || claims.contains({pod, suspect.second})) {
      suspects_.erase(suspect);
    } else if (!suspects_.try_emplace(suspect, now).second) {
      orphans.push_back(suspect);
    }
  }
  for (const Suspect& orphan : orphans) {
    const AgentBook::Agent* agent = parts_.book.Find(orphan.first);
    if (!agent || agent->silent()) continue;
    log::Info("orphan deleted", {{"pod", agent->pod.id.Key()}, {"sandbox", orphan.second}});
    const auto deleted = co_await parts_.agents.Delete({.ip = agent->pod.ip}, orphan.second);
    if (deleted) parts_.on_deleted();
    suspects_.erase(orphan);
  }
}

}  // namespace berth::sandbox
