#pragma once

#include <memory>
#include <string_view>

#include "systems/options.h"
#include "systems/system.h"

namespace berth::systems {

// Load balancers and NAT gateways of an Azure Service Gateway: reconcile/difftracker with its
// webhook and its live resources; switched on by its option.
std::unique_ptr<System> MakeDiffTracker(async::Executor& control, const AzureOptions& options);

}  // namespace berth::systems
