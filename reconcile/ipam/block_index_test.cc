#include "reconcile/ipam/block_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <set>
#include <utility>

namespace berth::ipam {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Cidr Block(const std::string& text) { return Cidr::Parse(text).value(); }

std::vector<std::string> Names(const BlockIndex<const std::string>& index, const std::string& of) {
  std::vector<std::string> names;
  for (const auto& entry : index.Overlapping(Block(of))) names.push_back(*entry.value);
  return names;
}

TEST(BlockIndex, FindsWhatContainsABlockAndWhatIsInsideIt) {
  const std::string names[] = {"all", "half", "twin", "other", "six"};
  BlockIndex<const std::string> index;
  const char* blocks[] = {"10.0.0.0/8", "10.0.0.0/24", "10.0.0.0/24", "10.0.1.0/24", "a00::/8"};
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(index.Insert(Block(blocks[i]), names[i], &names[i]));
  EXPECT_FALSE(index.Insert(Block("10.0.0.0/24"), "half", &names[1]));
  EXPECT_THAT(Names(index, "10.0.0.0/23"), ElementsAre("all", "half", "twin", "other"));
  EXPECT_THAT(Names(index, "10.0.0.128/25"), ElementsAre("all", "half", "twin"));
  EXPECT_THAT(Names(index, "10.0.2.0/24"), ElementsAre("all"));
  EXPECT_THAT(Names(index, "11.0.0.0/8"), IsEmpty());
  EXPECT_THAT(Names(index, "::/0"), ElementsAre("six"));
  EXPECT_TRUE(index.Erase(Block("10.0.0.0/24"), "half"));
  EXPECT_FALSE(index.Erase(Block("10.0.0.0/24"), "half"));
  EXPECT_THAT(Names(index, "10.0.0.0/24"), ElementsAre("all", "twin"));
}

TEST(BlockIndex, AgreesWithAComparisonOfAll) {
  EXPECT_TRUE(rc::check([] {
    const std::string name = "x";
    BlockIndex<const std::string> index;
    std::set<std::pair<Address, int>> blocks;
    const auto random = [] {
      const int prefix = *rc::gen::inRange(24, 33);
      return Cidr(Family::kIpv4, *rc::gen::inRange(0, 256), prefix).Canonical();
    };
    for (int i = *rc::gen::inRange(0, 30); i > 0; --i) {
      const Cidr block = random();
      const auto key = std::pair(block.First(), block.prefix());
      if (*rc::gen::inRange(0, 3) > 0) {
        RC_ASSERT(index.Insert(block, name, &name) == blocks.insert(key).second);
      } else {
        RC_ASSERT(index.Erase(block, name) == (blocks.erase(key) > 0));
      }
    }
    const Cidr asked = random();
    std::set<std::pair<Address, int>> found;
    for (const auto& entry : index.Overlapping(asked)) {
      RC_ASSERT(found.emplace(entry.block.First(), entry.block.prefix()).second);
    }
    std::erase_if(blocks, [&](const auto& block) {
      return !asked.Overlaps(Cidr(Family::kIpv4, block.first, block.second));
    });
    RC_ASSERT(found == blocks);
  }));
}

}  // namespace
}  // namespace berth::ipam
