#include "cloud/call_line.h"

#include <algorithm>
#include <utility>

namespace berth::cloud {
namespace {

async::TokenBucket BucketOf(int calls_per_minute) {
  const int burst = std::clamp(calls_per_minute / 12, 1, CallLine::kBurst);
  const int steady = std::max(calls_per_minute - burst, 1);
  return {async::Duration(std::chrono::minutes(1)) / steady, burst};
}

}  // namespace

CallLine::CallLine(async::Executor& executor, int calls_per_minute, async::Duration patience)
    : CallLine(executor, BucketOf(calls_per_minute), patience) {}

CallLine::CallLine(async::Executor& executor, async::TokenBucket bucket, async::Duration patience,
                   CallWindow* window)
    : executor_(executor), bucket_(bucket), patience_(patience), window_(window) {}

async::Task<bool> CallLine::Turn() {
  if (waiting_.empty() && Take()) co_return true;
  co_return co_await async::Callback<bool>([this](auto done) {
    const std::uint64_t place = ++last_;
    waiting_.emplace(place, Waiter{executor_.Now() + patience_, std::move(done)});
    SetTimer();
    return async::Handle([this, place] { waiting_.erase(place); });
  });
}

async::Duration CallLine::Throttled(async::TimePoint sent, async::Duration asked) {
  const async::TimePoint now = executor_.Now();
  if (sent >= paused_until_) {
    const bool is_first = now - paused_until_ > kCalm;
    pause_ = is_first ? kFirstPause : std::clamp(2 * pause_, kFirstPause, kLongestPause);
    paused_until_ = now + std::max(pause_, std::min(asked, kLongestAsked));
    while (bucket_.Take(paused_until_)) {
    }
  }
  return Wait();
}

async::Duration CallLine::Wait() const {
  return std::max(Next() - executor_.Now(), async::Duration::zero());
}

async::TimePoint CallLine::Next() const {
  return window_ ? std::max(bucket_.Next(), window_->Next()) : bucket_.Next();
}

bool CallLine::Take() {
  const async::TimePoint now = executor_.Now();
  if (window_ && window_->Next() > now) return false;
  if (!bucket_.Take(now)) return false;
  if (window_) window_->Add(now);
  return true;
}

void CallLine::Serve() {
  const async::TimePoint now = executor_.Now();
  // Whoever goes on may give up others that wait, so each is taken out before it is told.
  while (!waiting_.empty()) {
    const auto first = waiting_.begin();
    const bool has_turn = Take();
    if (!has_turn && first->second.until > now) break;
    const auto done = std::move(first->second.done);
    waiting_.erase(first);
    done(has_turn);
  }
  SetTimer();
}

void CallLine::SetTimer() {
  if (waiting_.empty()) return;
  const async::TimePoint at = std::min(Next(), waiting_.begin()->second.until);
  timer_ = executor_.RunAt(at, [this] { Serve(); });
}

}  // namespace berth::cloud
