#pragma once

#include "server/options.h"

namespace berth::server {

// Runs simulated agents of sandboxes until SIGTERM or SIGINT: their API on one port, over HTTP as
// fast-sandbox's agents or with TLS, their console (cloud/simulator/agent/console.h) over HTTPS on
// another. An agent for each address that is called. Returns the exit status.
int SimulateAgent(const SimulateAgentOptions& options);

}  // namespace berth::server
