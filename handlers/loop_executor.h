#pragma once

#include <random>

#include "async/executor.h"

namespace trantor {
class EventLoop;
}

namespace berth {

// A Drogon event loop as an Executor, so that work that left its thread finds back.
class LoopExecutor : public async::Executor {
 public:
  // Of the loop that the calling thread runs, for as long as the thread lives.
  static LoopExecutor& OfThisThread();

  async::TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  async::WallTime WallNow() const override { return std::chrono::system_clock::now(); }
  void Post(async::Work work) override;
  async::Handle RunAt(async::TimePoint when, async::Work work) override;
  std::uint64_t Random() override { return random_(); }

 private:
  explicit LoopExecutor(trantor::EventLoop* loop) : loop_(loop) {}

  trantor::EventLoop* const loop_;
  std::mt19937_64 random_{std::random_device{}()};
};

}  // namespace berth
