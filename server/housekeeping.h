#pragma once

#include <prometheus/registry.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "async/executor.h"
#include "async/task.h"
#include "kube/error.h"
#include "reconcile/runtime/controller.h"

namespace berth::server {

// The server's own chores as a controller's keys: each comes again after its period, and sooner,
// with back-off, after it failed. `kubectl get workqueues` shows the queue. On the control thread.
class Housekeeping {
 public:
  using Chore = std::function<kube::Result<void>()>;

  Housekeeping(async::Executor& executor, prometheus::Registry& registry);

  // Before Start() only.
  void Every(std::chrono::milliseconds period, std::string name, Chore chore);
  void Start();

  const runtime::Controller& controller() const { return controller_; }

 private:
  struct Entry {
    std::chrono::milliseconds period;
    Chore chore;
  };

  async::Task<kube::Result<runtime::Requeue>> Do(std::string name);

  std::map<std::string, Entry> chores_;
  runtime::Controller controller_;
};

}  // namespace berth::server
