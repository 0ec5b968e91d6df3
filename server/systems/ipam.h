#pragma once

#include <memory>

#include "server/system.h"

namespace berth::server {

// Subnet IPAM: reconcile/ipam with its webhooks and the live resources poolusages and
// poolrecalculations.
std::unique_ptr<System> MakeIpam(async::Executor& control);

}  // namespace berth::server
