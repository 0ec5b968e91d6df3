#include "reconcile/ipam/free_space.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>
#include <string>
#include <vector>

#include "reconcile/ipam/test_bitmap.h"

namespace berth::ipam {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Cidr Block(const std::string& text) { return Cidr::Parse(text).value(); }

std::string Found(const FreeSpace& space, int prefix, Strategy strategy) {
  const auto block = space.Find(prefix, strategy);
  return block ? block->ToString() : "none";
}

TEST(FreeSpace, StartsFreeAndGivesHalvesBackAsOneBlock) {
  FreeSpace space(Block("10.0.0.0/16"));
  EXPECT_EQ(space.Largest(), 16);
  EXPECT_TRUE(space.Take(Block("10.0.7.0/24")));
  EXPECT_EQ(space.Largest(), 17);
  EXPECT_EQ(space.Count(24), 255);
  EXPECT_EQ(space.Count(17), 1);
  EXPECT_EQ(space.Count(16), 0);
  EXPECT_EQ(space.Addresses(), 65536 - 256);
  space.Give(Block("10.0.7.0/24"));
  EXPECT_EQ(space.Largest(), 16);
  EXPECT_EQ(space.Count(24), 256);
}

TEST(FreeSpace, TakesOnlyWhatIsAllFree) {
  FreeSpace space(Block("10.0.0.0/23"));
  EXPECT_TRUE(space.Take(Block("10.0.0.0/24")));
  EXPECT_FALSE(space.Take(Block("10.0.0.0/25")));
  EXPECT_FALSE(space.Take(Block("10.0.0.0/23")));
  EXPECT_FALSE(space.Take(Block("10.0.2.0/24")));
  EXPECT_FALSE(space.Take(Block("0.0.0.0/0")));
  EXPECT_FALSE(space.Take(Block("::a00:100/120")));
  EXPECT_EQ(space.Count(24), 1);
}

TEST(FreeSpace, LinearTakesTheLowestAddressBuddyTheSmallestBlock) {
  FreeSpace space(Block("10.0.0.0/24"));
  ASSERT_TRUE(space.Take(Block("10.0.0.128/26")));
  ASSERT_TRUE(space.Take(Block("10.0.0.192/27")));
  // Free: .0/25 and .224/27.
  EXPECT_EQ(Found(space, 27, Strategy::kLinear), "10.0.0.0/27");
  EXPECT_EQ(Found(space, 27, Strategy::kBuddy), "10.0.0.224/27");
  EXPECT_EQ(Found(space, 28, Strategy::kBuddy), "10.0.0.224/28");
  EXPECT_EQ(Found(space, 26, Strategy::kBuddy), "10.0.0.0/26");
  EXPECT_EQ(Found(space, 24, Strategy::kLinear), "none");
  EXPECT_EQ(Found(space, 24, Strategy::kBuddy), "none");
  EXPECT_EQ(Found(space, 33, Strategy::kLinear), "none");
  EXPECT_EQ(Found(space, -1, Strategy::kLinear), "none");
}

TEST(FreeSpace, CountsInSmallPoolsDoNotUnderflow) {
  FreeSpace space(Block("10.0.0.0/28"));
  EXPECT_EQ(space.Count(24), 0);
  EXPECT_EQ(space.Count(28), 1);
  EXPECT_EQ(space.Count(32), 16);
  ASSERT_TRUE(space.Take(Block("10.0.0.0/28")));
  for (int prefix = -1; prefix <= 33; ++prefix) EXPECT_EQ(space.Count(prefix), 0) << prefix;
  EXPECT_EQ(space.Addresses(), 0);
  EXPECT_EQ(space.Largest(), std::nullopt);
}

TEST(FreeSpace, AllOfIpv4) {
  FreeSpace space(Block("0.0.0.0/0"));
  EXPECT_EQ(space.Count(0), 1);
  EXPECT_EQ(space.Count(32), std::int64_t{1} << 32);
  EXPECT_EQ(space.Addresses(), Address{1} << 32);
  ASSERT_TRUE(space.Take(Block("255.255.255.255/32")));
  EXPECT_EQ(space.Count(32), (std::int64_t{1} << 32) - 1);
  EXPECT_EQ(space.Largest(), 1);
  EXPECT_EQ(Found(space, 32, Strategy::kBuddy), "255.255.255.254/32");
  space.Give(Block("255.255.255.255/32"));
  ASSERT_TRUE(space.Take(Block("0.0.0.0/0")));
  EXPECT_EQ(space.Addresses(), 0);
}

TEST(FreeSpace, AllOfIpv6) {
  FreeSpace space(Block("::/0"));
  EXPECT_EQ(space.Addresses(), ~Address{0});  // 2^128 has no room
  EXPECT_EQ(space.Count(0), 1);
  EXPECT_EQ(space.Count(62), std::int64_t{1} << 62);
  EXPECT_EQ(space.Count(63), kMost);
  EXPECT_EQ(space.Count(64), kMost);
  EXPECT_EQ(space.Count(128), kMost);
  EXPECT_EQ(space.Count(129), 0);
  const Cidr last = Block("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128");
  ASSERT_TRUE(space.Take(last));
  EXPECT_EQ(space.Addresses(), ~Address{0});  // and this is exact
  EXPECT_EQ(space.Count(63), kMost);          // exact as well
  EXPECT_EQ(space.Count(62), (std::int64_t{1} << 62) - 1);
  EXPECT_EQ(space.Largest(), 1);
  space.Give(last);
  EXPECT_EQ(space.Largest(), 0);
  ASSERT_TRUE(space.Take(Block("::/0")));
  EXPECT_EQ(space.Addresses(), 0);
  EXPECT_FALSE(space.Take(last));
}

TEST(FreeSpace, OneAddress) {
  for (const char* text : {"10.0.0.7/32", "2001:db8::7/128"}) {
    FreeSpace space(Block(text));
    const int width = Width(Block(text).family());
    EXPECT_EQ(Found(space, width, Strategy::kLinear), text);
    EXPECT_EQ(Found(space, width - 1, Strategy::kLinear), "none");
    EXPECT_EQ(space.Addresses(), 1);
    ASSERT_TRUE(space.Take(Block(text)));
    EXPECT_EQ(space.Addresses(), 0);
    space.Give(Block(text));
    EXPECT_EQ(space.Count(width), 1);
  }
}

TEST(FreeSpace, ACopyGoesItsOwnWay) {
  FreeSpace space(Block("10.0.0.0/24"));
  ASSERT_TRUE(space.Take(Block("10.0.0.0/25")));
  FreeSpace copy(space);
  ASSERT_TRUE(copy.Take(Block("10.0.0.128/25")));
  EXPECT_EQ(space.Count(25), 1);
  EXPECT_EQ(copy.Count(25), 0);
}

TEST(FreeSpaceDeathTest, GivingBackWhatIsFreeOrOutsideEndsTheProgram) {
  FreeSpace space(Block("10.0.0.0/24"));
  ASSERT_TRUE(space.Take(Block("10.0.0.0/25")));
  space.Give(Block("10.0.0.64/27"));
  EXPECT_DEATH(space.Give(Block("10.0.0.128/26")), "Give");  // inside a free block
  EXPECT_DEATH(space.Give(Block("10.0.0.0/25")), "Give");    // around one
  EXPECT_DEATH(space.Give(Block("10.0.1.0/25")), "Give");    // not of the range
}

struct Step {
  std::uint8_t prefix;
  std::uint8_t number;
  std::uint8_t strategy;  // 0, 1: find and take; 2, 3: take this block, or give it back
};

class Comparison {
 public:
  explicit Comparison(const Cidr& world, int whole)
      : whole_(TestBitmap::BlockOf(world, whole, 1)), space_(whole_), model_(world) {
    model_.Set(whole_, true);
  }

