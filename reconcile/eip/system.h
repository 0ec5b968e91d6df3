#pragma once

#include <prometheus/registry.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "async/executor.h"
#include "cloud/vpc.h"
#include "kube/transport.h"
#include "reconcile/eip/objects.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/leadership.h"

namespace berth::eip {

// Elastic IPs, whole: the cache of their objects, always; the reconciler while this replica leads,
// once it has read the objects anew. On the control thread.
class System {
 public:
  struct Options {
    // Every address is looked at again after so long; see Lookout for what that costs.
    async::Duration resync = std::chrono::minutes(5);
    prometheus::Registry* registry = nullptr;  // for the metrics, none without one
  };

  // Joins the leadership, which outlives it and has not started; so do `vpcs`.
  System(async::Executor& executor, kube::Transport& transport, runtime::Leadership& leadership,
         cloud::Vpcs& vpcs, Options options);
  ~System();
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  bool synced() const;
  bool leading() const;
  // The name of an object that has this address, with its namespace if it is in one, other than the
  // one of this uid; empty for none. O(log n).
  std::string HolderOf(const std::string& allocation_id, const std::string& except_uid) const;
  // The controllers while leading, none otherwise.
  std::vector<const runtime::Controller*> controllers() const;
  // Entries of all tables by object: cache, queue, attempts. None is left when all objects are
  // gone.
  std::size_t Remembered() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::eip
