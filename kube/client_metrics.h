#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <string>

namespace berth::kube {

// Metrics of a Client, under client-go's names and with its buckets, so that existing dashboards
// show it. Labels are a method, a status code and the configured host: bounded. Does nothing
// without a registry. Thread-safe.
class ClientMetrics {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // Two clients may share a registry, which outlives both.
  ClientMetrics(prometheus::Registry* registry, std::string host);

  // A request got an answer with this status code, or none (0).
  void Answered(const std::string& method, int code);
  // A call, not a stream, took so long from its start to its answer.
  void Took(const std::string& method, Duration time);
  // A call or stream waited so long for the rate limit.
  void Waited(const std::string& method, Duration time);

 private:
  using Histograms = prometheus::Family<prometheus::Histogram>;
  void Observe(Histograms* histograms, const std::string& method, Duration time) const;

  std::string host_;
  prometheus::Family<prometheus::Counter>* requests_ = nullptr;
  Histograms* durations_ = nullptr;
  Histograms* waits_ = nullptr;
};

}  // namespace berth::kube
