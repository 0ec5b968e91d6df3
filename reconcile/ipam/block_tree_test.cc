#include "reconcile/ipam/block_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <random>

namespace berth::ipam {
namespace {

using Model = std::map<Address, Block>;

void Same(const BlockTree::Cursor& at, const Model& model, Model::const_iterator expected) {
  RC_ASSERT(static_cast<bool>(at) == (expected != model.end()));
  if (!at) return;
  RC_ASSERT(at.address() == expected->first);
  RC_ASSERT(at.prefix() == expected->second.prefix);
  RC_ASSERT(at.mark() == expected->second.mark);
  RC_ASSERT(at.owner() == expected->second.owner);
}

void CompareAt(const BlockTree& tree, const Model& model, Address address) {
  const auto after = model.upper_bound(address);
  const auto floor = after == model.begin() ? model.end() : std::prev(after);
  Same(tree.Floor(address), model, floor);
  Same(tree.Ceiling(address), model, model.lower_bound(address));
}

void CompareAll(const BlockTree& tree, const Model& model) {
  auto expected = model.begin();
  for (auto at = tree.Ceiling(0); at; at = at.Next(), ++expected) Same(at, model, expected);
  RC_ASSERT(expected == model.end());
  for (int prefix = 24; prefix < 32; ++prefix) {
    Same(tree.FirstFree(BlockTree::SizeBit(prefix)), model,
         std::ranges::find_if(model, [&](const auto& entry) {
           return entry.second.mark == 0 && entry.second.prefix == prefix;
         }));
  }
}

Block RandomBlock(std::minstd_rand& random) {
  // One size is rare: it is found, or known not to be there, across the whole tree.
  const int prefix = random() % 1000 == 0 ? 31 : 24 + static_cast<int>(random() % 7);
  return {prefix, static_cast<std::uint8_t>(random() % 3), random()};
}

// Grows and shrinks by turns, so that nodes are split, merged and emptied at several heights.
// `shift`: where in an address the keys differ.
void DoesWhatAMapDoes(Family family, int shift) {
  EXPECT_TRUE(rc::check([=](unsigned seed) {
    std::minstd_rand random(seed);
    const unsigned spread = 1 + *rc::gen::inRange(0U, 20'000U);
    BlockTree tree(family);
    Model model;
    for (int i = 0; i < 6000; ++i) {
      const Address address = Address{random() % spread} << shift;
      const bool growing = random() % 10 < (i / 1500 % 2 == 0 ? 9U : 1U);
      CompareAt(tree, model, address);
      const auto found = model.lower_bound(address);
      if (growing && !model.contains(address)) {
        const Block block = RandomBlock(random);
        tree.Insert(address, block);
        model.emplace(address, block);
      } else if (found != model.end() && random() % 4 == 0) {
        found->second = RandomBlock(random);
        tree.Assign(found->first, found->second);
      } else if (!growing && found != model.end()) {
        tree.Erase(found->first);
        model.erase(found);
      }
      if (i % 500 == 0) CompareAll(tree, model);
    }
    while (!model.empty()) {
      tree.Erase(model.begin()->first);
      model.erase(model.begin());
    }
    CompareAll(tree, model);
  }));
}

TEST(BlockTree, DoesWhatAMapDoesWithIpv4) { DoesWhatAMapDoes(Family::kIpv4, 16); }
TEST(BlockTree, DoesWhatAMapDoesWithIpv6) { DoesWhatAMapDoes(Family::kIpv6, 100); }

// A search of both families by one address does not find a block that begins elsewhere.
TEST(BlockTree, NothingOfIpv4BeginsAtAnAddressOfIpv6) {
  BlockTree tree(Family::kIpv4);
  tree.Insert(6, {.prefix = 24});
  const Address beyond = Address{1} << 32;
  EXPECT_FALSE(tree.Ceiling(beyond + 6));
  EXPECT_EQ(tree.Floor(beyond).address(), Address{6});
}

TEST(BlockTreeDeathTest, OnlyWhatIsThereIsErased) {
  BlockTree tree(Family::kIpv6);
  EXPECT_DEATH(tree.Erase(7), "");
  tree.Insert(6, {.prefix = 24});
  EXPECT_DEATH(tree.Erase(7), "");
}

}  // namespace
}  // namespace berth::ipam
