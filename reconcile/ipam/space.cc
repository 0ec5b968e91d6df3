#include "reconcile/ipam/space.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "log/format.h"

namespace berth::ipam {
namespace {

constexpr int kMostGenerations = 64;
constexpr char kPoolOverlap[] = "PoolOverlap";

std::uint64_t ClusterKey(const std::string& pool, std::string_view cluster) {
  return Fingerprint(std::string(pool).append(1, '\n').append(cluster));
}

bool HasBlocks(const Space::PoolState& state) {
  return state.space && state.space->Count(Use::kSubnet) + state.space->Count(Use::kReserved) > 0;
}

// Whose turn it is where Subnets overlap that hold no block yet.
enum class Turn : std::uint8_t {
  kTold,    // that the block is theirs
  kMade,    // for a claim, of a block that was free, and the claim may have been told
  kFailed,  // a claim's, that was told it has no block
  kOther,   // a user's
};

Turn TurnOf(const Subnet& subnet) {
  if (subnet.phase == SubnetPhase::kAllocated) return Turn::kTold;
  if (subnet.claim_uid.empty()) return Turn::kOther;
  return subnet.phase == SubnetPhase::kFailed ? Turn::kFailed : Turn::kMade;
}

}  // namespace

Space::Space(async::Executor& executor, Callbacks callbacks)
    : executor_(executor), callbacks_(std::move(callbacks)) {}

const Space::PoolState* Space::Find(const std::string& pool) const {
  const auto found = pools_.find(pool);
  return found == pools_.end() ? nullptr : &found->second;
}

Space::PoolState* Space::Mutable(const std::string& pool) {
  const auto found = pools_.find(pool);
  return found == pools_.end() ? nullptr : &found->second;
}

Space::PoolState* Space::ParentOf(const std::string& key, const PoolState& state) {
  const std::string& name = state.pool.parent;
  return name.empty() || name == state.pool.id.name ? nullptr : Mutable(KeyBeside(key, name));
}

bool Space::InUse(const std::string& pool) const {
  const PoolState* state = Find(pool);
  if (!state) return false;
  if (!state->children.empty() || !state->unplaced.empty()) return true;
  return HasBlocks(*state);
}

void Space::Rebuild(const std::vector<const Pool*>& pools, std::vector<const Subnet*> subnets) {
  pools_.clear();
  homeless_.clear();
  bindings_.clear();
  pending_.clear();
  reserving_.clear();
  reservations_ = 0;
  bindings_.reserve(subnets.size());
  std::set<std::string_view> namespaces;
  for (const Pool* pool : pools) {
    const std::string key = pool->id.Key();
    PoolState& state = pools_[key];
    state.pool = *pool;
    SetRules(key, state);
    namespaces.insert(pool->id.ns);
  }
  for (const auto& [key, state] : pools_) Join(key, state);
  // Who was told that a block is theirs, or is about to be, keeps it; then the children; then
  // whoever was first.
  std::ranges::sort(subnets, {}, [](const Subnet* subnet) {
    return std::tuple(TurnOf(*subnet), subnet->id.created, std::string_view(subnet->id.ns),
                      std::string_view(subnet->id.name));
  });
  const auto put = [&](const Subnet& subnet) {
    const std::string pool = subnet.PoolKey();
    PoolState* state = Mutable(pool);
    if (!state) {
      homeless_[pool].insert_or_assign(subnet.id.Key(), subnet);
    } else if (!Place(pool, *state, subnet)) {
      state->unplaced.insert_or_assign(subnet.id.Key(), subnet);
    }
  };
  auto next = subnets.begin();
  for (; next != subnets.end() && TurnOf(**next) <= Turn::kMade; ++next) put(**next);
  for (auto& [key, state] : pools_) {
    if (state.rules) PlaceChildren(state, state.rules->range);
  }
  for (; next != subnets.end(); ++next) put(**next);
  for (auto& [key, state] : pools_) {
    Judge(key, state);
    state.changed = executor_.Now();
  }
}

// What follows from a pool's spec alone.
void Space::SetRules(const std::string& key, PoolState& state) {
  auto rules = RulesOf(state.pool);
  if (!rules) {
    // It gives nothing out, but what it gave out stays held.
    state.rules.reset();
    const auto range = Cidr::Parse(state.pool.cidr);
    if (!state.space && range) {
      state.space = std::make_unique<Allocator>(
          PoolRules{.range = range->Canonical(), .max_block = Width(range->family())});
      HoldPending(key, state);
    }
    return;
  }
  if (state.space) {
    state.space->SetRules(*rules);
  } else {
    state.space = std::make_unique<Allocator>(*rules);
    HoldPending(key, state);
  }
  state.rules = std::move(*rules);
  PlaceWaiting(key, state);
}

// What was given out by a pool of the name before this one, and may be under way yet.
void Space::HoldPending(const std::string& key, PoolState& state) {
  for (const auto& [owner, pending] : pending_) {
    if (pending.pool == key) {
      std::ignore = state.space->Record(pending.block, Use::kReserved, owner);
    }
  }
}

// Makes the pool known to its parent.
void Space::Join(const std::string& key, const PoolState& state) {
  PoolState* parent = ParentOf(key, state);
  if (!parent) return;
  parent->children.insert(key);
  if (!parent->rules || !state.rules || !parent->rules->range.Contains(state.rules->range)) return;
  parent->child_at.insert_or_assign(state.rules->range.First(), key);
}

void Space::Leave(const std::string& key, const PoolState& state) {
  PoolState* parent = ParentOf(key, state);
  if (!parent) return;
  const std::string parent_key = KeyBeside(key, state.pool.parent);
  parent->children.erase(key);
  parent->blocked.erase(key);
  std::erase_if(parent->child_at, [&](const auto& entry) { return entry.second == key; });
  if (!parent->space || !state.rules) return;
  const auto hold = parent->space->At(state.rules->range);
  if (hold && hold->use == Use::kChild && hold->owner == Fingerprint(state.pool.id.uid)) {
    parent->space->Release(state.rules->range);
    Freed(parent_key, *parent, state.rules->range);
  }
  Changed(parent_key, *parent);
}

void Space::PutPool(const Pool& pool) {
  const std::string key = pool.id.Key();
  auto [found, fresh] = pools_.try_emplace(key);
  PoolState& state = found->second;
  std::optional<PoolRules> after;
  if (auto rules = RulesOf(pool)) after = std::move(*rules);
  const bool ruled = fresh || state.rules != after;
  const bool moved = state.pool.parent != pool.parent || state.pool.id.uid != pool.id.uid;
  const bool news = ruled || moved || state.pool.id.generation != pool.id.generation ||
                    state.pool.id.deleting != pool.id.deleting ||
                    state.pool.allow_delete != pool.allow_delete;
  if (!fresh && (moved || ruled)) Leave(key, state);
  state.pool = pool;
  if (!news) return;
  if (fresh) {
    if (auto waiting = homeless_.extract(key)) state.unplaced = std::move(waiting.mapped());
  }
  if (ruled) {
    SetRules(key, state);
    AdoptChildren(key, state);
  }
  if (moved || ruled) {
    Join(key, state);
    if (PoolState* parent = ParentOf(key, state)) {
      PlaceChild(*parent, key);
      Changed(KeyBeside(key, pool.parent), *parent);
    }
  }
  Evaluate(pool.id.ns);
  Changed(key, state);
  if (!ruled) return;
  for (const auto& [subnet, waiting] : state.unplaced) callbacks_.on_placement(subnet);
  callbacks_.on_room(key);
}

// Children that were there before their parent, or its present range.
void Space::AdoptChildren(const std::string& key, PoolState& state) {
  const std::string prefix = state.pool.id.ns + "/";
  state.child_at.clear();
  for (auto next = pools_.lower_bound(prefix);
       next != pools_.end() && next->first.starts_with(prefix); ++next) {
    if (next->first != key && next->second.pool.parent == state.pool.id.name) {
      Join(next->first, next->second);
    }
  }
  if (state.rules) PlaceChildren(state, state.rules->range);
}

void Space::RemovePool(const std::string& key) {
  const auto found = pools_.find(key);
  if (found == pools_.end()) return;
  Leave(key, found->second);
  auto removed = pools_.extract(found);
  const PoolState& state = removed.mapped();
  if (const auto tokens = reserving_.extract(key)) {
    reservations_ -= tokens.mapped().size();
    for (const Owner token : tokens.mapped()) pending_.erase(token);
  }
  // Its Subnets are still there, and wait for a pool of the name. What a Subnet was stays known to
  // the caller's cache; here only those that held no block are.
  if (!state.unplaced.empty()) homeless_[key] = state.unplaced;
  Evaluate(state.pool.id.ns);
  callbacks_.on_figures(key);
  callbacks_.on_room(key);
}

bool Space::IsAncestor(const std::string& ancestor, const std::string& key) const {
  std::string at = key;
  for (int i = 0; i < kMostGenerations; ++i) {
    const PoolState* state = Find(at);
    if (!state || state->pool.parent.empty()) return false;
    at = KeyBeside(key, state->pool.parent);
    if (at == ancestor) return true;
  }
  return false;
}

std::optional<PoolProblem> Space::ParentProblem(const std::string& key, const PoolState& state,
                                                const Cidr& range) const {
  if (state.pool.parent.empty()) return std::nullopt;
  const std::string& name = state.pool.parent;
  const PoolState* parent = Find(KeyBeside(key, name));
  if (!parent) return PoolProblem{"ParentNotFound", Format("there is no SubnetPool {}", name)};
  if (IsAncestor(key, key)) {
    return PoolProblem{"InvalidSpec", "the pool is its own ancestor"};
  }
  if (!parent->rules || !parent->rules->range.Contains(range)) {
    return PoolProblem{"OutsideParent", Format("{} is not inside its parent {}, {}",
                                               state.pool.cidr, name, parent->pool.cidr)};
  }
  // The block is the child's own, or a Subnet of the parent's stands for it.
  if (parent->space->At(range)) return std::nullopt;
  if (const auto other = parent->space->Overlapping(range)) {
    return PoolProblem{kPoolOverlap, Format("{} overlaps {}, which is in use in its parent {}",
                                            state.pool.cidr, other->block.ToString(), name)};
  }
  return std::nullopt;
}

std::optional<PoolProblem> Space::ProblemOf(const std::string& key, const PoolState& state) const {
  if (!state.rules) {
    const auto rules = RulesOf(state.pool);
    return PoolProblem{"InvalidSpec", rules ? "" : rules.error()};
  }
  if (state.pool.id.deleting != 0) return PoolProblem{"Deleting", "the pool is being deleted"};
  if (auto problem = ParentProblem(key, state, state.rules->range)) return problem;
  for (auto other = pools_.lower_bound(state.pool.id.ns + "/");
       other != pools_.end() && other->second.pool.id.ns == state.pool.id.ns; ++other) {
    const PoolState& rival = other->second;
    if (&rival == &state || !rival.rules || !rival.rules->range.Overlaps(state.rules->range)) {
      continue;
    }
    // The younger one gives way, but not with what it has given out.
    const bool younger = rival.pool.id.created > state.pool.id.created;
    if (younger && !HasBlocks(rival)) continue;
    if (IsAncestor(other->first, key) || IsAncestor(key, other->first)) continue;
    return PoolProblem{kPoolOverlap, Format("{} overlaps pool {}, {}", state.pool.cidr,
                                            rival.pool.id.name, rival.pool.cidr)};
  }
  return std::nullopt;
}

// A pool's problems are found among all pools of its namespace.
void Space::Evaluate(std::string_view ns) {
  const std::string prefix = std::string(ns) + "/";
  for (auto next = pools_.lower_bound(prefix);
       next != pools_.end() && next->first.starts_with(prefix); ++next) {
    auto& [key, state] = *next;
    Reconsider(key, state);
  }
}

void Space::Reconsider(const std::string& key, PoolState& state) {
  if (!Judge(key, state)) return;
  Changed(key, state);
  if (!state.problem) callbacks_.on_room(key);
}

// Whether its problem is another one than before.
bool Space::Judge(const std::string& key, PoolState& state) {
  auto problem = ProblemOf(key, state);
  if (PoolState* parent = ParentOf(key, state)) {
    if (problem && problem->reason == kPoolOverlap) {
      parent->blocked.insert(key);
    } else {
      parent->blocked.erase(key);
    }
  }
  if (problem == state.problem) return false;
  state.problem = std::move(problem);
  return true;
}

void Space::PutSubnet(const Subnet& subnet) {
  const std::string pool = subnet.PoolKey();
  const std::string key = subnet.id.Key();
  PoolState* state = Mutable(pool);
  if (!state) {
    homeless_[pool].insert_or_assign(key, subnet);
    callbacks_.on_placement(key);
    return;
  }
  const auto before = state->unplaced.find(key);
  const bool known = before != state->unplaced.end() && before->second.id.uid == subnet.id.uid;
  if (Place(pool, *state, subnet)) {
    state->unplaced.erase(key);
  } else {
    state->unplaced.insert_or_assign(key, subnet);
    if (known) return;  // no news
  }
  callbacks_.on_placement(key);
}

// True when the block is the Subnet's.
bool Space::Place(const std::string& pool, PoolState& state, const Subnet& subnet) {
  if (!subnet.cidr || !state.space) return false;
  const Owner owner = Fingerprint(subnet.id.uid);
  const Owner claim = subnet.claim_uid.empty() ? 0 : Fingerprint(subnet.claim_uid);
  Allocator& space = *state.space;
  const auto hold = space.At(*subnet.cidr);
  if (hold && hold->use == Use::kSubnet) return hold->owner == owner;
  // Who was told that a block is theirs, or is about to be, keeps it, even when the range was moved
  // away under them.
  const bool promised =
      subnet.phase == SubnetPhase::kAllocated || (hold && claim != 0 && hold->owner == claim);
  if (!promised && !space.rules().range.Contains(*subnet.cidr)) return false;
  if (hold && (hold->use == Use::kChild || hold->owner == claim)) {
    space.Change(*subnet.cidr, Use::kSubnet, owner);
  } else if (!Evict(state, *subnet.cidr) || !space.Record(*subnet.cidr, Use::kSubnet, owner)) {
    return false;
  }
  if (const auto assigned = pending_.find(claim);
      assigned != pending_.end() && assigned->second.block == *subnet.cidr) {
    Unbind(pool, assigned->second.cluster, 0, claim);
    pending_.erase(assigned);
  }
  Bind(pool, subnet.cluster, {owner, claim, *subnet.cidr});
  Changed(pool, state);
  return true;
}

// What exists goes before what is only reserved. False when something else is in the way.
bool Space::Evict(PoolState& state, const Cidr& block) {
  while (const auto other = state.space->Overlapping(block)) {
    const auto pending = pending_.find(other->owner);
    if (other->use != Use::kReserved || pending == pending_.end() || !pending->second.reservation) {
      return false;
    }
    state.space->Release(other->block);
    Forget(pending);
  }
  return true;
}

void Space::Bind(const std::string& pool, std::string_view cluster, const Binding& binding) {
  Unbind(pool, cluster, binding.subnet, binding.claim);  // left from a pool of the same name
  bindings_.emplace(ClusterKey(pool, cluster), binding);
}

std::pair<Space::Bindings::iterator, Space::Bindings::iterator> Space::BindingsOf(
    const std::string& pool, std::string_view cluster) {
  return bindings_.equal_range(ClusterKey(pool, cluster));
}

void Space::Unbind(const std::string& pool, std::string_view cluster, Owner subnet, Owner claim) {
  const auto [begin, end] = BindingsOf(pool, cluster);
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second.subnet == subnet && entry->second.claim == claim) {
      bindings_.erase(entry);
      return;
    }
  }
}

