#include "server/weather.h"

namespace berth::server {

namespace simulator = cloud::simulator;

Weather::Weather(async::Executor& executor, const Options& options)
    : executor_(executor),
      latency_(executor, options.latency / 4, 3 * options.latency / 4),
      lost_answers_(options.lost_answers),
      refused_(options.refused) {}

simulator::Fate Weather::Draw(const http::Request& request) {
  simulator::Fate fate = latency_.Draw(request);
  fate.answered = executor_.RandomFraction() >= lost_answers_;
  if (!refusal.empty()) {
    fate.refusal = simulator::Refusal{400, refusal, "Refused, as somebody has asked for."};
    fate.carried_out = false;
  } else if (executor_.RandomFraction() < refused_) {
    fate.refusal = simulator::Unavailable();
    fate.carried_out = false;
  }
  return fate;
}

}  // namespace berth::server
