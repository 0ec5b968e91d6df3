#pragma once

#include <array>
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
// here next to it in memory. Nodes know which sizes are free below their children, so that a free
// block is found on the way down, without an index for each size. n is the number of blocks.
class BlockTree {
  struct Leaf;

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
    Cursor(const Leaf* leaf, std::size_t at) : leaf_(leaf), at_(at) {}

    const Leaf* leaf_ = nullptr;
    std::size_t at_ = 0;
  };

  BlockTree();
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
  static constexpr std::size_t kCapacity = 26;
  static constexpr std::size_t kMost = 24;  // a node with as many is split
  static constexpr std::size_t kFew = 3;    // a node with fewer, unless it is the root, is merged
  static_assert((kFew - 1) + (kMost - 1) <= kCapacity);
  static constexpr std::size_t kHighest = 40;  // kFew^40 is more than 2^63

  struct Node;
  struct Inner;
  struct Memory;
  struct Path;

  Leaf& Descend(Address address, Path* path = nullptr) const;
  static void Announce(Path& path, Sizes now);
  static Sizes FreeBelow(const Node& node);
  static Address FirstKey(const Node& node);
  Node* Split(Node& node);
  bool Merge(Inner& parent, std::size_t child);

  std::unique_ptr<Memory> memory_;
  Node* root_;
};

}  // namespace berth::ipam
