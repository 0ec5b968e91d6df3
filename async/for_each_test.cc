#include "async/for_each.h"

#include <gtest/gtest.h>

#include <set>

#include "async/test_executor.h"

namespace berth::async {
namespace {

using namespace std::chrono_literals;

class ForEachTest : public testing::Test {
 protected:
  Task<void> Work(std::size_t index, Duration delay) {
    most_ = std::max(most_, ++under_way_);
    if (delay > Duration::zero()) co_await Sleep(executor_, delay);
    --under_way_;
    done_.insert(index);
  }
  Running Begin(std::size_t count, std::size_t at_once, Duration delay) {
    return Start(
        ForEach(count, at_once, [this, delay](std::size_t index) { return Work(index, delay); }),
        [this] { ended_ = true; });
  }

  TestExecutor executor_;
  int under_way_ = 0;
  int most_ = 0;
  std::set<std::size_t> done_;
  bool ended_ = false;
};

TEST_F(ForEachTest, AtMostSoManyAreUnderWayAtATime) {
  const Running running = Begin(10, 3, 1s);
  executor_.Advance(3900ms);
  EXPECT_FALSE(ended_);
  executor_.Advance(200ms);
  EXPECT_TRUE(ended_);
  EXPECT_EQ(done_.size(), 10u);
  EXPECT_EQ(most_, 3);
}

TEST_F(ForEachTest, WorkThatEndsAtOnceNeedsNoExecutor) {
  for (const std::size_t count : {0u, 1u, 5u}) {
    ended_ = false;
    done_.clear();
    const Running running = Begin(count, 2, 0s);
    EXPECT_TRUE(ended_);
    EXPECT_EQ(done_.size(), count);
  }
}

TEST_F(ForEachTest, DestroyedWorkGoesNoFurther) {
  {
    const Running running = Begin(10, 3, 1s);
    executor_.Advance(1500ms);
  }
  executor_.Advance(1min);
  EXPECT_EQ(done_.size(), 3u);
  EXPECT_FALSE(ended_);
}

}  // namespace
}  // namespace berth::async
