#pragma once

#include <functional>
#include <string>

#include "async/executor.h"
#include "async/task.h"
#include "kube/api.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "reconcile/difftracker/engine.h"
#include "reconcile/difftracker/metrics.h"
#include "reconcile/difftracker/objects.h"
#include "reconcile/runtime/controller.h"

namespace berth::difftracker {

// Writes pods with the egress label: the finalizer before the first address of one is told to the
// cloud, and its removal once the cloud shows none of them. Tells of labels and addresses that
// cannot be used.
class PodReconciler {
 public:
  struct Parts {
    kube::Api api;
    kube::EventRecorder& events;
    const kube::Informer<Pod>& pods;
    const Engine& engine;
    Metrics* metrics = nullptr;
  };

  explicit PodReconciler(Parts parts) : parts_(parts) {}

  async::Task<kube::Result<runtime::Requeue>> Reconcile(std::string key);

 private:
  void TellProblems(const EgressPod& pod);
  async::Task<kube::Result<void>> SetFinalizer(EgressPod pod, bool is_wanted);

  const Parts parts_;
};

}  // namespace berth::difftracker
