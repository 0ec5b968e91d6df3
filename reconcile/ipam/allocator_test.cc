#include "reconcile/ipam/allocator.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace berth::ipam {
namespace {

using std::chrono::seconds;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
const TimePoint kStart{};

Cidr Block(const std::string& text) { return Cidr::Parse(text).value(); }

PoolRules Rules(const std::string& range, Strategy strategy = Strategy::kLinear) {
  const Cidr cidr = Block(range);
  return {.range = cidr, .strategy = strategy, .max_block = Width(cidr.family())};
}

PoolRules Without(PoolRules rules, const std::vector<std::string>& excluded) {
  for (const auto& text : excluded) rules.excluded.push_back(Block(text));
  return rules;
}

std::string Allocated(Allocator& pool, int prefix, Use use = Use::kSubnet, Owner owner = 1) {
  const auto block = pool.Allocate(prefix, use, owner);
  return block ? block->ToString() : "refused " + std::to_string(static_cast<int>(block.error()));
}

std::vector<std::string> Held(const Allocator& pool, Address from = 0) {
  std::vector<std::string> held;
  pool.ForEach(from, [&](const Hold& hold) {
    held.push_back(hold.block.ToString());
    return true;
  });
  return held;
}

using Texts = std::vector<std::string>;

TEST(Allocator, LinearTakesTheLowestAddress) {
  Allocator pool(Rules("10.0.0.0/22"));
  EXPECT_EQ(Allocated(pool, 24), "10.0.0.0/24");
  EXPECT_EQ(Allocated(pool, 26), "10.0.1.0/26");
  EXPECT_EQ(Allocated(pool, 24), "10.0.2.0/24");
  EXPECT_EQ(Allocated(pool, 25), "10.0.1.128/25");
  EXPECT_TRUE(pool.Release(Block("10.0.0.0/24")));
  EXPECT_EQ(Allocated(pool, 27), "10.0.0.0/27");
  EXPECT_EQ(Held(pool), (Texts{"10.0.0.0/27", "10.0.1.0/26", "10.0.1.128/25", "10.0.2.0/24"}));
}

// plexaubnet never read the strategy.
TEST(Allocator, BuddyKeepsLargeBlocksWhole) {
  for (const auto strategy : {Strategy::kLinear, Strategy::kBuddy}) {
    Allocator pool(Rules("10.0.0.0/22", strategy));
    for (const int prefix : {24, 24, 24, 25}) ASSERT_TRUE(pool.Allocate(prefix, Use::kSubnet, 1));
    ASSERT_TRUE(pool.Release(Block("10.0.0.0/24")));
    // Free: 10.0.0.0/24 and 10.0.3.128/25.
    const bool buddy = strategy == Strategy::kBuddy;
    EXPECT_EQ(Allocated(pool, 25), buddy ? "10.0.3.128/25" : "10.0.0.0/25");
    EXPECT_EQ(pool.Free(24), buddy ? 1 : 0);
    EXPECT_EQ(pool.Free(25), 2);
  }
}

// A race in plexaubnet: names keyed by the exact CIDR let both be made.
TEST(Allocator, WhatOverlapsAHoldIsRefused) {
  Allocator pool(Rules("10.0.0.0/16"));
  ASSERT_TRUE(pool.AllocateExactly(Block("10.0.0.0/24"), Use::kSubnet, 7));
  for (const char* text : {"10.0.0.0/25", "10.0.0.128/25", "10.0.0.0/24", "10.0.0.0/23"}) {
    EXPECT_EQ(pool.AllocateExactly(Block(text), Use::kSubnet, 8).error(), Refusal::kHeld) << text;
    EXPECT_EQ(pool.Record(Block(text), Use::kSubnet, 8).error(), Refusal::kHeld) << text;
    EXPECT_EQ(pool.Overlapping(Block(text))->block, Block("10.0.0.0/24")) << text;
    EXPECT_EQ(pool.Overlapping(Block(text))->owner, 7) << text;
  }
  ASSERT_TRUE(pool.AllocateExactly(Block("10.0.5.128/25"), Use::kSubnet, 9));
  EXPECT_EQ(pool.AllocateExactly(Block("10.0.5.0/24"), Use::kSubnet, 8).error(), Refusal::kHeld);
  EXPECT_TRUE(pool.AllocateExactly(Block("10.0.1.0/24"), Use::kSubnet, 8));
  EXPECT_EQ(pool.Count(Use::kSubnet), 3);
  EXPECT_EQ(pool.HeldAddresses(Use::kSubnet), 256 + 128 + 256);
}

TEST(Allocator, SaysWhyNot) {
  PoolRules rules = Without(Rules("10.0.0.0/22"), {"10.0.3.0/28", "192.168.0.0/16", "::/0"});
  rules.min_block = 23;
  rules.max_block = 28;
  Allocator pool(rules);
  const auto refused = [&](const char* text) {
    const auto done = pool.AllocateExactly(Block(text), Use::kSubnet, 1);
    return done ? -1 : static_cast<int>(done.error());
  };
  EXPECT_EQ(refused("10.0.0.0/22"), static_cast<int>(Refusal::kSize));
  EXPECT_EQ(refused("10.0.0.0/29"), static_cast<int>(Refusal::kSize));
  EXPECT_EQ(refused("10.0.4.0/24"), static_cast<int>(Refusal::kOutside));
  EXPECT_EQ(refused("10.0.3.0/24"), static_cast<int>(Refusal::kExcluded));
  EXPECT_EQ(refused("10.0.3.0/28"), static_cast<int>(Refusal::kExcluded));
  EXPECT_EQ(refused("10.0.3.128/25"), -1);
  EXPECT_EQ(pool.Allocate(22, Use::kSubnet, 1).error(), Refusal::kSize);
  EXPECT_EQ(pool.Allocate(29, Use::kSubnet, 1).error(), Refusal::kSize);
  EXPECT_EQ(Allocated(pool, 23), "10.0.0.0/23");
  EXPECT_EQ(pool.Allocate(23, Use::kSubnet, 1).error(), Refusal::kExhausted);
  EXPECT_EQ(Allocated(pool, 24), "10.0.2.0/24");
  EXPECT_EQ(Allocated(pool, 28), "10.0.3.16/28");
}

TEST(Allocator, NoRulesMakeASizeThatCannotBe) {
  PoolRules rules = Rules("10.0.0.0/24");
  rules.min_block = -5;
  rules.max_block = 200;
  Allocator pool(rules);
  for (const int prefix : {-5, -1, 0, 23, 33, 128, 200}) {
    EXPECT_EQ(pool.Allocate(prefix, Use::kSubnet, 1).error(), Refusal::kSize) << prefix;
    EXPECT_EQ(pool.Free(prefix), 0) << prefix;
  }
  EXPECT_EQ(Allocated(pool, 24), "10.0.0.0/24");
}

// plexaubnet counted 2^(24 - p) - n.
TEST(Allocator, CountsInPoolsLongerThan24DoNotUnderflow) {
  Allocator pool(Rules("10.0.0.0/26"));
  ASSERT_TRUE(pool.Allocate(28, Use::kSubnet, 1));
  EXPECT_EQ(pool.Free(24), 0);
  EXPECT_EQ(pool.Free(26), 0);
  EXPECT_EQ(pool.Free(27), 1);
  EXPECT_EQ(pool.Free(28), 3);
  EXPECT_EQ(pool.Free(32), 48);
  EXPECT_EQ(pool.FreeAddresses(), 48);
  EXPECT_EQ(pool.LargestFree(), 27);
}

TEST(Allocator, Extremes) {
  Allocator v6(Rules("::/0"));
  EXPECT_EQ(v6.Free(63), kMost);
  EXPECT_EQ(v6.FreeAddresses(), ~Address{0});
  ASSERT_TRUE(v6.AllocateExactly(Block("::/0"), Use::kChild, 1));
  EXPECT_EQ(v6.HeldAddresses(Use::kChild), ~Address{0});
  EXPECT_EQ(v6.FreeAddresses(), 0);
  EXPECT_EQ(v6.FreeAddresses(true), ~Address{0});
  EXPECT_EQ(v6.Free(128, true), kMost);
  EXPECT_TRUE(v6.Release(Block("::/0")));
  EXPECT_EQ(v6.HeldAddresses(Use::kChild), 0);
  EXPECT_EQ(Allocated(v6, 128), "::/128");

  Allocator one(Rules("2001:db8::1/128"));
  EXPECT_EQ(Allocated(one, 128), "2001:db8::1/128");
  EXPECT_EQ(one.Allocate(128, Use::kSubnet, 1).error(), Refusal::kExhausted);

  Allocator v4(Rules("0.0.0.0/0"));
  EXPECT_EQ(Allocated(v4, 32), "0.0.0.0/32");
  EXPECT_EQ(v4.FreeAddresses(), (Address{1} << 32) - 1);
  EXPECT_EQ(v4.Free(32), (std::int64_t{1} << 32) - 1);
  ASSERT_TRUE(v4.AllocateExactly(Block("255.255.255.255/32"), Use::kSubnet, 1));
  EXPECT_EQ(Held(v4, 1), Texts{"255.255.255.255/32"});
}

TEST(Allocator, AHoldMayLieWhereNoneIsGivenOut) {
  Allocator pool(Without(Rules("10.0.0.0/24"), {"10.0.0.0/28"}));
  EXPECT_EQ(pool.FreeAddresses(), 240);
  ASSERT_TRUE(pool.Record(Block("10.0.0.0/26"), Use::kSubnet, 1));  // over an exclusion
  ASSERT_TRUE(pool.Record(Block("10.9.0.0/16"), Use::kSubnet, 2));  // outside
  ASSERT_TRUE(pool.Record(Block("::a00:0/120"), Use::kSubnet, 3));  // of the other family
  ASSERT_TRUE(pool.Record(Block("10.0.0.255/32"), Use::kSubnet, 4));
  EXPECT_EQ(pool.FreeAddresses(), 191);
  const std::string other = Block("::a00:0/120").ToString();
  EXPECT_EQ(Held(pool), (Texts{"10.0.0.0/26", other, "10.0.0.255/32", "10.9.0.0/16"}));
  for (const char* text : {"10.0.0.0/26", "10.9.0.0/16", "::a00:0/120", "10.0.0.255/32"}) {
    EXPECT_TRUE(pool.Release(Block(text))) << text;
  }
  EXPECT_EQ(pool.FreeAddresses(), 240);
  ASSERT_TRUE(pool.Record(Block("10.0.0.0/8"), Use::kSubnet, 1));  // around the range
  EXPECT_EQ(pool.FreeAddresses(), 0);
  EXPECT_TRUE(pool.Release(Block("10.0.0.0/8")));
  EXPECT_EQ(pool.FreeAddresses(), 240);
}

TEST(Allocator, HostBitsMakeNoDifference) {
  Allocator pool(Without(Rules("10.0.0.9/24"), {"10.0.0.3/28"}));
  ASSERT_TRUE(pool.Record(Block("10.0.0.77/26"), Use::kReserved, 1));
  EXPECT_EQ(pool.At(Block("10.0.0.64/26"))->block, Block("10.0.0.64/26"));
  pool.ExpireAt(Block("10.0.0.65/26"), kStart);
  EXPECT_TRUE(pool.Change(Block("10.0.0.66/26"), Use::kSubnet, 2));
  EXPECT_EQ(pool.NextExpiry(), std::nullopt);
  EXPECT_TRUE(pool.Release(Block("10.0.0.67/26")));
  EXPECT_EQ(pool.FreeAddresses(), 240);
  EXPECT_EQ(pool.FreeAddresses(true), 240);
}

TEST(Allocator, OnlyTheExactBlockIsChangedOrReleased) {
  Allocator pool(Rules("10.0.0.0/16"));
  ASSERT_TRUE(pool.Record(Block("10.0.0.0/24"), Use::kSubnet, 1));
  for (const char* text : {"10.0.0.0/25", "10.0.0.0/23", "10.0.1.0/24", "::a00:0/120"}) {
    EXPECT_FALSE(pool.At(Block(text))) << text;
    EXPECT_FALSE(pool.Change(Block(text), Use::kChild, 2)) << text;
    EXPECT_FALSE(pool.Release(Block(text))) << text;
  }
  EXPECT_TRUE(pool.Change(Block("10.0.0.0/24"), Use::kChild, 2));
  EXPECT_EQ(pool.At(Block("10.0.0.0/24"))->use, Use::kChild);
  EXPECT_EQ(pool.At(Block("10.0.0.0/24"))->owner, 2);
}

TEST(Allocator, StatedCountsReservationsAndChildrenAsFree) {
  Allocator pool(Rules("10.0.0.0/24"));
  ASSERT_EQ(Allocated(pool, 26), "10.0.0.0/26");
  ASSERT_EQ(Allocated(pool, 26, Use::kReserved), "10.0.0.64/26");
  ASSERT_EQ(Allocated(pool, 25, Use::kChild), "10.0.0.128/25");
  EXPECT_EQ(pool.Free(26), 0);
  EXPECT_EQ(pool.Free(26, true), 3);
  EXPECT_EQ(pool.Free(25, true), 1);
  EXPECT_TRUE(pool.Change(Block("10.0.0.64/26"), Use::kSubnet, 1));
  EXPECT_EQ(pool.Free(26, true), 2);
  EXPECT_TRUE(pool.Change(Block("10.0.0.0/26"), Use::kReserved, 1));
  EXPECT_EQ(pool.FreeAddresses(true), 192);
  EXPECT_EQ(pool.FreeAddresses(), 0);
  EXPECT_TRUE(pool.Release(Block("10.0.0.128/25")));
  EXPECT_EQ(pool.FreeAddresses(true), 192);
  EXPECT_EQ(pool.FreeAddresses(), 128);
}

TEST(Allocator, ReservationsEndByThemselves) {
  Allocator pool(Rules("10.0.0.0/24"));
  const Cidr first = *pool.Allocate(26, Use::kReserved, 1);
  const Cidr second = *pool.Allocate(26, Use::kReserved, 2);
  const Cidr third = *pool.Allocate(26, Use::kReserved, 3);
  EXPECT_EQ(pool.NextExpiry(), std::nullopt);
  pool.ExpireAt(first, kStart + seconds(1));
  pool.ExpireAt(second, kStart + seconds(2));
  pool.ExpireAt(third, kStart + seconds(3));
  pool.ExpireAt(first, kStart + seconds(4));
  EXPECT_EQ(pool.NextExpiry(), kStart + seconds(2));
  ASSERT_TRUE(pool.Change(second, Use::kSubnet, 2));  // a subnet stays
  EXPECT_EQ(pool.NextExpiry(), kStart + seconds(3));

  std::vector<Owner> released;
  const auto note = [&](const Hold& hold) { released.push_back(hold.owner); };
  pool.Expire(kStart + seconds(2), note);
  EXPECT_EQ(released, std::vector<Owner>{});
  pool.Expire(kStart + seconds(3), note);
  EXPECT_EQ(released, std::vector<Owner>{3});
  pool.Expire(kStart + seconds(9), note);
  EXPECT_EQ(released, (std::vector<Owner>{3, 1}));
  EXPECT_EQ(pool.NextExpiry(), std::nullopt);
  EXPECT_EQ(pool.Count(Use::kReserved), 0);
  EXPECT_EQ(pool.FreeAddresses(), 192);
}

TEST(Allocator, WhoIsToldOfAnExpiryMayUseTheAllocator) {
  Allocator pool(Rules("10.0.0.0/25"));
  const Cidr first = *pool.Allocate(26, Use::kReserved, 1);
  const Cidr second = *pool.Allocate(26, Use::kReserved, 2);
  pool.ExpireAt(first, kStart);
  pool.ExpireAt(second, kStart);
  int told = 0;
  pool.Expire(kStart, [&](const Hold& hold) {
    ++told;
    EXPECT_TRUE(pool.AllocateExactly(hold.block, Use::kSubnet, 9));
    pool.Release(second);
  });
  EXPECT_EQ(told, 1);
  EXPECT_EQ(Held(pool), Texts{"10.0.0.0/26"});
}

TEST(Allocator, TheRulesCanChange) {
  Allocator pool(Rules("10.0.0.0/24"));
  ASSERT_EQ(Allocated(pool, 25), "10.0.0.0/25");
  ASSERT_EQ(Allocated(pool, 25, Use::kChild), "10.0.0.128/25");
  pool.SetRules(Rules("10.0.0.0/23"));  // grows
  EXPECT_EQ(pool.Free(24), 1);
  EXPECT_EQ(pool.FreeAddresses(true), 384);
  ASSERT_EQ(Allocated(pool, 26), "10.0.1.0/26");
  pool.SetRules(Without(Rules("10.0.1.0/24"), {"10.0.1.32/27", "10.0.1.128/25", "10.0.1.192/26"}));
  EXPECT_EQ(Held(pool), (Texts{"10.0.0.0/25", "10.0.0.128/25", "10.0.1.0/26"}));
  EXPECT_EQ(pool.FreeAddresses(), 64);
  EXPECT_TRUE(pool.Release(Block("10.0.1.0/26")));  // half of it is excluded
  EXPECT_EQ(pool.FreeAddresses(), 96);
  EXPECT_TRUE(pool.Release(Block("10.0.0.128/25")));
  pool.SetRules(Rules("2001:db8::/120"));  // nobody should, and yet
  EXPECT_EQ(Held(pool), Texts{"10.0.0.0/25"});
  EXPECT_EQ(Allocated(pool, 121), "2001:db8::/121");
  PoolRules buddy = pool.rules();
  buddy.strategy = Strategy::kBuddy;
  pool.SetRules(buddy);
  EXPECT_EQ(pool.rules(), buddy);
  EXPECT_EQ(pool.Count(Use::kSubnet), 2);
}

TEST(Allocator, AllOfTheRangeCanBeExcluded) {
  Allocator pool(Without(Rules("10.0.0.0/24"), {"10.0.0.0/16", "10.0.0.0/30"}));
  EXPECT_EQ(pool.FreeAddresses(), 0);
  EXPECT_EQ(pool.Allocate(28, Use::kSubnet, 1).error(), Refusal::kExhausted);
  EXPECT_EQ(pool.AllocateExactly(Block("10.0.0.64/28"), Use::kSubnet, 1).error(),
            Refusal::kExcluded);
}

TEST(AllocatorDeathTest, OnlyReservationsExpire) {
  Allocator pool(Rules("10.0.0.0/24"));
  ASSERT_EQ(Allocated(pool, 25), "10.0.0.0/25");
  EXPECT_DEATH(pool.ExpireAt(Block("10.0.0.0/25"), kStart), "ExpireAt");
  EXPECT_DEATH(pool.ExpireAt(Block("10.0.0.128/25"), kStart), "ExpireAt");
}

}  // namespace
}  // namespace berth::ipam
