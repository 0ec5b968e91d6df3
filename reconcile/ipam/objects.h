#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/api.h"
#include "kube/error.h"
#include "kube/json_view.h"
#include "reconcile/ipam/cidr.h"
#include "reconcile/runtime/identity.h"

// The four kinds of plexaubnet.io/v1alpha1: of each object what the reconcilers go by.
namespace berth::ipam {

inline constexpr std::string_view kGroup = "plexaubnet.io";
inline constexpr std::string_view kVersion = "v1alpha1";
inline constexpr std::string_view kApiVersion = "plexaubnet.io/v1alpha1";

inline constexpr kube::Resource kPools{kGroup, kVersion, "subnetpools", "SubnetPool"};
inline constexpr kube::Resource kSubnets{kGroup, kVersion, "subnets", "Subnet"};
inline constexpr kube::Resource kClaims{kGroup, kVersion, "subnetclaims", "SubnetClaim"};
inline constexpr kube::Resource kPoolClaims{kGroup, kVersion, "subnetpoolclaims",
                                            "SubnetPoolClaim"};

// The names that plexaubnet gave them: Berth finishes what plexaubnet left behind.
inline constexpr std::string_view kFinalizer = "ipam.plexaubnet.io/finalizer";
inline constexpr std::string_view kMadeByLabel = "plexaubnet.io/ipam";
inline constexpr std::string_view kParentLabel = "plexaubnet.io/parent";
inline constexpr std::string_view kStampAnnotation = "ipam.plexaubnet.io/allocation";
// On a pool in use: its deletion is allowed, and takes its Subnets along.
inline constexpr std::string_view kAllowDeleteAnnotation = "ipam.plexaubnet.io/allow-delete";

// Reasons of a claim's Ready condition.
inline constexpr std::string_view kPoolExhausted = "PoolExhausted";
inline constexpr std::string_view kAllocationLost = "AllocationLost";

using runtime::Identity;
using runtime::KeyBeside;
using runtime::SplitKey;

struct Pool {
  Identity id;
  std::string cidr;  // as written
  std::string parent;
  std::string strategy;
  std::optional<int> default_block;
  std::optional<int> min_block;
  std::optional<int> max_block;
  std::vector<std::string> excluded;
  std::map<std::string, std::string, std::less<>> pre_allocations;  // by the claim's name
  std::int64_t grace_seconds = 0;
  bool allow_delete = false;
  std::string owner_uid;    // of the SubnetPoolClaim that it was made for
  std::string block_claim;  // the name of the SubnetClaim that the SubnetPoolClaim makes
  std::string status;       // JSON; as it is written now

  static kube::Result<Pool> From(kube::JsonView object);
};

enum class SubnetPhase : std::uint8_t { kNone, kPending, kAllocated, kFailed };
std::string_view Name(SubnetPhase phase);

// There may be very many: small.
struct Subnet {
  Identity id;
  std::string pool;
  std::optional<Cidr> cidr;  // none when it is not canonical
  std::string cluster;
  std::string claim_name;
  std::string claim_uid;
  bool made = false;  // by Berth or plexaubnet: a user's Subnet that names a claim is not its block
  SubnetPhase phase = SubnetPhase::kNone;
  bool has_allocated_at = false;
  std::string message;

  static kube::Result<Subnet> From(kube::JsonView object);
  std::string PoolKey() const { return KeyBeside(id.ns + "/", pool); }
  bool IsForClaim() const { return made && !claim_uid.empty(); }
};

struct Claim {
  Identity id;
  std::string pool;
  std::string cluster;
  std::optional<int> block_size;
  std::string requested;   // as written; empty for none
  std::string stamp;       // the annotation's value
  std::string owner_name;  // of the SubnetPoolClaim that it was made for
  std::string owner_uid;
  std::string phase;
  std::string allocated;  // as written in its status
  std::string message;
  std::int64_t observed = 0;
  std::string conditions;          // JSON
  std::int64_t ready_changed = 0;  // when its Ready condition last turned, in Unix seconds
  std::string reason;              // of its Ready condition

  static kube::Result<Claim> From(kube::JsonView object);
  std::string PoolKey() const { return KeyBeside(id.ns + "/", pool); }
  bool Bound() const { return phase == "Bound"; }
  // Its status says that it has lost its block, or that there is none.
  bool Lost() const { return reason == kAllocationLost; }
  bool Exhausted() const { return reason == kPoolExhausted; }
};

struct PoolClaim {
  Identity id;
  std::string parent;
  int block_size = 0;
  bool allow_delete = false;
  std::string phase;
  std::string bound_pool;
  std::string message;
  std::int64_t observed = 0;
  std::string conditions;  // JSON

  static kube::Result<PoolClaim> From(kube::JsonView object);
};

// The name of the Subnet of a block: "<pool>-10-0-0-0-24"; over 63 characters cut, with a hash of
// the whole.
std::string SubnetName(std::string_view pool, const Cidr& block);
// Its name when somebody's Subnet of another block has that one. Again the same for every claim, so
// that two creates of one block collide.
std::string OtherSubnetName(std::string_view pool, const Cidr& block);
// The names of what is made for a SubnetPoolClaim, the same at every try.
std::string ChildPoolName(const Identity& pool_claim);
std::string ChildClaimName(const Identity& pool_claim);

// 64 bits that stand for a text: a uid, a clusterID. Never 0.
std::uint64_t Fingerprint(std::string_view text);

}  // namespace berth::ipam
