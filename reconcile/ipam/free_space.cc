#include "reconcile/ipam/free_space.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <set>
#include <vector>

namespace berth::ipam {

// The same blocks twice: by address, where what overlaps a block or merges with it is next to it,
// and by size, where the choice is made.
struct FreeSpace::Sets {
  explicit Sets(const Cidr& range)
      : whole(range.Canonical()), by_size(static_cast<std::size_t>(Width(range.family())) + 1) {}

  std::set<Address>& OfSize(int prefix) { return by_size[static_cast<std::size_t>(prefix)]; }
  const std::set<Address>& OfSize(int prefix) const {
    return by_size[static_cast<std::size_t>(prefix)];
  }
  Cidr Block(Address address, int prefix) const { return Cidr(whole.family(), address, prefix); }

  // The free block that all of this one is in, or the end.
  std::map<Address, int>::const_iterator Around(const Cidr& block) const {
    auto found = by_address.upper_bound(block.First());
    if (found == by_address.begin()) return by_address.end();
    --found;
    return Block(found->first, found->second).Contains(block) ? found : by_address.end();
  }

  Cidr whole;
  std::map<Address, int> by_address;       // first address, prefix length
  std::vector<std::set<Address>> by_size;  // first addresses, by prefix length
};

FreeSpace::FreeSpace(const Cidr& whole) : sets_(std::make_unique<Sets>(whole)) {
  Give(sets_->whole);
}

FreeSpace::FreeSpace(const FreeSpace& other) : sets_(std::make_unique<Sets>(*other.sets_)) {}
FreeSpace::FreeSpace(FreeSpace&&) noexcept = default;
FreeSpace& FreeSpace::operator=(FreeSpace&&) noexcept = default;
FreeSpace::~FreeSpace() = default;

const Cidr& FreeSpace::whole() const { return sets_->whole; }

std::optional<Cidr> FreeSpace::Find(int prefix, Strategy strategy) const {
  if (prefix > Width(whole().family())) return std::nullopt;
  std::optional<Address> lowest;
  for (int size = prefix; size >= whole().prefix(); --size) {
    const auto& blocks = sets_->OfSize(size);
    if (blocks.empty()) continue;
    if (!lowest || *blocks.begin() < *lowest) lowest = *blocks.begin();
    if (strategy == Strategy::kBuddy) break;
  }
  if (!lowest) return std::nullopt;
  return sets_->Block(*lowest, prefix);
}

bool FreeSpace::IsFree(const Cidr& block) const {
  return sets_->Around(block) != sets_->by_address.end();
}

bool FreeSpace::Take(const Cidr& block) {
  const auto around = sets_->Around(block);
  if (around == sets_->by_address.end()) return false;
  const int size = around->second;
  sets_->OfSize(size).erase(around->first);
  auto after = sets_->by_address.erase(around);
  // The halves that the block is not in are free by themselves.
  for (int half = size + 1; half <= block.prefix(); ++half) {
    const Address bit = Address{1} << (Width(block.family()) - half);
    const Address other = sets_->Block(block.First(), half).First() ^ bit;
    sets_->OfSize(half).insert(other);
    after = sets_->by_address.emplace_hint(after, other, half);
    if (other < block.First()) ++after;
  }
  return true;
}

void FreeSpace::Give(const Cidr& block) {
  assert(whole().Contains(block));
  auto& blocks = sets_->by_address;
  auto after = blocks.upper_bound(block.Last());
  if (after != blocks.begin()) {
    const auto [address, size] = *std::prev(after);
    assert(sets_->Block(address, size).Last() < block.First());
  }
  Address first = block.First();
  int prefix = block.prefix();
  // A free neighbour that is the other half of the next larger block is next by address too.
  for (; prefix > whole().prefix(); --prefix) {
    const Address other = first ^ Address{1} << (Width(block.family()) - prefix);
    auto neighbour = after;
    if (other < first) {
      if (after == blocks.begin()) break;
      --neighbour;
    }
    if (neighbour == blocks.end() || neighbour->first != other || neighbour->second != prefix) {
      break;
    }
    after = blocks.erase(neighbour);
    sets_->OfSize(prefix).erase(other);
    first = std::min(first, other);
  }
  blocks.emplace_hint(after, first, prefix);
  sets_->OfSize(prefix).insert(first);
}

std::int64_t FreeSpace::Count(int prefix) const {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (prefix > Width(whole().family())) return 0;
  Address count = 0;
  for (int size = whole().prefix(); size <= prefix; ++size) {
    const auto& blocks = sets_->OfSize(size);
    if (blocks.empty()) continue;
    if (prefix - size >= 63) return kMost;
    count += Address{blocks.size()} << (prefix - size);
    if (count >= Address{kMost}) return kMost;
  }
  return static_cast<std::int64_t>(count);
}

std::optional<int> FreeSpace::Largest() const {
  for (int size = whole().prefix(); size <= Width(whole().family()); ++size) {
    if (!sets_->OfSize(size).empty()) return size;
  }
  return std::nullopt;
}

Address FreeSpace::Addresses() const {
  const int width = Width(whole().family());
  // The one block of 2^128 addresses: there is no other beside it.
  if (width == 128 && !sets_->OfSize(0).empty()) return ~Address{0};
  Address count = 0;
  for (int size = whole().prefix(); size <= width; ++size) {
    if (const auto& blocks = sets_->OfSize(size); !blocks.empty()) {
      count += Address{blocks.size()} << (width - size);
    }
  }
  return count;
}

}  // namespace berth::ipam
