// Why a pool gives nothing out.
#include <utility>

#include "log/format.h"
#include "reconcile/ipam/space.h"

namespace berth::ipam {
namespace {

constexpr char kPoolOverlap[] = "PoolOverlap";

bool HasBlocks(const Space::PoolState& state) {
  return state.space->Count(Use::kSubnet) + state.space->Count(Use::kReserved) > 0;
}

std::string_view HolderOf(const Hold& hold) {
  switch (hold.use) {
    case Use::kSubnet:
      return "a Subnet has";
    case Use::kChild:
      return "another child pool has";
    default:
      return "is reserved";
  }
}

// The pool, or the nearest above it, whose range is not held in its parent: others may have given
// out parts of it.
const Space::PoolState* UnplacedAbove(const Space& space, const Space::PoolState& state) {
  const Space::PoolState* at = &state;
  for (int i = 0; at && at->placed && i < Space::kMostGenerations; ++i) {
    at = at->pool.parent.empty() ? nullptr : space.Find(KeyBeside(state.key, at->pool.parent));
  }
  return at;
}

// The pool, or one above it, that is above itself.
const Space::PoolState* CircleAbove(const Space& space, const Space::PoolState& state) {
  const Space::PoolState* at = &state;
  for (int i = 0; at && i < Space::kMostGenerations && !space.IsAncestor(at->key, at->key); ++i) {
    at = at->pool.parent.empty() ? nullptr : space.Find(KeyBeside(state.key, at->pool.parent));
  }
  return at && space.IsAncestor(at->key, at->key) ? at : nullptr;
}

}  // namespace

bool Space::IsAncestor(const std::string& ancestor, const std::string& key) const {
  const PoolState* at = Find(key);
  for (int i = 0; at && i < kMostGenerations; ++i) {
    if (at->pool.parent.empty()) return false;
    const std::string above = KeyBeside(key, at->pool.parent);
    if (above == ancestor) return true;
    at = Find(above);
  }
  return false;
}

bool Space::IsTooDeep(const PoolState& state) const {
  const PoolState* at = &state;
  int above = 0;
  while (at && !at->pool.parent.empty() && ++above <= kMostGenerations) {
    at = Find(KeyBeside(state.key, at->pool.parent));
  }
  return above > kMostGenerations;
}

std::vector<const Space::PoolState*> Space::Overlapping(std::string_view ns,
                                                        const Cidr& block) const {
  std::vector<const PoolState*> pools;
  const auto around = neighbourhoods_.find(ns);
  if (around == neighbourhoods_.end()) return pools;
  for (const auto& entry : around->second.ranges.Overlapping(block)) pools.push_back(entry.value);
  return pools;
}

std::optional<PoolProblem> Space::ParentProblem(const PoolState& state, const Cidr& range) const {
  if (state.pool.parent.empty()) return std::nullopt;
  const std::string& name = state.pool.parent;
  const PoolState* parent = Find(KeyBeside(state.key, name));
  if (!parent) return PoolProblem{"ParentNotFound", Format("there is no SubnetPool {}", name)};
  if (IsAncestor(state.key, state.key)) {
    return PoolProblem{"InvalidSpec", "the pool is its own ancestor"};
  }
  if (IsTooDeep(state)) {
    // In a circle the walk never ends.
    const PoolState* circle = CircleAbove(*this, *parent);
    return PoolProblem{"InvalidSpec",
                       circle ? Format("SubnetPool {}, which it is inside, is its own ancestor",
                                       circle->pool.id.name)
                              : Format("more than {} pools are above it", kMostGenerations)};
  }
  if (!parent->rules) {
    return PoolProblem{"ParentNotReady",
                       Format("its parent {} is not valid: see there", parent->pool.id.name)};
  }
  if (!parent->rules->range.Contains(range)) {
    return PoolProblem{"OutsideParent", Format("{} is not inside its parent {}, {}",
                                               state.pool.cidr, name, parent->pool.cidr)};
  }
  if (const PoolState* above = state.placed ? UnplacedAbove(*this, *parent) : nullptr) {
    return PoolProblem{"ParentNotReady",
                       Format("SubnetPool {}, which it is inside, is not in its place: see there",
                              above->pool.id.name)};
  }
  if (state.placed) return std::nullopt;
  std::string message = Format("{} is not free in its parent {}", state.pool.cidr, name);
  parent->space->ForEachOverlapping(range, [&](const Hold& hold) {
    if (!IsInTheWay(hold, *parent, state.pool, range)) return true;
    const std::string block = hold.block.ToString();
    message += GivenTo(state.pool, parent->key, hold)
                   ? Format(": its own block there is {}; set spec.cidr to it", block)
                   : Format(": {} {}, and not for this pool", block, HolderOf(hold));
    return false;
  });
  if (state.kept) message += Format("; {} stays held for it", state.kept->block.ToString());
  return PoolProblem{kPoolOverlap, std::move(message)};
}

std::optional<PoolProblem> Space::ProblemOf(const PoolState& state) const {
  if (!state.rules) {
    const auto rules = RulesOf(state.pool);
    return PoolProblem{"InvalidSpec", rules ? "" : rules.error()};
  }
  if (state.pool.id.deleting != 0) return PoolProblem{"Deleting", "the pool is being deleted"};
  if (auto problem = ParentProblem(state, state.rules->range)) return problem;
  const PoolState* rival = state.rival.empty() ? nullptr : Find(state.rival);
  if (!rival) return std::nullopt;
  return PoolProblem{kPoolOverlap, Format("{} overlaps pool {}, {}", state.pool.cidr,
                                          rival->pool.id.name, rival->pool.cidr)};
}

// Whether its problem is another one than before.
bool Space::Judge(PoolState& state) {
  auto problem = ProblemOf(state);
  if (problem == state.problem) return false;
  state.problem = std::move(problem);
  return true;
}

void Space::Reconsider(PoolState& state) {
  if (!Judge(state)) return;
  Changed(state.key, state);
  if (quiet_) return;
  if (!state.problem) callbacks_.on_ready(state.key);
  callbacks_.on_room(state.key);  // or another reason to wait
}

// Whether a pool must not give out blocks because of a rival that overlaps it: of two the younger
// one gives way, but not with what it has given out.
bool Space::Beats(const PoolState& rival, const PoolState& state) const {
  if (&rival == &state || !rival.rules || !state.rules) return false;
  if (!rival.rules->range.Overlaps(state.rules->range)) return false;
  // Most that overlap are parent and child, which need no search.
  if (rival.pool.parent == state.pool.id.name || state.pool.parent == rival.pool.id.name) {
    return false;
  }
  if (rival.pool.id.created > state.pool.id.created && !HasBlocks(rival)) return false;
  return !IsAncestor(rival.key, state.key) && !IsAncestor(state.key, rival.key);
}

void Space::FindRival(PoolState& state) {
  state.rival.clear();
  if (!state.rules) return;
  for (const auto& entry : Around(state).ranges.Overlapping(state.rules->range)) {
    if (!Beats(*entry.value, state)) continue;
    state.rival = entry.value->key;
    return;
  }
}

// After the other one has changed.
void Space::Recheck(PoolState& state, const PoolState& other) {
  const bool beaten = Beats(other, state);
  if (state.rival == other.key) {
    if (!beaten) FindRival(state);
  } else if (beaten && state.rival.empty()) {
    state.rival = other.key;
  } else {
    return;
  }
  Reconsider(state);
}

// All that may see the pool otherwise than before, by its range then or now.
void Space::RecheckAround(PoolState& state, const std::optional<Cidr>& range) {
  if (!range) return;
  for (const auto& entry : Around(state).ranges.Overlapping(*range)) {
    if (entry.value != &state) Recheck(*entry.value, state);
  }
}

void Space::CountBlocks(PoolState& state) {
  if (state.had_blocks == HasBlocks(state)) return;
  state.had_blocks = !state.had_blocks;
  RecheckAround(state, state.indexed);
}

// The pool and all below it.
std::vector<Space::PoolState*> Space::Below(PoolState& state) {
  std::vector<PoolState*> all = {&state};
  std::set<std::string> seen = {state.key};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::string& child : all[i]->children) {
      PoolState* below = Mutable(child);
      if (below && seen.insert(child).second) all.push_back(below);
    }
  }
  return all;
}

// After the pool's parent has changed: who is above it and all below it is another one.
void Space::Relate(PoolState& state) {
  for (PoolState* pool : Below(state)) {
    if (!pool->placed || pool->abroad > 0) HoldAllAbroad(*pool);
    FindRival(*pool);
    Reconsider(*pool);
    RecheckAround(*pool, pool->indexed);
    Changed(pool->key, *pool);  // its path is another one
  }
}

}  // namespace berth::ipam
