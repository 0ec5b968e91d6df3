#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "async/executor.h"
#include "async/task.h"
#include "async/token_bucket.h"

namespace berth::cloud {

// So many calls within any time of that length, whenever a server begins to count. Plain: the
// caller passes the time, which does not go back. O(1); memory for `most` times.
class CallWindow {
 public:
  CallWindow(std::size_t most, async::Duration length) : most_(most), length_(length) {}

  // When the next call may go; in the past when it may go now.
  async::TimePoint Next() const {
    return calls_.size() < most_ ? async::TimePoint() : calls_.front() + length_;
  }
  void Add(async::TimePoint now) {
    while (!calls_.empty() && calls_.front() + length_ <= now) calls_.pop_front();
    calls_.push_back(now);
  }

 private:
  const std::size_t most_;
  const async::Duration length_;
  std::deque<async::TimePoint> calls_;
};

// Where the calls of one action or kind wait for their turn: they go in the order they came, as
// often as the cloud is known to take them. When it throttles one nevertheless, all wait: for a
// second at first, and twice as long each time it happens again within a minute, up to half a
// minute. They go on one by one then, without the burst that a pause would have saved up, so that a
// storm is not answered by a storm. Of the control thread; outlives the tasks it gives. O(log n).
class CallLine {
 public:
  static constexpr int kBurst = 5;
  static constexpr async::Duration kFirstPause = std::chrono::seconds(1);
  static constexpr async::Duration kLongestPause = std::chrono::seconds(30);
  static constexpr async::Duration kLongestAsked = std::chrono::minutes(5);  // that is heeded
  static constexpr async::Duration kCalm = std::chrono::minutes(1);

  // After a quiet time kBurst go at once, and never more than `calls_per_minute` within a minute,
  // these included: a cloud that counts by the minute throttles none of them. Of a small limit the
  // burst is a twelfth. At least one call a minute. Who has waited for `patience` is told that
  // there was no turn.
  CallLine(async::Executor& executor, int calls_per_minute, async::Duration patience);

  // As often as the bucket says; and as the window says, which lines may share, if there is one.
  CallLine(async::Executor& executor, async::TokenBucket bucket, async::Duration patience,
           CallWindow* window = nullptr);

  // Whether it is the caller's turn.
  async::Task<bool> Turn();

  // A call sent at `sent` was throttled, and asked to wait so long, if at all. Returns how long the
  // next call will wait. What was sent before the last pause was over makes it no longer.
  async::Duration Throttled(async::TimePoint sent, async::Duration asked);
  // How long until a call has its turn if nobody waits.
  async::Duration Wait() const;

 private:
  struct Waiter {
    async::TimePoint until;
    std::function<void(bool)> done;
  };

  bool Take();
  async::TimePoint Next() const;
  void Serve();
  void SetTimer();

  async::Executor& executor_;
  async::TokenBucket bucket_;
  const async::Duration patience_;
  CallWindow* const window_ = nullptr;
  std::map<std::uint64_t, Waiter> waiting_;  // as they came, so the first runs out of time first
  std::uint64_t last_ = 0;
  async::Handle timer_;
  async::Duration pause_{};
  async::TimePoint paused_until_{};
};

}  // namespace berth::cloud
