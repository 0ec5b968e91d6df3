#include "systems/systems.h"

#include "systems/difftracker.h"
#include "systems/eip.h"
#include "systems/eni.h"
#include "systems/ipam.h"
#include "systems/sandbox.h"

namespace berth::systems {

Systems MakeSystems(async::Executor& control, const Options& options) {
  Systems systems;
  systems.push_back(MakeIpam(control));
  systems.push_back(MakeEip(control, options.aliyun));
  systems.push_back(MakeEni(control, options.aliyun));
  systems.push_back(MakeDiffTracker(control, options.azure));
  systems.push_back(MakeSandbox(control, options.sandbox));
  return systems;
}

Options OptionsOfDemo(bool with_clouds) {
  Options options;
  if (!with_clouds) return options;
  options.aliyun.region = "cn-hangzhou";
  options.aliyun.eni = true;
  options.azure.service_gateway = true;
  options.sandbox.enabled = true;
  return options;
}

}  // namespace berth::systems
