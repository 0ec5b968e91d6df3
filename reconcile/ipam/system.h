#pragma once

#include <prometheus/registry.h>

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "kube/transport.h"
#include "reconcile/ipam/objects.h"
#include "reconcile/ipam/space.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/leadership.h"

namespace berth::ipam {

// Subnet IPAM, whole: caches of the four kinds and the spaces that follow from them, always; the
// reconcilers while this replica leads. On the control thread.
class System {
 public:
  struct Options {
    std::string stamp_key;                     // signs allocation stamps; the same for all replicas
    prometheus::Registry* registry = nullptr;  // for the metrics, none without one
  };

  // Joins the leadership, which outlives it and has not started.
  System(async::Executor& executor, kube::Transport& transport, runtime::Leadership& leadership,
         Options options);
  ~System();
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  // The caches have the whole state: space() is to be relied on.
  bool synced() const;
  bool leading() const;
  const Space& space() const;
  // The Subnets of a pool in the order of their addresses, at most `most`.
  std::vector<const Subnet*> SubnetsOf(const std::string& pool, std::size_t most) const;

  // A block for a claim that is being created, as the value of its stamp annotation; none when this
  // replica does not lead, or has none to give: the claim is then told by its status. Never in a
  // dry run. `claim` has no uid yet.
  std::optional<std::string> Stamp(const Claim& claim);

  // Puts a pool's figures up for recounting; false when there is no such pool.
  bool Recalculate(const std::string& ns, const std::string& pool);

  // Pools whose figures have changed since the last call, for who shows them.
  std::vector<std::string> TakeDirty();

  // Entries of all tables beside the caches: 0 when there are no objects.
  std::size_t Remembered() const;

  // The controllers while leading, none otherwise.
  std::vector<const runtime::Controller*> controllers() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::ipam
