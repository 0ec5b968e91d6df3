#pragma once

#include <map>
#include <optional>
#include <utility>

#include "async/executor.h"

namespace berth::cloud::simulator {

// Events that the cloud brings about by itself, in the order of their times. O(log n).
template <typename Event>
class Agenda {
 public:
  void Add(async::WallTime at, Event event) { events_.emplace(at, std::move(event)); }
  // Takes out the earliest event that is due; none when there is none.
  std::optional<Event> Next(async::WallTime now) {
    if (events_.empty() || events_.begin()->first > now) return std::nullopt;
    return std::move(events_.extract(events_.begin()).mapped());
  }
  // The time of the earliest event.
  std::optional<async::WallTime> NextTime() const {
    if (events_.empty()) return std::nullopt;
    return events_.begin()->first;
  }

 private:
  std::multimap<async::WallTime, Event> events_;
};

}  // namespace berth::cloud::simulator
