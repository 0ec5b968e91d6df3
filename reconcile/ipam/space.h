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

namespace berth::ipam {

// A pool's spec as rules, or what is wrong with it: "spec.field: why".
std::expected<PoolRules, std::string> RulesOf(const Pool& pool);
// "10.0.0.0/24" or "10.0.0.5-10.0.0.9" as blocks of the family.
std::expected<std::vector<Cidr>, std::string> ParseRange(std::string_view text);

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
    std::optional<PoolRules> rules;          // none when the spec is not valid
    std::optional<PoolProblem> problem;      // none when it gives out blocks
    std::unique_ptr<Allocator> space;        // none without valid rules
    std::set<std::string> children;          // keys of pools that name it their parent
    std::map<std::string, Subnet> unplaced;  // Subnets of it that hold no block, by key
    async::TimePoint changed{};              // when its figures last changed
    async::TimePoint reported{};             // `changed` as of the last status written
    bool dirty = true;                       // figures changed since TakeDirty
  };

  struct Callbacks {
    std::function<void(const std::string& pool)> on_figures;  // its status may read otherwise now
    std::function<void(const std::string& pool)> on_room;     // who waits for it may try again
    std::function<void(const std::string& subnet)> on_placement;  // its phase may be another one
  };

  Space(async::Executor& executor, Callbacks callbacks);

  // Everything anew, from what the API server has. O(n log n).
  void Rebuild(const std::vector<const Pool*>& pools, const std::vector<const Subnet*>& subnets);

  // Facts. O(log n) each; a change of a pool's range O(its holds).
  void PutPool(const Pool& pool);
  void RemovePool(const std::string& key);
  void PutSubnet(const Subnet& subnet);
  void RemoveSubnet(const Subnet& subnet);

  const PoolState* Find(const std::string& pool) const;
  void ForEach(const std::function<void(const std::string& key, const PoolState&)>& visit) const;

  // What a Subnet's status should say: the block is its own, or why not.
  struct Placement {
    SubnetPhase phase = SubnetPhase::kPending;
    std::string message;
  };
  Placement PlacementOf(const Subnet& subnet) const;

  // The block that a cluster holds in a pool.
  struct Binding {
    Owner subnet = 0;  // Fingerprint of its uid
    Owner claim = 0;   // of its claim's; 0 for none
    Cidr block;
  };
  const Binding* BindingOf(const std::string& pool, std::string_view cluster) const;

  // Holds a block for who will make a Subnet of it: it stays held until that Subnet is seen or
  // Abandon is called. The same wish again gives the same block.
  std::expected<Cidr, Denial> Assign(const std::string& pool, const Wish& wish);
  // Whether Assign would do, without doing it. For admission.
  std::expected<void, Denial> Check(const std::string& pool, const Wish& wish) const;
  // Gives a block back that no Subnet came of.
  void Abandon(const std::string& pool, Owner owner);
  // A block for an object that may never arrive: given back at `until`, unless somebody Assigns
  // with this token first (the owner of the reservation).
  std::expected<Cidr, Denial> Reserve(const std::string& pool, const Wish& wish,
                                      async::TimePoint until);
  // A reservation becomes the assignment of `wish.owner`; when it is gone, the block is taken if it
  // is free.
  std::expected<Cidr, Denial> Redeem(const std::string& pool, Owner token, const Cidr& block,
                                     const Wish& wish);
  // Ends reservations whose time has come; when the next one's does.
  std::optional<async::TimePoint> Expire();

  // Keys of pools whose figures have changed since the last call.
  std::vector<std::string> TakeDirty();
  void MarkReported(const std::string& pool, async::TimePoint changed);

 private:
  struct Pending {  // an assignment or a reservation
    std::string pool;
    Cidr block;
    std::string cluster;
    bool reservation = false;
  };
  using ClusterKey = std::uint64_t;

  // ...
};

}  // namespace berth::ipam
