#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "async/executor.h"
#include "async/task.h"
#include "kube/api.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/overlay.h"
#include "reconcile/sandbox/agent_book.h"
#include "reconcile/sandbox/objects.h"
#include "reconcile/sandbox/registry.h"
#include "reconcile/sandbox/scaling.h"

namespace berth::sandbox {

// Gives each pool the pods that its sandboxes need, deletes pods that nobody needs, the idle ones
// alone and none that could still get a sandbox, and says so in its status. Only a leader has one.
class PoolReconciler {
 public:
  using Outcome = kube::Result<runtime::Requeue>;

  struct Parts {
    async::Executor& executor;
    kube::Api api;
    kube::EventRecorder& events;
    runtime::Overlay<Pool>& pools;
    kube::Informer<Sandbox>& sandboxes;
    std::size_t sandboxes_by_pool;  // the informer's index of "ns/pool"
    std::size_t sandboxes_by_uid;
    kube::Informer<Pod>& pods;
    std::size_t pods_by_pool;  // the informer's index of the pool's UID
    Registry& registry;
    AgentBook& book;
  };

  explicit PoolReconciler(const Parts& parts) : parts_(parts) {}

  async::Task<Outcome> Reconcile(std::string key);
  // The watch has brought a pod.
  void Saw(const std::string& pod_uid);
  std::size_t Remembered() const { return expected_.size() + told_.size() + counted_.size(); }

 private:
  struct View {
    std::vector<PoolPod> pods;
    std::vector<Pod> forgetful;  // restarted or ended: their lists prove nothing
    Pool::Status status;
  };

  Demand DemandOf(const Pool& pool) const;
  View Look(const Pool& pool) const;
  // Nobody minds the end of the pod: all that is on it will run elsewhere, or is to go.
  bool MayEnd(const Pod& pod) const;
  std::size_t Expected(const std::string& key);
  async::Task<kube::Result<void>> Create(const Pool* pool, std::size_t count);
  async::Task<kube::Result<void>> Remove(const Pool* pool, std::string pod_uid);
  async::Task<kube::Result<void>> Delete(Pod pod);
  async::Task<kube::Result<void>> Tell(const Pool* pool, Pool::Status status, std::string failure);

  Parts parts_;
  // Pods that were created and not seen yet, by pool and UID, until when they are waited for. The
  // UID of one whose create had no answer is unknown: a number stands for it.
  std::map<std::string, std::map<std::string, async::TimePoint>> expected_;
  std::map<std::string, async::TimePoint> told_;  // pools, when their status was written
  std::map<std::string, std::string> counted_;    // UIDs of `expected_` to their pool
  std::uint64_t last_unknown_ = 0;
};

}  // namespace berth::sandbox
