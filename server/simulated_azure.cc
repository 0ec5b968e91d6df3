#include "server/simulated_azure.h"

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
  cloud_.login().Add({.tenant = kTenant, .id = kClient, .secret = secret, .assertions = {}});
}

cloud::azure::Config SimulatedAzure::ConfigOf(const azure::Cloud::Options& options,
                                              const std::string& secret,
                                              const std::string& endpoint) {
  return {.tenant = kTenant,
          .subscription = options.subscription,
          .resource_group = options.resource_group,
          .location = options.location,
          .vnet = "berth",
          .vnet_resource_group = options.resource_group,
          .gateway = options.gateway,
          .client_id = kClient,
          .client_secret = secret,
          .federated_token_file = {},
          .endpoint = endpoint,
          .authority = endpoint,
          .scope = "https://management.azure.com/.default"};
}

}  // namespace berth::server
