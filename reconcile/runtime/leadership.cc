#include "reconcile/runtime/leadership.h"

#include <utility>

#include "log/log.h"

namespace berth::runtime {
namespace {

constexpr std::chrono::milliseconds kDrainWithin{2500};

}  // namespace

Leadership::Leadership(async::Executor& executor, kube::Transport& transport,
                       kube::LeaderElector::Options options, prometheus::Registry* registry)
    : executor_(executor),
      elector_(executor, transport, std::move(options)),
      fence_(executor, transport, elector_) {
  if (!registry) return;
  leaderless_ = &prometheus::BuildGauge()
                     .Name("berth_leaderless_seconds")
                     .Help("For how long this replica has known of no leader; 0 while one leads.")
                     .Register(*registry)
                     .Add({});
}

void Leadership::Start() {
  elector_.Start({.on_elected =
                      [this] {
                        for (const Member& member : members_) member.on_elected();
                      },
                  .on_deposed =
                      [this] {
                        for (const Member& member : members_) member.on_deposed();
                      }});
  LookForLeader();
}

void Leadership::LookForLeader() {
  const auto now = executor_.Now();
  if (elector_.led()) {
    leaderless_since_.reset();
    warned_.reset();
  } else if (!leaderless_since_) {
    leaderless_since_ = now;
  }
  const async::Duration since = leaderless_since_ ? now - *leaderless_since_ : async::Duration{};
  if (leaderless_) leaderless_->Set(std::chrono::duration<double>(since).count());
  if (since >= kLeaderless && (!warned_ || now - *warned_ >= kWarnEach)) {
    warned_ = now;
    const auto& options = elector_.options();
    log::Warn("nobody leads", {{"lease", options.ns + "/" + options.name},
                               {"seconds", std::chrono::floor<std::chrono::seconds>(since).count()},
                               {"error", elector_.trouble()}});
  }
  look_ = executor_.RunAfter(kLookEach, [this] { LookForLeader(); });
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
  look_ = {};
  co_await Drain();
  co_await elector_.Release(fence_.QuietAt());
}

}  // namespace berth::runtime
