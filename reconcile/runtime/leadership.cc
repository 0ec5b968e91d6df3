#include "reconcile/runtime/leadership.h"

#include <utility>

namespace berth::runtime {

Leadership::Leadership(async::Executor& executor, kube::Transport& transport,
                       kube::LeaderElector::Options options)
    : elector_(executor, transport, std::move(options)), fence_(executor, transport, elector_) {}

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

async::Task<void> Leadership::Stop() {
  for (const Member& member : members_) co_await member.drain();
  co_await elector_.Release(fence_.QuietAt());
}

}  // namespace berth::runtime
