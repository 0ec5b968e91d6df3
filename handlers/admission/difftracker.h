#pragma once

#include "handlers/admission/webhooks.h"

namespace berth::admission {

// The rules of Services that a service gateway is to carry; see reconcile/difftracker/admission.h.
// While `enabled` is false every Service is allowed: another provider's controller looks after it.
void RegisterDiffTracker(Webhooks& webhooks, bool enabled);

}  // namespace berth::admission
