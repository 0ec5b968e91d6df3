#pragma once

#include <string_view>

#include "cloud/simulator/aliyun/cloud.h"
#include "cloud/simulator/azure/cloud.h"

namespace berth::systems {

// A file that the demo writes into its folder, for the commands that it prints.
struct DemoFile {
  std::string_view name;
  std::string_view text;
};

// A simulated cloud of the demo. A system is asked once for each of them; the others are null.
struct DemoClouds {
  cloud::simulator::Cloud* aliyun = nullptr;
  cloud::simulator::azure::Cloud* azure = nullptr;
};

// docs/examples/NAME as it was when this was built; empty if there is none of that name.
std::string_view Example(std::string_view name);

}  // namespace berth::systems
