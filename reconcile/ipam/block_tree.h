#pragma once

#include <cstdint>
#include <memory>

#include "reconcile/ipam/cidr.h"

namespace berth::ipam {

// A block as a tree has it, at its first address.
struct Block {
  int prefix = 0;
  std::uint8_t mark = 0;    // 0 is free; the others say how it is held
  std::uint64_t owner = 0;  // when it is held
};

// Blocks of one family that do not overlap, by address: free and held ones in one B+ tree. At a
// million blocks the time goes into cache misses; a binary tree has one at each of its twenty
// steps, and what is next to a block, which decides whether it is free and what it merges with, is
// here next to it in memory, in as few bytes as the family needs. Nodes know which sizes are free
// below their children, so that a free block is found on the way down, without an index for each
// size. n is the number of blocks.
class BlockTree {
 public:
  // A set of prefix lengths, as bits. 0 and 1 share theirs: a block of length 0 is the only one.
  using Sizes = Address;
  static Sizes SizeBit(int prefix) { return Sizes{1} << (prefix > 0 ? prefix - 1 : 0); }

  // A block, or none. Good until the tree changes.
  class Cursor {
   public:
    Cursor() = default;
    explicit operator bool() const { return leaf_; }
    Address address() const;
    int prefix() const;
    std::uint8_t mark() const;
    bool free() const { return mark() == 0; }
    std::uint64_t owner() const;
    Cursor Next() const;

   private:
    friend BlockTree;
    template <typename Visit>
    auto InLeaf(Visit&& visit) const;

    const void* leaf_ = nullptr;
    std::uint32_t at_ = 0;
    bool narrow_ = false;
  };

  explicit BlockTree(Family family);
  BlockTree(BlockTree&&) noexcept;
  BlockTree& operator=(BlockTree&&) noexcept;
  ~BlockTree();

  // The last block that begins at the address or before it. O(log n).
  Cursor Floor(Address address) const;
  // The first block that begins at the address or after it. O(log n).
  Cursor Ceiling(Address address) const;
  // The first free block of one of these sizes. O(log n).
  Cursor FirstFree(Sizes sizes) const;

  // None may begin at the address yet. O(log n).
  void Insert(Address address, const Block& block);
  // One must begin at the address. O(log n).
  void Assign(Address address, const Block& block);
  void Erase(Address address);

 private:
  template <typename Key>
  struct Tree;
  template <typename Visit>
  auto In(Visit&& visit) const;

  // One of them.
  std::unique_ptr<Tree<std::uint32_t>> narrow_;
  std::unique_ptr<Tree<Address>> wide_;
};

}  // namespace berth::ipam
