#pragma once

#include <cassert>
#include <map>
#include <random>
#include <utility>

#include "async/executor.h"

namespace berth::async {

// For tests only: an Executor whose time stands still until the test moves it. What is due at the
// same time runs in the order it was asked for, so that a test runs the same way every time.
class TestExecutor : public Executor {
 public:
  TimePoint Now() const override { return now_; }
  // 2026-01-02T03:04:05Z at first.
  WallTime WallNow() const override {
    return WallTime(std::chrono::seconds(1'767'323'045)) + now_.time_since_epoch();
  }
  void Post(Work work) override { queue_.emplace(Place{now_, ++last_}, std::move(work)); }
  Handle RunAt(TimePoint when, Work work) override {
    const Place place{std::max(when, now_), ++last_};
    queue_.emplace(place, std::move(work));
    return Handle([this, place] { queue_.erase(place); });
  }
  std::uint64_t Random() override { return random_(); }

  // Runs all that is due now, and what follows from it without a wait.
  void RunUntilIdle() { RunUntil(now_); }
  // Runs all that falls due within `time`, each at its own time.
  void Advance(Duration time) { RunUntil(now_ + time); }

  // How many posts and timers are waiting.
  std::size_t pending() const { return queue_.size(); }

 private:
  using Place = std::pair<TimePoint, std::uint64_t>;
  static constexpr int kEndless = 10'000'000;

  void RunUntil(TimePoint until) {
    for (int ran = 0; !queue_.empty() && queue_.begin()->first.first <= until; ++ran) {
      assert(ran < kEndless);
      auto first = queue_.extract(queue_.begin());
      now_ = first.key().first;
      first.mapped()();
    }
    now_ = until;
  }

  TimePoint now_;
  std::map<Place, Work> queue_;
  std::uint64_t last_ = 0;
  std::mt19937_64 random_{1};
};

}  // namespace berth::async
