#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "async/executor.h"
#include "reconcile/ipam/allocator.h"
#include "reconcile/ipam/objects.h"
#include "reconcile/ipam/pool_rules.h"

namespace berth::ipam {

// Why a pool gives nothing out.
struct PoolProblem {
  std::string reason;  // InvalidSpec, PoolOverlap, ParentNotFound, OutsideParent, Deleting
  std::string message;
  friend bool operator==(const PoolProblem&, const PoolProblem&) = default;
};

// What a claim asks of a pool.
struct Wish {
  std::string claim;  // its name
  std::string cluster;
  std::optional<int> size;    // a prefix length
  std::optional<Cidr> exact;  // this very block
  Owner owner = 0;            // Fingerprint of the claim's uid, or of a reservation's token
};

// Why a wish is not fulfilled, in the words of the claim's condition.
struct Denial {
  std::string reason;  // PoolNotFound, PoolNotReady, PoolExhausted, ClusterIDConflict, …
  std::string message;
  bool terminal = false;  // will not get better unless a spec is changed
};

// The address spaces of all pools, in step with the API server's objects, and what was given out
// but does not stand there yet. It decides; it writes nothing. On the control thread.
class Space {
 public:
  struct PoolState {
    Pool pool;
    std::optional<PoolRules> rules;           // none when the spec is not valid
    std::optional<PoolProblem> problem;       // none when it gives out blocks
    std::unique_ptr<Allocator> space;         // none without valid rules
    std::set<std::string> children;           // keys of pools that name it their parent
    std::map<std::string, Subnet> unplaced;   // Subnets of it that hold no block, by key
    std::map<Address, std::string> child_at;  // the children within its range, by first address
    std::set<std::string> blocked;            // the children that others' blocks are in the way of
    std::map<std::string, Cidr> resting;      // Subnets in their grace period, by key; see Rest
    async::TimePoint changed{};               // when its figures last changed
  };

  struct Callbacks {
    std::function<void(const std::string& pool)> on_figures;  // its status may read otherwise now
    std::function<void(const std::string& pool)> on_room;     // who waits for it may try again
    std::function<void(const std::string& subnet)> on_placement;  // its phase may be another one
  };

  Space(async::Executor& executor, Callbacks callbacks);

  // Everything anew, from what the API server has. Nothing is called back. O(n log n).
  void Rebuild(const std::vector<const Pool*>& pools, std::vector<const Subnet*> subnets);

  // Facts. O(log n) for a Subnet; for a pool O(pools of its namespace), and when its range or its
  // exclusions have changed O(its holds). A Subnet that goes costs as much as a pool for each child
  // of its pool that waits for room.
  void PutPool(const Pool& pool);
  // What Assign gave out of it stays held for a pool of the name that may come.
  void RemovePool(const std::string& key);
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
  // Whether anything depends on the pool: Subnets, children, blocks given out a moment ago.
  bool InUse(const std::string& pool) const;

  // What a Subnet's status should say: the block is its own, or why not.
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
    bool resting = false;  // see Rest: the cluster has given it back
  };
  const Binding* BindingOf(const std::string& pool, std::string_view cluster, Owner claim) const;

  // Holds a block for who will make a Subnet of it: it stays held until that Subnet is seen or
  // Abandon is called. The same wish again gives the same block.
  std::expected<Cidr, Denial> Assign(const std::string& pool, const Wish& wish);
  // Whether Assign would do, without doing it. For admission.
  std::expected<void, Denial> Check(const std::string& pool, const Wish& wish) const;
  // The block held for `owner` that no Subnet has come of yet.
  std::optional<Cidr> AssignmentOf(Owner owner) const;
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
  // is taken if it is free.
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

  PoolState* Mutable(const std::string& pool);
  PoolState* ParentOf(const std::string& key, const PoolState& state);
  void SetRules(const std::string& key, PoolState& state);
  void HoldPending(const std::string& key, PoolState& state);
  void Join(const std::string& key, const PoolState& state);
  void Leave(const std::string& key, const PoolState& state);
  void AdoptChildren(const std::string& key, PoolState& state);
  void Evaluate(std::string_view ns);
  void Reconsider(const std::string& key, PoolState& state);
  bool Judge(const std::string& key, PoolState& state);
  std::optional<PoolProblem> ProblemOf(const std::string& key, const PoolState& state) const;
  std::optional<PoolProblem> ParentProblem(const std::string& key, const PoolState& state,
                                           const Cidr& range) const;
  bool IsAncestor(const std::string& ancestor, const std::string& key) const;

  bool Place(const std::string& pool, PoolState& state, const Subnet& subnet);
  bool Evict(PoolState& state, const Cidr& block);
  void PlaceWaiting(const std::string& pool, PoolState& state);
  void PlaceChild(PoolState& parent, const std::string& child);
  void PlaceChildren(PoolState& parent, const Cidr& within);
  using Bindings = std::unordered_multimap<std::uint64_t, Binding>;
  std::pair<Bindings::iterator, Bindings::iterator> BindingsOf(const std::string& pool,
                                                               std::string_view cluster);
  void Bind(const std::string& pool, std::string_view cluster, const Binding& binding);
  void Unbind(const std::string& pool, std::string_view cluster, Owner subnet, Owner claim);
  void Freed(const std::string& pool, PoolState& state, const Cidr& block);
  void Changed(const std::string& pool, PoolState& state);

  std::expected<PoolState*, Denial> Giving(const std::string& pool);
  std::optional<Denial> ClusterDenial(const std::string& pool, const Wish& wish) const;
  static std::optional<Cidr> ExactOf(const PoolState& state, const Wish& wish);
  bool HeldByChild(const std::string& pool, const PoolState& state, const Cidr& block,
                   const std::string& name) const;
  std::expected<Cidr, Denial> Take(const std::string& pool, PoolState& state, const Wish& wish);
  std::optional<Cidr> Yielding(const std::string& pool, const PoolState& state,
                               const Wish& wish) const;
  bool OnlyReserved(const PoolState& state, const Cidr& block) const;
  bool MakeWay(const std::string& pool, PoolState& state, const Wish& wish);
  void Forget(std::unordered_map<Owner, Pending>::iterator pending);
  Denial Explain(const PoolState& state, Refusal refusal, const Wish& wish) const;

  async::Executor& executor_;
  const Callbacks callbacks_;
  std::map<std::string, PoolState> pools_;                         // by key
  std::map<std::string, std::map<std::string, Subnet>> homeless_;  // by pool: it does not exist
  Bindings bindings_;                                              // by pool and cluster
  std::unordered_map<Owner, Pending> pending_;
  std::map<std::string, std::set<Owner>> reserving_;  // tokens of reservations, by pool
  std::size_t reservations_ = 0;
};

}  // namespace berth::ipam
