#pragma once

#include <string>

#include "async/executor.h"
#include "cloud/simulator/azure/cloud.h"
#include "cloud/simulator/transport.h"
#include "server/options.h"
#include "server/weather.h"

namespace berth::server {

// A simulated Azure with its own weather, for who has no account: the demo, in process, and `berth
// simulate-azure`. On the executor's thread.
class SimulatedAzure : public http::Transport {
 public:
  // Whoever knows the secret may call it.
  SimulatedAzure(async::Executor& executor, const SimulateAzureOptions& options,
                 const std::string& secret);

  // To the cloud, perhaps never answered.
  async::Handle Send(http::Request request, Done done) override {
    return transport_.Send(std::move(request), std::move(done));
  }

  cloud::simulator::azure::Cloud& cloud() { return cloud_; }

 private:
  cloud::simulator::azure::Cloud cloud_;
  Weather weather_;
  cloud::simulator::Network network_;
  cloud::simulator::Transport transport_;
};

}  // namespace berth::server
