#pragma once

#include <algorithm>

#include "async/executor.h"

namespace berth::async {

// A token bucket whose tokens can be taken in advance. Full at first. Plain: no clock, no lock; the
// caller passes the time. All it keeps is when it would be full again, so every call is O(1).
class TokenBucket {
 public:
  // `interval` is the time a token takes to come back, zero for no limit at all.
  TokenBucket(Duration interval, int burst)
      : interval_(interval), burst_time_(interval * std::max(burst, 1)) {}

  // Takes the next token: how long until it is there.
  Duration Reserve(TimePoint now) {
    full_at_ = AfterOneMore(now);
    return std::max(full_at_ - burst_time_ - now, Duration::zero());
  }

  // Takes a token if there is one.
  bool Take(TimePoint now) {
    const TimePoint full_at = AfterOneMore(now);
    if (full_at - burst_time_ > now) return false;
    full_at_ = full_at;
    return true;
  }

  // When the next token is there; in the past when it is there now.
  TimePoint Next() const { return full_at_ + interval_ - burst_time_; }

  // The interval for so many a second; none for 0.
  static Duration PerSecond(double rate) {
    if (rate <= 0) return Duration::zero();
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / rate));
  }

 private:
  TimePoint AfterOneMore(TimePoint now) const { return std::max(full_at_, now) + interval_; }

  Duration interval_;
  Duration burst_time_;
  TimePoint full_at_{};
};

}  // namespace berth::async
