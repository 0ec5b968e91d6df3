#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "async/executor.h"
#include "reconcile/ipam/allocator.h"
#include "reconcile/ipam/block_index.h"
#include "reconcile/ipam/objects.h"
#include "reconcile/ipam/pool_rules.h"

namespace berth::ipam {

// Why a pool gives nothing out.
struct PoolProblem {
  // InvalidSpec, PoolOverlap, ParentNotFound, ParentNotReady, OutsideParent, Deleting
  std::string reason;
  std::string message;
  friend bool operator==(const PoolProblem&, const PoolProblem&) = default;
};

// A claim's request to a pool.
struct Wish {
  std::string claim;  // its name
  std::string cluster;
  std::optional<int> size;      // a prefix length
  std::optional<Cidr> exact;    // this very block
  Owner owner = 0;              // Fingerprint of the claim's uid, or of a reservation's token
  std::string pool_claim = "";  // uid of the SubnetPoolClaim that the claim was made for
  bool promised = false;        // the claim was told of `exact`: the pool's sizes may be others now
  std::vector<Cidr> avoid = {};  // unless nothing else is free; no matter for `exact`
};

// Why a wish is not fulfilled, in the words of the claim's condition.
struct Denial {
  std::string reason;  // PoolNotFound, PoolNotReady, PoolExhausted, ClusterIDConflict, …
  std::string message;
  bool terminal = false;  // will not get better unless a spec is changed
};

// The address spaces of all pools, in step with the API server's objects, and what was given out
// but does not stand there yet. It decides; it writes nothing. On the control thread.
//
// No address is given out by two pools:
// - A child's range is held in its parent (Use::kChild, or the Subnet or claim of the child's own
//   SubnetPoolClaim). Until it can be, the child and all below it give nothing out, its parent
//   keeps the block that it held for the child before, and all blocks of the child are held in all
//   pools above it.
// - Of pools that overlap otherwise one gives blocks out at most, and none if another has given out
//   some. A Subnet that users write gets no block of which another of these pools has given out a
//   part.
// - A block outside its pool's range, as after a shrink, is held in every pool that overlaps it. So
//   is the block of a Subnet whose pool is gone, or that is under way.
// Blocks held for another pool have Use::kForeign there.
//
// n is the number of a pool's holds, P that of the pools of a namespace, L that of the prefix
// lengths among their ranges, k that of the pools whose ranges overlap a pool's.
class Space {
 public:
  struct PoolState {
    std::string key;
    Pool pool;
    std::optional<PoolRules> rules;          // none when the spec is not valid
    std::optional<PoolProblem> problem;      // none when it gives out blocks
    std::unique_ptr<Allocator> space;        // while the spec is not valid as it was before
    std::set<std::string> children;          // keys of pools that name it their parent
    std::map<std::string, Subnet> unplaced;  // Subnets of it that hold no block, by key
    std::map<std::string, Cidr> resting;     // Subnets in their grace period, by key; see Rest
    async::TimePoint changed{};              // when its figures last changed

    // The members below are the Space's own.
    std::optional<Cidr> indexed;  // its range, valid or not, among those of the namespace
    bool placed = true;           // its range is its own in its parent; so without one
    struct Place {
      std::string parent;
      Cidr block;
    };
    std::optional<Place> kept;  // the kChild hold: its range, or an earlier one
    std::size_t abroad = 0;     // its blocks that are held in other pools
    std::string rival;          // the key of a pool that it must not give out blocks beside
    bool had_blocks = false;
  };

  struct Callbacks {
    std::function<void(const std::string& pool)> on_figures;  // its status may read otherwise now
    std::function<void(const std::string& pool)> on_room;     // who waits for it may try again
    std::function<void(const std::string& subnet)> on_placement;  // its phase may be another one
    // It gives blocks out again: those that claims were told of go to them before on_room.
    std::function<void(const std::string& pool)> on_ready = [](const std::string&) {};
    // A block of it is free; without a block, a clusterID, or a block that no claim was told of.
    // Claims that wait may have it.
    std::function<void(const std::string& pool, const std::optional<Cidr>& block)> on_free =
        [](const std::string&, const std::optional<Cidr>&) {};
  };

  Space(async::Executor& executor, Callbacks callbacks);

  // The right of a claim to the block that it was told of, whose Subnet is gone.
  struct Promise {
    std::string pool;
    Wish wish;
    Cidr block;
  };

  // Everything anew, from what the API server has. A promise that can be kept is an assignment, as
  // after Assign, and goes before Subnets and child pools that hold nothing yet. Nothing is called
  // back. O((n + k) log n) for all pools together, O(L log P + k) for a promise.
  void Rebuild(const std::vector<const Pool*>& pools, std::vector<const Subnet*> subnets,
               const std::vector<Promise>& promises = {});

