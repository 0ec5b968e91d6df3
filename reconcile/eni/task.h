#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "async/executor.h"

namespace berth::eni {

enum class Operation : std::uint8_t { kAttach, kDetach, kDelete };
enum class Backend : std::uint8_t { kEcs, kEflo };
enum class State : std::uint8_t { kPending, kRunning, kCompleted, kFailed, kTimeout };
inline constexpr std::size_t kStates = 5;

std::string_view Name(Operation operation);
std::string_view Name(Backend backend);
std::string_view Name(State state);

// A look at the cloud, by what it means for the task's instance.
enum class Sight : std::uint8_t {
  kInUseHere,
  kInUseElsewhere,
  kAvailable,
  kMoving,   // Attaching, Detaching, Executing
  kBroken,   // Deleting, or any status that ends in Failed
  kMissing,  // not listed
};
inline constexpr int kSights = 6;
std::string_view Name(Sight sight);
// `status` and `instance` are the cloud's; none for an ENI that is not listed.
Sight SightOf(std::optional<std::string_view> status, std::string_view instance,
              std::string_view wanted_instance);

enum class Step : std::uint8_t {
  kPoll,      // look again later
  kAsk,       // send the operation's request
  kComplete,  // the cloud shows what was asked for
  kFail,      // it will not come
  kConfirm,   // look at this ENI alone: a list that leaves it out may be late
};
std::string_view Name(Step step);

// The step that a look leads to. `asked`: the cloud has accepted the operation's request. `over`:
// the time is over in which this sight may pass by itself (see Patience). Every cell is defined;
// docs/eni-tasks.md shows the table.
Step Decide(Operation operation, Sight sight, bool asked, bool over);
// The step after kConfirm showed that there is no such ENI.
Step DecideAbsent(Operation operation);

// The times of a kind of ENI.
struct Pace {
  async::Duration initial_delay;  // from the accepted request to the first look
  async::Duration poll_base;      // then this, times 1.5 each time, up to half of it more
  async::Duration timeout;        // from the accepted attach
};
Pace PaceOf(std::string_view eni, Backend backend);
// The cloud binds such an ENI to its instance when it makes it: nobody attaches a new one.
bool IsBoundAtCreate(std::string_view eni);
// The pause before look number `look`, counted from 0; `random` is in [0, 1).
async::Duration PollDelay(const Pace& pace, int look, double random);

// A list may leave out an ENI of this age.
inline constexpr async::Duration kListLag = std::chrono::seconds(60);
// An ENI that is Available this long after an accepted attach was given up by the cloud.
inline constexpr async::Duration kFallBack = std::chrono::seconds(10);
// A detach or delete that shows nothing is sent again after this time.
inline constexpr async::Duration kStuck = std::chrono::minutes(2);
inline constexpr int kMostAttaches = 3;

// The table of Decide as the document has it, in Markdown.
std::string DecisionTable();

}  // namespace berth::eni
