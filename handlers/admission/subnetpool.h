#pragma once

#include "handlers/admission/webhooks.h"

namespace berth::admission {

// SubnetPool (plexaubnet.io): on create `spec.defaultBlockSize` gets its family's usual size; on
// create and update `spec.cidr` must be canonical. An object that already has a non-canonical CIDR
// may keep it: it gets a warning.
void RegisterSubnetPool(Webhooks& webhooks);

}  // namespace berth::admission
