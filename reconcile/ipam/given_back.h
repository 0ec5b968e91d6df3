#pragma once

#include "reconcile/ipam/objects.h"

namespace berth::ipam {

// Whether a Subnet is being deleted and its claim is, too, or gone: see Space::Rest. `claim` is the
// one of the name in the Subnet's spec, null for none.
inline bool IsGivenBack(const Subnet& subnet, const Claim* claim) {
  if (subnet.id.deleting == 0) return false;
  return !claim || claim->id.uid != subnet.claim_uid || claim->id.deleting != 0;
}

}  // namespace berth::ipam
