#pragma once

#include <memory>
#include <string_view>

#include "systems/options.h"
#include "systems/system.h"

namespace berth::systems {

// Sandboxes on the agents of fast-sandbox: reconcile/sandbox with its webhooks and its live
// resources; switched on by its option.
std::unique_ptr<System> MakeSandbox(async::Executor& control, const SandboxOptions& options);

}  // namespace berth::systems
