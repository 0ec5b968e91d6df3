#include "kube/client_metrics.h"

#include <utility>

namespace berth::kube {
namespace {

const prometheus::Histogram::BucketBoundaries kBuckets = {0.005, 0.025, 0.1, 0.25, 0.5, 1,
                                                          2,     4,     8,   15,   30,  60};

}  // namespace

ClientMetrics::ClientMetrics(prometheus::Registry* registry, std::string host)
    : host_(std::move(host)) {
  if (registry == nullptr) return;
  requests_ = &prometheus::BuildCounter()
                   .Name("rest_client_requests_total")
                   .Help("Number of HTTP requests, by status code, method and host.")
                   .Register(*registry);
  durations_ = &prometheus::BuildHistogram()
                    .Name("rest_client_request_duration_seconds")
                    .Help("Request latency in seconds, by verb and host.")
                    .Register(*registry);
  waits_ = &prometheus::BuildHistogram()
                .Name("rest_client_rate_limiter_duration_seconds")
                .Help("Client side rate limiter latency in seconds, by verb and host.")
                .Register(*registry);
}

void ClientMetrics::Answered(const std::string& method, int code) {
  if (requests_ == nullptr) return;
  const std::string text = code == 0 ? "<error>" : std::to_string(code);
  requests_->Add({{"code", text}, {"method", method}, {"host", host_}}).Increment();
}

void ClientMetrics::Took(const std::string& method, Duration time) {
  Observe(durations_, method, time);
}

void ClientMetrics::Waited(const std::string& method, Duration time) {
  Observe(waits_, method, time);
}

void ClientMetrics::Observe(Histograms* histograms, const std::string& method,
                            Duration time) const {
  if (histograms == nullptr) return;
  histograms->Add({{"verb", method}, {"host", host_}}, kBuckets)
      .Observe(std::chrono::duration<double>(time).count());
}

}  // namespace berth::kube
