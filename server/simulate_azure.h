#pragma once

#include "server/options.h"

namespace berth::server {

// Runs a simulated Azure over HTTPS until SIGTERM or SIGINT: Resource Manager and the authority of
// tokens on one port, its console (cloud/simulator/azure/console.h) on another. A cloud config for
// it is written into the state directory, beside its CA. Returns the exit status.
int SimulateAzure(const SimulateAzureOptions& options);

}  // namespace berth::server
