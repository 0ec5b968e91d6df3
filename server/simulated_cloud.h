#pragma once

#include <memory>
#include <string>
#include <utility>

#include "async/executor.h"
#include "cloud/simulator/aliyun/cloud.h"
#include "cloud/simulator/transport.h"
#include "server/options.h"
#include "server/weather.h"

namespace berth::server {

// A simulated Alibaba Cloud with its own weather, for who has no account: the demo, in process, and
// `berth simulate-cloud`. On the executor's thread.
class SimulatedCloud : public http::Transport {
 public:
  SimulatedCloud(async::Executor& executor, const SimulateCloudOptions& options);

  // To the cloud, perhaps never answered.
  async::Handle Send(http::Request request, Done done) override;

  cloud::simulator::Cloud& cloud() { return cloud_; }
  // Every call is refused with this code, until it is empty.
  void RefuseAll(std::string code) { weather_.refusal = std::move(code); }

 private:
  cloud::simulator::Cloud cloud_;
  Weather weather_;
  cloud::simulator::Network network_;
  cloud::simulator::Transport transport_;
};

}  // namespace berth::server
