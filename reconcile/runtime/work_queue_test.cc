#include "reconcile/runtime/work_queue.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

namespace berth::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kStart{};

TEST(WorkQueue, AKeyWaitsOnceHoweverOftenItIsAdded) {
  WorkQueue queue("q");
  queue.Add("a", kStart);
  queue.Add("a", kStart);
  EXPECT_EQ(queue.Stats().depth, 1U);
  EXPECT_EQ(queue.Stats().adds, 1U);
  EXPECT_EQ(queue.Get(kStart), "a");
  EXPECT_EQ(queue.Get(kStart), std::nullopt);
}

TEST(WorkQueue, AKeyAddedWhileProcessedComesAgainAfterDoneOnly) {
  WorkQueue queue("q");
  queue.Add("a", kStart);
  ASSERT_EQ(queue.Get(kStart), "a");
  queue.Add("a", kStart);
  EXPECT_EQ(queue.Get(kStart), std::nullopt);
  queue.Done("a", kStart);
  EXPECT_EQ(queue.Get(kStart), "a");
}

TEST(WorkQueue, TheEarliestDelayCounts) {
  WorkQueue queue("q");
  queue.AddAfter("a", kStart, seconds(10));
  queue.AddAfter("a", kStart, seconds(2));
  queue.AddAfter("a", kStart, seconds(5));
  EXPECT_EQ(queue.NextDue(), kStart + seconds(2));
  EXPECT_EQ(queue.Get(kStart + seconds(1)), std::nullopt);
  EXPECT_EQ(queue.Get(kStart + seconds(2)), "a");
  queue.Done("a", kStart + seconds(2));
  EXPECT_EQ(queue.Get(kStart + seconds(20)), std::nullopt);
}

TEST(WorkQueue, BackOffGrowsToItsBoundAndForgetEndsIt) {
  WorkQueue queue("q", {.base = milliseconds(50), .max = milliseconds(30'000), .factor = 1.5});
  TimePoint now = kStart;
  const auto delay = [&] {
    queue.AddRateLimited("a", now);
    const auto due = *queue.NextDue();
    const auto waited = due - now;
    now = due;
    EXPECT_EQ(queue.Get(now), "a");
    queue.Done("a", now);
    return std::chrono::duration_cast<milliseconds>(waited);
  };
  EXPECT_EQ(delay(), milliseconds(50));
  EXPECT_EQ(delay(), milliseconds(75));
  EXPECT_EQ(delay(), milliseconds(112));
  for (int i = 0; i < 40; ++i) delay();
  EXPECT_EQ(delay(), milliseconds(30'000));
  queue.Forget("a");
  EXPECT_EQ(delay(), milliseconds(50));
  EXPECT_EQ(queue.Stats().retries, 45U);
}

TEST(WorkQueue, OldestTellsWhenTheFirstKeyBecameReady) {
  WorkQueue queue("q");
  queue.AddAfter("late", kStart, seconds(1));
  queue.Add("a", kStart + seconds(3));
  EXPECT_EQ(queue.Stats().oldest, kStart + seconds(3));
  ASSERT_EQ(queue.Get(kStart + seconds(4)), "a");
  EXPECT_EQ(queue.Stats().oldest, kStart + seconds(1));
}

// Against a naive model: whatever the order of calls, nothing added is lost and nothing is handed
// out twice at a time.
TEST(WorkQueue, LosesNothingAndNeverHandsOutAKeyTwice) {
  EXPECT_TRUE(rc::check([](const std::vector<std::pair<std::uint8_t, std::uint8_t>>& steps) {
    WorkQueue queue("q");
    TimePoint now = kStart;
    std::set<std::string> wanted;  // added and not yet handed out since
    std::set<std::string> held;
    for (const auto& [what, which] : steps) {
      const std::string key(1, static_cast<char>('a' + which % 5));
      now += milliseconds(which);
      switch (what % 5) {
        case 0:
          queue.Add(key, now);
          wanted.insert(key);
          break;
        case 1:
          queue.AddAfter(key, now, milliseconds(which));
          wanted.insert(key);
          break;
        case 2:
          queue.AddRateLimited(key, now);
          wanted.insert(key);
          break;
        case 3:
          if (const auto got = queue.Get(now)) {
            RC_ASSERT(held.insert(*got).second);
            wanted.erase(*got);
          }
          break;
        default:
          if (held.erase(key) > 0) queue.Done(key, now);
      }
      RC_ASSERT(queue.Stats().processing == held.size());
    }
    for (const auto& key : held) queue.Done(key, now);
    now += std::chrono::hours(1);
    while (const auto got = queue.Get(now)) {
      wanted.erase(*got);
      queue.Done(*got, now);
    }
    RC_ASSERT(wanted.empty());
  }));
}

}  // namespace
}  // namespace berth::runtime
