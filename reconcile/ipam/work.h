#pragma once

#include <prometheus/registry.h>

#include "async/executor.h"
#include "kube/events.h"
#include "reconcile/ipam/claim_reconciler.h"
#include "reconcile/ipam/context.h"
#include "reconcile/ipam/pool_claim_reconciler.h"
#include "reconcile/ipam/pool_reconciler.h"
#include "reconcile/ipam/subnet_reconciler.h"
#include "reconcile/ipam/system.h"

namespace berth::ipam {

// The reconcilers and their queues: what only the leader has.
struct Work {
  // Events are nobody's allocation, and not fenced.
  Work(async::Executor& executor, runtime::Leadership& leadership, kube::Transport& transport,
       Caches& caches, Space& space, Metrics* metrics, const System::Options& options);
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  // All keys wait for their turn, and again every 10 minutes.
  void Begin();
  // Whether all reconciles have ended, once no more begin.
  bool Idle() const;

  prometheus::Registry* registry;
  kube::EventRecorder events;
  Context context;
  SubnetReconciler subnet;
  ClaimReconciler claim;
  PoolReconciler pool;
  PoolClaimReconciler pool_claim;
  runtime::Controller subnets;
  runtime::Controller claims;
  runtime::Controller pools;
  runtime::Controller pool_claims;

 private:
  runtime::Controller::Options Named(const char* name) const {
    return {.name = name, .registry = registry};
  }
  void Resync();

  async::Handle resync_;
};

}  // namespace berth::ipam
