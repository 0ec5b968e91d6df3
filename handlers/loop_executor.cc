#include "handlers/loop_executor.h"

#include <trantor/net/EventLoop.h>

#include <algorithm>
#include <cassert>
#include <memory>

namespace berth {
namespace {

// The loop wants what can be copied.
std::function<void()> Copyable(async::Work work) {
  return [work = std::make_shared<async::Work>(std::move(work))] { (*work)(); };
}

}  // namespace

LoopExecutor& LoopExecutor::OfThisThread() {
  static thread_local LoopExecutor executor(trantor::EventLoop::getEventLoopOfCurrentThread());
  return executor;
}

void LoopExecutor::Post(async::Work work) { loop_->queueInLoop(Copyable(std::move(work))); }

async::Handle LoopExecutor::RunAt(async::TimePoint when, async::Work work) {
  assert(loop_->isInLoopThread());
  const TimerKey key{when, ++last_timer_};
  timers_.emplace(key, std::move(work));
  Arm();
  return async::Handle([this, key] {
    assert(loop_->isInLoopThread());
    timers_.erase(key);
  });
}

void LoopExecutor::Arm() {
  if (timers_.empty()) return;
  const async::TimePoint first = timers_.begin()->first.first;
  if (!armed_.empty() && *armed_.begin() <= first) return;
  armed_.insert(first);
  const std::chrono::duration<double> delay = std::max(first - Now(), async::Duration::zero());
  loop_->runAfter(delay.count(), [this, first] { RunDue(first); });
}

void LoopExecutor::RunDue(async::TimePoint armed) {
  armed_.erase(armed);
  // Only timers that are due already: one that sets another for now must not hold up the loop.
  const TimerKey until{Now(), last_timer_};
  while (!timers_.empty() && timers_.begin()->first <= until) {
    async::Work work = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    work();
  }
  Arm();
}

}  // namespace berth
