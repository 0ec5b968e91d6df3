#include "reconcile/ipam/allocator.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace berth::ipam {
namespace {

struct Held {
  Owner owner;
  std::uint8_t prefix;
  Use use;
};

using Holds = std::map<Address, Held>;  // by first address
using Key = std::pair<Family, Address>;

Key KeyOf(const Cidr& block) { return {block.family(), block.First()}; }

Hold HoldOf(Family family, const Holds::value_type& entry) {
  const auto& [address, held] = entry;
  return {Cidr(family, address, held.prefix), held.use, held.owner};
}

Address SizeOf(const Cidr& block) { return block.Last() - block.First() + 1; }  // 2^128 is 0

// What both blocks have in common.
std::optional<Cidr> Common(const Cidr& one, const Cidr& other) {
  if (one.Contains(other)) return other.Canonical();
  if (other.Contains(one)) return one.Canonical();
  return std::nullopt;
}

// The exclusions inside the range, none inside another, by address.
std::vector<Cidr> Exclusions(const PoolRules& rules) {
  std::vector<Cidr> inside;
  for (const Cidr& block : rules.excluded) {
    if (const auto common = Common(block, rules.range)) inside.push_back(*common);
  }
  std::ranges::sort(inside, {}, [](const Cidr& block) {
    return std::pair(block.First(), block.prefix());  // the larger first
  });
  std::vector<Cidr> result;
  for (const Cidr& block : inside) {
    if (result.empty() || !result.back().Contains(block)) result.push_back(block);
  }
  return result;
}

using Blocks = std::span<const Cidr>;

// Those of the sorted blocks that overlap this one.
Blocks Touching(const Cidr& block, Blocks sorted) {
  const auto from = std::ranges::lower_bound(sorted, block.First(), {}, &Cidr::Last);
  const auto to = std::ranges::upper_bound(sorted, block.Last(), {}, &Cidr::First);
  return from < to ? Blocks(from, to) : Blocks();
}

// Visits the block without the excluded parts, as blocks.
template <typename Visit>
void ForEachPart(const Cidr& block, Blocks excluded, Visit&& visit) {
  excluded = Touching(block, excluded);
  if (excluded.empty()) return visit(block);
  if (excluded.front().Contains(block)) return;
  const int half = block.prefix() + 1;
  const Address middle = Address{1} << (Width(block.family()) - half);
  ForEachPart(Cidr(block.family(), block.First(), half), excluded, visit);
  ForEachPart(Cidr(block.family(), block.First() | middle, half), excluded, visit);
}

}  // namespace

struct Allocator::State {
  explicit State(PoolRules the_rules) : rules(std::move(the_rules)), free(rules.range) {
    Rebuild();
  }

  // Holds can be of the other family than the range: they were there first.
  Holds& HoldsOf(Family family) { return holds[static_cast<std::size_t>(family)]; }
  const Holds& HoldsOf(Family family) const { return holds[static_cast<std::size_t>(family)]; }
  std::size_t& CountOf(Use use) { return counts[static_cast<std::size_t>(use)]; }
  Address& AddressesOf(Use use) { return addresses[static_cast<std::size_t>(use)]; }

  std::expected<void, Refusal> CheckExactly(const Cidr& block) const;
  Held* Find(const Cidr& block);
  const FreeSpace& Space(bool as_stated) const { return as_stated && stated ? *stated : free; }

  void Insert(const Cidr& block, Use use, Owner owner);
  Hold Remove(Family family, Holds::iterator found);
  void Become(Use use, const Cidr& block);  // of a block that is not free any more
  void Leave(Use use, const Cidr& block);
  void ForgetExpiry(const Cidr& block);
  void Rebuild();

  // Takes or gives back what of the block the pool can use.
  void Occupy(FreeSpace& space, const Cidr& block) const;
  void Vacate(FreeSpace& space, const Cidr& block) const;

  PoolRules rules;
  std::vector<Cidr> excluded;
  FreeSpace free;
  // Free, or held by no subnet. It is there from the first hold of another use on.
  std::optional<FreeSpace> stated;
  std::array<Holds, 2> holds;
  std::array<std::size_t, 3> counts{};
  std::array<Address, 3> addresses{};  // modulo 2^128
  std::map<Key, TimePoint> expiry;
  std::set<std::pair<TimePoint, Key>> by_expiry;
};