  // Facts. O(log n) for a Subnet, and O(L log P + k) on top for one that was not made of an
  // assignment. For a pool O(L log P + k), and for each pool below it the same
  // when its parent is another one; when its range or its exclusions have changed O(n) on top. A
  // Subnet that goes costs as much as a pool for each child of its pool that waited for the block.
  // A pool that comes or goes, and a block of one that is gone, cost O(blocks under way) on top. As
  // long as a pool's range cannot be placed its blocks cost O(L log P + k) each. A block that
  // becomes free costs O(W log W + w): W Subnets of the namespace hold no block, w overlap it. For
  // each pool of these w Subnets it costs that much.
  // The promises are the pool's; see Rebuild.
  void PutPool(const Pool& pool, const std::vector<Promise>& promises = {});
  // The blocks of its Subnets, and those that Assign gave out of it, stay held for a pool of the
  // name that may come: nobody gets them in between. O(L log P + k) for each of them.
  void RemovePool(const std::string& key, const std::vector<const Subnet*>& subnets = {});
  void PutSubnet(const Subnet& subnet);
  // With `may_return` its block stays held for its claim, as after Assign: the Subnet may come
  // again.
  void RemoveSubnet(const Subnet& subnet, bool may_return = false);

  // The Subnet is being deleted, and its claim is gone: the block stays held until the Subnet is
  // gone, but the cluster may claim another, and the pool is not in use because of it. O(log n).
  void Rest(const Subnet& subnet);
  // The key of a resting Subnet of the wish's own cluster whose block would fulfil it. O(resting).
  std::optional<std::string> RestingFor(const std::string& pool, const Wish& wish);

  const PoolState* Find(const std::string& pool) const;
  const std::map<std::string, PoolState>& pools() const { return pools_; }
  // The pools of a namespace whose ranges, valid or not, overlap the block. O(L log P + found).
  std::vector<const PoolState*> Overlapping(std::string_view ns, const Cidr& block) const;
  // A block that a pool has given out which overlaps `pool` and is neither above nor below it,
  // where it overlaps `block`; none if there is none. As above.
  struct Beside {
    Cidr block;
    const PoolState* pool;
  };
  std::optional<Beside> GivenBeside(const std::string& pool, const Cidr& block) const;
  // The blocks that pools of the namespace hold and have held in others, where they overlap the
  // block: those outside their pool's range, and those of pools that are not placed. As above.
  struct Stray {
    Cidr block;
    const PoolState* pool;
  };
  std::vector<Stray> Strays(std::string_view ns, const Cidr& block) const;
  // The pools above one that are looked at: a pool that has more gives nothing out.
  static constexpr int kMostGenerations = 64;
  // Whether one pool is above another. O(depth log P).
  bool IsAncestor(const std::string& ancestor, const std::string& key) const;
  // Whether a hold of the parent keeps a range from becoming the child's: any that is not for this
  // very child. Reservations and other pools' blocks do not. O(log n).
  bool IsInTheWay(const Hold& hold, const PoolState& parent, const Pool& child,
                  const Cidr& range) const;
  // Whether a block of the pool stays the claim's, who was told of it, when its Subnet goes: not
  // when it is outside the range or excluded by now. O(exclusions).
  bool Keeps(const std::string& pool, const std::string& claim, const Cidr& block) const;
  // Whether anything depends on the pool: Subnets, children, blocks given out a moment ago.
  bool InUse(const std::string& pool) const;
  // The children that a pool cannot go before: all but those that are above it, too, in a circle
  // that admission did not see.
  std::vector<std::string> Dependants(const PoolState& state) const;

  // Entries of all its tables: 0 when there is nothing to remember.
  std::size_t Remembered() const;

  // The facts for a Subnet's status: the block is its own, or why not.
  struct Placement {
    SubnetPhase phase = SubnetPhase::kPending;
    std::string message;
  };
  Placement PlacementOf(const Subnet& subnet) const;

  // The block that a cluster holds in a pool: the claim's own, where it has one, or another's.
  struct Binding {
    Owner subnet = 0;  // Fingerprint of its uid; 0 while it is being made
    Owner claim = 0;   // of its claim's; 0 for none
    Cidr block;
    Owner claim_name = 0;  // of its claim's name
    bool resting = false;  // see Rest: the cluster has given it back
  };
  // If a claim has several blocks, the one that its status names, `told`, goes first. O(log n), and
  // the blocks of the cluster that rest.
  const Binding* BindingOf(const std::string& pool, std::string_view cluster, Owner claim,
                           const std::optional<Cidr>& told = std::nullopt) const;
  // Whether a block of the claim that is this one, or overlaps it, is held for another clusterID.
  // O(log n + blocks of the claim).
  bool IsOfAnotherCluster(const std::string& pool, std::string_view cluster, Owner claim,
                          const Cidr& block) const;
  // All blocks of the claim, whatever their clusterID: users may write Subnets that name it.
  // O(log n + found log n).
  std::vector<const Binding*> BindingsOfClaim(const std::string& pool, Owner claim) const;

