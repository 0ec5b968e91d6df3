#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace berth::difftracker {

enum class State : std::uint8_t {
  kNotStarted,
  kCreationInProgress,
  kCreated,
  kUpdateInProgress,
  kDeletionPending,
  kDeletionInProgress,
};
inline constexpr std::size_t kStates = 6;
std::string_view ToString(State state);

// A thing that can happen to a service. kOk to kMappings end its running operation.
enum class Event : std::uint8_t {
  kWanted,       // the Service exists, or the egress has a first pod
  kSpecChanged,  // the load balancer's rules or the egress's address families
  kNotWanted,
  kSlot,       // one of the operation slots is free: the operation runs
  kOk,         // of the operation
  kFailed,     // may pass by itself, or its outcome is not known
  kThrottled,  // the cloud's rate limit
  kForbidden,  // a quota or a missing right: passes when a person acts
  kRejected,   // will hardly pass with this spec
  kMappings,   // of a deletion: locations still name the service
  kDue,        // the time of the retry has come
  kDrained,    // a read shows no location that names the service
  kStuck,      // five minutes without kDrained
  kLost,       // a list of the gateway's services does not have it
  kForced,     // a user gives up waiting for a deletion
};
inline constexpr std::size_t kEvents = 15;
std::string_view ToString(Event event);

// Why an operation that is due does not run.
enum class Hold : std::uint8_t {
  kNone,
  kBackOff,   // after a failure, until kDue
  kParked,    // five minutes, until kDue
  kRejected,  // until kSpecChanged, or kDue
};
std::string_view ToString(Hold hold);

// The state of one service, small enough to enumerate.
struct Machine {
  State state = State::kNotStarted;
  bool wanted = false;
  bool running = false;  // an operation: the one that the state names
  bool changed = false;  // the spec, since the last operation that succeeded or still runs began
  bool held = false;     // the cloud may hold something of this service
  bool applied = false;  // a creation has succeeded, and no deletion begun since
  bool told = false;     // users know that it is parked
  Hold hold = Hold::kNone;
  std::uint8_t failures = 0;  // in a row, since the last parking

  friend auto operator<=>(const Machine&, const Machine&) = default;
};

// Endpoints of the service belong in the locations.
constexpr bool IsServing(State state) {
  return state == State::kCreated || state == State::kUpdateInProgress;
}
// An operation waits for a slot.
constexpr bool AsksForSlot(const Machine& machine) {
  return !machine.running && machine.hold == Hold::kNone && machine.state != State::kCreated &&
         machine.state != State::kDeletionPending;
}

inline constexpr int kFastRetries = 3;

// The duties of the owner of the machine after a step. Slots, endpoints and the operation follow
// from the machine itself: AsksForSlot, IsServing, running.
struct Effects {
  bool back_off = false;  // kDue after the pause of `failures`
  // kDue after five minutes; never after a refusal that only another spec can help against.
  bool park = false;
  bool read_locations = false;     // before anything that depends on them
  bool replace_locations = false;  // full updates of all locations that name the service
  bool forget = false;             // nothing of it is left, or a user gave it up
  bool tell_parked = false;
  bool tell_recovered = false;
  bool tell_stuck = false;

  friend auto operator<=>(const Effects&, const Effects&) = default;
};

struct Transition {
  Machine machine;
  Effects effects;
  bool possible = true;  // this event can happen in this state
};

// The machine after an event. Pure, and complete: every state and event has a cell. O(1).
Transition TryStep(Machine machine, Event event);
// The same for an event that can happen; the assertion stays on in release.
Transition Step(Machine machine, Event event);

// The whole table in Markdown, made of TryStep: docs/difftracker.md has it.
std::string RenderTable();

}  // namespace berth::difftracker
