#include "reconcile/ipam/allocator.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "reconcile/ipam/block_tree.h"

namespace berth::ipam {
namespace {

using Key = std::pair<Family, Address>;

Key KeyOf(const Cidr& block) { return {block.family(), block.First()}; }

// A hold as the tree has it: its mark is the use, and 1 more because 0 is free.
Block Kept(int prefix, Use use, Owner owner) {
  return {prefix, static_cast<std::uint8_t>(std::to_underlying(use) + 1), owner};
}

Hold HoldOf(Family family, const BlockTree::Cursor& at) {
  return {Cidr(family, at.address(), at.prefix()), static_cast<Use>(at.mark() - 1), at.owner()};
}

// The cursor itself, or that of the first hold after it.
BlockTree::Cursor SkipFree(BlockTree::Cursor at) {
  while (at && at.free()) at = at.Next();
  return at;
}

Address SizeOf(const Cidr& block) { return block.Last() - block.First() + 1; }  // 2^128 is 0

// The addresses that both blocks have.
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

void Take(FreeSpace& space, const Cidr& block) {
  const bool was_free = space.Take(block);
  assert(was_free);
}

using Blocks = std::span<const Cidr>;

// The sorted blocks that overlap this one.
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
  explicit State(PoolRules the_rules)
      : rules(std::move(the_rules)),
        excluded(Exclusions(rules)),
        free(rules.range),
        foreign(rules.range.family() == Family::kIpv4 ? Family::kIpv6 : Family::kIpv4) {
    for (const Cidr& block : excluded) Take(free, block);
  }

  // The tree that has the holds of this family.
  BlockTree& Blocks(Family family) {
    return family == rules.range.family() ? free.blocks() : foreign;
  }
  std::size_t& CountOf(Use use) { return counts[static_cast<std::size_t>(use)]; }
  Address& AddressesOf(Use use) { return addresses[static_cast<std::size_t>(use)]; }

  std::expected<void, Refusal> CheckExactly(const Cidr& block) const;
  std::optional<Hold> Find(const Cidr& block);
  const FreeSpace& Space(bool as_stated) const { return as_stated && stated ? *stated : free; }

  void Insert(const Cidr& block, Use use, Owner owner);
  void Remove(const Hold& hold);
  void Become(Use use, const Cidr& block);  // of a block that is not free any more
  void Leave(Use use, const Cidr& block);
  void ForgetExpiry(const Cidr& block);
  void ForEach(Address from, const std::function<bool(const Hold&)>& visit);

  bool AllUsable(const Cidr& block) const {
    return rules.range.Contains(block) && Touching(block, excluded).empty();
  }
  // Takes or gives back what of the block the pool can use.
  void Occupy(FreeSpace& space, const Cidr& block) const;
  void Vacate(FreeSpace& space, const Cidr& block) const;

