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

// The reconcilers and their queues; see runtime::LeaderWork.
struct Work {
  // Events are nobody's allocation, and not fenced.
  Work(async::Executor& executor, runtime::Leadership& leadership, kube::Transport& transport,
       Caches& caches, Space& space, Metrics* metrics, const System::Options& options);
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  std::vector<runtime::Controller*> controllers() {
    return {&claims, &subnets, &pools, &pool_claims};
  }
  void Resync();
  // A Subnet is gone, as the watch tells or the API server answers: its block is free, or stays
  // held for a claim that was told of it, and those who waited for it are queued.
  void Gone(const Subnet& last);

  prometheus::Registry* registry;
  kube::EventRecorder events;
  StatusPace pace;
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
};

}  // namespace berth::ipam
