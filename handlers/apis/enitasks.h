#pragma once

#include <memory>
#include <vector>

#include "async/executor.h"
#include "handlers/apis/live_collection.h"
#include "reconcile/eni/task_runner.h"
#include "reconcile/runtime/desk.h"

namespace berth::apis {

// The resource `enitasks`: one object an ENI with an operation under way, or one that ended less
// than 10 minutes ago, of the ENI's name, cluster-wide. It answers "which ENIs does Berth wait for,
// and why". Only the leading replica has any.
//
// To delete one is to cancel the task, where that can be done: an attach that was not sent yet.
// An accepted attach goes on, and a Detach or Delete would be submitted again: both are
// refused with a 409 that says so. A task that has ended is no longer shown.
class EniTasks {
 public:
  // Outlived by `control`, and outlives the last call of the store.
  explicit EniTasks(async::Executor& control);
  EniTasks(const EniTasks&) = delete;
  EniTasks& operator=(const EniTasks&) = delete;

  ResourceStore& store() { return tasks_; }

  // Shows the tasks that changed since the last time. On the control thread, now and then. Null
  // while this replica does not lead: then there are none. The runner may be destroyed afterwards.
  // Costs what the changes come to.
  void Publish(eni::TaskRunner* runner);

 private:
  // Of the control thread: the runner that the objects are of.
  struct Shown {
    eni::TaskRunner* runner = nullptr;
    std::weak_ptr<const void> alive;

    eni::TaskRunner* get() const { return alive.expired() ? nullptr : runner; }
  };

  void Delete(const Deletion& deletion, async::Executor& home, ResourceStore::Deleted answer);

  async::Executor& control_;
  LiveCollection tasks_;
  Shown shown_;
  runtime::Desk<Shown> desk_;
};

ResourceType EniTaskType();

}  // namespace berth::apis
