#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "async/executor.h"
#include "async/token_bucket.h"

namespace berth::cloud::simulator::azure {

// Azure's published limits: token buckets of Resource Manager, and windows of Microsoft.Network
// that begin again every 5 minutes.
struct RateLimits {
  bool enabled = true;
  int writes = 200;
  int deletes = 200;
  int reads = 250;
  double writes_per_second = 10;
  double deletes_per_second = 10;
  double reads_per_second = 25;
  std::uint64_t network_changes = 1'000;
  std::uint64_t network_reads = 10'000;
};

class Limits {
 public:
  static constexpr std::chrono::minutes kWindow{5};

  explicit Limits(const RateLimits& limits)
      : limits_(limits),
        writes_(async::TokenBucket::PerSecond(limits.writes_per_second), limits.writes),
        deletes_(async::TokenBucket::PerSecond(limits.deletes_per_second), limits.deletes),
        reads_(async::TokenBucket::PerSecond(limits.reads_per_second), limits.reads) {}

  bool Take(std::string_view method, async::WallTime now) {
    if (!limits_.enabled) return true;
    const bool is_read = method == "GET";
    const auto window = now.time_since_epoch() / kWindow;
    if (window != window_) {
      window_ = window;
      network_changes_ = network_reads_ = 0;
    }
    std::uint64_t& used = is_read ? network_reads_ : network_changes_;
    if (used >= (is_read ? limits_.network_reads : limits_.network_changes)) return false;
    async::TokenBucket& bucket = is_read ? reads_ : method == "DELETE" ? deletes_ : writes_;
    const async::TimePoint at(std::chrono::duration_cast<async::Duration>(now.time_since_epoch()));
    if (!bucket.Take(at)) return false;
    ++used;
    return true;
  }

 private:
  const RateLimits limits_;
  async::TokenBucket writes_;
  async::TokenBucket deletes_;
  async::TokenBucket reads_;
  std::int64_t window_ = 0;
  std::uint64_t network_changes_ = 0;
  std::uint64_t network_reads_ = 0;
};

}  // namespace berth::cloud::simulator::azure
