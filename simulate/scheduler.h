#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <utility>

#include "async/executor.h"

namespace berth::simulate {

// Numbers from a seed: the same on every machine, which the standard's distributions are not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t Next() { return engine_(); }
  // Below `bound`, which is above 0.
  std::uint64_t Below(std::uint64_t bound) { return Next() % bound; }
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
  bool Chance(double probability) { return probability > 0 && Fraction() < probability; }
  async::Duration Between(async::Duration least, async::Duration most) {
    return least + async::Duration(static_cast<async::Duration::rep>(
                       Fraction() * static_cast<double>((most - least).count())));
  }

 private:
  std::mt19937_64 engine_;
};

// Virtual time: it stands still while something runs and jumps to the next thing to do. What is due
// at the same moment runs in the order in which it was scheduled. O(log n) each.
class Scheduler {
 public:
  async::TimePoint Now() const { return now_; }
  async::WallTime WallNow() const {
    constexpr std::chrono::sys_days kBegin = std::chrono::year(2026) / 1 / 1;
    return async::WallTime(kBegin) +
           std::chrono::duration_cast<async::WallTime::duration>(now_.time_since_epoch());
  }

  std::uint64_t At(async::TimePoint when, async::Work work) {
    const std::uint64_t id = ++last_;
    const Key key{std::max(when, now_), id};
    queue_.emplace(key, std::move(work));
    return id;
  }
  std::uint64_t After(async::Duration delay, async::Work work) {
    return At(now_ + delay, std::move(work));
  }

  // Runs what comes next; false when there is nothing, or nothing until `end`.
  bool Step(async::TimePoint end) {
    if (queue_.empty() || queue_.begin()->first.first > end) return false;
    now_ = queue_.begin()->first.first;
    async::Work work = std::move(queue_.begin()->second);
    queue_.erase(queue_.begin());
    work();
    return true;
  }

 private:
  using Key = std::pair<async::TimePoint, std::uint64_t>;

  async::TimePoint now_{};
  std::map<Key, async::Work> queue_;
  std::uint64_t last_ = 0;
};

}  // namespace berth::simulate
