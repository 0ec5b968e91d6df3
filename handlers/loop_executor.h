#pragma once

#include <map>
#include <random>
#include <set>
#include <utility>

#include "async/executor.h"

namespace trantor {
class EventLoop;
}

namespace berth {

// A Drogon event loop as an Executor, so that work that left its thread finds back. Work posted on
// the thread itself runs at the end of the same turn of the loop. A timer: O(log n), and as much to
// cancel it.
class LoopExecutor : public async::Executor {
 public:
  // The executor of the loop that the calling thread runs, for as long as the thread lives.
  static LoopExecutor& OfThisThread();

  async::TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  async::WallTime WallNow() const override { return std::chrono::system_clock::now(); }
  void Post(async::Work work) override;
  async::Handle RunAt(async::TimePoint when, async::Work work) override;
  std::uint64_t Random() override { return random_(); }

 private:
  using TimerKey = std::pair<async::TimePoint, std::uint64_t>;

  explicit LoopExecutor(trantor::EventLoop* loop) : loop_(loop) {}
  void Arm();
  void RunDue(async::TimePoint armed);

  trantor::EventLoop* const loop_;
  // trantor keeps a cancelled timer until it falls due, so timers wait here: trantor has one that
  // is due no later than the first of them.
  std::map<TimerKey, async::Work> timers_;
  std::uint64_t last_timer_ = 0;
  std::set<async::TimePoint> armed_;  // when trantor's fall due
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace berth
