#pragma once

#include <vector>

#include "reconcile/eip/admission.h"
#include "reconcile/runtime/preflight.h"

namespace berth::eip {

// EIPs that share an address, and EIPs that admission would refuse if they were created again, by
// the rules of the reconciler and of the webhooks. Asks no cloud and writes nothing. O(n log n).
std::vector<runtime::Finding> Foresee(const std::vector<Proposal>& eips);

}  // namespace berth::eip
