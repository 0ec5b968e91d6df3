#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "async/executor.h"
#include "log/timestamp.h"

namespace berth::apis {

// The text of a cell without a value.
inline constexpr const char* kNothing = "<none>";

// Dates of the control thread's times.
class Calendar {
 public:
  explicit Calendar(const async::Executor& executor)
      : now_(executor.Now()), wall_(executor.WallNow()) {}

  async::WallTime Date(async::TimePoint time) const {
    return wall_ + std::chrono::duration_cast<async::WallTime::duration>(time - now_);
  }
  std::string Text(async::TimePoint time) const { return FormatTime(Date(time)); }
  // Of a time that is near: 03:04:05Z.
  std::string Clock(const std::optional<async::TimePoint>& time) const {
    return time ? Text(*time).substr(sizeof("2026-01-02")) : kNothing;
  }
  std::int64_t Seconds(async::TimePoint time) const {
    return std::chrono::floor<std::chrono::seconds>(Date(time)).time_since_epoch().count();
  }

 private:
  const async::TimePoint now_;
  const async::WallTime wall_;
};

}  // namespace berth::apis