  // Holds a block for who will make a Subnet of it: it stays held until that Subnet is seen or
  // Abandon is called. The same wish again gives the same block: ask Fits whether it still may.
  std::expected<Cidr, Denial> Assign(const std::string& pool, const Wish& wish);
  // Whether Assign would do, without doing it. For admission. O(log n); where nothing is free,
  // O(reservations of the pool, times its exclusions).
  std::expected<void, Denial> Check(const std::string& pool, const Wish& wish) const;
  // The block held for `owner` that no Subnet has come of yet.
  std::optional<Cidr> AssignmentOf(Owner owner) const;
  // Whether it is what the wish asks for now, and the pool still allows it: exclusions and
  // pre-allocations may have come since. True when nothing is held. O(exclusions).
  bool Fits(const std::string& pool, const Wish& wish) const;
  // Gives it back.
  void Abandon(Owner owner);

  // A block for an object that may never arrive: given back at `until`, unless it is redeemed, or
  // sooner when a claim that exists would have to go without. Refused beyond the bounds: anybody
  // can have something created that never arrives.
  static constexpr std::size_t kMostReservations = 4096;
  static constexpr std::size_t kMostReservationsOfPool = 256;
  std::expected<Cidr, Denial> Reserve(const std::string& pool, const Wish& wish,
                                      async::TimePoint until);
  // The reservation of `token` becomes the assignment of `wish.owner`; when it is gone, the block
  // is taken if it is free. Ends it and refuses if the pool does not allow the wish this block.
  std::expected<Cidr, Denial> Redeem(const std::string& pool, Owner token, const Cidr& block,
                                     Wish wish);
  // Ends reservations whose time has come; when the next one's does.
  std::optional<async::TimePoint> Expire();

 private:
  struct Pending {  // an assignment or a reservation
    std::string pool;
    Cidr block;
    std::string cluster;
    bool reservation = false;
  };

  // The pools of a namespace by address.
  struct Neighbourhood {
    BlockIndex<PoolState> ranges;
    BlockIndex<PoolState> abroad;       // their blocks that are held in others
    BlockIndex<const Subnet> unplaced;  // their Subnets that hold no block
    bool empty() const { return ranges.empty() && abroad.empty() && unplaced.empty(); }
  };

  PoolState* Mutable(const std::string& pool);
  PoolState* ParentOf(const PoolState& state);
  void AddUnplaced(PoolState& state, const Subnet& subnet);
  void EraseUnplaced(PoolState& state, const std::string& key);
  Neighbourhood& Around(const PoolState& state) { return neighbourhoods_[state.pool.id.ns]; }

  // By ClusterKey, claim and Subnet: one cluster may have thousands of blocks.
  using Bindings = std::map<std::tuple<std::uint64_t, Owner, Owner>, Binding>;
  using BindingRange = std::ranges::subrange<Bindings::const_iterator>;
  BindingRange BindingsOf(std::uint64_t cluster_key) const;
  static std::uint64_t ClaimKey(const std::string& pool, Owner claim);
  static std::uint64_t ClusterKey(const std::string& pool, std::string_view cluster);

  // Facts (space.cc).
  void SetRules(PoolState& state);
  void HoldPending(PoolState& state);
  void Index(PoolState& state);
  void Join(PoolState& state);
  void Part(PoolState& state);
  std::vector<Cidr> Adopt(PoolState& state);
  void Rename(PoolState& state, const std::string& uid);
  std::vector<Owner> Fit(PoolState& state, const std::vector<Promise>& promises);
  std::vector<Owner> Keep(const std::vector<Promise>& promises);
  bool IsGivenBeside(const PoolState& state, const Promise& promise) const;
  std::optional<Cidr> GivenOf(const PoolState& state, const Cidr& block) const;
  void AbandonUnready(const std::vector<Owner>& kept);
  void Bind(const std::string& pool, std::string_view cluster, const Binding& binding);
  void Unbind(const std::string& pool, std::string_view cluster, Owner subnet, Owner claim);
  void UnbindSubnet(const Subnet& subnet);
  // A block of the pool is held that was free.
  void Took(PoolState& state, const Cidr& block);
  // A block of the pool is free that was held, unless somebody waited who has a right to it.
  void Freed(const std::string& pool, PoolState& state, const Cidr& block);
  void Changed(const std::string& pool, PoolState& state);

