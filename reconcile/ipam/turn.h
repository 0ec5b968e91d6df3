#pragma once

#include <cstdint>

#include "reconcile/ipam/objects.h"

namespace berth::ipam {

// The order of Subnets that overlap and hold no block yet.
enum class Turn : std::uint8_t {
  kTold,    // that the block is theirs
  kMade,    // for a claim, of a block that was free, and the claim may have been
            // told
  kFailed,  // a claim's, that was told it has no block
  kOther,   // a user's
};

inline Turn TurnOf(const Subnet& subnet) {
  // A user may have edited the phase; Berth takes allocatedAt away when a block is lost.
  if (subnet.phase == SubnetPhase::kAllocated || subnet.has_allocated_at) return Turn::kTold;
  if (!subnet.IsForClaim()) return Turn::kOther;
  return subnet.phase == SubnetPhase::kFailed ? Turn::kFailed : Turn::kMade;
}

}  // namespace berth::ipam