  PoolRules rules;
  std::vector<Cidr> excluded;
  FreeSpace free;     // and the holds of its family
  BlockTree foreign;  // holds of the other family, which are there because they were
  // Free, or held by no subnet. It is there from the first hold of another use on.
  std::optional<FreeSpace> stated;
  std::array<std::size_t, 4> counts{};  // by use
  std::array<Address, 4> addresses{};   // modulo 2^128
  std::map<Key, TimePoint> expiry;
  std::set<std::pair<TimePoint, Key>> by_expiry;
};

void Allocator::State::Occupy(FreeSpace& space, const Cidr& block) const {
  const auto inside = Common(block, rules.range);
  if (!inside) return;
  ForEachPart(*inside, excluded, [&](const Cidr& part) { Take(space, part); });
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
  const Block kept = Kept(block.prefix(), use, owner);
  if (AllUsable(block)) {
    const bool was_free = free.Take(block, kept);
    assert(was_free);
  } else {
    Occupy(free, block);
    Blocks(block.family()).Insert(block.First(), kept);
  }
  Become(use, block);
}

void Allocator::State::Remove(const Hold& hold) {
  if (hold.use == Use::kReserved) ForgetExpiry(hold.block);
  Leave(hold.use, hold.block);
  if (!AllUsable(hold.block)) Blocks(hold.block.family()).Erase(hold.block.First());
  Vacate(free, hold.block);
}

std::optional<Hold> Allocator::State::Find(const Cidr& block) {
  const auto found = Blocks(block.family()).Floor(block.First());
  if (!found || found.free() || found.address() != block.First() ||
      found.prefix() != block.prefix()) {
    return std::nullopt;
  }
  return HoldOf(block.family(), found);
}

void Allocator::State::ForgetExpiry(const Cidr& block) {
  const auto found = expiry.find(KeyOf(block));
  if (found == expiry.end()) return;
  by_expiry.erase({found->second, found->first});
  expiry.erase(found);
}

void Allocator::State::ForEach(Address from, const std::function<bool(const Hold&)>& visit) {
  auto v4 = SkipFree(Blocks(Family::kIpv4).Ceiling(from));
  auto v6 = SkipFree(Blocks(Family::kIpv6).Ceiling(from));
  while (v4 || v6) {
    const bool is_v4 = !v6 || (v4 && v4.address() <= v6.address());
    auto& next = is_v4 ? v4 : v6;
    if (!visit(HoldOf(is_v4 ? Family::kIpv4 : Family::kIpv6, next))) return;
    next = SkipFree(next.Next());
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
  if (rules.range == state_->rules.range && rules.excluded == state_->rules.excluded) {
    state_->rules = std::move(rules);
    return;
  }
  auto changed = std::make_unique<State>(std::move(rules));
  state_->ForEach(0, [&](const Hold& hold) {
    changed->Insert(hold.block, hold.use, hold.owner);
    return true;
  });
  changed->expiry = std::move(state_->expiry);
  changed->by_expiry = std::move(state_->by_expiry);
  state_ = std::move(changed);
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

bool Allocator::HoldRest(const Cidr& block, Use use, Owner owner) {
  const auto inside = Common(block, state_->rules.range);
  if (!inside) return false;
  const auto hold = Overlapping(*inside);
  if (!hold) {
    state_->Insert(*inside, use, owner);
    return true;
  }
  if (hold->block.Contains(*inside)) return false;
  const int half = inside->prefix() + 1;
  const Address middle = Address{1} << (Width(inside->family()) - half);
  const bool low = HoldRest(Cidr(inside->family(), inside->First(), half), use, owner);
  const bool high = HoldRest(Cidr(inside->family(), inside->First() | middle, half), use, owner);
  return low || high;
}

bool Allocator::Change(const Cidr& block, Use use, Owner owner) {
  const auto hold = state_->Find(block);
  if (!hold) return false;
  if (hold->use == Use::kReserved) state_->ForgetExpiry(block);
  if (hold->use != use) {
    if (!state_->stated) state_->stated.emplace(state_->free);
    state_->Leave(hold->use, block);
    state_->Become(use, block);
  }
  state_->Blocks(block.family()).Assign(block.First(), Kept(block.prefix(), use, owner));
  return true;
}

bool Allocator::Release(const Cidr& block) {
  const auto hold = state_->Find(block);
  if (hold) state_->Remove(*hold);
  return hold.has_value();
}

void Allocator::ExpireAt(const Cidr& block, TimePoint when) {
  const auto hold = state_->Find(block);
  assert(hold && hold->use == Use::kReserved);
  state_->ForgetExpiry(block);
  state_->expiry.emplace(KeyOf(block), when);
  state_->by_expiry.emplace(when, KeyOf(block));
}

void Allocator::Expire(TimePoint now, const std::function<void(const Hold&)>& released) {
  // From the start each time: `released` may use the allocator.
  while (!state_->by_expiry.empty() && state_->by_expiry.begin()->first <= now) {
    const auto [family, address] = state_->by_expiry.begin()->second;
    const Hold hold = HoldOf(family, state_->Blocks(family).Floor(address));
    state_->Remove(hold);
    released(hold);
  }
}

std::optional<TimePoint> Allocator::NextExpiry() const {
  if (state_->by_expiry.empty()) return std::nullopt;
  return state_->by_expiry.begin()->first;
}

std::optional<Hold> Allocator::At(const Cidr& block) const { return state_->Find(block); }

std::optional<Hold> Allocator::Overlapping(const Cidr& block) const {
  BlockTree& blocks = state_->Blocks(block.family());
  auto at = blocks.Floor(block.First());
  if (!at) at = blocks.Ceiling(block.First());
  if (at && Cidr(block.family(), at.address(), at.prefix()).Last() < block.First()) at = at.Next();
  while (at && at.free() && at.address() <= block.Last()) at = at.Next();
  if (!at || at.address() > block.Last()) return std::nullopt;
  return HoldOf(block.family(), at);
}

void Allocator::ForEachOverlapping(const Cidr& block,
                                   const std::function<bool(const Hold&)>& visit) const {
  const auto first = Overlapping(block);
  if (!first) return;
  auto at = state_->Blocks(block.family()).Floor(first->block.First());
  for (; at && at.address() <= block.Last(); at = SkipFree(at.Next())) {
    if (!visit(HoldOf(block.family(), at))) return;
  }
}

void Allocator::ForEach(Address from, const std::function<bool(const Hold&)>& visit) const {
  state_->ForEach(from, visit);
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
