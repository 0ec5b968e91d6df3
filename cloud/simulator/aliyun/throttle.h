#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "async/executor.h"
#include "cloud/simulator/aliyun/product.h"

namespace berth::cloud::simulator {

inline Refusal Throttled() {
  return {400, "Throttling.User", "Request was denied due to user flow control."};
}

// So many calls of an action in a minute, counted as the cloud does: from nothing again when the
// minute is over.
class Throttle {
 public:
  using Limits =
      std::map<std::string, std::uint64_t>;  // by action; no limit for one that is absent

  explicit Throttle(Limits per_minute) : per_minute_(std::move(per_minute)) {}

  void SetLimit(const std::string& action, std::uint64_t per_minute) {
    per_minute_[action] = per_minute;
  }

  bool Take(const std::string& action, async::WallTime now) {
    const auto limit = per_minute_.find(action);
    if (limit == per_minute_.end()) return true;
    Window& window = windows_[action];
    const auto minute = std::chrono::floor<std::chrono::minutes>(now);
    if (window.minute != minute) window = {minute, 0};
    if (window.calls >= limit->second) return false;
    ++window.calls;
    return true;
  }

 private:
  struct Window {
    std::chrono::sys_time<std::chrono::minutes> minute;
    std::uint64_t calls = 0;
  };

  Limits per_minute_;
  std::map<std::string, Window> windows_;
};

}  // namespace berth::cloud::simulator
