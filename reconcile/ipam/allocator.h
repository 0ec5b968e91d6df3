#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "reconcile/ipam/cidr.h"
#include "reconcile/ipam/free_space.h"

namespace berth::ipam {

using async::TimePoint;

// The rules of a pool's space, from its spec.
struct PoolRules {
  Cidr range;
  Strategy strategy = Strategy::kLinear;
  int default_block = 24;  // prefix lengths; min is the largest block, max the smallest
  int min_block = 0;
  int max_block = 32;
  std::vector<Cidr> excluded;  // canonical; may overlap each other and lie outside the range

  friend bool operator==(const PoolRules&, const PoolRules&) = default;
};

// The holder of a block: a number that means something to the caller. 0 is nobody.
using Owner = std::uint64_t;

// Why a block is not free. A reservation has an end; the others stay until released.
enum class Use : std::uint8_t {
  kSubnet,
  kReserved,
  kChild,    // the range of a child pool
  kForeign,  // a block that another pool has given out, and that this one must not give out
};

struct Hold {
  Cidr block;
  Use use = Use::kSubnet;
  Owner owner = 0;
};

enum class Refusal : std::uint8_t {
  kExhausted,  // no free block of this size
  kSize,       // smaller or larger than the pool gives out
  kOutside,    // not inside the pool's range
  kExcluded,   // some of it is excluded
  kHeld,       // some of it is held: see Overlapping
};

// The address space of one pool: which block is held by whom, and what is free. Overlap is decided
// here, on intervals. Plain and synchronous: no clock, no lock, no I/O. Host bits of a block make
// no difference. n is the number of holds and free blocks, W the width of an address.
class Allocator {
 public:
  explicit Allocator(PoolRules rules);
  Allocator(Allocator&&) noexcept;
  Allocator& operator=(Allocator&&) noexcept;
  ~Allocator();

  const PoolRules& rules() const;
  // All holds stay, those that are outside the new range or excluded now too. O(n W log n) when the
  // range or the exclusions changed, O(1) otherwise.
  void SetRules(PoolRules rules);

  // A block of this size, chosen by the strategy, within the pool's bounds of size and outside the
  // exclusions. O(W log n). The first hold ever that is no subnet costs O(n) here and below, once:
  // from then on what is stated is kept apart from what is free.
  std::expected<Cidr, Refusal> Allocate(int prefix, Use use, Owner owner);
  // This very block, under the same conditions; of several refusals the first in their order above.
  // O(W log n).
  std::expected<void, Refusal> AllocateExactly(const Cidr& block, Use use, Owner owner);
  // Records a fact: the block is held, whatever the rules say of sizes, range and exclusions. Only
  // another hold can be in the way (kHeld). It may be of the other family. O(W log n).
  std::expected<void, Refusal> Record(const Cidr& block, Use use, Owner owner);
  // Holds each part of the block that is inside the range and held by nobody, excluded or not. True
  // when there was one. O(k W log n) for k holds inside the block.
  bool HoldRest(const Cidr& block, Use use, Owner owner);
  // Turns the hold of exactly this block into another, without an end. False when there is none.
  // O(W log n).
  bool Change(const Cidr& block, Use use, Owner owner);
  // False when there is no hold of exactly this block. O(W log n).
  bool Release(const Cidr& block);

  // Reservations end by themselves. The block's hold must be a reservation; a later call replaces
  // the time. O(log n).
  void ExpireAt(const Cidr& block, TimePoint when);
  // Releases the reservations whose time has come, and tells of each; who is told may use the
  // allocator. O(k W log n) for k of them.
  void Expire(TimePoint now, const std::function<void(const Hold&)>& released);
  std::optional<TimePoint> NextExpiry() const;

  // The hold of exactly this block. O(log n).
  std::optional<Hold> At(const Cidr& block) const;
  // The first hold, by address, that shares an address with the block. O(log n).
  std::optional<Hold> Overlapping(const Cidr& block) const;
  // All of them, by address, until `visit` returns false. O(log n + visited).
  void ForEachOverlapping(const Cidr& block, const std::function<bool(const Hold&)>& visit) const;
  // Holds in the order of addresses from `from` on, until `visit` returns false. O(log n +
  // visited).
  void ForEach(Address from, const std::function<bool(const Hold&)>& visit) const;

  // Figures. `stated` is what the pool's status shows: reservations, child pools that no subnet
  // stands for and other pools' blocks count as free.
  std::size_t Count(Use use) const;
  std::int64_t Free(int prefix, bool stated = false) const;  // blocks; at most 2^63-1; O(W)
  Address FreeAddresses(bool stated = false) const;          // O(W)
  Address HeldAddresses(Use use) const;                      // inside the range or not; O(1)
  std::optional<int> LargestFree() const;                    // prefix length; O(W)

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::ipam
