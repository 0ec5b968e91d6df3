// The facts: pools and Subnets come, change and go.
#include "reconcile/ipam/space.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "log/format.h"
#include "reconcile/ipam/turn.h"

namespace berth::ipam {
namespace {

std::optional<Cidr> RangeOf(const Pool& pool) {
  const auto range = Cidr::Parse(pool.cidr);
  return range ? std::optional(range->Canonical()) : std::nullopt;
}

}  // namespace

Space::Space(async::Executor& executor, Callbacks callbacks)
    : executor_(executor), callbacks_(std::move(callbacks)) {}

std::uint64_t Space::ClaimKey(const std::string& pool, Owner claim) {
  return Fingerprint(Format("{}\n{}", pool, claim));
}

std::uint64_t Space::ClusterKey(const std::string& pool, std::string_view cluster) {
  return Fingerprint(std::string(pool).append(1, '\n').append(cluster));
}

const Space::PoolState* Space::Find(const std::string& pool) const {
  const auto found = pools_.find(pool);
  return found == pools_.end() ? nullptr : &found->second;
}

Space::PoolState* Space::Mutable(const std::string& pool) {
  const auto found = pools_.find(pool);
  return found == pools_.end() ? nullptr : &found->second;
}

Space::PoolState* Space::ParentOf(const PoolState& state) {
  const std::string& name = state.pool.parent;
  return name.empty() || name == state.pool.id.name ? nullptr : Mutable(KeyBeside(state.key, name));
}

bool Space::InUse(const std::string& pool) const {
  const PoolState* state = Find(pool);
  if (!state) return false;
  if (!state->unplaced.empty() || !Dependants(*state).empty()) return true;
  return state->space->Count(Use::kSubnet) + state->space->Count(Use::kReserved) > 0;
}

std::size_t Space::Remembered() const {
  return pools_.size() + neighbourhoods_.size() + orphans_.size() + homeless_.size() +
         lost_.size() + bindings_.size() + clusters_of_claims_.size() + pending_.size() +
         reserving_.size() + reservations_;
}

std::vector<std::string> Space::Dependants(const PoolState& state) const {
  std::vector<std::string> children(state.children.begin(), state.children.end());
  if (IsAncestor(state.key, state.key)) {
    std::erase_if(children, [&](const std::string& child) { return IsAncestor(child, state.key); });
  }
  return children;
}

void Space::Rebuild(const std::vector<const Pool*>& pools, std::vector<const Subnet*> subnets,
                    const std::vector<Promise>& promises) {
  quiet_ = true;
  neighbourhoods_.clear();
  pools_.clear();
  orphans_.clear();
  homeless_.clear();
  lost_.clear();
  bindings_.clear();
  clusters_of_claims_.clear();
  pending_.clear();
  reserving_.clear();
  reservations_ = 0;
  std::vector<PoolState*> by_age;
  for (const Pool* pool : pools) {
    PoolState& state = pools_[pool->id.Key()];
    state.key = pool->id.Key();
    state.pool = *pool;
    SetRules(state);
    Index(state);
    by_age.push_back(&state);
  }
  for (PoolState* state : by_age) Join(*state);
  std::ranges::sort(by_age, {}, [](const PoolState* state) {
    return std::tuple(state->pool.id.created, std::string_view(state->key));
  });
  // A Subnet keeps its block if somebody was told of it, or is about to be; then come the children,
  // then the first by age.
  std::ranges::sort(subnets, {}, [](const Subnet* subnet) {
    return std::tuple(TurnOf(*subnet), subnet->id.created, std::string_view(subnet->id.ns),
                      std::string_view(subnet->id.name));
  });
  const auto rest = std::ranges::find_if(
      subnets, [](const Subnet* subnet) { return TurnOf(*subnet) > Turn::kMade; });
  std::for_each(subnets.begin(), rest, [this](const Subnet* subnet) { PutSubnet(*subnet); });
  const std::vector<Owner> kept = Keep(promises);
  for (PoolState* state : by_age) Settle(*state);
  std::for_each(rest, subnets.end(), [this](const Subnet* subnet) { PutSubnet(*subnet); });
  for (PoolState* state : by_age) {
    FindRival(*state);
    Judge(*state);
    state->changed = executor_.Now();
  }
  AbandonUnready(kept);
  quiet_ = false;
}

// Derives the rules from a pool's spec.
void Space::SetRules(PoolState& state) {
  const bool fresh = !state.space;
  auto rules = RulesOf(state.pool);
  if (rules) {
    if (fresh) {
      state.space = std::make_unique<Allocator>(*rules);
    } else {
      state.space->SetRules(*rules);
    }
    state.rules = std::move(*rules);
  } else {
    // It gives nothing out, but what it gave out stays held, wherever that is.
    state.rules.reset();
    const Cidr range = RangeOf(state.pool).value_or(Cidr(Family::kIpv4, 0, Width(Family::kIpv4)));
    if (fresh) {
      state.space = std::make_unique<Allocator>(
          PoolRules{.range = range, .max_block = Width(range.family())});
    }
  }
  if (fresh) HoldPending(state);
}

// Holds the blocks that an earlier pool of the name gave out and that may be under way yet.
void Space::HoldPending(PoolState& state) {
  for (const auto& [owner, pending] : pending_) {
    if (pending.pool == state.key) {
      std::ignore = state.space->Record(pending.block, Use::kReserved, owner);
    }
  }
}

// Makes the pool known by its range.
void Space::Index(PoolState& state) {
  const auto range = RangeOf(state.pool);
  if (range == state.indexed) return;
  BlockIndex<PoolState>& ranges = Around(state).ranges;
  if (state.indexed) ranges.Erase(*state.indexed, state.key);
  if (range) ranges.Insert(*range, state.key, &state);
  state.indexed = range;
}

// Makes the pool known to its parent, or to who comes under its name.
void Space::Join(PoolState& state) {
  if (state.pool.parent.empty() || state.pool.parent == state.pool.id.name) return;
  const std::string above = KeyBeside(state.key, state.pool.parent);
  PoolState* parent = Mutable(above);
  (parent ? parent->children : orphans_[above]).insert(state.key);
}

void Space::Part(PoolState& state) {
  const std::string above = KeyBeside(state.key, state.pool.parent);
  if (PoolState* parent = ParentOf(state)) {
    parent->children.erase(state.key);
    Changed(above, *parent);
  } else if (const auto orphans = orphans_.find(above); orphans != orphans_.end()) {
    orphans->second.erase(state.key);
    if (orphans->second.empty()) orphans_.erase(orphans);
  }
}

// Takes over the Subnets and children that waited for the pool. The blocks of the Subnets, and
// those under way, are for the caller to release in other pools, once the pool holds them itself.
std::vector<Cidr> Space::Adopt(PoolState& state) {
  std::vector<Cidr> blocks;
  if (auto waiting = homeless_.extract(state.key)) {
    for (const auto& [key, subnet] : waiting.mapped()) {
      AddUnplaced(state, subnet);
      if (subnet.cidr) blocks.push_back(*subnet.cidr);
    }
  }
  for (const auto& [owner, pending] : pending_) {
    if (pending.pool == state.key) blocks.push_back(pending.block);
  }
  if (auto children = orphans_.extract(state.key)) state.children = std::move(children.mapped());
  return blocks;
}

// The pool was made anew under its name: what is held for it still is.
void Space::Rename(PoolState& state, const std::string& uid) {
  if (!state.kept) return;
  const PoolState::Place& kept = *state.kept;
  PoolState* parent = Mutable(kept.parent);
  if (!parent) return;
  const auto hold = parent->space->At(kept.block);
  if (hold && hold->use == Use::kChild && hold->owner == Fingerprint(state.pool.id.uid)) {
    parent->space->Change(kept.block, Use::kChild, Fingerprint(uid));
  }
}

void Space::PutPool(const Pool& pool, const std::vector<Promise>& promises) {
  const std::string key = pool.id.Key();
  auto [found, fresh] = pools_.try_emplace(key);
  PoolState& state = found->second;
  std::optional<PoolRules> after;
  if (auto rules = RulesOf(pool)) after = std::move(*rules);
  const bool reopened = state.pool.id.deleting != 0 && pool.id.deleting == 0;  // another pool
  const bool ruled = fresh || reopened || state.rules != after || state.pool.cidr != pool.cidr;
  const bool moved = fresh || state.pool.parent != pool.parent;
  const bool reborn =
      !fresh && (state.pool.id.uid != pool.id.uid || state.pool.owner_uid != pool.owner_uid);
  const bool kept_for_others = state.pool.pre_allocations != pool.pre_allocations;
  const bool news = ruled || moved || reborn || kept_for_others ||
                    state.pool.id.generation != pool.id.generation ||
                    state.pool.id.deleting != pool.id.deleting ||
                    state.pool.allow_delete != pool.allow_delete;
  const auto range = [](const std::optional<PoolRules>& rules) {
    return rules ? std::optional(rules->range) : std::nullopt;
  };
  const bool reranged = fresh || reopened || range(state.rules) != range(after);
  const auto before = state.indexed;
  if (reborn) Rename(state, pool.id.uid);
  if (moved && !fresh) Part(state);
  state.key = key;
  state.pool = pool;
  if (!news) return;
  const std::vector<Cidr> adopted = fresh ? Adopt(state) : std::vector<Cidr>();
  if (moved) Join(state);
  if (ruled) SetRules(state);
  Index(state);
  const std::vector<Owner> kept = reranged ? Fit(state, promises) : std::vector<Owner>();
  if (reranged || moved || reborn) Settle(state);
  if (ruled) PlaceWaiting(state, Waiting::kAll);
  for (const Cidr& block : adopted) ReleaseHomeless(key, block);
  if (reranged || moved || reborn) {
    if (moved) {
      Relate(state);
    } else {
      FindRival(state);
      RecheckAround(state, state.indexed);
    }
    RecheckAround(state, before);
    if (PoolState* parent = ParentOf(state)) Changed(parent->key, *parent);
  }
  Reconsider(state);
  AbandonUnready(kept);
  Changed(key, state);
  if (!ruled && !kept_for_others) return;
  for (const auto& [subnet, waiting] : state.unplaced) callbacks_.on_placement(subnet);
  callbacks_.on_room(key);
}

// After the pool's range has changed.
std::vector<Owner> Space::Fit(PoolState& state, const std::vector<Promise>& promises) {
  HoldForeignAnew(state);
  HoldAllAbroad(state);
  PlaceWaiting(state, Waiting::kPromised);
  std::vector<Owner> kept = Keep(promises);
  for (const std::string& child : std::set(state.children)) Settle(*Mutable(child));
  return kept;
}

bool Space::Keeps(const std::string& pool, const std::string& claim, const Cidr& block) const {
  const PoolState* state = Find(pool);
  if (!state || state->pool.id.deleting != 0 || !state->rules ||
      !state->rules->range.Contains(block)) {
    return false;
  }
  // A block that is kept for the claim stands among the exclusions.
  return KeptFor(state->pool, claim) == block ||
         std::ranges::none_of(state->rules->excluded,
                              [&](const Cidr& range) { return range.Overlaps(block); });
}

// The first part of a block that a pool has given out.
std::optional<Cidr> Space::GivenOf(const PoolState& state, const Cidr& block) const {
  std::optional<Cidr> given;
  state.space->ForEachOverlapping(block, [&](const Hold& hold) {
    if (hold.use == Use::kSubnet || (hold.use == Use::kReserved && !Yields(hold))) {
      given = hold.block;
    }
    return !given;
  });
  return given;
}

// Whether a pool that overlaps this one has given out some of the block. The pools above it hold
// its range, and the child pool that the block is for stands on it.
bool Space::IsGivenBeside(const PoolState& state, const Promise& promise) const {
  return std::ranges::any_of(
      Overlapping(state.pool.id.ns, promise.block), [&](const PoolState* other) {
        if (other == &state || IsAncestor(other->key, state.key)) return false;
        if (!promise.wish.pool_claim.empty() && IsAncestor(state.key, other->key)) return false;
        return GivenOf(*other, promise.block).has_value();
      });
}

std::optional<Space::Beside> Space::GivenBeside(const std::string& pool, const Cidr& block) const {
  const PoolState* state = Find(pool);
  if (!state) return std::nullopt;
  for (const PoolState* other : Overlapping(state->pool.id.ns, block)) {
    // Blocks that a pool below has given out are held in this one.
    if (other == state || IsAncestor(other->key, pool) || IsAncestor(pool, other->key)) continue;
    if (const auto given = GivenOf(*other, block)) return Beside{*given, other};
  }
  return std::nullopt;
}

std::vector<Owner> Space::Keep(const std::vector<Promise>& promises) {
  std::vector<Owner> kept;
  for (const Promise& promise : promises) {
    const auto& [pool, wish, block] = promise;
    if (!Keeps(pool, wish.claim, block) || pending_.contains(wish.owner) ||
        !BindingsOfClaim(pool, wish.owner).empty()) {
      continue;
    }
    PoolState& state = *Mutable(pool);
    if (IsGivenBeside(state, promise) || !state.space->Record(block, Use::kReserved, wish.owner)) {
      continue;
    }
    pending_.emplace(wish.owner, Pending{pool, block, wish.cluster});
    Bind(pool, wish.cluster, {0, wish.owner, block, Fingerprint(wish.claim)});
    Took(state, block);
    kept.push_back(wish.owner);
  }
  return kept;
}

// Gives back what was kept in pools that give nothing out.
void Space::AbandonUnready(const std::vector<Owner>& kept) {
  for (const Owner owner : kept) {
    const auto pending = pending_.find(owner);
    const PoolState* state = pending == pending_.end() ? nullptr : Find(pending->second.pool);
    if (state && state->problem) Abandon(owner);
  }
}

void Space::RemovePool(const std::string& key, const std::vector<const Subnet*>& subnets) {
  const auto found = pools_.find(key);
  if (found == pools_.end()) return;
  PoolState& state = found->second;
  // Nobody finds it any more by its parent or its range.
  Part(state);
  const auto range = state.indexed;
  if (range) Around(state).ranges.Erase(*range, key);
  state.indexed.reset();
  // Held in other pools before anything becomes free there. Reservations there may end by it.
  std::vector<Cidr> under_way;
  for (const auto& [owner, pending] : pending_) {
    if (pending.pool == key && !pending.reservation) under_way.push_back(pending.block);
  }
  for (const Cidr& block : under_way) HoldLost(key, block);
  for (const Subnet* subnet : subnets) HoldHomeless(*subnet);
  if (state.kept) Forget(state, *state.kept);
  std::vector<Cidr> blocks;
  state.space->ForEach(0, [&](const Hold& hold) {
    blocks.push_back(hold.block);
    return state.abroad > 0;
  });
  for (const Cidr& block : blocks) WithdrawAll(state, block);
  const auto removed = pools_.extract(found);
  if (const auto tokens = reserving_.extract(key)) {
    reservations_ -= tokens.mapped().size();
    for (const Owner token : tokens.mapped()) pending_.erase(token);
  }
  // Its Subnets are still there, and wait for a pool of the name.
  if (!state.unplaced.empty()) homeless_[key] = state.unplaced;
  for (const Subnet* subnet : subnets) {
    UnbindSubnet(*subnet);
    homeless_[key].insert_or_assign(subnet->id.Key(), *subnet);
  }
  while (!state.unplaced.empty()) EraseUnplaced(state, std::string(state.unplaced.begin()->first));
  if (!state.children.empty()) orphans_[key] = state.children;
  for (const std::string& child : state.children) {
    Settle(*Mutable(child));
    Relate(*Mutable(child));
  }
  if (range) {
    for (const auto& entry : Around(state).ranges.Overlapping(*range)) {
      if (entry.value->rival != key) continue;
      FindRival(*entry.value);
      Reconsider(*entry.value);
    }
    PlaceBeside(state, *range);
  }
  if (Around(state).empty()) neighbourhoods_.erase(state.pool.id.ns);
  for (const Subnet* subnet : subnets) callbacks_.on_placement(subnet->id.Key());
  callbacks_.on_figures(key);
  callbacks_.on_room(key);
}

void Space::Took(PoolState& state, const Cidr& block) {
  const bool safe = state.placed && state.rules && state.rules->range.Contains(block);
  if (const auto hold = safe ? std::nullopt : state.space->At(block)) HoldAbroad(state, *hold);
  CountBlocks(state);
}

void Space::Freed(const std::string& pool, PoolState& state, const Cidr& block) {
  WithdrawAll(state, block);
  HoldForeign(state, block);
  PlaceWaiting(state, Waiting::kPromised, block);
  SettleChildren(state, block);
  PlaceWaiting(state, Waiting::kAll, block);
  PlaceBeside(state, block);
  CountBlocks(state);
  Changed(pool, state);
  if (!quiet_) callbacks_.on_free(pool, block);
}

void Space::Changed(const std::string& pool, PoolState& state) {
  state.changed = executor_.Now();
  if (!quiet_) callbacks_.on_figures(pool);
}

void Space::AddUnplaced(PoolState& state, const Subnet& subnet) {
  const std::string key = subnet.id.Key();
  const auto [added, fresh] = state.unplaced.insert_or_assign(key, subnet);
  if (subnet.cidr) Around(state).unplaced.Insert(*subnet.cidr, key, &added->second);
}

void Space::EraseUnplaced(PoolState& state, const std::string& key) {
  const auto found = state.unplaced.find(key);
  if (found == state.unplaced.end()) return;
  if (found->second.cidr) Around(state).unplaced.Erase(*found->second.cidr, key);
  state.unplaced.erase(found);
}

void Space::PutSubnet(const Subnet& subnet) {
  const std::string pool = subnet.PoolKey();
  const std::string key = subnet.id.Key();
  PoolState* state = Mutable(pool);
  if (!state) {
    homeless_[pool].insert_or_assign(key, subnet);
    HoldHomeless(subnet);
    if (!quiet_) callbacks_.on_placement(key);
    return;
  }
  const auto before = state->unplaced.find(key);
  const bool known = before != state->unplaced.end() && before->second.id.uid == subnet.id.uid;
  EraseUnplaced(*state, key);
  if (!Place(*state, subnet)) {
    AddUnplaced(*state, subnet);
    if (known) return;  // no news
  }
  if (!quiet_) callbacks_.on_placement(key);
}

void Space::Bind(const std::string& pool, std::string_view cluster, const Binding& binding) {
  const std::uint64_t key = ClusterKey(pool, cluster);
  bindings_.insert_or_assign({key, binding.claim, binding.subnet}, binding);
  if (binding.claim != 0)
    clusters_of_claims_.insert_or_assign({ClaimKey(pool, binding.claim), binding.subnet}, key);
}

Space::BindingRange Space::BindingsOf(std::uint64_t cluster_key) const {
  constexpr Owner kLast = std::numeric_limits<Owner>::max();
  return {bindings_.lower_bound({cluster_key, 0, 0}),
          bindings_.upper_bound({cluster_key, kLast, kLast})};
}

void Space::Unbind(const std::string& pool, std::string_view cluster, Owner subnet, Owner claim) {
  bindings_.erase({ClusterKey(pool, cluster), claim, subnet});
  if (claim != 0) clusters_of_claims_.erase({ClaimKey(pool, claim), subnet});
}

// It may have been its claim's block before users took its label off, or not.
void Space::UnbindSubnet(const Subnet& subnet) {
  for (const Owner claim : {Owner{0}, Fingerprint(subnet.claim_uid)}) {
    Unbind(subnet.PoolKey(), subnet.cluster, Fingerprint(subnet.id.uid), claim);
  }
}

std::vector<const Space::Binding*> Space::BindingsOfClaim(const std::string& pool,
                                                          Owner claim) const {
  std::vector<const Binding*> bindings;
  const std::uint64_t key = ClaimKey(pool, claim);
  for (auto at = clusters_of_claims_.lower_bound({key, 0});
       at != clusters_of_claims_.end() && at->first.first == key; ++at) {
    const auto found = bindings_.find({at->second, claim, at->first.second});
    if (found != bindings_.end()) bindings.push_back(&found->second);
  }
  return bindings;
}

const Space::Binding* Space::BindingOf(const std::string& pool, std::string_view cluster,
                                       Owner claim, const std::optional<Cidr>& told) const {
  const PoolState* state = Find(pool);
  if (!state) return nullptr;
  const auto holds = [&](const Binding& binding) {
    const auto hold = state->space->At(binding.block);
    return hold && hold->owner == (binding.subnet != 0 ? binding.subnet : binding.claim);
  };
  // The claim's own, whatever clusterID it had when it got it.
  const Binding* own = nullptr;
  for (const Binding* binding : BindingsOfClaim(pool, claim)) {
    if ((!own || binding->block == told) && holds(*binding)) own = binding;
  }
  if (own) return own;
  const Binding* resting = nullptr;
  for (const auto& [key, binding] : BindingsOf(ClusterKey(pool, cluster))) {
    if (!holds(binding)) continue;
    if (!binding.resting) return &binding;
    if (!resting) resting = &binding;
  }
  return resting;
}

bool Space::IsOfAnotherCluster(const std::string& pool, std::string_view cluster, Owner claim,
                               const Cidr& block) const {
  const std::uint64_t key = ClusterKey(pool, cluster);
  const auto bindings = BindingsOfClaim(pool, claim);
  return std::ranges::any_of(bindings, [&](const Binding* binding) {
    return binding->block.Overlaps(block) && !bindings_.contains({key, claim, binding->subnet});
  });
}

void Space::RemoveSubnet(const Subnet& subnet, bool may_return) {
  const std::string pool = subnet.PoolKey();
  const std::string key = subnet.id.Key();
  const Owner owner = Fingerprint(subnet.id.uid);
  const Owner claim = Fingerprint(subnet.claim_uid);
  const auto assigned = pending_.find(claim);
  if (assigned != pending_.end() &&
      (assigned->second.pool != pool || assigned->second.block != subnet.cidr)) {
    may_return = false;  // the claim's Subnet is being made of another block
  }
  if (const auto homeless = homeless_.find(pool); homeless != homeless_.end()) {
    const auto waiting = homeless->second.find(key);
    if (waiting != homeless->second.end() && waiting->second.id.uid == subnet.id.uid) {
      homeless->second.erase(waiting);
      if (subnet.cidr && !may_return) ReleaseHomeless(pool, *subnet.cidr);
    }
    if (homeless->second.empty()) homeless_.erase(homeless);
  }
  UnbindSubnet(subnet);
  PoolState* state = Mutable(pool);
  if (state) {
    const auto waiting = state->unplaced.find(key);
    if (waiting != state->unplaced.end() && waiting->second.id.uid == subnet.id.uid) {
      EraseUnplaced(*state, key);
      Changed(pool, *state);
    }
    state->resting.erase(key);
  }
  if (!subnet.cidr) return;
  const auto keep = [&] {
    pending_.insert_or_assign(claim, Pending{pool, *subnet.cidr, subnet.cluster});
    Bind(pool, subnet.cluster, {0, claim, *subnet.cidr, Fingerprint(subnet.claim_name)});
  };
  if (!state) {
    if (!may_return) return;
    keep();  // for a pool of the name that may come before it
    return HoldLost(pool, *subnet.cidr);
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

Space::Placement Space::PlacementOf(const Subnet& subnet) const {
  using enum SubnetPhase;
  const PoolState* state = Find(subnet.PoolKey());
  if (!state) return {kPending, Format("there is no SubnetPool {}", subnet.pool)};
  if (!subnet.cidr) return {kFailed, "spec.cidr is not a canonical CIDR"};
  const auto own = state->space->At(*subnet.cidr);
  if (own && own->use == Use::kSubnet && own->owner == Fingerprint(subnet.id.uid)) {
    return {kAllocated, ""};
  }
  if (!state->rules) return {kPending, Format("SubnetPool {} is not valid", subnet.pool)};
  const std::string block = subnet.cidr->ToString();
  if (!state->space->rules().range.Contains(*subnet.cidr)) {
    return {kFailed,
            Format("{} is not inside SubnetPool {}, {}", block, subnet.pool, state->pool.cidr)};
  }
  std::vector<std::string> others;
  state->space->ForEachOverlapping(*subnet.cidr, [&](const Hold& hold) {
    others.push_back(hold.block.ToString());
    return others.size() < 3;
  });
  // More are not named: the message would change with each that goes.
  if (others.size() > 2) return {kFailed, Format("{} overlaps blocks that are in use", block)};
  if (others.size() == 2) {
    return {kFailed, Format("{} overlaps {} and {}, which are in use", block, others.front(),
                            others.back())};
  }
  if (!others.empty()) {
    return {kFailed, Format("{} overlaps {}, which is in use", block, others.front())};
  }
  if (const auto given = GivenBeside(state->key, *subnet.cidr)) {
    return {kFailed, Format("{} overlaps {} of SubnetPool {}, which is in use", block,
                            given->block.ToString(), given->pool->pool.id.name)};
  }
  if (!state->placed || state->pool.id.deleting != 0) {
    return {kFailed, Format("SubnetPool {} is not ready: {}", subnet.pool,
                            state->problem ? state->problem->message : "")};
  }
  return {kPending, Format("{} is about to be allocated", block)};
}

}  // namespace berth::ipam
