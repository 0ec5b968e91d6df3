#pragma once

#include "server/options.h"

namespace berth::server {

// Runs the server until SIGTERM or SIGINT: not ready, drain, stop. Returns the exit status.
int Serve(const Options& options);

// The same beside an API server in memory; see server/demo.h.
int RunDemo(const DemoOptions& options);

}  // namespace berth::server
