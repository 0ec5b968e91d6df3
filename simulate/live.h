#pragma once

#include <string>

namespace berth::simulate {

// The toy's controller on a real API server, standing for election, until SIGTERM or SIGINT: then
// it gives its lease back. For the end-to-end tests, which take the API server away under it. The
// exit status.
int RunLive(const std::string& kubeconfig, const std::string& identity);

}  // namespace berth::simulate
