#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <mutex>
#include <utility>

#include "async/executor.h"
#include "http/eventually_test.h"

// For tests only.
namespace berth::test {

// An executor whose thread is the test's own: what is posted runs when the test says so.
class StepExecutor : public async::Executor {
 public:
  async::TimePoint Now() const override { return std::chrono::steady_clock::now(); }
  async::WallTime WallNow() const override { return std::chrono::system_clock::now(); }
  async::Handle RunAt(async::TimePoint, async::Work) override { return {}; }
  std::uint64_t Random() override { return 4; }
  void Post(async::Work work) override {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }

  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return posted_.size();
  }
  // Waits until something is posted, then runs it.
  void Step() {
    ASSERT_TRUE(Eventually([&] { return waiting() > 0; }));
    async::Work work;
    {
      const std::lock_guard lock(mutex_);
      work = std::move(posted_.front());
      posted_.pop_front();
    }
    work();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<async::Work> posted_;
};

}  // namespace berth::test
