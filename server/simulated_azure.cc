#include "server/simulated_azure.h"

#include "cloud/simulator/azure/account.h"

namespace berth::server {
namespace {

namespace azure = cloud::simulator::azure;

azure::Cloud::Options OptionsOf(async::Executor& executor, const SimulateAzureOptions& options) {
  return {.seed = executor.Random(),
          .least_operation = options.operation / 2,
          .most_operation = 3 * options.operation / 2,
          .page = options.page,
          .limits = {.enabled = options.rate_limits}};
}

}  // namespace

SimulatedAzure::SimulatedAzure(async::Executor& executor, const SimulateAzureOptions& options,
                               const std::string& secret)
    : cloud_(OptionsOf(executor, options)),
      weather_(executor, {options.latency, options.lost_answers, options.refused}),
      network_(cloud_, executor, weather_),
      transport_(network_, executor) {
  azure::AddIdentity(cloud_, secret);
}

}  // namespace berth::server
