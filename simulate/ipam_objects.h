#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reconcile/ipam/objects.h"
#include "simulate/objects.h"

// Parts of the objects of plexaubnet.io, for the checks of IpamPicture.
namespace berth::simulate {

// The pool claim that an object was made for.
inline ipam::Identity MakerOf(const Json& object) {
  ipam::Identity maker;
  for (const Json& owner : Part(object["metadata"], "ownerReferences").array_range()) {
    if (Text(owner, "kind") != "SubnetPoolClaim") continue;
    maker.name = Text(owner, "name");
    maker.uid = Text(owner, "uid");
    break;
  }
  return maker;
}

inline std::string OwnerOf(const Json& object) { return MakerOf(object).uid; }

// The name of the SubnetClaim for a pool claim's block.
inline std::string BlockClaimOf(const Json& pool_claim) {
  ipam::Identity id;
  id.name = NameOf(pool_claim);
  id.uid = UidOf(pool_claim);
  return ipam::ChildClaimName(id);
}

inline std::string ReasonOf(const Json& object) {
  return Text(ConditionOf(object, "Ready"), "reason");
}

inline std::int64_t Number(const Json& object, std::string_view member) {
  return object.get_value_or<std::int64_t>(member, -1);
}

// Addresses that are kept from claims make the naive count another one.
inline bool KeepsSome(const Json& pool) {
  const Json& spec = Part(pool, "spec");
  return spec.contains("excludedRanges") || spec.contains("preAllocations");
}

}  // namespace berth::simulate
