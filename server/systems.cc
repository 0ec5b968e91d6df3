#include "server/systems.h"

#include "server/systems/eip.h"
#include "server/systems/ipam.h"

namespace berth::server {

Systems MakeSystems(async::Executor& control, const Options& options) {
  Systems systems;
  systems.push_back(MakeIpam(control));
  systems.push_back(MakeEip(control, options.aliyun));
  return systems;
}

}  // namespace berth::server
