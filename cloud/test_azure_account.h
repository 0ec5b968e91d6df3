#pragma once

#include <string>
#include <utility>

#include "async/executor.h"
#include "cloud/azure/arm_client.h"
#include "cloud/azure/config.h"
#include "cloud/azure/gateway_client.h"
#include "cloud/azure/token_source.h"
#include "cloud/call_log.h"
#include "cloud/simulator/azure/account.h"
#include "cloud/simulator/azure/cloud.h"
#include "cloud/simulator/transport.h"

namespace berth::cloud {

// For tests, simulations and benchmarks only: a way to a simulated Azure, and the real client with
// an identity that it knows. The network, and the cloud behind it, outlive this.
struct AzureTestClient {
  static constexpr const char* kSecret = "very-secret";

  AzureTestClient(async::Executor& executor, simulator::Network& network,
                  const simulator::azure::Cloud::Options& options, azure::ArmOptions limits = {},
                  CallObserver* observer = nullptr)
      : config(simulator::azure::ConfigOf(options, kSecret)),
        transport(network, executor),
        tokens(executor, transport, observer, azure::IdentityOf(config, [] { return kSecret; })),
        arm(executor, transport, tokens, observer, Placed(config, std::move(limits))),
        gateway(arm, config) {}

  const azure::Config config;
  simulator::Transport transport;
  azure::TokenSource tokens;
  azure::ArmClient arm;
  azure::GatewayClient gateway;

 private:
  static azure::ArmOptions Placed(const azure::Config& config, azure::ArmOptions options) {
    options.endpoint = config.endpoint;
    options.api_version = config.api_version;
    return options;
  }
};

// The same with a cloud of its own.
struct AzureTestAccount {
  AzureTestAccount(async::Executor& executor, simulator::Fates& fates,
                   simulator::azure::Cloud::Options options, azure::ArmOptions limits = {},
                   CallObserver* observer = nullptr)
      : cloud(std::move(options)),
        network(cloud, executor, fates),
        client(executor, network, cloud.options(), std::move(limits), observer) {
    simulator::azure::AddIdentity(cloud, AzureTestClient::kSecret);
  }

  simulator::azure::Cloud cloud;
  simulator::Network network;
  AzureTestClient client;
};

}  // namespace berth::cloud