void Allocator::State::Occupy(FreeSpace& space, const Cidr& block) const {
  const auto inside = Common(block, rules.range);
  if (!inside) return;
  ForEachPart(*inside, excluded, [&](const Cidr& part) {
    const bool was_free = space.Take(part);
    assert(was_free);
  });
}

void Allocator::State::Vacate(FreeSpace& space, const Cidr& block) const {
  const auto inside = Common(block, rules.range);
  if (inside) ForEachPart(*inside, excluded, [&](const Cidr& part) { space.Give(part); });
}

void Allocator::State::Become(Use use, const Cidr& block) {
  ++CountOf(use);
  AddressesOf(use) += SizeOf(block);
  if (use == Use::kSubnet && stated) Occupy(*stated, block);
}

void Allocator::State::Leave(Use use, const Cidr& block) {
  --CountOf(use);
  AddressesOf(use) -= SizeOf(block);
  if (use == Use::kSubnet && stated) Vacate(*stated, block);
}

void Allocator::State::Insert(const Cidr& block, Use use, Owner owner) {
  if (use != Use::kSubnet && !stated) stated.emplace(free);
  Occupy(free, block);
  Become(use, block);
  const auto prefix = static_cast<std::uint8_t>(block.prefix());
  HoldsOf(block.family()).try_emplace(block.First(), owner, prefix, use);
}

Hold Allocator::State::Remove(Family family, Holds::iterator found) {
  const Hold hold = HoldOf(family, *found);
  HoldsOf(family).erase(found);
  if (hold.use == Use::kReserved) ForgetExpiry(hold.block);
  Leave(hold.use, hold.block);
  Vacate(free, hold.block);
  return hold;
}

Held* Allocator::State::Find(const Cidr& block) {
  Holds& all = HoldsOf(block.family());
  const auto found = all.find(block.First());
  return found != all.end() && found->second.prefix == block.prefix() ? &found->second : nullptr;
}

void Allocator::State::ForgetExpiry(const Cidr& block) {
  const auto found = expiry.find(KeyOf(block));
  if (found == expiry.end()) return;
  by_expiry.erase({found->second, found->first});
  expiry.erase(found);
}

void Allocator::State::Rebuild() {
  excluded = Exclusions(rules);
  FreeSpace usable(rules.range);
  for (const Cidr& block : excluded) {
    const bool was_free = usable.Take(block);
    assert(was_free);
  }
  stated.reset();
  if (CountOf(Use::kReserved) + CountOf(Use::kChild) > 0) stated.emplace(usable);
  free = std::move(usable);
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    for (const auto& entry : HoldsOf(family)) {
      const Hold hold = HoldOf(family, entry);
      Occupy(free, hold.block);
      if (hold.use == Use::kSubnet && stated) Occupy(*stated, hold.block);
    }
  }
}

std::expected<void, Refusal> Allocator::State::CheckExactly(const Cidr& block) const {
  if (block.prefix() < rules.min_block || block.prefix() > rules.max_block) {
    return std::unexpected(Refusal::kSize);
  }
  if (!rules.range.Contains(block)) return std::unexpected(Refusal::kOutside);
  if (!Touching(block, excluded).empty()) return std::unexpected(Refusal::kExcluded);
  return {};
}

Allocator::Allocator(PoolRules rules) : state_(std::make_unique<State>(std::move(rules))) {}
Allocator::Allocator(Allocator&&) noexcept = default;
Allocator& Allocator::operator=(Allocator&&) noexcept = default;
Allocator::~Allocator() = default;

const PoolRules& Allocator::rules() const { return state_->rules; }

void Allocator::SetRules(PoolRules rules) {
  std::swap(state_->rules, rules);
  const bool same = rules.range == state_->rules.range && rules.excluded == state_->rules.excluded;
  if (!same) state_->Rebuild();
}

std::expected<Cidr, Refusal> Allocator::Allocate(int prefix, Use use, Owner owner) {
  const PoolRules& rules = state_->rules;
  if (prefix < std::max(rules.min_block, rules.range.prefix()) ||
      prefix > std::min(rules.max_block, Width(rules.range.family()))) {
    return std::unexpected(Refusal::kSize);
  }
  const auto block = state_->free.Find(prefix, rules.strategy);
  if (!block) return std::unexpected(Refusal::kExhausted);
  state_->Insert(*block, use, owner);
  return *block;
}

