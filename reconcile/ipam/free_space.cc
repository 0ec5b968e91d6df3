#include "reconcile/ipam/free_space.h"

#include <cassert>
#include <limits>
#include <vector>

#include "reconcile/ipam/block_tree.h"

namespace berth::ipam {

struct FreeSpace::Sets {
  explicit Sets(const Cidr& range)
      : whole(range.Canonical()),
        blocks(range.family()),
        counts(static_cast<std::size_t>(Width(range.family())) + 1) {}

  std::size_t& CountOf(int prefix) { return counts[static_cast<std::size_t>(prefix)]; }
  Cidr At(const BlockTree::Cursor& at) const {
    return Cidr(whole.family(), at.address(), at.prefix());
  }
  // The free block that all of this one is in.
  BlockTree::Cursor Around(const Cidr& block) const {
    const auto at = blocks.Floor(block.First());
    return at && at.free() && At(at).Contains(block) ? at : BlockTree::Cursor();
  }
  void Insert(Address address, int prefix) {
    blocks.Insert(address, {.prefix = prefix});
    ++CountOf(prefix);
  }
  void TakeFrom(const Cidr& around, const Cidr& block, const Block* kept);

  Cidr whole;
  BlockTree blocks;
  std::vector<std::size_t> counts;  // of free blocks, by prefix length
};

FreeSpace::FreeSpace(const Cidr& whole) : sets_(std::make_unique<Sets>(whole)) {
  Give(sets_->whole);
}

FreeSpace::FreeSpace(const FreeSpace& other) : sets_(std::make_unique<Sets>(other.whole())) {
  for (auto at = other.blocks().Ceiling(0); at; at = at.Next()) {
    if (at.free()) sets_->Insert(at.address(), at.prefix());
  }
}

FreeSpace::FreeSpace(FreeSpace&&) noexcept = default;
FreeSpace& FreeSpace::operator=(FreeSpace&&) noexcept = default;
FreeSpace::~FreeSpace() = default;

const Cidr& FreeSpace::whole() const { return sets_->whole; }
BlockTree& FreeSpace::blocks() { return sets_->blocks; }
const BlockTree& FreeSpace::blocks() const { return sets_->blocks; }

std::optional<Cidr> FreeSpace::Find(int prefix, Strategy strategy) const {
  if (prefix > Width(whole().family())) return std::nullopt;
  int size = prefix;
  while (size >= whole().prefix() && sets_->CountOf(size) == 0) --size;
  if (size < whole().prefix()) return std::nullopt;
  BlockTree::Sizes wanted = BlockTree::SizeBit(size);
  if (strategy == Strategy::kLinear) wanted |= wanted - 1;
  const auto found = blocks().FirstFree(wanted);
  return Cidr(whole().family(), found.address(), prefix);
}

bool FreeSpace::Take(const Cidr& block) {
  const auto around = sets_->Around(block);
  if (around) sets_->TakeFrom(sets_->At(around), block, nullptr);
  return static_cast<bool>(around);
}

bool FreeSpace::Take(const Cidr& block, const Block& kept) {
  const auto around = sets_->Around(block);
  if (around) sets_->TakeFrom(sets_->At(around), block, &kept);
  return static_cast<bool>(around);
}

void FreeSpace::Sets::TakeFrom(const Cidr& around, const Cidr& block, const Block* kept) {
  --CountOf(around.prefix());
  // The first part of the free block takes its place in the tree.
  bool replaced = false;
  const auto put = [&](Address address, const Block& part) {
    if (address == around.First()) {
      blocks.Assign(address, part);
      replaced = true;
    } else {
      blocks.Insert(address, part);
    }
  };
  // The halves that the block is not in stay free.
  for (int half = around.prefix() + 1; half <= block.prefix(); ++half) {
    const Address bit = Address{1} << (Width(block.family()) - half);
    put(Cidr(block.family(), block.First() ^ bit, half).First(), {.prefix = half});
    ++CountOf(half);
  }
  if (kept) put(block.First(), *kept);
  if (!replaced) blocks.Erase(around.First());
}

void FreeSpace::Give(const Cidr& block) {
  assert(whole().Contains(block));
  const auto before = blocks().Floor(block.Last());
  const bool kept = before && !before.free() && sets_->At(before) == block.Canonical();
  assert(!before || kept || sets_->At(before).Last() < block.First());
  Address first = block.First();
  int prefix = block.prefix();
  bool in_tree = kept;  // something that begins at `first`, to be replaced
  for (; prefix > whole().prefix(); --prefix) {
    const Address other = first ^ Address{1} << (Width(block.family()) - prefix);
    const auto at = blocks().Floor(other);
    if (!at || at.address() != other || at.prefix() != prefix || !at.free()) break;
    --sets_->CountOf(prefix);
    if (other > first) {
      blocks().Erase(other);
    } else {
      if (in_tree) blocks().Erase(first);
      in_tree = true;
      first = other;
    }
  }
  ++sets_->CountOf(prefix);
  if (in_tree) {
    blocks().Assign(first, {.prefix = prefix});
  } else {
    blocks().Insert(first, {.prefix = prefix});
  }
}

std::int64_t FreeSpace::Count(int prefix) const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (prefix > Width(whole().family())) return 0;
  Address count = 0;
  for (int size = whole().prefix(); size <= prefix; ++size) {
    const std::size_t blocks = sets_->CountOf(size);
    if (blocks == 0) continue;
    if (prefix - size >= 63) return kMost;
    count += Address{blocks} << (prefix - size);
    if (count >= Address{kMost}) return kMost;
  }
  return static_cast<std::int64_t>(count);
}

std::optional<int> FreeSpace::Largest() const {
  for (int size = whole().prefix(); size <= Width(whole().family()); ++size) {
    if (sets_->CountOf(size) > 0) return size;
  }
  return std::nullopt;
}

Address FreeSpace::Addresses() const {
  const int width = Width(whole().family());
  // The one block of 2^128 addresses: there is no other beside it.
  if (width == 128 && sets_->CountOf(0) > 0) return ~Address{0};
  Address count = 0;
  for (int size = whole().prefix(); size <= width; ++size) {
    if (const std::size_t blocks = sets_->CountOf(size); blocks > 0) {
      count += Address{blocks} << (width - size);
    }
  }
  return count;
}

}  // namespace berth::ipam