  // Places (space_placing.cc).
  bool Place(PoolState& state, const Subnet& subnet);
  void Fulfil(const Subnet& subnet);
  // Places Subnets that hold no block: all of the pool's, or those that overlap a block.
  enum class Waiting : std::uint8_t { kPromised, kAll };
  void PlaceWaiting(PoolState& state, Waiting which,
                    const std::optional<Cidr>& within = std::nullopt);
  void PlaceBeside(const PoolState& state, const Cidr& block);
  void Replace(PoolState& state, const std::vector<Hold>& holds, const Cidr& block, Use use,
               Owner owner);
  bool Evict(PoolState& state, const Cidr& block);
  bool Yields(const Hold& hold) const;
  bool GivenTo(const Pool& child, const std::string& parent, const Hold& hold) const;
  PoolState* ChildAt(const PoolState& parent, const Hold& hold);
  bool PlaceInParent(PoolState& child);
  void Forget(PoolState& child, const PoolState::Place& place);
  void Settle(PoolState& child);
  void SettleChildren(PoolState& parent, const Cidr& within);

  // Blocks that are held in other pools (space_foreign.cc).
  bool IsAbroad(const PoolState& state, const Hold& hold) const;
  bool MustHold(const PoolState& state, const PoolState& owner, const Cidr& block) const;
  bool HoldFor(const PoolState& state, PoolState& other, const Cidr& block);
  void HoldAbroad(PoolState& state, const Hold& hold);
  void HoldAllAbroad(PoolState& state);
  void Withdraw(PoolState& state, PoolState& from, const Cidr& block);
  void WithdrawAll(PoolState& state, const Cidr& block);
  void HoldForeign(PoolState& state, const Cidr& within);
  void HoldForeignAnew(PoolState& state);
  void HoldHomeless(const Subnet& subnet);
  void HoldLost(const std::string& pool, const Cidr& block);
  void ReleaseHomeless(const std::string& pool, const Cidr& block);

  // Problems (space_judging.cc).
  bool IsTooDeep(const PoolState& state) const;
  std::optional<PoolProblem> ProblemOf(const PoolState& state) const;
  std::optional<PoolProblem> ParentProblem(const PoolState& state, const Cidr& range) const;
  bool Judge(PoolState& state);
  void Reconsider(PoolState& state);
  bool Beats(const PoolState& rival, const PoolState& state) const;
  void FindRival(PoolState& state);
  void Recheck(PoolState& state, const PoolState& other);
  void RecheckAround(PoolState& state, const std::optional<Cidr>& range);
  void CountBlocks(PoolState& state);
  std::vector<PoolState*> Below(PoolState& state);
  void Relate(PoolState& state);

  std::expected<PoolState*, Denial> Giving(const std::string& pool);
  std::optional<Denial> ClusterDenial(const std::string& pool, const Wish& wish) const;
  static std::optional<Cidr> ExactOf(const PoolState& state, const Wish& wish);
  bool Allows(const PoolState& state, const Wish& wish, const Cidr& block) const;
  PoolState* HeldByChild(const PoolState& state, const Cidr& block, const std::string& cluster,
                         const std::string& claim_name);
  std::expected<Cidr, Denial> Take(const std::string& pool, PoolState& state, const Wish& wish);
  std::optional<Cidr> Yielding(const std::string& pool, const PoolState& state,
                               const Wish& wish) const;
  bool OnlyReserved(const PoolState& state, const Cidr& block) const;
  bool MakeWay(const std::string& pool, PoolState& state, const Wish& wish);
  void Forget(std::unordered_map<Owner, Pending>::iterator pending);
  Denial Explain(const PoolState& state, Refusal refusal, const Wish& wish) const;

  async::Executor& executor_;
  const Callbacks callbacks_;
  std::map<std::string, PoolState> pools_;                            // by key
  std::map<std::string, Neighbourhood, std::less<>> neighbourhoods_;  // by namespace
  std::map<std::string, std::set<std::string>> orphans_;  // by a parent that does not exist
  std::map<std::string, std::map<std::string, Subnet>> homeless_;  // by pool: it does not exist
  std::map<std::string, PoolState> lost_;  // pools that do not exist, with blocks held in others
  Bindings bindings_;
  // By ClaimKey and Subnet: the ClusterKey of the claim's binding, which may not be of its present
  // clusterID.
  std::map<std::pair<std::uint64_t, Owner>, std::uint64_t> clusters_of_claims_;
  std::unordered_map<Owner, Pending> pending_;
  std::map<std::string, std::set<Owner>> reserving_;  // tokens of reservations, by pool
  std::size_t reservations_ = 0;
  bool quiet_ = false;  // nothing is called back
};

}  // namespace berth::ipam
