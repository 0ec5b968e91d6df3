#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/sandbox_agent.h"
#include "kube/api.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/leadership.h"
#include "reconcile/runtime/overlay.h"
#include "reconcile/sandbox/agent_book.h"
#include "reconcile/sandbox/metrics.h"
#include "reconcile/sandbox/objects.h"
#include "reconcile/sandbox/orphan_collector.h"
#include "reconcile/sandbox/pool_reconciler.h"
#include "reconcile/sandbox/registry.h"
#include "reconcile/sandbox/sandbox_reconciler.h"
#include "reconcile/sandbox/slots.h"
#include "reconcile/sandbox/waiting_room.h"

namespace berth::sandbox {

// The caches of the system and their indexes.
struct Caches {
  kube::Informer<Sandbox>& sandboxes;
  std::size_t sandboxes_by_uid;
  std::size_t sandboxes_by_pod;   // status.assignedPodUID
  std::size_t sandboxes_by_pool;  // "ns/pool"
  kube::Informer<Pool>& pools;
  kube::Informer<Pod>& pods;
  std::size_t pods_by_uid;
  std::size_t pods_by_pool;  // the UID of their SandboxPool
};

// The registry and all that changes it, while this replica leads. Its making rebuilds the registry:
// first what statuses say, then valid annotations by age; an agent gets new sandboxes once it has
// told its inventory.
class Work : public Slots {
 public:
  struct Parts {
    async::Executor& executor;
    runtime::Leadership& leadership;
    kube::Transport& transport;
    cloud::SandboxAgents& agents;
    const Caches& caches;
    runtime::Overlay<Sandbox>& latest;
    runtime::Overlay<Pool>& latest_pools;
    std::string stamp_key;
    async::Duration probe_each;
    prometheus::Registry* registry = nullptr;
    Metrics* metrics = nullptr;
  };

  explicit Work(Parts parts);

  std::vector<runtime::Controller*> controllers() { return {&pools_, &sandboxes_}; }
  void Resync();

  // Every agent has been asked for its inventory.
  bool ready();

  void SandboxChanged(const std::string& key, const Sandbox* before, const Sandbox* now);
  void PoolChanged(const std::string& key, const Pool* before, const Pool* now);
  void PodChanged(const Pod* before, const Pod* now);

  std::optional<std::string> Stamp(const Sandbox& sandbox);
  void Withdraw(const std::string& annotation);

  // Slots
  Registry& registry() override { return registry_; }
  std::optional<async::WallTime> SeenAt(const std::string& pod_uid) const override;
  std::weak_ptr<const void> alive() const override { return alive_; }

  std::size_t Remembered() const;

 private:
  async::Task<SandboxReconciler::Outcome> ReconcileSandbox(std::string key);
  void Rebuild();
  void RestoreStatuses();
  void BindAnnotations();
  void PutPod(const Pod& pod);
  void ForgetPod(const std::string& uid, const std::string& pool_key);
  // Restarts of agents' containers from before their sandboxes were assigned have lost nothing.
  void SetBaselines();
  // An answer after the last restart lists all that the registry has on the agent.
  bool HasForgottenNothing(const AgentBook::Agent& agent) const;
  // Tells the registry what is known of an agent.
  void Evaluate(const std::string& pod_uid);
  void Heard(const std::string& pod_uid, const std::vector<std::string>& changed);
  void SyncInventory(const std::string& pod_uid);
  bool Claims(const std::string& pod_uid, const std::string& agent_id);
  void WakeAllOn(const std::string& pod_uid);
  void WakeUid(const std::string& sandbox_uid);
  void WakePoolSoon(const std::string& key);
  // Wakes who waits for what the registry has free.
  void Flush();
  void ScheduleExpiry();

  const Parts parts_;
  const std::shared_ptr<const int> alive_ = std::make_shared<const int>();
  kube::EventRecorder events_;
  Registry registry_;
  WaitingRoom waiting_;
  AgentBook book_;
  SandboxReconciler reconciler_;
  PoolReconciler pool_reconciler_;
  OrphanCollector orphans_;
  async::Handle expiry_;
  async::WallTime expires_{};  // when that is
  bool ready_ = false;
  runtime::Controller pools_;
  runtime::Controller sandboxes_;
};

}  // namespace berth::sandbox