  void Take(const Step& step) {
    const int width = Width(whole_.family());
    const int prefix = whole_.prefix() + step.prefix % (width - whole_.prefix() + 1);
    const auto strategy = step.strategy % 2 ? Strategy::kLinear : Strategy::kBuddy;
    if (step.strategy % 4 < 2) {
      const auto found = space_.Find(prefix, strategy);
      RC_ASSERT(found == model_.Find(prefix, strategy));
      if (found) TakeBlock(*found);
      return;
    }
    const unsigned in_whole = step.number % (1U << (prefix - whole_.prefix()));
    const Cidr block(whole_.family(), whole_.First() + (Address{in_whole} << (width - prefix)),
                     prefix);
    TakeBlock(block);
    if (step.strategy % 4 == 3) GiveOne(step.number);
  }

  void Compare() const {
    for (int prefix = 0; prefix <= Width(whole_.family()); ++prefix) {
      RC_ASSERT(space_.Count(prefix) == model_.Count(prefix));
    }
    RC_ASSERT(space_.Largest() == model_.Largest());
    RC_ASSERT(space_.Addresses() == model_.Addresses());
  }

 private:
  void TakeBlock(const Cidr& block) {
    const bool free = model_.AllFree(block);
    RC_ASSERT(space_.Take(block) == free);
    if (!free) return;
    model_.Set(block, false);
    taken_.push_back(block);
  }

  void GiveOne(unsigned which) {
    if (taken_.empty()) return;
    const auto at = taken_.begin() + static_cast<std::ptrdiff_t>(which % taken_.size());
    space_.Give(*at);
    model_.Set(*at, true);
    taken_.erase(at);
  }

  Cidr whole_;
  FreeSpace space_;
  TestBitmap model_;
  std::vector<Cidr> taken_;
};

TEST(FreeSpace, DoesWhatItsModelDoes) {
  EXPECT_TRUE(rc::check([](bool v4) {
    const Cidr world = Block(v4 ? "10.1.2.0/24" : "2001:db8::1:0/120");
    const auto steps =
        *rc::gen::scale(3.0, rc::gen::container<std::vector<Step>>(rc::gen::build<Step>(
                                 rc::gen::set(&Step::prefix), rc::gen::set(&Step::number),
                                 rc::gen::set(&Step::strategy))));
    Comparison both(world, *rc::gen::inRange(world.prefix(), Width(world.family()) + 1));
    both.Compare();
    for (const Step& step : steps) {
      both.Take(step);
      both.Compare();
    }
  }));
}

}  // namespace
}  // namespace berth::ipam
