#pragma once

#include <memory>

#include "systems/options.h"
#include "systems/system.h"

namespace berth::systems {

// Network interfaces of nodes: reconcile/eni with its live resource, in the account that the
// options name; switched on by its option.
std::unique_ptr<System> MakeEni(async::Executor& control, const AliyunOptions& options);

}  // namespace berth::systems
