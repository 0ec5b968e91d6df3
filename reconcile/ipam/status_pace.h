#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "async/executor.h"

namespace berth::ipam {

// How often a status is written again that another controller has overwritten: the first time at
// once, then after pauses that grow to kLongest. Only a repetition of the last status waits; a
// status with news never does. One entry for each object whose status was written within kMemory.
class StatusPace {
 public:
  static constexpr async::Duration kShortest = std::chrono::seconds(1);
  static constexpr async::Duration kLongest = std::chrono::seconds(10);
  static constexpr async::Duration kMemory = std::chrono::seconds(30);

  explicit StatusPace(async::Executor& executor) : executor_(executor) {}

  // How long to wait before the status, `content` without its times, is written; zero for now.
  // O(1).
  async::Duration Wait(const std::string& uid, std::string_view content) const;
  // It was written. O(1) amortised.
  void Wrote(const std::string& uid, std::string_view content);

  // Entries that count yet. O(those that do not).
  std::size_t size() {
    Expire();
    return last_.size();
  }

 private:
  struct Last {
    std::uint64_t content = 0;
    async::TimePoint when;
    int repetitions = 0;
  };
  struct Write {
    async::TimePoint when;
    std::string uid;
  };

  void Expire();

  async::Executor& executor_;
  std::unordered_map<std::string, Last> last_;  // by uid
  std::deque<Write> writes_;                    // in the order of time
};

}  // namespace berth::ipam
