#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/eni.h"
#include "reconcile/eni/objects.h"

namespace berth::eni {

// Deletes ENIs that Berth made for this cluster and that no Node names any more: Available ones
// with the cluster's tag that have been so for kOrphanFor. The last ones left behind: by a Node
// whose finalizer was removed by force, or a create that was carried out after it was given up.
class Collector {
 public:
  static constexpr async::Duration kEach = std::chrono::minutes(2);
  static constexpr async::Duration kOrphanFor = std::chrono::minutes(10);

  struct Parts {
    async::Executor& executor;
    cloud::EniAccounts& accounts;
    std::string cluster;  // the value of kClusterTag
    // Whether a Node's status or a task names the ENI, or an attempt of a Node its token.
    std::function<bool(const cloud::Eni& eni)> is_named;
    // An ENI that a Node names is Available: the Node may not know.
    std::function<void(const std::string& eni)> on_available;
    std::function<void()> on_deleted;  // one was deleted
  };

  explicit Collector(Parts parts);
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  std::size_t size() const { return orphans_.size(); }

 private:
  async::Task<void> Run();
  async::Task<void> Collect();
  // Whether it may still be deleted when the call's turn has come.
  async::Task<bool> IsOrphan(cloud::Eni eni);

  const Parts parts_;
  std::map<std::string, async::TimePoint> orphans_;  // by ID, since when
  async::Running running_;
};

}  // namespace berth::eni
