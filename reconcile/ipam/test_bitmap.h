#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reconcile/ipam/cidr.h"
#include "reconcile/ipam/free_space.h"

namespace berth::ipam {

// Free space in the plainest way there is, for tests to compare with: a flag for each of the 256
// addresses of a world.
class TestBitmap {
 public:
  static constexpr int kBits = 8;

  explicit TestBitmap(const Cidr& world) : world_(world), free_(std::size_t{1} << kBits) {}

  // A block of the world: the `number`-th of its size, counted round and round.
  static Cidr BlockOf(const Cidr& world, int prefix, unsigned number) {
    const int bits = Width(world.family()) - prefix;
    const Address offset = Address{number % (1U << (kBits - bits))} << bits;
    return Cidr(world.family(), world.First() | offset, prefix);
  }

  void Set(const Cidr& block, bool free) {
    for (Address at = block.First(); at <= block.Last(); ++at) Flag(at) = free;
  }
  bool AllFree(const Cidr& block) const {
    if (!world_.Contains(block)) return false;
    for (Address at = block.First(); at <= block.Last(); ++at) {
      if (!Flag(at)) return false;
    }
    return true;
  }

  std::int64_t Count(int prefix) const {
    return static_cast<std::int64_t>(FreeBlocks(prefix).size());
  }
  Address Addresses() const { return FreeBlocks(Width(world_.family())).size(); }
  std::optional<int> Largest() const {
    for (int prefix = 0; prefix <= Width(world_.family()); ++prefix) {
      if (Count(prefix) > 0) return prefix;
    }
    return std::nullopt;
  }
  std::optional<Cidr> Find(int prefix, Strategy strategy) const {
    const int largest_first = strategy == Strategy::kLinear ? prefix : 0;
    for (int size = prefix; size >= largest_first; --size) {
      for (const Cidr& block : FreeBlocks(size)) {
        const bool whole = size == 0 || !AllFree(Cidr(block.family(), block.First(), size - 1));
        if (strategy == Strategy::kLinear || whole) {
          return Cidr(block.family(), block.First(), prefix);
        }
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<bool>::reference Flag(Address at) {
    return free_.at(static_cast<std::size_t>(at - world_.First()));
  }
  bool Flag(Address at) const { return free_.at(static_cast<std::size_t>(at - world_.First())); }

  // By address; as many of the size as there are, overlap or not with larger free blocks.
  std::vector<Cidr> FreeBlocks(int prefix) const {
    std::vector<Cidr> result;
    if (prefix < world_.prefix() || prefix > Width(world_.family())) return result;
    for (unsigned i = 0; i < 1U << (prefix - world_.prefix()); ++i) {
      const Cidr block = BlockOf(world_, prefix, i);
      if (AllFree(block)) result.push_back(block);
    }
    return result;
  }

  Cidr world_;
  std::vector<bool> free_;
};

}  // namespace berth::ipam
