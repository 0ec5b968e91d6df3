#include "server/memory_budget.h"

#include <gtest/gtest.h>

namespace berth::server {
namespace {

constexpr std::size_t kMib = 1024 * 1024;

TEST(MemoryBudget, ALargeHolderIsRefusedWhenItIsUsedUp) {
  MemoryBudget budget(4 * kMib);
  MemoryBudget::Share one(budget), other(budget);
  EXPECT_TRUE(one.TrySet(3 * kMib));
  EXPECT_FALSE(other.TrySet(2 * kMib));
  EXPECT_EQ(budget.used(), 3 * kMib);
  one.Set(kMib);
  EXPECT_TRUE(other.TrySet(2 * kMib));
}

TEST(MemoryBudget, SmallHoldersPassWhileLargeOnesAreRefused) {
  MemoryBudget budget(4 * kMib);
  MemoryBudget::Share large(budget), small(budget), more(budget);
  EXPECT_TRUE(large.TrySet(4 * kMib));
  EXPECT_TRUE(small.TrySet(MemoryBudget::kSmall));
  EXPECT_FALSE(more.TrySet(MemoryBudget::kSmall + 1));
}

TEST(MemoryBudget, SmallHoldersAreBoundedToo) {
  MemoryBudget budget(4 * kMib);
  MemoryBudget::Share all(budget), small(budget);
  all.Set(5 * kMib);
  EXPECT_FALSE(small.TrySet(1));
  EXPECT_TRUE(all.TrySet(4 * kMib)) << "less is always possible";
}

TEST(MemoryBudget, AHolderThatEndsGivesAllBack) {
  MemoryBudget budget(kMib);
  {
    MemoryBudget::Share share(budget);
    share.Set(kMib);
    EXPECT_TRUE(budget.scarce());
  }
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_FALSE(budget.scarce());
}

TEST(MemoryBudget, TheEndOfABurstIsToldOnce) {
  MemoryBudget budget(64 * kMib);
  MemoryBudget::Share share(budget);
  share.Set(kMib);
  share.Set(0);
  EXPECT_FALSE(budget.TakeBurstEnd());
  share.Set(32 * kMib);
  EXPECT_FALSE(budget.TakeBurstEnd());
  share.Set(0);
  EXPECT_TRUE(budget.TakeBurstEnd());
  EXPECT_FALSE(budget.TakeBurstEnd());
}

}  // namespace
}  // namespace berth::server
