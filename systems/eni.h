#pragma once

#include <memory>
#include <string_view>

#include "systems/options.h"
#include "systems/system.h"

namespace berth::systems {

// Network interfaces of nodes: reconcile/eni with its live resource, in the account that the
// options name; switched on by its option.
std::unique_ptr<System> MakeEni(async::Executor& control, const AliyunOptions& options);

// docs/examples/eni.yaml as it was when this was built: Nodes for the demo's instances, and pods.
std::string_view EniExample();

}  // namespace berth::systems