const Space::Binding* Space::BindingOf(const std::string& pool, std::string_view cluster,
                                       Owner claim) const {
  const PoolState* state = Find(pool);
  if (!state || !state->space) return nullptr;
  const auto [begin, end] = bindings_.equal_range(ClusterKey(pool, cluster));
  const Binding* other = nullptr;
  for (auto entry = begin; entry != end; ++entry) {
    const Binding& binding = entry->second;
    const auto hold = state->space->At(binding.block);
    if (!hold || hold->owner != (binding.subnet != 0 ? binding.subnet : binding.claim)) continue;
    if (binding.claim == claim) return &binding;
    if (!other || other->resting) other = &binding;
  }
  return other;
}

void Space::RemoveSubnet(const Subnet& subnet, bool may_return) {
  const std::string pool = subnet.PoolKey();
  const std::string key = subnet.id.Key();
  const Owner owner = Fingerprint(subnet.id.uid);
  if (const auto homeless = homeless_.find(pool); homeless != homeless_.end()) {
    const auto waiting = homeless->second.find(key);
    if (waiting != homeless->second.end() && waiting->second.id.uid == subnet.id.uid) {
      homeless->second.erase(waiting);
    }
    if (homeless->second.empty()) homeless_.erase(homeless);
  }
  Unbind(pool, subnet.cluster, owner, subnet.claim_uid.empty() ? 0 : Fingerprint(subnet.claim_uid));
  PoolState* state = Mutable(pool);
  if (state) {
    const auto waiting = state->unplaced.find(key);
    if (waiting != state->unplaced.end() && waiting->second.id.uid == subnet.id.uid) {
      state->unplaced.erase(waiting);
      Changed(pool, *state);
    }
    state->resting.erase(key);
  }
  if (!subnet.cidr) return;
  const Owner claim = Fingerprint(subnet.claim_uid);
  const auto keep = [&] {
    pending_.insert_or_assign(claim, Pending{pool, *subnet.cidr, subnet.cluster});
    Bind(pool, subnet.cluster, {0, claim, *subnet.cidr});
  };
  if (!state || !state->space) {
    if (may_return) keep();  // for a pool of the name that may come before it
    return;
  }
  const auto hold = state->space->At(*subnet.cidr);
  if (!hold || hold->use != Use::kSubnet || hold->owner != owner) return;
  if (may_return) {
    state->space->Change(*subnet.cidr, Use::kReserved, claim);
    keep();
    return Changed(pool, *state);
  }
  state->space->Release(*subnet.cidr);
  Freed(pool, *state, *subnet.cidr);
}

