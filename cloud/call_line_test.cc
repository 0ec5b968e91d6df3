#include "cloud/call_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "async/test_executor.h"
#include "cloud/test_transport.h"

namespace berth::cloud {
namespace {

using namespace std::chrono_literals;

class CallLineTest : public testing::Test {
 protected:
  void Join(int count) {
    for (int i = 0; i < count; ++i) {
      calls_.push_back(std::make_unique<Pending<bool>>(line_.Turn()));
    }
  }
  bool Went(std::size_t index) const { return calls_[index]->ended() && calls_[index]->value(); }
  // How many have gone since the test began.
  int Gone() const {
    return static_cast<int>(std::ranges::count_if(
        calls_, [](const auto& call) { return call && call->ended() && call->value(); }));
  }

  async::TestExecutor executor_;
  // Five at once, then one a second.
  CallLine line_{executor_, 65, 1min};
  std::vector<std::unique_ptr<Pending<bool>>> calls_;
};

TEST_F(CallLineTest, LetsABurstGoAndThenOneAtATimeInOrder) {
  Join(8);
  EXPECT_EQ(Gone(), 5);
  for (std::size_t next = 5; next < 8; ++next) {
    executor_.Advance(999ms);
    EXPECT_FALSE(Went(next));
    executor_.Advance(1ms);
    EXPECT_TRUE(Went(next)) << next;
  }
}

TEST_F(CallLineTest, NoMinuteHasMoreThanTheLimit) {
  for (const int limit : {600, 65, 12, 3}) {
    CallLine line(executor_, limit, 10min);
    std::vector<std::unique_ptr<Pending<bool>>> calls;
    const auto gone = [&] {
      return std::ranges::count_if(calls, [](const auto& call) { return call->ended(); });
    };
    for (int i = 0; i < 2 * limit; ++i) {
      calls.push_back(std::make_unique<Pending<bool>>(line.Turn()));
    }
    executor_.Advance(1min - 1ms);
    EXPECT_LE(gone(), limit);
    EXPECT_GE(gone(), limit * 2 / 3);
    const auto before = gone();
    executor_.Advance(1min);
    EXPECT_LE(gone() - before, limit);
  }
}

TEST_F(CallLineTest, NobodyOvertakesThoseWhoWait) {
  // Comes when the next turn is there but nobody was told yet.
  const auto late = executor_.RunAfter(1s, [this] { Join(1); });
  Join(6);
  executor_.Advance(1s);
  ASSERT_EQ(calls_.size(), 7);
  EXPECT_TRUE(Went(5));
  EXPECT_FALSE(Went(6));
  executor_.Advance(1s);
  EXPECT_TRUE(Went(6));
}

TEST_F(CallLineTest, WhoGivesUpLeavesItsTurnToTheNext) {
  Join(8);
  calls_[5].reset();
  executor_.Advance(1s);
  EXPECT_TRUE(Went(6));
  EXPECT_FALSE(Went(7));
}

TEST_F(CallLineTest, PatienceEnds) {
  Join(5 + 60 + 2);
  executor_.Advance(1min);
  EXPECT_EQ(Gone(), 65);
  for (const std::size_t late : {65, 66}) {
    ASSERT_TRUE(calls_[late]->ended());
    EXPECT_FALSE(calls_[late]->value());
  }
  EXPECT_EQ(executor_.pending(), 0);
}

TEST_F(CallLineTest, AThrottleStopsAllAndTheyGoOnWithoutABurst) {
  Join(1);
  EXPECT_EQ(line_.Throttled(executor_.Now(), {}), 2s);  // a pause of one, and one for the token
  Join(3);
  executor_.Advance(1999ms);
  EXPECT_EQ(Gone(), 1);
  executor_.Advance(1ms);
  EXPECT_EQ(Gone(), 2);
  executor_.Advance(1s);
  EXPECT_EQ(Gone(), 3);
}

TEST_F(CallLineTest, AThrottleHoldsUpThoseWhoWaitAlready) {
  Join(6);
  EXPECT_EQ(line_.Throttled(executor_.Now(), 10s), 11s);
  executor_.Advance(10999ms);
  EXPECT_EQ(Gone(), 5);
  executor_.Advance(1ms);
  EXPECT_EQ(Gone(), 6);
}

TEST_F(CallLineTest, ThrottlesOfOneBurstAreOnePause) {
  const auto sent = executor_.Now();
  Join(5);
  executor_.Advance(500ms);
  EXPECT_EQ(line_.Throttled(sent, {}), 1500ms);  // half a token was there
  executor_.Advance(100ms);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(line_.Throttled(sent, {}), 1400ms);
}

TEST_F(CallLineTest, PausesGrowWhileItGoesOnAndAreForgottenAfterACalmMinute) {
  for (const auto pause : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
    EXPECT_EQ(line_.Throttled(executor_.Now(), {}), pause + 1s);
    executor_.Advance(pause + 1s);
  }
  executor_.Advance(30s);
  EXPECT_EQ(line_.Throttled(executor_.Now(), {}), 31s);
  executor_.Advance(30s + 61s);
  EXPECT_EQ(line_.Throttled(executor_.Now(), {}), 2s);
}

TEST_F(CallLineTest, TheCloudMayAskForALongerPauseButNotForAnyPause) {
  EXPECT_EQ(line_.Throttled(executor_.Now(), 7s), 8s);
  executor_.Advance(8s);
  EXPECT_EQ(line_.Throttled(executor_.Now(), 24h), 301s);
}

TEST_F(CallLineTest, OneWhoGoesMayGiveTheOthersUp) {
  Join(5);
  auto giving_up = [](CallLine* line,
                      std::vector<std::unique_ptr<Pending<bool>>>* calls) -> async::Task<bool> {
    const bool turn = co_await line->Turn();
    calls->clear();
    co_return turn;
  };
  const Pending<bool> last(giving_up(&line_, &calls_));
  Join(3);
  executor_.Advance(2s);
  EXPECT_TRUE(last.ended());
  executor_.Advance(1min);
  EXPECT_EQ(executor_.pending(), 0);
}

TEST(CallWindowTest, NoTimeOfItsLengthHasMoreCalls) {
  async::TestExecutor executor;
  CallWindow window(3, 60s);
  CallLine first(executor, async::TokenBucket(1ms, 10), 10min, &window);
  CallLine second(executor, async::TokenBucket(1ms, 10), 10min, &window);
  std::vector<std::unique_ptr<Pending<bool>>> calls;
  for (int i = 0; i < 4; ++i) {
    calls.push_back(std::make_unique<Pending<bool>>(first.Turn()));
    calls.push_back(std::make_unique<Pending<bool>>(second.Turn()));
  }
  const auto gone = [&] {
    return std::ranges::count_if(calls, [](const auto& call) { return call->ended(); });
  };
  EXPECT_EQ(gone(), 3);
  EXPECT_EQ(first.Wait(), 60s);
  executor.Advance(59s);
  EXPECT_EQ(gone(), 3);
  executor.Advance(1s);
  EXPECT_EQ(gone(), 6);
  executor.Advance(60s);
  EXPECT_EQ(gone(), 8);
}

}  // namespace
}  // namespace berth::cloud
