#pragma once

#include "handlers/admission/webhooks.h"
#include "reconcile/ipam/desk.h"

namespace berth::admission {

// The webhooks of plexaubnet.io. What the rules are is in reconcile/ipam/admission.h; here they are
// asked, on the control thread. An update that changes nothing they are about passes without: a
// finalizer must always be removable. When the control thread is not ready, or not in time, an
// object is judged by itself and a warning says so.
//
// On creation a pool gets its spec.defaultBlockSize and a claim its spec.blockSize, where they are
// not given, and a claim its block, as a stamp; a stamp that somebody wrote himself goes. A dry run
// stamps nothing. The desk outlives the webhooks' last review.
void RegisterIpam(Webhooks& webhooks, ipam::Desk& desk);

}  // namespace berth::admission
