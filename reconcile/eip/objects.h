#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/vpc.h"
#include "json/json.h"
#include "kube/api.h"
#include "kube/json_view.h"
#include "reconcile/runtime/identity.h"

// eip.alibabacloud.com/v1alpha1, kind EIP: what the reconciler goes by.
namespace berth::eip {

using runtime::Identity;

// Cluster-scoped or namespaced, as its CRD was installed: an object without a namespace has a path
// without one.
inline constexpr kube::Resource kEips{"eip.alibabacloud.com", "v1alpha1", "eips", "EIP"};

inline constexpr std::string_view kFinalizer = "eip.alibabacloud.com/finalizer";
// The action for an address that is lost: "reallocate".
inline constexpr std::string_view kOnLostAnnotation = "eip.alibabacloud.com/on-lost";
// The action for an address that cannot be released: "abandon" it, or "unassociate" it first.
inline constexpr std::string_view kOnStuckAnnotation = "eip.alibabacloud.com/on-stuck";
// The action for an address that was allocated for an object which is not in this cluster, or not
// any more: "adopt" it, as if it had been allocated for this one.
inline constexpr std::string_view kOnForeignAnnotation = "eip.alibabacloud.com/on-foreign";
// On an address that Berth allocated: the uid of its object.
inline constexpr std::string_view kOwnerTag = "berth.dev/eip-uid";
inline constexpr std::size_t kMostTags = 20;  // that the cloud lets an address have

enum class Origin : std::uint8_t { kUnknown, kCreated, kImported };
enum class ReleaseStrategy : std::uint8_t { kUnset, kNever, kOnDelete };

struct Spec {
  std::string allocation_id;
  std::string bandwidth;
  std::string isp;
  std::string pool;  // publicIPAddressPoolID
  std::string resource_group;
  std::string name;
  std::string description;
  std::string package;  // bandwidthPackageID
  std::string internet_charge_type;
  std::string instance_charge_type;
  int period = 0;
  std::string pricing_cycle;
  bool auto_pay = true;
  std::vector<std::string> protection;
  cloud::Tags tags;
  ReleaseStrategy release = ReleaseStrategy::kUnset;

  static Spec From(kube::JsonView spec);
  bool PrePaid() const { return instance_charge_type == "PrePaid"; }
  // True for lines of one carrier: the cloud sells them pay-as-you-go and by bandwidth only.
  bool SingleLine() const;
  // internetChargeType, or when it is not given the usual one of those that the rest allows.
  std::string PaidBy() const;
};

// An allocation that was begun. All its repetitions ask for the same with the same token, whatever
// has become of the spec since: what differs is repaired once the address is there.
struct Attempt {
  std::int64_t number = 0;    // of this one or, when it is settled, of the last
  cloud::EipRequest request;  // without a token there is none
  std::string replaces;       // the lost address, which spec.allocationID may still name

  explicit operator bool() const { return !request.client_token.empty(); }
  // Whether the address can be found by its owner's tag from its first moment on.
  bool IsTagged() const { return request.tags.contains(std::string(kOwnerTag)); }
  Json ToJson() const;
  // Members of a status that say that it is settled; the count goes on.
  void Settle(Json& facts) const;
};

// With commas between them.
std::string Joined(const std::vector<std::string>& texts);

// Made of uid and number alone, so that every writer makes the same.
std::string ClientToken(std::string_view uid, std::int64_t number);

struct Object {
  Identity id;
  Spec spec;
  std::string on_lost;
  std::string on_stuck;
  std::string on_foreign;
  // Members of its status.
  bool has_status = false;  // there is any
  std::string allocation_id;
  Origin origin = Origin::kUnknown;
  bool adopted = false;  // the address was taken over, as on_foreign asked: not done a second time
  std::string joined_package;  // that Berth has added the address to, written before
  bool release_sent = false;   // written before the cloud is asked to release the address
  Attempt attempt;
  // The status counts attempts: Berth has allocated the address, adopted it or found it by its tag.
  bool counted = false;
  // Where the address is, or the attempt was begun; empty when nobody has written it down.
  cloud::Place place;
  cloud::Tags applied_tags;  // those of the spec that we have put on the address
  std::string cloud_status;  // Available, …
  bool told_ready = false;   // the Ready condition, and why
  std::string told_reason;
  std::string told_message;
  std::int64_t told_since = 0;       // that it is so, in Unix seconds
  std::int64_t told_generation = 0;  // of the spec that it is about
  bool told_synced = false;          // the Synced condition
  bool told_progressing = false;     // the Progressing condition
  std::string status;                // JSON; as it is written now

  static kube::Result<Object> From(kube::JsonView object);

  // Which address it says is its own, in either place.
  const std::string& ClaimedId() const {
    return allocation_id.empty() ? spec.allocation_id : allocation_id;
  }
  // Whether the status says that it is ready, with the spec as it is now.
  bool ToldReadyNow() const { return told_ready && told_generation == id.generation; }
  // Whether the address goes with the object.
  bool Releases() const {
    return spec.release == ReleaseStrategy::kOnDelete ||
           (spec.release == ReleaseStrategy::kUnset && origin == Origin::kCreated);
  }
  // Whether it was to have another address in place of a lost one, and is not any more.
  bool IsReplacementWithdrawn() const {
    return !attempt.replaces.empty() && on_lost != "reallocate";
  }
  // Whether spec names an address for it to have. One that was lost and is being replaced is not.
  bool NamesAddress() const {
    return !spec.allocation_id.empty() &&
           (spec.allocation_id != attempt.replaces || spec.allocation_id == allocation_id);
  }
  // Whether spec and status name two addresses: one of them was changed by somebody else.
  bool ContradictsItself() const {
    return !allocation_id.empty() && NamesAddress() && spec.allocation_id != allocation_id;
  }
  // Whether spec names the address of the status: a copied status is not enough for that.
  bool IsNamedBySpec() const { return NamesAddress() && !ContradictsItself(); }
  // The tags of an address that Berth allocates for it: as spec says, and with its owner where that
  // leaves room. Without the owner's tag only the client token makes a repetition safe.
  cloud::Tags OwnTags() const;
  Attempt NextAttempt() const;
};

}  // namespace berth::eip