// A block has become free, unless somebody who has a right to it was waiting.
void Space::Freed(const std::string& pool, PoolState& state, const Cidr& block) {
  PlaceChildren(state, block);
  PlaceWaiting(pool, state);
  Changed(pool, state);
  for (const std::string& key : std::set(state.blocked)) {
    PlaceChild(state, key);
    if (PoolState* child = Mutable(key)) Reconsider(key, *child);
  }
  if (!HasBlocks(state)) Evaluate(state.pool.id.ns);  // another pool may have waited for that
  callbacks_.on_room(pool);
}

void Space::PlaceWaiting(const std::string& pool, PoolState& state) {
  std::vector<const Subnet*> waiting;
  waiting.reserve(state.unplaced.size());
  for (const auto& [key, subnet] : state.unplaced) waiting.push_back(&subnet);
  std::ranges::stable_sort(waiting, {}, [](const Subnet* subnet) { return TurnOf(*subnet); });
  for (const Subnet* subnet : waiting) {
    if (!Place(pool, state, *subnet)) continue;
    const std::string key = subnet->id.Key();
    state.unplaced.erase(key);
    callbacks_.on_placement(key);
  }
}

// A child pool's range is its own even when no Subnet of the parent's stands for it.
void Space::PlaceChild(PoolState& parent, const std::string& child) {
  const PoolState* state = Find(child);
  if (!state || !state->rules || !parent.rules ||
      !parent.rules->range.Contains(state->rules->range)) {
    return;
  }
  if (!Evict(parent, state->rules->range)) return;
  // Refused when it is held already: by itself, or by its Subnet, or by others, which is told as
  // the child's problem.
  std::ignore =
      parent.space->Record(state->rules->range, Use::kChild, Fingerprint(state->pool.id.uid));
}

