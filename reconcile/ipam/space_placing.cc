// Which block is whose: Subnets in their pools, child pools in their parents.
#include <algorithm>
#include <array>
#include <cassert>
#include <set>
#include <string>
#include <utility>

#include "reconcile/ipam/space.h"
#include "reconcile/ipam/turn.h"

namespace berth::ipam {
namespace {

// Whether a block of the parent that a cluster has is for the child: the child was made for a
// SubnetPoolClaim, and so was the block's claim, which has the name that follows from it and the
// child's name as its clusterID (plexaubnet: any name, and the uid of the SubnetPoolClaim).
bool IsFor(const Pool& child, std::string_view cluster, Owner claim_name) {
  if (child.owner_uid.empty()) return false;
  if (cluster == child.owner_uid) return true;
  return cluster == child.id.name && claim_name == Fingerprint(child.block_claim);
}

bool Same(const Space::PoolState::Place& one, const Space::PoolState::Place& other) {
  return one.parent == other.parent && one.block == other.block;
}

}  // namespace

// A Subnet that exists goes before a reservation.
bool Space::Yields(const Hold& hold) const {
  if (hold.use != Use::kReserved) return false;
  const auto pending = pending_.find(hold.owner);
  return pending != pending_.end() && pending->second.reservation;
}

bool Space::GivenTo(const Pool& child, const std::string& parent, const Hold& hold) const {
  if (child.owner_uid.empty()) return false;
  return std::ranges::any_of(std::array{&child.id.name, &child.owner_uid}, [&](const auto* name) {
    return std::ranges::any_of(BindingsOf(ClusterKey(parent, *name)), [&](const auto& entry) {
      const Binding& binding = entry.second;
      return binding.block == hold.block && IsFor(child, *name, binding.claim_name) &&
             hold.owner == (binding.subnet != 0 ? binding.subnet : binding.claim);
    });
  });
}

bool Space::IsInTheWay(const Hold& hold, const PoolState& parent, const Pool& child,
                       const Cidr& range) const {
  if (hold.use == Use::kForeign || Yields(hold)) return false;
  if (hold.use == Use::kChild) return hold.owner != Fingerprint(child.id.uid);
  return hold.block != range || !GivenTo(child, parent.key, hold);
}

// The child that a hold of the parent is for.
Space::PoolState* Space::ChildAt(const PoolState& parent, const Hold& hold) {
  if (hold.use != Use::kChild) return nullptr;
  for (const auto& entry : Around(parent).ranges.Overlapping(hold.block)) {
    const Pool& child = entry.value->pool;
    if (child.parent == parent.pool.id.name && hold.owner == Fingerprint(child.id.uid)) {
      return entry.value;
    }
  }
  return nullptr;
}

Space::PoolState* Space::HeldByChild(const PoolState& state, const Cidr& block,
                                     const std::string& cluster, const std::string& claim_name) {
  const auto hold = state.space->At(block);
  PoolState* child = hold ? ChildAt(state, *hold) : nullptr;
  return child && IsFor(child->pool, cluster, Fingerprint(claim_name)) ? child : nullptr;
}

// True when the block is the Subnet's.
bool Space::Place(PoolState& state, const Subnet& subnet) {
  if (!subnet.cidr) return false;
  const Cidr& block = *subnet.cidr;
  const Owner owner = Fingerprint(subnet.id.uid);
  const Owner claim = subnet.IsForClaim() ? Fingerprint(subnet.claim_uid) : 0;
  const auto hold = state.space->At(block);
  if (hold && hold->use == Use::kSubnet) {
    if (hold->owner != owner) return false;
    UnbindSubnet(subnet);
    Bind(state.key, subnet.cluster,
         {owner, claim, block, Fingerprint(subnet.claim_name),
          state.resting.contains(subnet.id.Key())});
    return true;
  }
  const bool claimed = hold && hold->use == Use::kReserved && claim != 0 && hold->owner == claim;
  // A claim may have been told of the block: it keeps the block even when the range was moved away.
  const bool promised = TurnOf(subnet) <= Turn::kMade;
  // A pool that is being deleted, or is not valid, gives nothing out. The next one of its name owes
  // its blocks to the claims that were told of them.
  const bool gives = state.placed && state.pool.id.deleting == 0 && state.rules &&
                     state.rules->range.Contains(block);
  if (!promised && !claimed && !gives) return false;
  // Nor is anything given out beside a block of another pool that overlaps this one. A Subnet that
  // was told of its block keeps it, whatever pools overlap.
  const bool told = TurnOf(subnet) == Turn::kTold;
  if (!told && !claimed && GivenBeside(state.key, block)) return false;
  PoolState* child = hold && subnet.IsForClaim()
                         ? HeldByChild(state, block, subnet.cluster, subnet.claim_name)
                         : nullptr;
  if (claimed || child) {
    state.space->Change(block, Use::kSubnet, owner);
    if (child) child->kept.reset();
  } else {
    std::vector<Hold> yielding;
    bool free = true;
    state.space->ForEachOverlapping(block, [&](const Hold& other) {
      free = Yields(other) || (promised && other.use == Use::kForeign);
      yielding.push_back(other);
      return free;
    });
    if (!free) return false;
    Replace(state, yielding, block, Use::kSubnet, owner);
  }
  Fulfil(subnet);
  Bind(state.key, subnet.cluster, {owner, claim, block, Fingerprint(subnet.claim_name)});
  Changed(state.key, state);
  return true;
}

// The Subnet came of an assignment, which ends.
void Space::Fulfil(const Subnet& subnet) {
  const Owner claim = subnet.IsForClaim() ? Fingerprint(subnet.claim_uid) : 0;
  const auto assigned = pending_.find(claim);
  if (assigned == pending_.end() || assigned->second.pool != subnet.PoolKey() ||
      assigned->second.block != subnet.cidr) {
    return;
  }
  Unbind(assigned->second.pool, assigned->second.cluster, 0, claim);
  pending_.erase(assigned);
}

// Holds a block instead of all that is there.
void Space::Replace(PoolState& state, const std::vector<Hold>& holds, const Cidr& block, Use use,
                    Owner owner) {
  for (const Hold& hold : holds) {
    if (Yields(hold)) Forget(pending_.find(hold.owner));
    state.space->Release(hold.block);
  }
  const bool recorded = state.space->Record(block, use, owner).has_value();
  assert(recorded);
  for (const Hold& hold : holds) {
    if (hold.use != Use::kForeign) WithdrawAll(state, hold.block);
  }
  Took(state, block);
  for (const Hold& hold : holds) {
    if (!block.Contains(hold.block)) Freed(state.key, state, hold.block);
  }
}

// Ends the reservations in a block. False when there are none, or something else is there.
bool Space::Evict(PoolState& state, const Cidr& block) {
  std::vector<Hold> reserved;
  if (!OnlyReserved(state, block)) return false;
  state.space->ForEachOverlapping(block, [&](const Hold& hold) {
    reserved.push_back(hold);
    return true;
  });
  for (const Hold& hold : reserved) {
    Forget(pending_.find(hold.owner));
    state.space->Release(hold.block);
    WithdrawAll(state, hold.block);
    HoldForeign(state, hold.block);
  }
  return !reserved.empty();
}

void Space::PlaceWaiting(PoolState& state, Waiting which, const std::optional<Cidr>& within) {
  if (state.unplaced.empty()) return;
  std::vector<std::pair<Turn, std::string>> waiting;
  const auto add = [&](const Subnet& subnet) {
    const Turn turn = TurnOf(subnet);
    if (which == Waiting::kAll || turn <= Turn::kMade) waiting.emplace_back(turn, subnet.id.Key());
  };
  if (within) {
    for (const auto& entry : Around(state).unplaced.Overlapping(*within)) {
      if (entry.value->PoolKey() == state.key) add(*entry.value);
    }
  } else {
    for (const auto& [key, subnet] : state.unplaced) add(subnet);
  }
  std::ranges::sort(waiting);
  for (const auto& [turn, key] : waiting) {
    const auto found = state.unplaced.find(key);
    if (found == state.unplaced.end()) continue;
    const Subnet subnet = found->second;
    // A Subnet that still has no block may have another block in its way.
    if (Place(state, subnet)) EraseUnplaced(state, key);
    if (!quiet_) callbacks_.on_placement(key);
  }
}

// A block of the pool is free: Subnets of pools that overlap it may have waited for that.
void Space::PlaceBeside(const PoolState& state, const Cidr& block) {
  std::set<std::string> pools;
  for (const auto& entry : Around(state).unplaced.Overlapping(block)) {
    pools.insert(entry.value->PoolKey());
  }
  pools.erase(state.key);
  for (const std::string& pool : pools) {
    if (PoolState* other = Mutable(pool)) PlaceWaiting(*other, Waiting::kAll, block);
  }
}

// True when the child's range is its own in its parent. Until it is, the parent keeps what it held
// for the child before.
bool Space::PlaceInParent(PoolState& child) {
  PoolState* parent = ParentOf(child);
  if (!parent || !parent->rules || !child.rules) return false;
  const Cidr range = child.rules->range;
  if (!parent->rules->range.Contains(range)) return false;
  std::vector<Hold> holds;
  bool free = true;
  parent->space->ForEachOverlapping(range, [&](const Hold& hold) {
    free = !IsInTheWay(hold, *parent, child.pool, range);
    holds.push_back(hold);
    return free;
  });
  if (!free) return false;
  const PoolState::Place place{parent->key, range};
  const auto before = child.kept;
  const bool stands = holds.size() == 1 && holds.front().block == range &&
                      holds.front().use != Use::kForeign && !Yields(holds.front());
  if (!stands) {
    Replace(*parent, holds, range, Use::kChild, Fingerprint(child.pool.id.uid));
    Changed(parent->key, *parent);
  }
  child.kept.reset();
  if (!stands || holds.front().use == Use::kChild) child.kept = place;
  if (before && !Same(*before, place)) Forget(child, *before);
  return true;
}

// Gives back what a parent held for the child.
void Space::Forget(PoolState& child, const PoolState::Place& place) {
  PoolState* parent = Mutable(place.parent);
  if (!parent) return;
  const auto hold = parent->space->At(place.block);
  if (!hold || hold->use != Use::kChild || hold->owner != Fingerprint(child.pool.id.uid)) return;
  parent->space->Release(place.block);
  Freed(parent->key, *parent, place.block);
}

void Space::Settle(PoolState& child) {
  const bool root = child.pool.parent.empty();
  if (root && child.kept) {
    const PoolState::Place place = *child.kept;
    child.kept.reset();
    Forget(child, place);
  }
  const bool placed = root || PlaceInParent(child);
  if (placed != child.placed) {
    child.placed = placed;
    HoldAllAbroad(child);
    if (placed) PlaceWaiting(child, Waiting::kAll);
    for (PoolState* below : Below(child)) Reconsider(*below);
  }
  Reconsider(child);
}

void Space::SettleChildren(PoolState& parent, const Cidr& within) {
  if (parent.children.empty()) return;
  for (const auto& entry : Around(parent).ranges.Overlapping(within)) {
    if (entry.value != &parent && entry.value->pool.parent == parent.pool.id.name) {
      Settle(*entry.value);
    }
  }
}

}  // namespace berth::ipam
