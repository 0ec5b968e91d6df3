#pragma once

#include <map>
#include <optional>
#include <string>

#include "async/executor.h"
#include "json/json.h"
#include "kube/transport.h"

namespace berth::simulate {

// Counts what people are told of an object while nothing about it changes: how often the reason or
// the status of its Ready condition changes, and how many events are created. A controller that
// fails again and again tells of it once.
class ToldWatch {
 public:
  // Bounds for one object, for as long as it is watched.
  static constexpr int kMostTransitions = 12;
  static constexpr int kMostEvents = 8;

  explicit ToldWatch(async::TimePoint since) : since_(since) {}

  // After a write to the object, or of an event about it.
  std::optional<std::string> Saw(const Json& object, async::TimePoint now);
  std::optional<std::string> SawEvent(const kube::Request& request, async::TimePoint now);

 private:
  struct Count {
    std::string told;  // status and reason of the Ready condition
    int transitions = 0;
    int events = 0;
  };

  async::TimePoint since_;
  std::map<std::string, Count> counts_;  // by the object's uid
};

}  // namespace berth::simulate
