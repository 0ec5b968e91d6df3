#include "reconcile/runtime/work_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace berth::runtime {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kStart{};

// Takes the next key and lets go of it at once.
std::string Next(WorkQueue& queue, TimePoint now = kStart) {
  const auto item = queue.Get(now);
  if (!item) return "";
  std::string key = item->key();
  queue.Done(*item);
  return key;
}

TEST(WorkQueue, AKeyWaitsOnceHoweverOftenItIsAdded) {
  WorkQueue queue("q");
  queue.Add("a", kStart);
  queue.Add("a", kStart);
  EXPECT_EQ(queue.Stats(kStart).depth, 1U);
  EXPECT_EQ(queue.Stats(kStart).adds, 1U);
  EXPECT_EQ(Next(queue), "a");
  EXPECT_EQ(Next(queue), "");
}

TEST(WorkQueue, AKeyAddedWhileProcessedComesAgainAfterDoneOnly) {
  WorkQueue queue("q");
  queue.Add("a", kStart);
  const auto item = queue.Get(kStart);
  queue.Add("a", kStart);
  EXPECT_FALSE(queue.Get(kStart));
  queue.Done(*item);
  EXPECT_EQ(Next(queue), "a");
  EXPECT_EQ(Next(queue), "");
}

TEST(WorkQueue, KeysComeInTheOrderTheyWereAdded) {
  WorkQueue queue("q");
  for (const auto* key : {"c", "a", "b", "a"}) queue.Add(key, kStart);
  EXPECT_EQ(Next(queue), "c");
  EXPECT_EQ(Next(queue), "a");
  EXPECT_EQ(Next(queue), "b");
}

TEST(WorkQueue, FreshKeysGoBeforeResync) {
  WorkQueue queue("q");
  queue.Add("old1", kStart, Priority::kResync);
  queue.Add("old2", kStart, Priority::kResync);
  queue.Add("new", kStart);
  EXPECT_EQ(queue.Stats(kStart).depth, 3U);
  EXPECT_EQ(queue.Stats(kStart).resync, 2U);
  EXPECT_EQ(Next(queue), "new");
  EXPECT_EQ(Next(queue), "old1");
  EXPECT_EQ(Next(queue), "old2");
}

TEST(WorkQueue, AResyncKeyAddedFreshJoinsTheFreshOnesLast) {
  WorkQueue queue("q");
  queue.Add("old1", kStart, Priority::kResync);
  queue.Add("old2", kStart, Priority::kResync);
  queue.Add("new", kStart);
  queue.Add("old2", kStart);
  EXPECT_EQ(queue.Stats(kStart).adds, 3U);
  EXPECT_EQ(Next(queue), "new");
  EXPECT_EQ(Next(queue), "old2");
  EXPECT_EQ(Next(queue), "old1");
  EXPECT_EQ(Next(queue), "");
}

TEST(WorkQueue, AFreshKeyIsNotPutBackByAResync) {
  WorkQueue queue("q");
  queue.Add("a", kStart);
  queue.Add("b", kStart);
  queue.Add("a", kStart, Priority::kResync);
  EXPECT_EQ(Next(queue), "a");
}

TEST(WorkQueue, AKeyAddedWhileProcessedKeepsTheHigherPriority) {
  WorkQueue queue("q");
  queue.Add("a", kStart);
  const auto item = queue.Get(kStart);
  queue.Add("a", kStart, Priority::kResync);
  queue.Add("a", kStart, Priority::kFresh);
  queue.Add("old", kStart, Priority::kResync);
  queue.Done(*item);
  EXPECT_EQ(Next(queue), "a");
}

TEST(WorkQueue, TheEarliestDelayCounts) {
  WorkQueue queue("q");
  queue.AddAfter("a", kStart, seconds(10));
  queue.AddAfter("a", kStart, seconds(2));
  queue.AddAfter("a", kStart, seconds(5));
  EXPECT_EQ(queue.NextDue(), kStart + seconds(2));
  EXPECT_EQ(Next(queue, kStart + seconds(1)), "");
  EXPECT_EQ(Next(queue, kStart + seconds(2)), "a");
  EXPECT_EQ(Next(queue, kStart + seconds(20)), "");
}

TEST(WorkQueue, DelayedKeysComeInTheOrderOfTheirTimes) {
  WorkQueue queue("q");
  for (const int second : {5, 3, 9, 1, 7}) {
    queue.AddAfter(std::to_string(second), kStart, seconds(second));
  }
  for (const auto* key : {"1", "3", "5", "7", "9"}) {
    EXPECT_EQ(Next(queue, kStart + seconds(10)), key);
  }
}

TEST(WorkQueue, KeysDueAtTheSameTimeComeInTheOrderTheyWereAdded) {
  WorkQueue queue("q");
  for (int i = 0; i < 100; ++i) queue.AddAfter(std::to_string(i), kStart, seconds(1));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Next(queue, kStart + seconds(1)), std::to_string(i));
}

TEST(WorkQueue, ADelayOfNothingIsAnAdd) {
  WorkQueue queue("q");
  queue.AddAfter("a", kStart, seconds(0));
  EXPECT_EQ(queue.NextDue(), std::nullopt);
  EXPECT_EQ(Next(queue), "a");
}

