#pragma once

#include "server/options.h"

namespace berth::server {

// Runs a simulated Alibaba Cloud over HTTPS until SIGTERM or SIGINT; see CloudFront. Its access key
// is kept in the state directory as a Secret would be mounted, beside its CA. Returns the exit
// status.
int SimulateCloud(const SimulateCloudOptions& options);

}  // namespace berth::server
