#include "reconcile/ipam/system.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "reconcile/ipam/context.h"
#include "reconcile/ipam/stamp.h"
#include "reconcile/ipam/wish.h"
#include "reconcile/ipam/work.h"
#include "reconcile/runtime/leader_work.h"

namespace berth::ipam {
namespace {

using namespace std::chrono_literals;

// A create that has not arrived by then was refused, or its client is gone.
constexpr auto kReservedFor = 30s;
// A pool's status that somebody else has written is compared after this time.
constexpr auto kStatusCheck = 10s;
// Everything is looked at again now and then: against what nobody thought of.
constexpr auto kResync = 10min;

// The block that a claim was told it waits for; none if others would do.
std::optional<Cidr> WaitsFor(const Claim& claim) {
  if (claim.Lost()) return PromisedBlock(claim);
  const auto requested = Cidr::Parse(claim.reason == "RequestedCIDRTaken" ? claim.requested : "");
  return requested ? std::optional(*requested) : std::nullopt;
}

}  // namespace

struct System::Parts {
  Parts(async::Executor& to_run, kube::Transport& to_use, runtime::Leadership& to_join,
        Options given);

  void Listen();
  void ListenToPools();
  void ListenToSubnets();
  void ListenToClaims();
  void Build(const std::vector<Space::Promise>& promises = {});
  std::unique_ptr<Work> MakeWork();
  void Deposed();
  void BeginWhenFresh();
  void Requeue(const std::string& pool, Metrics::Trigger trigger);
  std::vector<const Claim*> ToldClaims(std::size_t index, const std::string& pool,
                                       const std::optional<Cidr>& within = std::nullopt) const;
  void Reclaim(std::size_t index, const std::string& pool,
               const std::optional<Cidr>& within = std::nullopt);
  void LookAtSubnetOf(const Claim& claim);
  void LookAtUnbound(const Claim& claim);
  void LookAtResting(const std::string& pool);
  void OnFigures(const std::string& pool);
  void OnRoom(const std::string& pool);
  void OnFree(const std::string& pool, const std::optional<Cidr>& block);
  void ServeWaiting(const std::string& pool, const std::vector<Cidr>& blocks);
  void OnPlacement(const std::string& subnet);
  void ExpireReservations();
  void CountClaims();

