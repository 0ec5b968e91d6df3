#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <string>
#include <string_view>
#include <vector>

namespace berth::metrics {

// The process as the Prometheus convention describes it: process_cpu_seconds_total,
// process_resident_memory_bytes, process_virtual_memory_bytes, process_open_fds, process_max_fds
// and process_start_time_seconds; and berth_build_info, which is 1. Read anew at each scrape, from
// /proc: a metric that cannot be read is left out. O(open descriptors). Thread-safe.
class ProcessMetrics : public prometheus::Collectable {
 public:
  explicit ProcessMetrics(std::string_view version) : version_(version) {}

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const std::string version_;
};

}  // namespace berth::metrics
