#pragma once

#include <string>
#include <vector>

#include "json/json.h"
#include "kube/transport.h"
#include "server/options.h"
#include "server/systems.h"

namespace berth::server {

struct PreflightReport {
  Findings findings;
  std::vector<std::string> errors;  // what could not be looked at, and why
};

// Asks every system what would behave otherwise under Berth. Only GET requests reach `transport`,
// which outlives the task, as do the systems.
async::Task<PreflightReport> AskSystems(const Systems* systems, async::Executor* executor,
                                        kube::Transport* transport, Json values, std::string ns);

// Prints a line for each finding. Returns the exit status: 0 for no finding, 1 for findings, 2 if
// something could not be looked at.
int RunPreflight(const PreflightOptions& options);

}  // namespace berth::server
