#include "cloud/aliyun/action_line.h"

#include <algorithm>
#include <utility>

namespace berth::cloud::aliyun {
namespace {

async::TokenBucket BucketOf(int calls_per_minute) {
  const int burst = std::clamp(calls_per_minute / 12, 1, ActionLine::kBurst);
  const int steady = std::max(calls_per_minute - burst, 1);
  return {async::Duration(std::chrono::minutes(1)) / steady, burst};
}

}  // namespace

ActionLine::ActionLine(async::Executor& executor, int calls_per_minute, async::Duration patience)
    : executor_(executor), bucket_(BucketOf(calls_per_minute)), patience_(patience) {}

async::Task<bool> ActionLine::Turn() {
  if (waiting_.empty() && bucket_.Take(executor_.Now())) co_return true;
  co_return co_await async::Callback<bool>([this](auto done) {
    const std::uint64_t place = ++last_;
    waiting_.emplace(place, Waiter{executor_.Now() + patience_, std::move(done)});
    SetTimer();
    return async::Handle([this, place] { waiting_.erase(place); });
  });
}

async::Duration ActionLine::Throttled(async::TimePoint sent, async::Duration asked) {
  const async::TimePoint now = executor_.Now();
  if (sent >= paused_until_) {
    const bool is_first = now - paused_until_ > kCalm;
    pause_ = is_first ? kFirstPause : std::clamp(2 * pause_, kFirstPause, kLongestPause);
    paused_until_ = now + std::max(pause_, std::min(asked, kLongestPause));
    while (bucket_.Take(paused_until_)) {
    }
  }
  return std::max(bucket_.Next() - now, async::Duration::zero());
}

void ActionLine::Serve() {
  const async::TimePoint now = executor_.Now();
  // Whoever goes on may give up others that wait, so each is taken out before it is told.
  while (!waiting_.empty()) {
    const auto first = waiting_.begin();
    const bool has_turn = bucket_.Take(now);
    if (!has_turn && first->second.until > now) break;
    const auto done = std::move(first->second.done);
    waiting_.erase(first);
    done(has_turn);
  }
  SetTimer();
}

void ActionLine::SetTimer() {
  if (waiting_.empty()) return;
  const async::TimePoint at = std::min(bucket_.Next(), waiting_.begin()->second.until);
  timer_ = executor_.RunAt(at, [this] { Serve(); });
}

}  // namespace berth::cloud::aliyun