// As in client-go: what was asked for at a time is done at that time.
TEST(WorkQueue, AnAddDoesNotTakeADelayedOneBack) {
  WorkQueue queue("q");
  queue.AddAfter("a", kStart, seconds(2));
  queue.Add("a", kStart);
  EXPECT_EQ(Next(queue), "a");
  EXPECT_EQ(Next(queue, kStart + seconds(2)), "a");
}

TEST(WorkQueue, BackOffGrowsToItsBoundAndForgetEndsIt) {
  WorkQueue queue("q", {}, {.interval = milliseconds(0)});
  TimePoint now = kStart;
  queue.Add("a", now);
  const auto delay = [&](bool forget = false) {
    const auto item = queue.Get(now);
    if (forget) queue.Forget(*item);
    queue.AddRateLimited(*item, now);
    queue.Done(*item);
    const auto waited = *queue.NextDue() - now;
    now = *queue.NextDue();
    return std::chrono::duration_cast<std::chrono::microseconds>(waited);
  };
  EXPECT_EQ(delay(), milliseconds(50));
  EXPECT_EQ(delay(), milliseconds(75));
  EXPECT_EQ(delay(), std::chrono::microseconds(112'500));
  for (int i = 0; i < 3000; ++i) delay();
  EXPECT_EQ(delay(), seconds(30));
  EXPECT_EQ(delay(true), milliseconds(50));
  EXPECT_EQ(queue.Stats(now).retries, 3005U);
}

TEST(WorkQueue, AllRetriesTogetherHaveARate) {
  WorkQueue queue("q", {.base = milliseconds(50)}, {.interval = milliseconds(100), .burst = 100});
  const auto retry = [&](int number) {
    queue.Add(std::to_string(number), kStart);
    const auto item = queue.Get(kStart);
    queue.AddRateLimited(*item, kStart);
    queue.Done(*item);
  };
  const auto ready = [&](Duration after) {
    int count = 0;
    while (!Next(queue, kStart + after).empty()) ++count;
    return count;
  };
  for (int i = 0; i < 120; ++i) retry(i);
  EXPECT_EQ(ready(milliseconds(49)), 0);
  EXPECT_EQ(ready(milliseconds(50)), 100);
  EXPECT_EQ(ready(milliseconds(1000)), 10);
  EXPECT_EQ(ready(milliseconds(1999)), 9);
  EXPECT_EQ(ready(milliseconds(2000)), 1);
}

TEST(WorkQueue, ARetryWaitsAtLeastAsLongAsItIsTold) {
  WorkQueue queue("q");
  queue.Add("a", kStart);
  const auto item = queue.Get(kStart);
  queue.AddRateLimited(*item, kStart, seconds(7));
  queue.Done(*item);
  EXPECT_EQ(queue.NextDue(), kStart + seconds(7));
}

TEST(WorkQueue, ARetryKeepsThePriority) {
  WorkQueue queue("q");
  queue.Add("old", kStart, Priority::kResync);
  const auto item = queue.Get(kStart);
  EXPECT_EQ(item->priority(), Priority::kResync);
  queue.AddRateLimited(*item, kStart);
  queue.Done(*item);
  EXPECT_EQ(queue.Get(*queue.NextDue())->priority(), Priority::kResync);
}

TEST(WorkQueue, TellsHowLongKeysWaitAndAreWorkedOn) {
  WorkQueue queue("q");
  queue.AddAfter("late", kStart, seconds(1));
  queue.Add("a", kStart + seconds(3));
  EXPECT_EQ(queue.Stats(kStart).oldest, kStart + seconds(3));
  const auto a = queue.Get(kStart + seconds(4));
  EXPECT_EQ(a->key(), "a");
  EXPECT_EQ(a->waited(), seconds(1));
  EXPECT_EQ(queue.Stats(kStart).oldest, kStart + seconds(1));  // when it came due
  const auto late = queue.Get(kStart + seconds(6));
  EXPECT_EQ(late->waited(), seconds(5));
  EXPECT_EQ(late->taken(), kStart + seconds(6));
  EXPECT_EQ(queue.Stats(kStart + seconds(7)).unfinished, seconds(3 + 1));
  EXPECT_EQ(queue.Stats(kStart + seconds(7)).longest, seconds(3));
  queue.Done(*a);
  EXPECT_EQ(queue.Stats(kStart + seconds(7)).longest, seconds(1));
  queue.Add("old", kStart + seconds(7), Priority::kResync);
  queue.Add("new", kStart + seconds(8));
  EXPECT_EQ(queue.Stats(kStart + seconds(9)).oldest, kStart + seconds(7));
}

TEST(WorkQueue, KnowsOnlyKeysThatMatter) {
  WorkQueue queue("q");
  for (int i = 0; i < 1000; ++i) queue.Add(std::to_string(i), kStart);
  EXPECT_EQ(queue.size(), 1000U);
  while (!Next(queue).empty()) continue;
  EXPECT_EQ(queue.size(), 0U);
  queue.Add("fails", kStart);
  const auto item = queue.Get(kStart);
  queue.AddRateLimited(*item, kStart);
  queue.Done(*item);
  const TimePoint due = *queue.NextDue();
  EXPECT_EQ(Next(queue, due), "fails");
  EXPECT_EQ(queue.size(), 1U);  // it has failed and may fail again
  queue.Add("fails", due);
  const auto again = queue.Get(due);
  queue.Forget(*again);
  queue.Done(*again);
  EXPECT_EQ(queue.size(), 0U);
}

}  // namespace
}  // namespace berth::runtime
