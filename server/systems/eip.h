#pragma once

#include <memory>

#include "server/options.h"
#include "server/system.h"

namespace berth::server {

// Elastic IPs: reconcile/eip with its webhooks, in the account that the options name; without a
// region it is switched off.
std::unique_ptr<System> MakeEip(async::Executor& control, const AliyunOptions& options);

}  // namespace berth::server
