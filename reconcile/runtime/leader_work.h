#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "log/log.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/leadership.h"

namespace berth::runtime {

// The reconcilers of a system, which are there only while this replica leads and has read the
// system's objects anew since its election: the former leader's last writes may not have come
// through the watches. `Work` has
//   std::vector<Controller*> controllers();  in the order they are started in
//   void Resync();                           AddResync for every key
// and ends when it is destroyed. Points to the work, or is null. On the executor's thread; a member
// of the leadership for as long as that runs.
template <typename Work>
class LeaderWork {
 public:
  struct Options {
    std::string system;             // its name in the log
    Duration resync;                // every key comes again after this time
    std::function<void()> refresh;  // reads all caches anew
    std::function<bool()> fresh;    // whether that has happened
    std::function<std::unique_ptr<Work>()> make;
    std::function<void()> ended = [] {};  // by another's election
  };

  LeaderWork(async::Executor& executor, Leadership& leadership, Options options)
      : executor_(executor), options_(std::move(options)) {
    leadership.Join({.on_elected =
                         [this] {
                           leads_ = true;
                           options_.refresh();
                         },
                     .on_deposed =
                         [this] {
                           End();
                           options_.ended();
                         },
                     .drain = [this] { return Drain(); }});
  }

  // To be called whenever a cache has been read whole.
  void BeginWhenFresh() {
    if (!leads_ || work_ || !options_.fresh()) return;
    work_ = options_.make();
    Resync();
    for (Controller* controller : work_->controllers()) controller->Start();
    log::Info("system at work", {{"system", options_.system}, {"keys", KnownKeys()}});
  }

  Work* get() const { return work_.get(); }
  Work* operator->() const { return work_.get(); }
  explicit operator bool() const { return work_ != nullptr; }

  std::vector<const Controller*> controllers() const {
    if (!work_) return {};
    const std::vector<Controller*> all = work_->controllers();
    return {all.begin(), all.end()};
  }
  // The sum over all controllers.
  std::size_t KnownKeys() const {
    std::size_t keys = 0;
    for (const Controller* controller : controllers()) keys += controller->KnownKeys();
    return keys;
  }

 private:
  static constexpr Duration kDrainFor = std::chrono::seconds(2);
  static constexpr Duration kDrainPoll = std::chrono::milliseconds(10);

  void Resync() {
    work_->Resync();
    resync_ = executor_.RunAfter(options_.resync, [this] { Resync(); });
  }

  void End() {
    leads_ = false;
    resync_ = {};
    work_.reset();
  }

  bool Idle() const {
    return std::ranges::all_of(controllers(), [](const Controller* controller) {
      return controller->Stats().queue.processing == 0;
    });
  }

  // A write that is cut off could still be carried out, and the lease would have to be kept for as
  // long as that; so reconciles under way may end.
  async::Task<void> Drain() {
    const auto deadline = executor_.Now() + kDrainFor;
    if (work_) {
      for (Controller* controller : work_->controllers()) controller->Pause();
    }
    while (!Idle() && executor_.Now() < deadline) co_await async::Sleep(executor_, kDrainPoll);
    End();
  }

  async::Executor& executor_;
  const Options options_;
  bool leads_ = false;
  std::unique_ptr<Work> work_;
  async::Handle resync_;
};

}  // namespace berth::runtime
