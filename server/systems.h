#pragma once

#include <memory>
#include <vector>

#include "server/options.h"
#include "server/system.h"

namespace berth::server {

using Systems = std::vector<std::unique_ptr<System>>;

// All systems, whether the options switch them on or not. `control` is the control thread.
Systems MakeSystems(async::Executor& control, const Options& options);

}  // namespace berth::server
