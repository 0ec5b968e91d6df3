#pragma once

#include <memory>

#include "systems/system.h"

namespace berth::systems {

// Subnet IPAM: reconcile/ipam with its webhooks and the live resources poolusages and
// poolrecalculations.
std::unique_ptr<System> MakeIpam(async::Executor& control);

}  // namespace berth::systems
