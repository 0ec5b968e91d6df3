#include "server/simulated_cloud.h"

#include <utility>

namespace berth::server {
namespace {

namespace simulator = cloud::simulator;

simulator::Cloud::Options OptionsOf(async::Executor& executor,
                                    const SimulateCloudOptions& options) {
  simulator::Cloud::Options cloud{.seed = executor.Random()};
  cloud.vpc.region = options.region;
  cloud.vpc.until_visible = options.until_visible;
  cloud.ecs.until_visible = options.until_visible;
  cloud.eflo.until_visible = options.until_visible;
  for (auto* phase : {&cloud.vpc.releasing, &cloud.vpc.associating, &cloud.vpc.unassociating,
                      &cloud.vpc.binding, &cloud.ecs.detaching, &cloud.ecs.deleting,
                      &cloud.eflo.detaching, &cloud.eflo.deleting, &cloud.eflo.assigning}) {
    *phase = options.background;
  }
  cloud.ecs.attaching = options.attaching;
  cloud.eflo.attaching = options.attaching;
  for (const auto& [action, calls] : options.limits) {
    cloud.calls_per_minute.emplace(action, static_cast<std::uint64_t>(calls));
  }
  return cloud;
}

}  // namespace

SimulatedCloud::SimulatedCloud(async::Executor& executor, const SimulateCloudOptions& options)
    : cloud_(OptionsOf(executor, options)),
      weather_(executor, {options.latency, options.lost_answers, options.refused}),
      network_(cloud_, executor, weather_),
      transport_(network_, executor) {}

async::Handle SimulatedCloud::Send(http::Request request, Done done) {
  return transport_.Send(std::move(request), std::move(done));
}

}  // namespace berth::server
