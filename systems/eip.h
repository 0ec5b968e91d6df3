#pragma once

#include <memory>

#include "systems/options.h"
#include "systems/system.h"

namespace berth::systems {

// Elastic IPs: reconcile/eip with its webhooks, in the account that the options name; without a
// region it is switched off.
std::unique_ptr<System> MakeEip(async::Executor& control, const AliyunOptions& options);

}  // namespace berth::systems
