#include "handlers/loop_executor.h"

#include <trantor/net/EventLoop.h>

#include <algorithm>
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
  const std::chrono::duration<double> delay = std::max(when - Now(), async::Duration::zero());
  const auto timer = loop_->runAfter(delay.count(), Copyable(std::move(work)));
  return async::Handle([loop = loop_, timer] { loop->invalidateTimer(timer); });
}

}  // namespace berth
