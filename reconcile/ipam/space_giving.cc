// A Space gives out blocks: assignments and reservations.
#include <algorithm>
#include <utility>
#include <vector>

#include "log/format.h"
#include "reconcile/ipam/space.h"

namespace berth::ipam {
namespace {

Denial NotReady(const Space::PoolState& state) {
  return {"PoolNotReady", Format("pool {} gives out no blocks: {}", state.pool.id.name,
                                 state.problem ? state.problem->message : "")};
}

// The block that is kept for a claim of this name is no answer to what it asks for.
std::optional<Denial> SizeDenial(const Space::PoolState& state, const Wish& wish) {
  const auto kept = KeptFor(state.pool, wish.claim);
  if (wish.exact || !kept || !wish.size || *wish.size == kept->prefix()) return std::nullopt;
  return Denial{"InvalidRequest",
                Format("pool {} keeps {} for this claim, which asks for a /{}; set spec.blockSize "
                       "to {}, or change spec.preAllocations of the pool",
                       state.pool.id.name, kept->ToString(), *wish.size, kept->prefix())};
}

// Whether the pool keeps a part of the block for a claim.
bool IsKept(const Pool& pool, const Cidr& block) {
  return std::ranges::any_of(pool.pre_allocations, [&](const auto& entry) {
    const auto kept = Cidr::Parse(entry.second);
    return kept && kept->Canonical().Overlaps(block);
  });
}

// A block other than those to avoid, unless nothing else is free.
std::expected<Cidr, Refusal> AllocateBeside(Allocator& space, const std::vector<Cidr>& avoid,
                                            int size, Owner owner) {
  std::vector<Cidr> closed;
  for (const Cidr& block : avoid) {
    if (space.Record(block, Use::kReserved, owner)) closed.push_back(block);
  }
  auto given = space.Allocate(size, Use::kReserved, owner);
  for (const Cidr& block : closed) space.Release(block);
  if (!given && !closed.empty()) given = space.Allocate(size, Use::kReserved, owner);
  return given;
}

Denial NotFound(const std::string& pool) {
  return {"PoolNotFound", Format("there is no SubnetPool {}", SplitKey(pool).second)};
}

}  // namespace

std::expected<Space::PoolState*, Denial> Space::Giving(const std::string& pool) {
  PoolState* state = Mutable(pool);
  if (!state) return std::unexpected(NotFound(pool));
  if (state->problem || !state->rules) return std::unexpected(NotReady(*state));
  return state;
}

std::optional<Denial> Space::ClusterDenial(const std::string& pool, const Wish& wish) const {
  const Binding* binding = BindingOf(pool, wish.cluster, wish.owner);
  if (!binding || binding->claim == wish.owner || binding->resting) return std::nullopt;
  return Denial{
      "ClusterIDConflict",
      Format("cluster {} holds {} in this pool already, {}", wish.cluster,
             binding->block.ToString(),
             binding->claim == 0 ? "by a Subnet that Berth did not create" : "for another claim")};
}

// The block that the wish can only be fulfilled with.
std::optional<Cidr> Space::ExactOf(const PoolState& state, const Wish& wish) {
  return wish.exact ? wish.exact : KeptFor(state.pool, wish.claim);
}

// Whether the pool's range, exclusions and pre-allocations, as they are now, leave the block to the
// wish. The block of a child pool that exists is the child's in any case.
bool Space::Allows(const PoolState& state, const Wish& wish, const Cidr& block) const {
  if (!state.rules) return true;
  if (!wish.pool_claim.empty()) {
    for (const auto* pool : Overlapping(state.pool.id.ns, block)) {
      if (pool->pool.owner_uid == wish.pool_claim && pool->indexed == block) return true;
    }
  }
  const auto exact = ExactOf(state, wish);
  if ((exact && *exact != block) || !state.rules->range.Contains(block)) return false;
  // A block that is kept for the claim stands among the exclusions.
  return KeptFor(state.pool, wish.claim) == block ||
         std::ranges::none_of(state.rules->excluded,
                              [&](const Cidr& range) { return range.Overlaps(block); });
}

Denial Space::Explain(const PoolState& state, Refusal refusal, const Wish& wish) const {
  const std::string& name = state.pool.id.name;
  const PoolRules& rules = state.space->rules();
  const auto exact = ExactOf(state, wish);
  const std::string block = exact ? exact->ToString() : "";
  switch (refusal) {
    case Refusal::kExhausted:
      // Nothing that changes with every block: each claim that waits would be written again.
      return {"PoolExhausted",
              Format("pool {} is exhausted: it has no free /{}; delete claims, or ask for a size "
                     "that status.freeCountBySize of the pool has; blocks may rest after their "
                     "release",
                     name, wish.size.value_or(rules.default_block))};
    case Refusal::kSize:
      return {"InvalidRequest",
              Format("pool {} gives out blocks from /{} to /{}, not /{}", name, rules.min_block,
                     rules.max_block,
                     exact ? exact->prefix() : wish.size.value_or(rules.default_block))};
    case Refusal::kOutside:
      return {"InvalidRequest",
              Format("{} is not inside pool {}, {}", block, name, state.pool.cidr)};
    case Refusal::kExcluded:
      return {"RequestedCIDRTaken",
              Format("{} is {} in pool {}", block,
                     exact && IsKept(state.pool, *exact) ? "pre-allocated to another claim"
                                                         : "excluded",
                     name)};
    default: {
      const auto other = exact ? state.space->Overlapping(*exact) : std::nullopt;
      const auto is = [&](const Cidr& held) {
        if (OnlyReserved(state, held)) return "is reserved";
        const bool rests = std::ranges::any_of(
            state.resting, [&](const auto& resting) { return resting.second == held; });
        return rests ? "rests after its release" : "is in use";
      };
      // Blocks inside the wanted one are not named: the message would change with each that goes.
      const bool whole = exact && other && other->block.Contains(*exact);
      return {"RequestedCIDRTaken", Format("{} is not free in pool {}: {} {}", block, name,
                                           whole ? other->block.ToString() : "a part of it",
                                           whole                                  ? is(other->block)
                                           : exact && OnlyReserved(state, *exact) ? "is reserved"
                                                                                  : "is in use")};
    }
  }
}

// True if every hold in the block is a reservation.
bool Space::OnlyReserved(const PoolState& state, const Cidr& block) const {
  bool only = true;
  state.space->ForEachOverlapping(block, [&](const Hold& hold) { return only = Yields(hold); });
  return only;
}

// The block that would do if the reservations in it ended; none when more than that is in the way.
// O(reservations of the pool, times its exclusions): at most 256 × 4,096, when nothing is free.
std::optional<Cidr> Space::Yielding(const std::string& pool, const PoolState& state,
                                    const Wish& wish) const {
  const auto reserving = reserving_.find(pool);
  if (reserving == reserving_.end()) return std::nullopt;
  const PoolRules& rules = state.space->rules();
  const auto excluded = [&](const Cidr& block) {
    return std::ranges::any_of(rules.excluded,
                               [&](const Cidr& range) { return range.Overlaps(block); });
  };
  const auto exact = ExactOf(state, wish);
  const bool kept = exact && KeptFor(state.pool, wish.claim) == exact;
  const int size = exact ? exact->prefix() : wish.size.value_or(rules.default_block);
  if (!kept && (size < rules.min_block || size > rules.max_block)) return std::nullopt;
  const auto yields = [&](const Cidr& block) {
    return rules.range.Contains(block) && OnlyReserved(state, block) && (kept || !excluded(block));
  };
  if (exact) return yields(*exact) ? exact : std::nullopt;
  for (const Owner token : reserving->second) {
    const Cidr& reserved = pending_.at(token).block;
    const Cidr block = Cidr(reserved.family(), reserved.First(), size).Canonical();
    if (yields(block)) return block;
  }
  return std::nullopt;
}

// Ends the reservations that keep a claim from what it wishes. False when others do.
bool Space::MakeWay(const std::string& pool, PoolState& state, const Wish& wish) {
  const auto block = Yielding(pool, state, wish);
  if (!block || !Evict(state, *block)) return false;
  callbacks_.on_free(pool, std::nullopt);  // the reservations may have been larger than the block
  return true;
}

// Its hold is for the caller to release or to change.
void Space::Forget(std::unordered_map<Owner, Pending>::iterator pending) {
  if (pending->second.reservation) {
    const auto reserving = reserving_.find(pending->second.pool);
    if (reserving != reserving_.end()) {
      reservations_ -= reserving->second.erase(pending->first);
      if (reserving->second.empty()) reserving_.erase(reserving);
    }
  }
  pending_.erase(pending);
}

std::expected<Cidr, Denial> Space::Take(const std::string& pool, PoolState& state,
                                        const Wish& wish) {
  if (auto denial = SizeDenial(state, wish)) return std::unexpected(std::move(*denial));
  const auto exact = ExactOf(state, wish);
  const PoolRules& rules = state.space->rules();
  const auto explain = [&](Refusal refusal) {
    return std::unexpected(Explain(state, refusal, wish));
  };
  std::optional<Cidr> block = exact;
  if (!exact) {
    const auto given = AllocateBeside(*state.space, wish.avoid,
                                      wish.size.value_or(rules.default_block), wish.owner);
    if (!given) return explain(given.error());
    block = *given;
  } else {
    // The block that is kept for this claim stands among the exclusions.
    const bool own = KeptFor(state.pool, wish.claim) == exact && rules.range.Contains(*exact);
    auto taken = own ? state.space->Record(*exact, Use::kReserved, wish.owner)
                     : state.space->AllocateExactly(*exact, Use::kReserved, wish.owner);
    const auto touches = [&](const Cidr& excluded) { return excluded.Overlaps(*exact); };
    if (!taken && taken.error() == Refusal::kSize && wish.promised &&
        rules.range.Contains(*exact) && std::ranges::none_of(rules.excluded, touches)) {
      taken = state.space->Record(*exact, Use::kReserved, wish.owner);
    }
    // The child pool that it is for holds it already.
    PoolState* child = taken ? nullptr : HeldByChild(state, *exact, wish.cluster, wish.claim);
    if (child && child->pool.owner_uid != wish.pool_claim) child = nullptr;  // a user's claim
    if (child) {
      state.space->Change(*exact, Use::kReserved, wish.owner);
      child->kept.reset();
    }
    if (!taken && !child) return explain(taken.error());
  }
  pending_.insert_or_assign(
      wish.owner,
      Pending{.pool = pool, .block = *block, .cluster = wish.cluster, .reservation = false});
  Took(state, *block);
  Changed(pool, state);
  return *block;
}

std::expected<Cidr, Denial> Space::Assign(const std::string& pool, const Wish& wish) {
  if (const auto assigned = pending_.find(wish.owner); assigned != pending_.end() && Find(pool)) {
    return assigned->second.block;
  }
  const auto state = Giving(pool);
  if (!state) return std::unexpected(state.error());
  // A claim keeps the block that it was told of, whatever else its cluster holds by now.
  const auto denial = ClusterDenial(pool, wish);
  if (denial && !wish.promised) return std::unexpected(*denial);
  auto block = Take(pool, **state, wish);
  // A Subnet that exists goes before a reservation.
  if (!block && MakeWay(pool, **state, wish)) block = Take(pool, **state, wish);
  if (!block && denial) return std::unexpected(*denial);
  if (block) Bind(pool, wish.cluster, {0, wish.owner, *block, Fingerprint(wish.claim)});
  return block;
}

std::expected<void, Denial> Space::Check(const std::string& pool, const Wish& wish) const {
  const PoolState* state = Find(pool);
  if (!state) return std::unexpected(NotFound(pool));
  if (state->problem || !state->rules) return std::unexpected(NotReady(*state));
  if (auto denial = ClusterDenial(pool, wish)) return std::unexpected(*denial);
  if (auto denial = SizeDenial(*state, wish)) return std::unexpected(std::move(*denial));
  const auto exact = ExactOf(*state, wish);
  const int size = exact ? exact->prefix() : wish.size.value_or(state->rules->default_block);
  const bool kept = exact && KeptFor(state->pool, wish.claim) == exact;
  std::optional<Refusal> refusal;
  if (!kept && (size < state->rules->min_block || size > state->rules->max_block)) {
    refusal = Refusal::kSize;
  } else if (!exact) {
    if (state->space->Free(size) == 0) refusal = Refusal::kExhausted;
  } else if (!state->rules->range.Contains(*exact)) {
    refusal = Refusal::kOutside;
  } else if (!kept && std::ranges::any_of(state->rules->excluded, [&](const Cidr& excluded) {
               return excluded.Overlaps(*exact);
             })) {
    refusal = Refusal::kExcluded;
  } else if (state->space->Overlapping(*exact)) {
    refusal = Refusal::kHeld;
  }
  if (refusal && !Yielding(pool, *state, wish)) {
    return std::unexpected(Explain(*state, *refusal, wish));
  }
  return {};
}

void Space::Rest(const Subnet& subnet) {
  const std::string pool = subnet.PoolKey();
  const Owner owner = Fingerprint(subnet.id.uid);
  PoolState* state = Mutable(pool);
  if (!state || !subnet.cidr) return;
  if (PlacementOf(subnet).phase != SubnetPhase::kAllocated) return;
  if (!state->resting.emplace(subnet.id.Key(), *subnet.cidr).second) return;
  const Owner claim = subnet.IsForClaim() ? Fingerprint(subnet.claim_uid) : 0;
  const auto binding = bindings_.find({ClusterKey(pool, subnet.cluster), claim, owner});
  if (binding != bindings_.end()) binding->second.resting = true;
  Changed(pool, *state);
  callbacks_.on_free(pool, std::nullopt);  // somebody may have waited for the clusterID
}

std::optional<std::string> Space::RestingFor(const std::string& pool, const Wish& wish) {
  const PoolState* state = Find(pool);
  if (!state || !state->rules || state->resting.empty()) return std::nullopt;
  const auto exact = ExactOf(*state, wish);
  const int size = exact ? exact->prefix() : wish.size.value_or(state->rules->default_block);
  for (const auto& [key, binding] : BindingsOf(ClusterKey(pool, wish.cluster))) {
    // A larger block would give the rest of it to others at once.
    const bool fits = exact ? binding.block == *exact : binding.block.prefix() == size;
    if (!binding.resting || !fits) continue;
    for (const auto& [subnet, block] : state->resting) {
      if (block == binding.block) return subnet;
    }
  }
  return std::nullopt;
}

bool Space::Fits(const std::string& pool, const Wish& wish) const {
  const auto assigned = pending_.find(wish.owner);
  if (assigned == pending_.end()) return true;
  const Pending& held = assigned->second;
  if (held.pool != pool) return false;
  if (const PoolState* state = Find(pool); state && !Allows(*state, wish, held.block)) return false;
  // Whatever its clusterID was; but a child pool is known by it.
  if (wish.promised && wish.pool_claim.empty() && wish.exact == held.block) return true;
  if (held.cluster != wish.cluster) return false;
  if (wish.exact) return held.block == *wish.exact;
  return !wish.size || held.block.prefix() == *wish.size;
}

std::optional<Cidr> Space::AssignmentOf(Owner owner) const {
  const auto found = pending_.find(owner);
  return found == pending_.end() ? std::nullopt : std::optional(found->second.block);
}

void Space::Abandon(Owner owner) {
  const auto found = pending_.find(owner);
  if (found == pending_.end()) return;
  const Pending pending = found->second;
  Forget(found);
  Unbind(pending.pool, pending.cluster, 0, owner);
  PoolState* state = Mutable(pending.pool);
  if (!state) return ReleaseHomeless(pending.pool, pending.block);
  const auto hold = state->space->At(pending.block);
  if (!hold || hold->use != Use::kReserved || hold->owner != owner) return;
  state->space->Release(pending.block);
  Freed(pending.pool, *state, pending.block);
}

std::expected<Cidr, Denial> Space::Reserve(const std::string& pool, const Wish& wish,
                                           async::TimePoint until) {
  const auto state = Giving(pool);
  if (!state) return std::unexpected(state.error());
  if (auto denial = ClusterDenial(pool, wish)) return std::unexpected(*denial);
  const auto reserving = reserving_.find(pool);
  if (reservations_ >= kMostReservations ||
      (reserving != reserving_.end() && reserving->second.size() >= kMostReservationsOfPool)) {
    return std::unexpected(Denial{"TooManyReservations", "too many blocks are reserved"});
  }
  auto block = Take(pool, **state, wish);
  if (!block) return block;
  pending_.at(wish.owner).reservation = true;
  (*state)->space->ExpireAt(*block, until);
  reserving_[pool].insert(wish.owner);
  ++reservations_;
  return block;
}

std::expected<Cidr, Denial> Space::Redeem(const std::string& pool, Owner token, const Cidr& block,
                                          Wish wish) {
  if (const auto assigned = pending_.find(wish.owner); assigned != pending_.end() && Find(pool)) {
    return assigned->second.block;
  }
  const auto state = Giving(pool);
  if (!state) return std::unexpected(state.error());
  if (auto denial = ClusterDenial(pool, wish)) return std::unexpected(*denial);
  if (!Allows(**state, wish, block)) {
    Abandon(token);
    return std::unexpected(Denial{"RequestedCIDRTaken",
                                  Format("{} is not for this claim any more", block.ToString())});
  }
  const auto reserved = pending_.find(token);
  if (reserved == pending_.end() || !reserved->second.reservation ||
      reserved->second.pool != pool || reserved->second.block != block) {
    // Others may have a part of it by now, if only reserved: any other block does as well.
    if (!wish.exact && (*state)->space->Overlapping(block)) {
      return std::unexpected(
          Denial{"RequestedCIDRTaken", Format("{} is in use", block.ToString())});
    }
    wish.exact = block;
    return Assign(pool, wish);
  }
  (*state)->space->Change(block, Use::kReserved, wish.owner);
  Forget(reserved);
  pending_.emplace(wish.owner, Pending{pool, block, wish.cluster, false});
  Bind(pool, wish.cluster, {0, wish.owner, block, Fingerprint(wish.claim)});
  return block;
}

std::optional<async::TimePoint> Space::Expire() {
  std::optional<async::TimePoint> next;
  std::vector<std::string> pools;
  pools.reserve(reserving_.size());
  for (const auto& [pool, tokens] : reserving_) pools.push_back(pool);
  for (const std::string& key : pools) {
    PoolState* state = Mutable(key);
    if (!state) continue;
    std::vector<Hold> ended;
    state->space->Expire(executor_.Now(), [&](const Hold& hold) { ended.push_back(hold); });
    for (const Hold& hold : ended) {
      if (const auto found = pending_.find(hold.owner); found != pending_.end()) Forget(found);
    }
    for (const Hold& hold : ended) Freed(key, *state, hold.block);
    const auto due = state->space->NextExpiry();
    if (due && (!next || *due < *next)) next = due;
  }
  return next;
}

}  // namespace berth::ipam
