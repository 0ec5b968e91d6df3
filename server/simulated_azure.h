#pragma once

#include <utility>

#include "async/executor.h"
#include "cloud/simulator/azure/cloud.h"
#include "cloud/simulator/transport.h"
#include "http/transport.h"

namespace berth::server {

// A simulated Azure in the process, whose calls take their time. On the executor's thread.
class SimulatedAzure : public http::Transport {
 public:
  SimulatedAzure(async::Executor& executor, cloud::simulator::azure::Cloud::Options options,
                 async::Duration latency)
      : cloud_(std::move(options)),
        latency_(executor, latency / 4, 3 * latency / 4),
        network_(cloud_, executor, latency_),
        transport_(network_, executor) {}

  async::Handle Send(http::Request request, Done done) override {
    return transport_.Send(std::move(request), std::move(done));
  }

  cloud::simulator::azure::Cloud& cloud() { return cloud_; }

 private:
  cloud::simulator::azure::Cloud cloud_;
  cloud::simulator::Latency latency_;
  cloud::simulator::Network network_;
  cloud::simulator::Transport transport_;
};

}  // namespace berth::server