std::expected<void, Refusal> Allocator::AllocateExactly(const Cidr& block, Use use, Owner owner) {
  if (const auto fit = state_->CheckExactly(block); !fit) return fit;
  return Record(block, use, owner);
}

std::expected<void, Refusal> Allocator::Record(const Cidr& block, Use use, Owner owner) {
  if (Overlapping(block)) return std::unexpected(Refusal::kHeld);
  state_->Insert(block, use, owner);
  return {};
}

bool Allocator::Change(const Cidr& block, Use use, Owner owner) {
  const auto found = state_->Find(block);
  if (!found) return false;
  if (found->use == Use::kReserved) state_->ForgetExpiry(block);
  if (found->use != use) {
    if (!state_->stated) state_->stated.emplace(state_->free);
    state_->Leave(found->use, block);
    state_->Become(use, block);
  }
  found->use = use;
  found->owner = owner;
  return true;
}

bool Allocator::Release(const Cidr& block) {
  Holds& holds = state_->HoldsOf(block.family());
  const auto found = holds.find(block.First());
  if (found == holds.end() || found->second.prefix != block.prefix()) return false;
  state_->Remove(block.family(), found);
  return true;
}

void Allocator::ExpireAt(const Cidr& block, TimePoint when) {
  const Held* held = state_->Find(block);
  assert(held && held->use == Use::kReserved);
  state_->ForgetExpiry(block);
  state_->expiry.emplace(KeyOf(block), when);
  state_->by_expiry.emplace(when, KeyOf(block));
}

void Allocator::Expire(TimePoint now, const std::function<void(const Hold&)>& released) {
  // From the start each time: `released` may use the allocator.
  while (!state_->by_expiry.empty() && state_->by_expiry.begin()->first <= now) {
    const auto [family, address] = state_->by_expiry.begin()->second;
    const auto found = state_->HoldsOf(family).find(address);
    assert(found != state_->HoldsOf(family).end());
    released(state_->Remove(family, found));
  }
}

std::optional<TimePoint> Allocator::NextExpiry() const {
  if (state_->by_expiry.empty()) return std::nullopt;
  return state_->by_expiry.begin()->first;
}

std::optional<Hold> Allocator::At(const Cidr& block) const {
  const Held* held = state_->Find(block);
  if (!held) return std::nullopt;
  return Hold{block.Canonical(), held->use, held->owner};
}

std::optional<Hold> Allocator::Overlapping(const Cidr& block) const {
  const Holds& holds = state_->HoldsOf(block.family());
  const auto after = holds.upper_bound(block.First());
  if (after != holds.begin()) {
    const Hold before = HoldOf(block.family(), *std::prev(after));
    if (before.block.Last() >= block.First()) return before;
  }
  if (after == holds.end() || after->first > block.Last()) return std::nullopt;
  return HoldOf(block.family(), *after);
}

void Allocator::ForEach(Address from, const std::function<bool(const Hold&)>& visit) const {
  const Holds& v4 = state_->HoldsOf(Family::kIpv4);
  const Holds& v6 = state_->HoldsOf(Family::kIpv6);
  auto next4 = v4.lower_bound(from);
  auto next6 = v6.lower_bound(from);
  while (next4 != v4.end() || next6 != v6.end()) {
    const bool is4 = next6 == v6.end() || (next4 != v4.end() && next4->first <= next6->first);
    if (!visit(is4 ? HoldOf(Family::kIpv4, *next4++) : HoldOf(Family::kIpv6, *next6++))) return;
  }
}

std::size_t Allocator::Count(Use use) const { return state_->CountOf(use); }

std::int64_t Allocator::Free(int prefix, bool stated) const {
  return state_->Space(stated).Count(prefix);
}

Address Allocator::FreeAddresses(bool stated) const { return state_->Space(stated).Addresses(); }

Address Allocator::HeldAddresses(Use use) const {
  const Address addresses = state_->AddressesOf(use);
  return addresses == 0 && Count(use) > 0 ? ~Address{0} : addresses;
}

std::optional<int> Allocator::LargestFree() const { return state_->free.Largest(); }

}  // namespace berth::ipam