void Space::PlaceChildren(PoolState& parent, const Cidr& within) {
  for (auto child = parent.child_at.lower_bound(within.First());
       child != parent.child_at.end() && child->first <= within.Last(); ++child) {
    PlaceChild(parent, child->second);
  }
}

void Space::Changed(const std::string& pool, PoolState& state) {
  state.changed = executor_.Now();
  callbacks_.on_figures(pool);
}

Space::Placement Space::PlacementOf(const Subnet& subnet) const {
  using enum SubnetPhase;
  const PoolState* state = Find(subnet.PoolKey());
  if (!state) return {kPending, Format("there is no SubnetPool {}", subnet.pool)};
  if (!subnet.cidr) return {kFailed, "spec.cidr is not a canonical CIDR"};
  if (!state->space) return {kPending, Format("SubnetPool {} is not valid", subnet.pool)};
  const auto own = state->space->At(*subnet.cidr);
  if (own && own->use == Use::kSubnet && own->owner == Fingerprint(subnet.id.uid)) {
    return {kAllocated, ""};
  }
  const std::string block = subnet.cidr->ToString();
  if (!state->space->rules().range.Contains(*subnet.cidr)) {
    return {kFailed,
            Format("{} is not inside SubnetPool {}, {}", block, subnet.pool, state->pool.cidr)};
  }
  const auto other = state->space->Overlapping(*subnet.cidr);
  return {kFailed, Format("{} overlaps {}, which is in use", block,
                          other ? other->block.ToString() : "another block")};
}

}  // namespace berth::ipam
