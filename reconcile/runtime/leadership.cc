#include "reconcile/runtime/leadership.h"

#include <utility>

namespace berth::runtime {
namespace {

constexpr std::chrono::milliseconds kDrainWithin{2500};

}  // namespace

Leadership::Leadership(async::Executor& executor, kube::Transport& transport,
                       kube::LeaderElector::Options options)
    : executor_(executor),
      elector_(executor, transport, std::move(options)),
      fence_(executor, transport, elector_) {}

void Leadership::Start() {
  elector_.Start({.on_elected =
                      [this] {
                        for (const Member& member : members_) member.on_elected();
                      },
                  .on_deposed =
                      [this] {
                        for (const Member& member : members_) member.on_deposed();
                      }});
}

// Under one deadline: however many members there are, others need not wait longer for the lease. A
// member that has not ended by then is ended when the lease is given back.
async::Task<void> Leadership::Drain() {
  async::Signal done(executor_);
  std::size_t left = members_.size();
  std::vector<async::Running> draining;
  draining.reserve(left);
  for (const Member& member : members_) {
    draining.push_back(async::Start(member.drain(), [&left, &done] {
      if (--left == 0) done.Notify();
    }));
  }
  const async::Handle deadline = executor_.RunAfter(kDrainWithin, [&done] { done.Notify(); });
  if (left > 0) co_await done.Wait();
}

async::Task<void> Leadership::Stop() {
  co_await Drain();
  co_await elector_.Release(fence_.QuietAt());
}

}  // namespace berth::runtime
