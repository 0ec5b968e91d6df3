#pragma once

#include <chrono>
#include <string>

#include "async/executor.h"
#include "cloud/simulator/transport.h"

namespace berth::server {

// The way to a simulated cloud: calls take their time; some are lost or refused.
class Weather : public cloud::simulator::Fates {
 public:
  struct Options {
    std::chrono::milliseconds latency{20};
    double lost_answers = 0;  // part of the calls that are carried out and never answered
    double refused = 0;       // part of the calls answered 503
  };

  Weather(async::Executor& executor, const Options& options);
  cloud::simulator::Fate Draw(const http::Request& request) override;

  std::string refusal;  // the code of all calls; empty for none

 private:
  async::Executor& executor_;
  cloud::simulator::Latency latency_;
  const double lost_answers_;
  const double refused_;
};

}  // namespace berth::server
