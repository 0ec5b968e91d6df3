#pragma once

#include "server/options.h"

namespace berth::server {

// Runs the server until SIGTERM or SIGINT: not ready, drain, stop. Returns the exit status.
int Serve(const Options& options);

}  // namespace berth::server
