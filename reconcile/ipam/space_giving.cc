// What a Space gives out: assignments and reservations.
#include <utility>

#include "log/format.h"
#include "reconcile/ipam/space.h"

namespace berth::ipam {
namespace {

Denial NotReady(const Space::PoolState& state) {
  return {"PoolNotReady", Format("pool {} gives out no blocks: {}", state.pool.id.name,
                                 state.problem ? state.problem->message : "")};
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
  if (!binding || binding->claim == wish.owner) return std::nullopt;
  return Denial{"ClusterIDConflict",
                Format("cluster {} holds {} in this pool already, for another claim", wish.cluster,
                       binding->block.ToString())};
}

// The block that the wish can only be fulfilled with.
std::optional<Cidr> Space::ExactOf(const PoolState& state, const Wish& wish) {
  if (wish.exact) return wish.exact;
  const auto kept = state.pool.pre_allocations.find(wish.claim);
  if (kept == state.pool.pre_allocations.end()) return std::nullopt;
  const auto block = Cidr::Parse(kept->second);
  return block ? std::optional(block->Canonical()) : std::nullopt;
}

Denial Space::Explain(const PoolState& state, Refusal refusal, const Wish& wish) const {
  const std::string& name = state.pool.id.name;
  const PoolRules& rules = state.space->rules();
  const auto exact = ExactOf(state, wish);
  const std::string block = exact ? exact->ToString() : "";
  switch (refusal) {
    case Refusal::kExhausted: {
      const auto largest = state.space->LargestFree();
      return {"PoolExhausted", Format("pool {} is exhausted: it has no free /{}; {}", name,
                                      wish.size.value_or(rules.default_block),
                                      largest ? Format("its largest free block is a /{}", *largest)
                                              : "all of it is in use")};
    }
    case Refusal::kSize:
      return {"InvalidRequest",
              Format("pool {} gives out blocks from /{} to /{}, not /{}", name, rules.min_block,
                     rules.max_block,
                     exact ? exact->prefix() : wish.size.value_or(rules.default_block))};
    case Refusal::kOutside:
      return {"InvalidRequest",
              Format("{} is not inside pool {}, {}", block, name, state.pool.cidr)};
    case Refusal::kExcluded:
      return {"RequestedCIDRTaken", Format("{} is excluded in pool {}", block, name)};
    default: {
      const auto other = exact ? state.space->Overlapping(*exact) : std::nullopt;
      return {"RequestedCIDRTaken", Format("{} is not free in pool {}: {} is in use", block, name,
                                           other ? other->block.ToString() : "a part of it")};
    }
  }
}

bool Space::HeldByChild(const std::string& pool, const PoolState& state, const Cidr& block,
                        const std::string& name) const {
  const auto hold = state.space->At(block);
  const PoolState* child = Find(KeyBeside(pool, name));
  return hold && hold->use == Use::kChild && child &&
         hold->owner == Fingerprint(child->pool.id.uid);
}

std::expected<Cidr, Denial> Space::Take(const std::string& pool, PoolState& state,
                                        const Wish& wish) {
  const auto exact = ExactOf(state, wish);
  const PoolRules& rules = state.space->rules();
  const auto explain = [&](Refusal refusal) {
    return std::unexpected(Explain(state, refusal, wish));
  };
  std::optional<Cidr> block = exact;
  if (!exact) {
    const auto given =
        state.space->Allocate(wish.size.value_or(rules.default_block), Use::kReserved, wish.owner);
    if (!given) return explain(given.error());
    block = *given;
  } else {
    // What is kept for this claim stands among the exclusions.
    const auto kept = state.pool.pre_allocations.find(wish.claim);
    const bool own = kept != state.pool.pre_allocations.end() &&
                     kept->second == exact->ToString() && rules.range.Contains(*exact);
    const auto taken = own ? state.space->Record(*exact, Use::kReserved, wish.owner)
                           : state.space->AllocateExactly(*exact, Use::kReserved, wish.owner);
    // The child pool that it is for holds it already.
    const bool child = !taken && HeldByChild(pool, state, *exact, wish.cluster);
    if (child) state.space->Change(*exact, Use::kReserved, wish.owner);
    if (!taken && !child) return explain(taken.error());
  }
  pending_.insert_or_assign(
      wish.owner,
      Pending{.pool = pool, .block = *block, .cluster = wish.cluster, .reservation = false});
  Changed(pool, state);
  return *block;
}

std::expected<Cidr, Denial> Space::Assign(const std::string& pool, const Wish& wish) {
  if (const auto assigned = pending_.find(wish.owner); assigned != pending_.end() && Find(pool)) {
    return assigned->second.block;
  }
  const auto state = Giving(pool);
  if (!state) return std::unexpected(state.error());
  if (auto denial = ClusterDenial(pool, wish)) return std::unexpected(*denial);
  auto block = Take(pool, **state, wish);
  if (block) Bind(pool, wish.cluster, {0, wish.owner, *block});
  return block;
}

std::expected<void, Denial> Space::Check(const std::string& pool, const Wish& wish) const {
  const PoolState* state = Find(pool);
  if (!state) return std::unexpected(NotFound(pool));
  if (state->problem || !state->rules) return std::unexpected(NotReady(*state));
  if (auto denial = ClusterDenial(pool, wish)) return std::unexpected(*denial);
  const auto exact = ExactOf(*state, wish);
  const int size = exact ? exact->prefix() : wish.size.value_or(state->rules->default_block);
  std::optional<Refusal> refusal;
  if (size < state->rules->min_block || size > state->rules->max_block) {
    refusal = Refusal::kSize;
  } else if (!exact) {
    if (state->space->Free(size) == 0) refusal = Refusal::kExhausted;
  } else if (!state->rules->range.Contains(*exact)) {
    refusal = Refusal::kOutside;
  } else if (state->space->Overlapping(*exact)) {
    refusal = Refusal::kHeld;
  }
  if (refusal) return std::unexpected(Explain(*state, *refusal, wish));
  return {};
}

std::optional<Cidr> Space::AssignmentOf(Owner owner) const {
  const auto found = pending_.find(owner);
  return found == pending_.end() ? std::nullopt : std::optional(found->second.block);
}

void Space::Abandon(Owner owner) {
  const auto found = pending_.extract(owner);
  if (!found) return;
  const Pending& pending = found.mapped();
  Unbind(pending.pool, pending.cluster, 0, owner);
  PoolState* state = Mutable(pending.pool);
  if (!state || !state->space) return;
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
  auto block = Take(pool, **state, wish);
  if (!block) return block;
  pending_.at(wish.owner).reservation = true;
  (*state)->space->ExpireAt(*block, until);
  reserving_.insert(pool);
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
  const auto reserved = pending_.find(token);
  if (reserved == pending_.end() || !reserved->second.reservation ||
      reserved->second.pool != pool || reserved->second.block != block) {
    wish.exact = block;
    return Assign(pool, wish);
  }
  (*state)->space->Change(block, Use::kReserved, wish.owner);
  pending_.erase(reserved);
  pending_.emplace(wish.owner, Pending{pool, block, wish.cluster, false});
  Bind(pool, wish.cluster, {0, wish.owner, block});
  return block;
}

std::optional<async::TimePoint> Space::Expire() {
  std::optional<async::TimePoint> next;
  const std::set<std::string> reserving = reserving_;
  for (const std::string& key : reserving) {
    PoolState* state = Mutable(key);
    if (!state || !state->space) continue;
    std::vector<Hold> ended;
    state->space->Expire(executor_.Now(), [&](const Hold& hold) { ended.push_back(hold); });
    for (const Hold& hold : ended) {
      pending_.erase(hold.owner);
      PlaceChildren(*state, hold.block);
    }
    if (!ended.empty()) Freed(key, *state, ended.front().block);
    const auto due = state->space->NextExpiry();
    if (!due) {
      reserving_.erase(key);
    } else if (!next || *due < *next) {
      next = due;
    }
  }
  return next;
}

}  // namespace berth::ipam
