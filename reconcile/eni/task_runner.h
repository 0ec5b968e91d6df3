#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/eni.h"
#include "reconcile/eni/task_queue.h"

namespace berth::eni {

// Runs a TaskQueue on the cloud: makes the looks that are due and sends the requests that follow
// from them. Looks go out on ticks, together: a call for each kMostLooks ENIs of one account and
// backend. There is a coroutine for each call under way, of which there are at most
// `looks_at_once` looks and `requests_at_once` of each operation and backend, and none for a task
// that waits.
//
// To destroy it ends all calls where they wait and all tasks without a state: nobody is told. A
// request that is on the wire may still be carried out; the next leader's look tells. Not to be
// destroyed from inside `on_ended`. On the executor's thread.
class TaskRunner {
 public:
  static constexpr async::Duration kTick = std::chrono::milliseconds(250);

  struct Options {
    // The ENIs of a task's account on its backend; null while they cannot be reached, or when there
    // is no such backend here: the looks wait. They outlive the runner.
    std::function<cloud::Enis*(const std::string& account, Backend backend)> enis;
    // A task of the node has ended: look at OfNode. Must only wake somebody.
    std::function<void(const std::string& node)> on_ended;
    // As TaskQueue has it. May be empty.
    std::function<bool(const Task& task, const cloud::Eni& eni)> may_change;
    // Each task, as it ends; for metrics. May be empty.
    std::function<void(const Task& task)> on_result;
    std::size_t looks_at_once = 8;
    std::size_t requests_at_once = 16;
  };

  TaskRunner(async::Executor& executor, Options options);
  TaskRunner(const TaskRunner&) = delete;
  TaskRunner& operator=(const TaskRunner&) = delete;

  // As TaskQueue has them.
  std::uint64_t Submit(TaskRequest request);
  void Cancel(const std::string& eni);
  void CancelNode(const std::string& node);
  Withdrawal Withdraw(const std::string& eni);
  void Noted(const TaskId& id);
  // Tasks that changed since the last time, for `enitasks`; pointers are good until the next call
  // of this class. Also forgets what ended long ago: to be called now and then.
  std::vector<TaskChange> TakeChanges();

  const TaskQueue& queue() const { return queue_; }
  // Expires with the runner: for who keeps a pointer to it.
  std::weak_ptr<const void> alive() const { return alive_; }
  // Calls under way.
  std::size_t calls() const { return looks_ + requests_; }

 private:
  void SetTimer();
  void Tick();
  void Begin(async::Task<void> call);
  async::Task<void> Look(TaskQueue::Look look);
  async::Task<void> Request(TaskId id);
  async::Task<Result<void>> Send(const Task* task, cloud::Enis* enis);
  async::Task<bool> IsWanted(TaskId id) const;

  async::Executor& executor_;
  const Options options_;
  TaskQueue queue_;
  const std::shared_ptr<const void> alive_ = std::make_shared<char>();
  async::Handle timer_;
  std::optional<async::TimePoint> timer_at_;
  std::size_t looks_ = 0;
  std::size_t requests_ = 0;
  std::list<async::Running> calls_;  // ended while this is destroyed: last
};

}  // namespace berth::eni
