#pragma once

#include <string>

#include "async/executor.h"
#include "cloud/azure/config.h"
#include "cloud/simulator/azure/cloud.h"
#include "cloud/simulator/transport.h"
#include "server/options.h"
#include "server/weather.h"

namespace berth::server {

// A simulated Azure with its own weather, for who has no account: the demo, in process, and `berth
// simulate-azure`. On the executor's thread.
class SimulatedAzure : public http::Transport {
 public:
  static constexpr const char* kTenant = "00000000-0000-0000-0000-00000000face";
  static constexpr const char* kClient = "00000000-0000-0000-0000-00000000cafe";

  // Whoever knows the secret may call it.
  SimulatedAzure(async::Executor& executor, const SimulateAzureOptions& options,
                 const std::string& secret);

  // To the cloud, perhaps never answered.
  async::Handle Send(http::Request request, Done done) override {
    return transport_.Send(std::move(request), std::move(done));
  }

  cloud::simulator::azure::Cloud& cloud() { return cloud_; }
  // An account's with it, at any endpoint.
  static cloud::azure::Config ConfigOf(const cloud::simulator::azure::Cloud::Options& options,
                                       const std::string& secret, const std::string& endpoint);

 private:
  cloud::simulator::azure::Cloud cloud_;
  Weather weather_;
  cloud::simulator::Network network_;
  cloud::simulator::Transport transport_;
};

}  // namespace berth::server
