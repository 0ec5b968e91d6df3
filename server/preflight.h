#pragma once

#include "server/options.h"

namespace berth::server {

// Prints a line for each finding. Returns the exit status: 0 for no finding, 1 for findings, 2 if
// something could not be looked at.
int RunPreflight(const PreflightOptions& options);

}  // namespace berth::server
