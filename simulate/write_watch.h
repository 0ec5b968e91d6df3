#pragma once

#include <map>
#include <optional>
#include <string>

#include "async/executor.h"
#include "kube/transport.h"

namespace berth::simulate {

// Counts what a replica asks for: no object is written, in vain or not, more often than a
// controller that backs off would, and a status that is as it was is not written again and again.
class WriteWatch {
 public:
  // Writes of one object in one minute. Conflicts, refusals and lost answers count, too.
  static constexpr int kMostWrites = 120;
  static constexpr int kMostIdleStatusWrites = 12;

  enum class Effect { kFailed, kNothing, kChange };

  // After a request was answered, with its effect on the server's state.
  std::optional<std::string> Saw(const std::string& writer, const kube::Request& request,
                                 Effect effect, async::TimePoint now);

 private:
  struct Count {
    std::int64_t minute = -1;
    int writes = 0;
    int idle = 0;
  };
  std::map<std::string, Count> counts_;  // by writer and object
};

}  // namespace berth::simulate
