#pragma once

#include <cstdint>
#include <initializer_list>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "async/executor.h"

namespace berth::cloud::simulator {

// A thing that goes wrong with the next calls of an action.
struct Fault {
  enum class Kind {
    kRefused,     // with `code`; nothing is carried out
    kCarriedOut,  // and refused with `code` all the same
    kLostAnswer,  // carried out, never answered
    kDelayed,     // the answer comes `delay` later
    kFallsBack,   // accepted, but what it began ends in the state before
    kSticks,      // accepted, but what it began never ends
  };

  std::string action;
  Kind kind = Kind::kRefused;
  std::string code;
  async::Duration delay{};
  std::uint64_t count = 1;  // of calls
};

// The faults that are still to come, in their order.
class Faults {
 public:
  void Set(std::list<Fault> faults) { faults_ = std::move(faults); }
  const std::list<Fault>& all() const { return faults_; }

  // The next fault of one of these kinds for a call of the action, which is used up.
  std::optional<Fault> Take(std::string_view action, std::initializer_list<Fault::Kind> kinds);

 private:
  std::list<Fault> faults_;
};

}  // namespace berth::cloud::simulator
