#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "reconcile/ipam/cidr.h"

namespace berth::ipam {

class BlockTree;
struct Block;

// How a free block is chosen. kLinear: at the lowest address. kBuddy: cut from the smallest free
// block that fits, the lowest of these, which keeps large blocks whole.
enum class Strategy : std::uint8_t { kLinear, kBuddy };

// The free part of a range, as the largest aligned blocks it consists of: two free halves are
// always one block. So how many blocks of a size are free is told by the sizes of the blocks alone.
// W is the width of an address, n the number of free blocks.
class FreeSpace {
 public:
  // All of it is free.
  explicit FreeSpace(const Cidr& whole);
  // A copy of what is free, without what else is among the blocks. O(n log n).
  FreeSpace(const FreeSpace&);
  FreeSpace(FreeSpace&&) noexcept;
  FreeSpace& operator=(FreeSpace&&) noexcept;
  ~FreeSpace();

  const Cidr& whole() const;

  // A free block of this size; none when there is none. Nothing is taken. O(W).
  std::optional<Cidr> Find(int prefix, Strategy strategy) const;
  // Takes the block out of the free space. False, and nothing changed, unless all of it is free.
  // O(W log n).
  bool Take(const Cidr& block);
  // Gives back a block inside the range, no part of which may be free (checked). If it was kept, it
  // is no longer. O(W log n).
  void Give(const Cidr& block);

  // How many blocks of this size could be taken one after the other; at most 2^63-1. O(W).
  std::int64_t Count(int prefix) const;
  // The prefix length of the largest free block; none when all is taken. O(W).
  std::optional<int> Largest() const;
  // Free addresses, 2^128 of them shown as 2^128-1. O(W).
  Address Addresses() const;

  // A taken block can be kept beside the free ones: one search then finds both. Take, where the
  // block stays among blocks() as this.
  bool Take(const Cidr& block, const Block& kept);
  // The free blocks and those that are kept. Who changes it keeps what is free as it is.
  BlockTree& blocks();
  const BlockTree& blocks() const;

 private:
  struct Sets;
  std::unique_ptr<Sets> sets_;
};

}  // namespace berth::ipam
