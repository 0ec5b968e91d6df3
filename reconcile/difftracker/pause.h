#pragma once

#include <algorithm>
#include <chrono>

#include "async/executor.h"

namespace berth::difftracker {

inline constexpr async::Duration kFirstPause = std::chrono::seconds(1);
inline constexpr async::Duration kLongestPause = std::chrono::seconds(30);
inline constexpr async::Duration kParkPause = std::chrono::minutes(5);
inline constexpr double kJitter = 0.2;

// The pause after so many failures in a row: doubled each time, and up to a fifth shorter so that
// retries do not meet. `random` is in [0, 1).
inline async::Duration PauseAfter(int failures, double random) {
  const async::Duration pause =
      std::min(kFirstPause * (1 << std::clamp(failures - 1, 0, 10)), kLongestPause);
  return std::chrono::duration_cast<async::Duration>(pause * (1 - kJitter * random));
}

}  // namespace berth::difftracker
