#include "async/token_bucket.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

namespace berth::async {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart{};

TEST(TokenBucket, GivesABurstAndThenOneEachInterval) {
  TokenBucket bucket(100ms, 3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.Take(kStart));
  EXPECT_FALSE(bucket.Take(kStart));
  EXPECT_FALSE(bucket.Take(kStart + 99ms));
  EXPECT_TRUE(bucket.Take(kStart + 100ms));
  EXPECT_FALSE(bucket.Take(kStart + 100ms));
}

TEST(TokenBucket, HoldsNoMoreThanItsBurst) {
  TokenBucket bucket(100ms, 2);
  EXPECT_TRUE(bucket.Take(kStart));
  const TimePoint later = kStart + 1h;
  EXPECT_TRUE(bucket.Take(later));
  EXPECT_TRUE(bucket.Take(later));
  EXPECT_FALSE(bucket.Take(later));
}

TEST(TokenBucket, TellsWhenATokenTakenInAdvanceIsThere) {
  TokenBucket bucket(100ms, 1);
  EXPECT_EQ(bucket.Reserve(kStart), 0ms);
  EXPECT_EQ(bucket.Reserve(kStart), 100ms);
  EXPECT_EQ(bucket.Reserve(kStart + 50ms), 150ms);
  EXPECT_FALSE(bucket.Take(kStart + 250ms));
  EXPECT_EQ(bucket.Reserve(kStart + 300ms), 0ms);
}

TEST(TokenBucket, AnIntervalOfNothingIsNoLimit) {
  TokenBucket bucket(0ms, 1);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(bucket.Reserve(kStart), 0ms);
  EXPECT_TRUE(bucket.Take(kStart));
}

TEST(TokenBucket, NeverMoreThanBurstAndRateAllow) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint16_t>& steps) {
    TokenBucket limit(TokenBucket::PerSecond(20), 5);
    TimePoint now = kStart;
    int taken = 0;
    for (const std::uint16_t step : steps) {
      now += step * 100us;
      while (limit.Take(now)) ++taken;
      RC_ASSERT(taken <= 5 + (now - kStart) / 50ms);
      RC_ASSERT(limit.Next() > now && limit.Next() <= now + 50ms);
    }
  }));
}

}  // namespace
}  // namespace berth::async