  async::Executor& executor;
  kube::Transport& transport;
  runtime::Leadership& leadership;
  const Options options;
  std::optional<Metrics> metrics;
  Caches caches;
  Space space;
  runtime::LeaderWork<Work> work;
  bool built = false;                         // the space has the caches' whole state
  std::map<std::string, std::size_t> phases;  // claims in each
  std::set<std::string> dirty;                // pools, for who shows them
  async::Handle expiry;
  std::map<std::string, std::vector<Cidr>> freed;  // blocks that have become free in this turn
  async::Handle serving;
};

System::Parts::Parts(async::Executor& to_run, kube::Transport& to_use, runtime::Leadership& to_join,
                     Options given)
    : executor(to_run),
      transport(to_use),
      leadership(to_join),
      options(std::move(given)),
      caches(to_run, transport),
      space(to_run, {.on_figures = [this](const std::string& pool) { OnFigures(pool); },
                     .on_room = [this](const std::string& pool) { OnRoom(pool); },
                     .on_placement = [this](const std::string& subnet) { OnPlacement(subnet); },
                     .on_ready =
                         [this](const std::string& pool) {
                           // The status of some may not say yet that they have no Subnet.
                           Reclaim(caches.told_claims_by_pool, pool);
                         },
                     .on_free = [this](const std::string& pool,
                                       const std::optional<Cidr>& block) { OnFree(pool, block); }}),
      work(to_run, to_join,
           {.system = "ipam",
            .resync = kResync,
            .refresh = [this] { caches.Refresh(); },
            .fresh = [this] { return caches.fresh(); },
            .make = [this] { return MakeWork(); },
            .ended = [this] { Deposed(); }}) {
  if (options.registry) metrics.emplace(*options.registry);
  Listen();
  caches.Start();
}

void System::Parts::Listen() {
  ListenToPools();
  ListenToSubnets();
  ListenToClaims();
  const auto queue = [this](const std::string& key) {
    if (work) work->pool_claims.Add(key);
  };
  caches.pool_claims.AddHandler(
      {.on_add = [queue](const std::string& key, const PoolClaim&) { queue(key); },
       .on_update = [queue](const std::string& key, const PoolClaim&,
                            const PoolClaim&) { queue(key); },
       .on_delete = [queue](const std::string& key, const PoolClaim&) { queue(key); },
       .on_whole = [this] { BeginWhenFresh(); }});
}

void System::Parts::ListenToPools() {
  // A child's life concerns its claim, too: by its owner reference, or by the claim's status.
  const auto tell_claim = [this](const std::string& key, const Pool& pool) {
    if (!work) return;
    for (const std::string& child : {pool.owner_uid, key}) {
      caches.pool_claims.ForEachIn(
          caches.pool_claims_by_child, child,
          [&](const std::string& claim, const PoolClaim&) { work->pool_claims.Add(claim); });
    }
  };
  caches.pools.AddHandler(
      {.on_add =
           [this, tell_claim](const std::string& key, const Pool& now) {
             if (!built) return;
             // Its blocks may be those that claims were told of before.
             space.PutPool(now, PromisesOf(ToldClaims(caches.told_claims_by_pool, key)));
             Reclaim(caches.told_claims_by_pool, key);
             Requeue(key, Metrics::Trigger::kCreate);
             tell_claim(key, now);
           },
       .on_update =
           [this, tell_claim](const std::string& key, const Pool& before, const Pool& now) {
             if (!built) return;
             const bool spec =
                 before.id.generation != now.id.generation || before.id.uid != now.id.uid;
             space.PutPool(now, PromisesOf(spec ? ToldClaims(caches.told_claims_by_pool, key)
                                                : std::vector<const Claim*>()));
             if (before.id.deleting != now.id.deleting ||
                 before.grace_seconds != now.grace_seconds) {
               LookAtResting(key);
             }
             if (spec) Reclaim(caches.told_claims_by_pool, key);
             if (spec || before.parent != now.parent || before.id.finalizer != now.id.finalizer) {
               Requeue(key, Metrics::Trigger::kUpdate);
             } else if (work && before.status != now.status) {
               // A write that was given up may be carried out later. Not at once: another
               // controller that writes the status, too, must not be answered without end.
               work->pools.AddAfter(key, kStatusCheck);
             }
             tell_claim(key, now);
             if (before.owner_uid != now.owner_uid) tell_claim(key, before);
           },
       .on_delete =
           [this, tell_claim](const std::string& key, const Pool& last) {
             if (!built) return;
             // Its Subnets wait for another pool of the name.
             std::vector<const Subnet*> subnets;
             caches.subnets.ForEachIn(
                 caches.subnets_by_pool, key,
                 [&](const std::string&, const Subnet& subnet) { subnets.push_back(&subnet); });
             if (work) subnets.append_range(work->subnet.UnseenOf(key));
             space.RemovePool(key, subnets);
             if (!last.parent.empty()) {
               Requeue(KeyBeside(key, last.parent), Metrics::Trigger::kDelete);
             }
             Requeue(key, Metrics::Trigger::kDelete);
             tell_claim(key, last);
           },
       .on_whole = [this] { BeginWhenFresh(); }});
}

void System::Parts::ListenToSubnets() {
  const auto seen = [this](const std::string& key, const Subnet& subnet) {
    if (!work) return;
    work->subnet.Seen(subnet);
    work->subnets.Add(key);
  };
  const auto tell_claim = [this](const std::string& key, const Subnet& subnet) {
    if (work && !subnet.claim_name.empty()) work->claims.Add(KeyBeside(key, subnet.claim_name));
  };
  caches.subnets.AddHandler(
      {.on_add =
           [this, seen](const std::string& key, const Subnet& now) {
             if (!built) return;
             seen(key, now);
             space.PutSubnet(now);
             if (IsGivenBack(caches, now)) space.Rest(now);
             Requeue(now.PoolKey(), Metrics::Trigger::kCreate);
           },
       .on_update =
           [this, seen, tell_claim](const std::string& key, const Subnet& before,
                                    const Subnet& now) {
             if (!built) return;
             seen(key, now);
             // One object's spec never changes: the CustomResourceDefinition has a rule.
             const bool another = before.id.uid != now.id.uid;
             if (another) {
               work ? work->Gone(before) : space.RemoveSubnet(before);
               space.PutSubnet(now);
             } else if (!before.made && now.made) {
               space.PutSubnet(now);  // it is its claim's block again; see SubnetReconciler::Adopt
               tell_claim(key, now);
             } else if (before.phase != now.phase && now.phase == SubnetPhase::kFailed) {
               space.PutSubnet(now);  // others go before one that was told so
             }
             if (IsGivenBack(caches, now)) space.Rest(now);
             if (!another) return;
             Requeue(before.PoolKey(), Metrics::Trigger::kUpdate);
             Requeue(now.PoolKey(), Metrics::Trigger::kUpdate);
             tell_claim(key, before);
           },
       .on_delete =
           [this, seen](const std::string& key, const Subnet& last) {
             if (!built) return;
             seen(key, last);
             if (work) {
               work->Gone(last);
             } else {
               space.RemoveSubnet(last);
             }
             Requeue(last.PoolKey(), Metrics::Trigger::kDelete);
           },
       .on_whole = [this] { BeginWhenFresh(); }});
}

void System::Parts::ListenToClaims() {
  const auto queue = [this](const std::string& key, const Claim& claim) {
    if (!work) return;
    work->claims.Add(key);
    if (!claim.owner_name.empty()) work->pool_claims.Add(KeyBeside(key, claim.owner_name));
  };
  caches.claims.AddHandler(
      {.on_add =
           [this, queue](const std::string& key, const Claim& now) {
             ++phases[now.phase];
             queue(key, now);
             if (work) work->claim.Arrived(now);
           },
       .on_update =
           [this, queue](const std::string& key, const Claim& before, const Claim& now) {
             --phases[before.phase];
             ++phases[now.phase];
             queue(key, now);
             if (before.owner_uid != now.owner_uid) queue(key, before);  // it may be lost
             if (work && before.id.uid != now.id.uid) work->claim.Left(before);
             if (before.id.uid != now.id.uid || now.id.deleting != 0) LookAtSubnetOf(before);
             if (before.allocated != now.allocated) LookAtUnbound(now);
           },
       .on_delete =
           [this, queue](const std::string& key, const Claim& last) {
             --phases[last.phase];
             queue(key, last);
             LookAtSubnetOf(last);
             // If it held a block or a clusterID the Space wakes the claims that wait for it.
             if (work) work->claim.Left(last);
           },
       .on_whole = [this] { BeginWhenFresh(); }});
}

// A leader's claims that were told of a block, or of one that overlaps `within`, by their right to
// it. O(n + found log found).
std::vector<const Claim*> System::Parts::ToldClaims(std::size_t index, const std::string& pool,
                                                    const std::optional<Cidr>& within) const {
  std::vector<const Claim*> claims;
  if (!work) return claims;
  caches.claims.ForEachIn(index, pool, [&](const std::string&, const Claim& claim) {
    if (claim.allocated.empty()) return;
    const auto block = within ? ToldBlock(claim) : std::nullopt;
    if (!within || (block && block->Overlaps(*within))) claims.push_back(&claim);
  });
  SortByRight(claims);
  return claims;
}

// Blocks that claims were told of go to them before anybody else's turn comes; last to those who
// have lost theirs, because others may have been told of it since.
void System::Parts::Reclaim(std::size_t index, const std::string& pool,
                            const std::optional<Cidr>& within) {
  for (const Claim* claim : ToldClaims(index, pool, within)) work->claim.Reclaim(*claim);
}

// The Subnets of a claim that is gone, or going.
void System::Parts::LookAtSubnetOf(const Claim& claim) {
  if (!built) return;
  const Owner owner = Fingerprint(claim.id.uid);
  for (const Space::Binding* held : space.BindingsOfClaim(claim.PoolKey(), owner)) {
    const Subnet* subnet = caches.SubnetAt(claim.PoolKey(), held->block, held->subnet);
    if (!subnet) continue;
    if (IsGivenBack(caches, *subnet)) space.Rest(*subnet);
    if (work) work->subnets.Add(subnet->id.Key());
  }
  if (!work) return;
  // One whose pool is gone is bound to nothing.
  if (const auto told = Cidr::Parse(claim.allocated)) {
    work->subnets.Add(KeyBeside(claim.id.Key(), SubnetName(claim.pool, *told)));
  }
  LookAtUnbound(claim);
}

// The Subnets that name the claim and may not be its block.
void System::Parts::LookAtUnbound(const Claim& claim) {
  if (!work) return;
  caches.subnets.ForEachIn(caches.unbound_subnets_by_claim, claim.id.uid,
                           [&](const std::string& key, const Subnet&) { work->subnets.Add(key); });
}

// The grace period of Subnets that are being deleted may be over, whether their claims are there or
// not.
void System::Parts::LookAtResting(const std::string& pool) {
  if (!work) return;
  caches.subnets.ForEachIn(caches.subnets_by_pool, pool,
                           [&](const std::string& key, const Subnet& subnet) {
                             if (subnet.id.deleting != 0) work->subnets.Add(key);
                           });
}

void System::Parts::Deposed() {
  if (metrics) metrics->ForgetAll();
  // Blocks that were given out and not written down are nobody's now.
  if (built) Build();
}

void System::Parts::Build(const std::vector<Space::Promise>& promises) {
  std::vector<const Pool*> pools;
  std::vector<const Subnet*> subnets;
  pools.reserve(caches.pools.size());
  subnets.reserve(caches.subnets.size());
  caches.pools.ForEach([&](const std::string&, const Pool& pool) { pools.push_back(&pool); });
  caches.subnets.ForEach(
      [&](const std::string&, const Subnet& subnet) { subnets.push_back(&subnet); });
  space.Rebuild(pools, subnets, promises);
  for (const Subnet* subnet : subnets) {
    if (IsGivenBack(caches, *subnet)) space.Rest(*subnet);
  }
  built = true;
  for (const auto& [key, state] : space.pools()) dirty.insert(key);
}

void System::Parts::BeginWhenFresh() {
  if (!caches.synced()) return;
  if (!built) Build();
  work.BeginWhenFresh();
}

std::unique_ptr<Work> System::Parts::MakeWork() {
  std::vector<const Claim*> told;
  caches.claims.ForEach([&](const std::string&, const Claim& claim) {
    if (!claim.allocated.empty()) told.push_back(&claim);
  });
  SortByRight(told);
  Build(PromisesOf(told));
  auto made = std::make_unique<Work>(executor, leadership, transport, caches, space,
                                     metrics ? &*metrics : nullptr, options);
  for (const Claim* claim : told) made->claim.Reclaim(*claim);
  return made;
}

void System::Parts::Requeue(const std::string& pool, Metrics::Trigger trigger) {
  if (!work) return;
  if (metrics) metrics->Requeued(trigger);
  work->pool.Changed(pool);
  work->pools.Add(pool);
}

void System::Parts::OnFigures(const std::string& pool) {
  dirty.insert(pool);
  if (!work) return;
  work->pool.Changed(pool);
  work->pools.Add(pool);
}

void System::Parts::OnRoom(const std::string& pool) {
  if (!work) return;
  Reclaim(caches.unbound_claims_by_pool, pool);
  caches.claims.ForEachIn(caches.unbound_claims_by_pool, pool,
                          [this](const std::string& key, const Claim& claim) {
                            if (!work->claim.BacksOff(claim)) work->claims.Add(key);
                          });
  caches.pool_claims.ForEachIn(caches.unbound_pool_claims_by_parent, pool,
                               [this](const std::string& key, const PoolClaim& claim) {
                                 if (!work->pool_claim.BacksOff(claim)) work->pool_claims.Add(key);
                               });
}

// In a turn of its own: the claim that a block was released for goes first.
void System::Parts::OnFree(const std::string& pool, const std::optional<Cidr>& block) {
  if (!work) return;
  if (block) Reclaim(caches.unbound_claims_by_pool, pool, block);
  auto& blocks = freed[pool];
  if (block) blocks.push_back(*block);
  if (serving) return;
  serving = executor.RunAfter({}, [this] {
    const auto pools = std::exchange(freed, {});
    serving = {};
    for (const auto& [key, given_back] : pools) ServeWaiting(key, given_back);
  });
}

// Claims that wait take what is free, and only those whose status is to be written are queued: each
// block that becomes free would wake thousands for nothing. Pool claims follow their internal
// claims. O(claims that wait), once for all blocks that become free in one turn.
void System::Parts::ServeWaiting(const std::string& pool, const std::vector<Cidr>& blocks) {
  if (!work) return;
  std::vector<const Claim*> waiting;
  caches.claims.ForEachIn(
      caches.unbound_claims_by_pool, pool,
      [&](const std::string&, const Claim& claim) { waiting.push_back(&claim); });
  const Space::PoolState* state = space.Find(pool);
  // A claim may get the block of its own cluster back that rests.
  const bool rests = state && !state->resting.empty();
  int none_free = -1;  // nor of any shorter prefix length
  for (const Claim* claim : waiting) {
    const int size = claim->block_size.value_or(Width(Family::kIpv6));
    const bool told = claim->observed == claim->id.generation && !rests;
    if (told && claim->Exhausted() && size <= none_free) continue;
    const auto wanted = told ? WaitsFor(*claim) : std::nullopt;
    if (wanted &&
        std::ranges::none_of(blocks, [&](const Cidr& block) { return block.Overlaps(*wanted); })) {
      continue;
    }
    if (work->claim.BacksOff(*claim)) continue;
    if (work->claim.Serve(*claim)) {
      work->claims.Add(claim->id.Key());
    } else if (told && claim->Exhausted() && claim->block_size) {
      none_free = std::max(none_free, size);
    }
  }
}

void System::Parts::OnPlacement(const std::string& subnet) {
  if (!work) return;
  const Subnet* cached = caches.latest_subnets.Get(subnet);
  // Thousands may overlap a block that becomes free, and still wait for others.
  if (cached && cached->phase == SubnetPhase::kFailed && !cached->has_allocated_at) {
    const auto placement = space.PlacementOf(*cached);
    if (placement.phase == cached->phase && placement.message == cached->message) return;
  }
  work->subnets.Add(subnet);
  if (cached && !cached->claim_name.empty()) {
    work->claims.Add(KeyBeside(subnet, cached->claim_name));
  }
}

void System::Parts::ExpireReservations() {
  const auto next = space.Expire();
  expiry = {};
  if (next) expiry = executor.RunAt(*next, [this] { ExpireReservations(); });
}

System::System(async::Executor& executor, kube::Transport& transport,
               runtime::Leadership& leadership, Options options)
    : parts_(std::make_unique<Parts>(executor, transport, leadership, std::move(options))) {}

System::~System() = default;

bool System::synced() const { return parts_->built; }
bool System::leading() const { return static_cast<bool>(parts_->work); }
const Space& System::space() const { return parts_->space; }

std::vector<const Subnet*> System::SubnetsOf(const std::string& pool, std::size_t most) const {
  std::vector<const Subnet*> subnets;
  const Space::PoolState* state = parts_->space.Find(pool);
  if (!state || !state->space) return subnets;
  state->space->ForEach(0, [&](const Hold& hold) {
    if (hold.use != Use::kSubnet) return true;
    const Subnet* subnet = parts_->caches.SubnetAt(pool, hold.block, hold.owner);
    if (subnet) subnets.push_back(subnet);
    return subnets.size() < most;
  });
  return subnets;
}

std::optional<std::string> System::Stamp(const Claim& claim) {
  if (!parts_->work || parts_->options.stamp_key.empty()) return std::nullopt;
  // It is there already: this create will be refused.
  if (!claim.id.name.empty() && parts_->caches.claims.Get(claim.id.Key())) return std::nullopt;
  Wish wish{.claim = claim.id.name,
            .cluster = claim.cluster,
            .size = claim.block_size,
            .exact = std::nullopt,
            .owner = std::max<Owner>(parts_->executor.Random(), 1)};
  if (!claim.requested.empty()) {
    const auto requested = Cidr::Parse(claim.requested);
    if (!requested || !requested->IsCanonical()) return std::nullopt;
    wish.exact = *requested;
  }
  // Ends with others of the same second: whoever waits for room is woken once for all of them.
  const auto until = std::chrono::ceil<std::chrono::seconds>(parts_->executor.Now() + kReservedFor);
  const auto block = parts_->space.Reserve(claim.PoolKey(), wish, until);
  if (!block) return std::nullopt;
  if (!parts_->expiry) parts_->ExpireReservations();
  return WriteStamp({*block, wish.owner}, parts_->options.stamp_key, claim.id.ns, claim.id.name,
                    claim.pool);
}

bool System::Recalculate(const std::string& ns, const std::string& pool) {
  const std::string key = ns + "/" + pool;
  if (!parts_->space.Find(key)) return false;
  parts_->Requeue(key, Metrics::Trigger::kUpdate);
  return true;
}

std::vector<std::string> System::TakeDirty() {
  std::vector<std::string> pools(parts_->dirty.begin(), parts_->dirty.end());
  parts_->dirty.clear();
  parts_->CountClaims();
  return pools;
}

void System::Parts::CountClaims() {
  if (!metrics) return;
  for (const auto& [phase, count] : phases) {
    metrics->CountClaims(phase.empty() ? "Pending" : phase, static_cast<double>(count));
  }
}

std::size_t System::Remembered() const {
  const Work* work = parts_->work.get();
  const std::size_t while_leading = work ? work->claim.Remembered() + work->pool.Remembered() +
                                               work->pool_claim.Remembered() +
                                               work->subnet.Remembered()
                                         : 0;
  return parts_->space.Remembered() + while_leading;
}

std::vector<const runtime::Controller*> System::controllers() const {
  return parts_->work.controllers();
}

}  // namespace berth::ipam
