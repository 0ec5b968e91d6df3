#pragma once

#include <string>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "kube/api.h"
#include "reconcile/ipam/admission.h"
#include "reconcile/runtime/preflight.h"

namespace berth::ipam {

// All objects of the four kinds.
struct Inventory {
  std::vector<PoolProposal> pools;
  std::vector<SubnetProposal> subnets;
  std::vector<Claim> claims;
  std::vector<PoolClaim> pool_claims;
};

async::Task<kube::Result<Inventory>> ReadInventory(kube::Api api);

// The leader's judgement of the objects if it started now: pools that would allocate nothing,
// Subnets and claims without a block, and objects that admission would refuse if they were created
// again. By a Space and the rules of admission, as the leader and the webhooks use them. The
// webhooks do not see the namespaces of `unchecked`. Writes nothing. O(n log n).
std::vector<runtime::Finding> Foresee(async::Executor& executor, const Inventory& inventory,
                                      const std::vector<std::string>& unchecked);

}  // namespace berth::ipam
