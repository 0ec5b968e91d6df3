// Blocks of one pool that others hold, because they would give them out.
#include <algorithm>
#include <tuple>

#include "reconcile/ipam/space.h"
#include "reconcile/ipam/turn.h"

namespace berth::ipam {
namespace {

// By name, not by uid: the blocks of a pool that is made anew are the same.
Owner ForeignOwner(const Space::PoolState& state) { return Fingerprint(state.key); }

std::vector<Hold> HoldsOf(const Space::PoolState& state) {
  std::vector<Hold> holds;
  state.space->ForEach(0, [&](const Hold& hold) {
    holds.push_back(hold);
    return true;
  });
  return holds;
}

}  // namespace

std::vector<Space::Stray> Space::Strays(std::string_view ns, const Cidr& block) const {
  std::vector<Stray> strays;
  const auto around = neighbourhoods_.find(ns);
  if (around == neighbourhoods_.end()) return strays;
  for (const auto& entry : around->second.abroad.Overlapping(block)) {
    strays.push_back({entry.block, entry.value});
  }
  return strays;
}

// A block within a range that is held in the parent is safe there. A child's block outside the
// range is the child's to look after.
bool Space::IsAbroad(const PoolState& state, const Hold& hold) const {
  if (hold.use == Use::kForeign) return false;
  const bool inside = state.rules && state.rules->range.Contains(hold.block);
  return inside ? !state.placed : hold.use != Use::kChild;
}

// Pools beside the owner that overlap its range do not give out anything beside its blocks, so only
// those above it have to hold what is inside the range.
bool Space::MustHold(const PoolState& state, const PoolState& owner, const Cidr& block) const {
  if (&state == &owner) return false;
  const bool inside = owner.rules && owner.rules->range.Contains(block);
  return !inside || IsAncestor(state.key, owner.key);
}

// Holds in another pool what of a block is free there, or only reserved. True when something was.
bool Space::HoldFor(const PoolState& state, PoolState& other, const Cidr& block) {
  std::vector<Hold> reserved;
  other.space->ForEachOverlapping(block, [&](const Hold& hold) {
    if (Yields(hold)) reserved.push_back(hold);
    return true;
  });
  for (const Hold& hold : reserved) {
    Forget(pending_.find(hold.owner));
    other.space->Release(hold.block);
    WithdrawAll(other, hold.block);
  }
  return other.space->HoldRest(block, Use::kForeign, ForeignOwner(state));
}

// Has a block held where it must be, and nowhere else.
void Space::HoldAbroad(PoolState& state, const Hold& hold) {
  if (!IsAbroad(state, hold)) return WithdrawAll(state, hold.block);
  Neighbourhood& around = Around(state);
  if (around.abroad.Insert(hold.block, state.key, &state)) ++state.abroad;
  for (const auto& entry : around.ranges.Overlapping(hold.block)) {
    PoolState& other = *entry.value;
    if (!MustHold(other, state, hold.block)) {
      Withdraw(state, other, hold.block);
    } else if (HoldFor(state, other, hold.block)) {
      Changed(other.key, other);
    }
  }
}

void Space::HoldAllAbroad(PoolState& state) {
  for (const Hold& hold : HoldsOf(state)) HoldAbroad(state, hold);
}

void Space::Withdraw(PoolState& state, PoolState& from, const Cidr& block) {
  if (&state == &from) return;
  std::vector<Cidr> parts;
  from.space->ForEachOverlapping(block, [&](const Hold& hold) {
    if (hold.use == Use::kForeign && hold.owner == ForeignOwner(state)) parts.push_back(hold.block);
    return true;
  });
  for (const Cidr& part : parts) {
    if (from.space->Release(part)) Freed(from.key, from, part);
  }
}

void Space::WithdrawAll(PoolState& state, const Cidr& block) {
  if (state.abroad == 0) return;
  Neighbourhood& around = Around(state);
  if (!around.abroad.Erase(block, state.key)) return;
  --state.abroad;
  for (const auto& entry : around.ranges.Overlapping(block)) Withdraw(state, *entry.value, block);
}

// Holds what of a free block this pool must hold for others.
void Space::HoldForeign(PoolState& state, const Cidr& within) {
  const BlockIndex<PoolState>& abroad = Around(state).abroad;
  if (abroad.empty()) return;
  for (const auto& entry : abroad.Overlapping(within)) {
    if (MustHold(state, *entry.value, entry.block)) HoldFor(*entry.value, state, entry.block);
  }
}

// After the pool's range has changed.
void Space::HoldForeignAnew(PoolState& state) {
  for (const Hold& hold : HoldsOf(state)) {
    if (hold.use == Use::kForeign) state.space->Release(hold.block);
  }
  HoldForeign(state, state.space->rules().range);
}

void Space::HoldHomeless(const Subnet& subnet) {
  if (!subnet.cidr || TurnOf(subnet) > Turn::kMade) return;
  HoldLost(subnet.PoolKey(), *subnet.cidr);
  Fulfil(subnet);
}

// A pool that is gone has no range: all its blocks are outside of it.
void Space::HoldLost(const std::string& pool, const Cidr& block) {
  PoolState& lost = lost_[pool];
  lost.key = pool + " (gone)";  // not the key of a pool of the name that may come
  std::tie(lost.pool.id.ns, lost.pool.id.name) = SplitKey(pool);
  HoldAbroad(lost, {block, Use::kSubnet, 0});
}

// Unless a Subnet of a pool that is gone has the block, or it is under way.
void Space::ReleaseHomeless(const std::string& pool, const Cidr& block) {
  const auto lost = lost_.find(pool);
  if (lost == lost_.end()) return;
  if (!Find(pool)) {
    const auto homeless = homeless_.find(pool);
    if (homeless != homeless_.end() &&
        std::ranges::any_of(homeless->second, [&](const auto& entry) {
          return entry.second.cidr == block && TurnOf(entry.second) <= Turn::kMade;
        })) {
      return;
    }
    if (std::ranges::any_of(pending_, [&](const auto& entry) {
          return entry.second.pool == pool && entry.second.block == block;
        })) {
      return;
    }
  }
  WithdrawAll(lost->second, block);
  if (lost->second.abroad > 0) return;
  if (Around(lost->second).empty()) neighbourhoods_.erase(lost->second.pool.id.ns);
  lost_.erase(lost);
}

}  // namespace berth::ipam
