#pragma once

#include <prometheus/registry.h>

#include <memory>
#include <vector>

#include "async/executor.h"
#include "kube/transport.h"
#include "reconcile/eni/node_reconciler.h"
#include "reconcile/eni/task_runner.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/leadership.h"

namespace berth::eni {

// Network interfaces of nodes, whole: the caches, always; the reconciler, the tasks and the
// collector while this replica leads. On the control thread.
class System {
 public:
  struct Options {
    async::Duration resync = std::chrono::minutes(10);
    prometheus::Registry* registry = nullptr;  // for the metrics, none without one
  };

  // Joins the leadership, which outlives it and has not started; so do the accounts.
  System(async::Executor& executor, kube::Transport& transport, runtime::Leadership& leadership,
         Backends backends, Options options);
  ~System();
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  bool synced() const;
  bool leading() const;
  // The tasks while leading, null otherwise.
  TaskRunner* tasks();

  // The controllers while leading, none otherwise.
  std::vector<const runtime::Controller*> controllers() const;
  // Entries of all tables by object. None is left when all objects are gone.
  std::size_t Remembered() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::eni
