#pragma once

#include <prometheus/registry.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "async/task.h"
#include "kube/error.h"
#include "reconcile/runtime/controller_metrics.h"
#include "reconcile/runtime/work_queue.h"

namespace berth::runtime {

// A successful reconcile's wish: to be called again after a time, or, with none, not before the
// key's next event or resync.
struct Requeue {
  Duration after{};
};

struct ControllerStats {
  WorkQueueStats queue;
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;  // the following two among them
  std::uint64_t terminal = 0;
  std::uint64_t timed_out = 0;
};

// Calls a reconcile for every key that is added, one at a time for each key, and again until it
// succeeds. After a failure it comes again after the work queue's back-off, and not before the
// error's retry_after, of which at most kLongestRetryAfter counts. After a kTerminal failure, a
// permission that is missing for example, it comes again after kRetryTerminal, or at the key's next
// event; only the first of them in a row is logged.
// Woken by adds and by the time of the next delayed key; an idle controller costs nothing. On the
// executor's thread only.
class Controller {
 public:
  static constexpr Duration kLongestRetryAfter = std::chrono::minutes(5);
  static constexpr Duration kRetryTerminal = std::chrono::minutes(1);

  // A coroutine, destroyed where it waits when its deadline passes or the controller stops. Its key
  // is a copy of its own.
  using Reconcile = std::function<async::Task<kube::Result<Requeue>>(std::string key)>;

  struct Options {
    std::string name;
    std::size_t concurrency = 5;                   // reconciles at once
    Duration deadline = std::chrono::seconds(90);  // of one reconcile
    BackOff back_off = {};                         // of one key
    RetryRate retry_rate = {};                     // of all keys together
    prometheus::Registry* registry = nullptr;      // for the metrics, none without one
  };

  Controller(async::Executor& executor, Options options, Reconcile reconcile);
  ~Controller() { Stop(); }
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Keys may be added at any time, from inside a reconcile too, and wait for Start. None of these
  // calls the reconcile. Costs are the work queue's.
  void Add(std::string_view key);        // something has changed
  void AddResync(std::string_view key);  // to be looked at again: behind all that has changed
  void AddAfter(std::string_view key, Duration delay);

  void Start();
  // Begins no more reconciles; those under way go on to their end. See Stats().queue.processing.
  void Pause() { started_ = false; }
  // Destroys the reconciles under way; their keys wait for the next Start. Not from inside one.
  void Stop();

  const std::string& name() const { return options_.name; }
  ControllerStats Stats() const;
  // Keys that wait, are worked on, are delayed or have failures.
  std::size_t KnownKeys() const { return queue_.size(); }

 private:
  using Outcome = std::optional<kube::Result<Requeue>>;  // none: past the deadline
  struct Worker {
    WorkQueue::Item item;
    async::Running task;
  };

  void Wake();
  void Work();
  void Begin(WorkQueue::Item item);
  async::Task<void> Process(WorkQueue::Item item);
  void Finish(WorkQueue::Item item, const Outcome& outcome);
  ReconcileResult Succeed(WorkQueue::Item item, const Requeue& requeue);
  ReconcileResult Fail(WorkQueue::Item item, const kube::Error& error);
  ReconcileResult TimeOut(WorkQueue::Item item);
  std::optional<TimePoint> NextWork() const;

  async::Executor& executor_;
  const Options options_;
  const Reconcile reconcile_;
  std::optional<ControllerMetrics> metrics_;
  WorkQueue queue_;
  std::list<Worker> workers_;
  ControllerStats counts_;  // but for the queue's
  bool started_ = false;
  bool woken_ = false;
  async::Handle wake_;
  async::Handle timer_;
};

}  // namespace berth::runtime
