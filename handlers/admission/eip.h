#pragma once

#include "handlers/admission/webhooks.h"
#include "reconcile/eip/desk.h"

namespace berth::admission {

// The webhooks of eip.alibabacloud.com. What the rules are is in reconcile/eip/admission.h; here
// they are asked, on the control thread. An update that leaves spec as it is, and any update of an
// object that is being deleted, passes: a finalizer must always be removable, and a way out of a
// deletion that is stuck always open. When the control thread is not ready, or not in time, an
// object is judged by itself and a warning says so.
//
// How an address is paid for is filled in where it is not given; an update that leaves out what
// cannot change any more keeps it. The desk outlives the webhooks' last review.
void RegisterEip(Webhooks& webhooks, eip::Desk& desk);

}  // namespace berth::admission
