#pragma once

#include <string>

#include "handlers/apis/live_collection.h"
#include "reconcile/ipam/space.h"

namespace berth::apis {

// The resource `poolusages`: one object a SubnetPool, of its name and namespace. It shows what is
// really free, where the pool's own status counts what child pools hold as free, and what of it is
// where.
ResourceType PoolUsageType();

// Shows a pool's present figures, or that it is gone. On the control thread. How long it takes
// depends on the number of child pools and exclusions, not on that of Subnets: of a pool with very
// many the ranges are shown in part. Nothing is published when nothing has changed.
void PublishPoolUsage(LiveCollection& collection, const std::string& key, const ipam::Space& space);

}  // namespace berth::apis
