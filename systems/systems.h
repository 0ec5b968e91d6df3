#pragma once

#include <memory>
#include <string>
#include <vector>

#include "json/json.h"
#include "kube/transport.h"
#include "systems/options.h"
#include "systems/system.h"

namespace berth::systems {

using Systems = std::vector<std::unique_ptr<System>>;

// All systems, whether the options switch them on or not. `control` is the control thread.
Systems MakeSystems(async::Executor& control, const Options& options);

// The options of the demo, which switches on all systems; without clouds, those that need none.
Options OptionsOfDemo(bool with_clouds);

// Asks every system what would behave otherwise under Berth. Only GET requests reach `transport`,
// which outlives the task, as do the systems.
async::Task<PreflightReport> Preflight(const Systems* systems, async::Executor* executor,
                                       kube::Transport* transport, Json values, std::string ns);

}  // namespace berth::systems
