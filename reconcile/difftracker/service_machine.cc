#include "reconcile/difftracker/service_machine.h"

#include <array>
#include <cassert>
#include <utility>

namespace berth::difftracker {
namespace {

// Nobody waits for the service: nothing was begun for it, or it is drained first.
void Leave(Transition& to) {
  Machine& machine = to.machine;
  machine.hold = Hold::kNone;
  machine.failures = 0;
  if (!machine.held) {
    to.effects.forget = true;
    return;
  }
  machine.state = State::kDeletionPending;
  to.effects.read_locations = true;
}

void BackOff(Transition& to) {
  to.machine.hold = Hold::kBackOff;
  to.effects.back_off = true;
}

void Tell(Transition& to) {
  to.machine.told = true;
  to.effects.tell_parked = true;
}

void Park(Transition& to) {
  to.machine.hold = Hold::kParked;
  to.machine.failures = 0;
  to.effects.park = true;
  Tell(to);
}

void Fail(Transition& to) {
  if (to.machine.failures < kFastRetries) {
    ++to.machine.failures;
    return BackOff(to);
  }
  Park(to);
}

void Recover(Transition& to) {
  Machine& machine = to.machine;
  machine.failures = 0;
  machine.hold = Hold::kNone;
  to.effects.tell_recovered = machine.told;
  machine.told = false;
}

// The service serves; a spec that changed meanwhile is applied next.
void Serve(Machine& machine) {
  machine.state = machine.changed ? State::kUpdateInProgress : State::kCreated;
}

void Reject(Transition& to) {
  Machine& machine = to.machine;
  machine.failures = 0;
  if (machine.changed) return;  // this spec was not tried yet
  machine.changed = true;
  machine.hold = Hold::kRejected;
  if (machine.state == State::kUpdateInProgress) machine.state = State::kCreated;
  to.effects.park = true;
  Tell(to);
}

void Want(Machine& machine) {
  machine.wanted = true;
  if (machine.state != State::kDeletionPending) return;
  if (machine.applied) {
    Serve(machine);
  } else {
    machine.state = State::kNotStarted;
  }
}

void ChangeSpec(Machine& machine) {
  machine.changed = true;
  if (machine.hold == Hold::kRejected) machine.hold = Hold::kNone;
  if (machine.state == State::kCreated) machine.state = State::kUpdateInProgress;
}

void DoNotWant(Transition& to) {
  Machine& machine = to.machine;
  machine.wanted = false;
  if (machine.running || machine.state == State::kDeletionPending ||
      machine.state == State::kDeletionInProgress) {
    return;
  }
  Leave(to);
}

void Begin(Machine& machine) {
  if (machine.state == State::kNotStarted) machine.state = State::kCreationInProgress;
  machine.running = true;
  machine.changed = false;
  machine.held = true;
  if (machine.state == State::kDeletionInProgress) machine.applied = false;
}

void EndDeletion(Transition& to, Event event) {
  Machine& machine = to.machine;
  switch (event) {
    case Event::kOk:
      Recover(to);
      machine.held = false;
      if (machine.wanted) {
        machine.state = State::kNotStarted;
      } else {
        to.effects.forget = true;
      }
      return;
    case Event::kMappings:
      to.effects.read_locations = true;
      machine.failures = 0;
      // A creation repairs what the deletion has taken apart: nothing waits for the drain.
      machine.state = machine.wanted ? State::kNotStarted : State::kDeletionPending;
      return;
    case Event::kThrottled:
      return BackOff(to);
    case Event::kFailed:
      return Fail(to);
    default:
      return Park(to);  // no spec changes a deletion
  }
}

void End(Transition& to, Event event) {
  Machine& machine = to.machine;
  machine.running = false;
  if (machine.state == State::kDeletionInProgress) return EndDeletion(to, event);
  const bool ok = event == Event::kOk;
  if (ok) {
    machine.applied = true;
    Recover(to);
  }
  if (!machine.wanted) return Leave(to);
  if (ok) return Serve(machine);
  if (event == Event::kRejected) return Reject(to);
  machine.changed = true;  // the newest spec is not applied
  if (event == Event::kForbidden) return Park(to);
  if (event == Event::kThrottled) return BackOff(to);
  Fail(to);
}

void Lose(Machine& machine) {
  machine.applied = false;
  if (!IsServing(machine.state)) return;
  if (machine.hold == Hold::kRejected) machine.hold = Hold::kNone;
  machine.state = State::kCreationInProgress;
}

bool IsEnd(Event event) { return event >= Event::kOk && event <= Event::kMappings; }

bool IsPossible(const Machine& machine, Event event) {
  switch (event) {
    case Event::kWanted:
    case Event::kSpecChanged:
    case Event::kNotWanted:
      return true;
    case Event::kSlot:
      return AsksForSlot(machine);
    case Event::kMappings:
      return machine.running && machine.state == State::kDeletionInProgress;
    case Event::kDue:
      return machine.hold != Hold::kNone;
    case Event::kDrained:
    case Event::kStuck:
      return machine.state == State::kDeletionPending;
    case Event::kLost:
      return !machine.running;
    case Event::kForced:
      return !machine.running && !machine.wanted &&
             (machine.state == State::kDeletionPending ||
              machine.state == State::kDeletionInProgress);
    default:
      return machine.running;
  }
}

}  // namespace

Transition TryStep(Machine machine, Event event) {
  Transition to{.machine = machine, .effects = {}, .possible = IsPossible(machine, event)};
  if (!to.possible) return to;
  if (IsEnd(event)) {
    End(to, event);
    return to;
  }
  switch (event) {
    case Event::kWanted:
      if (!machine.wanted) Want(to.machine);
      break;
    case Event::kSpecChanged:
      ChangeSpec(to.machine);
      break;
    case Event::kNotWanted:
      if (machine.wanted) DoNotWant(to);
      break;
    case Event::kSlot:
      Begin(to.machine);
      break;
    case Event::kDue:
      to.machine.hold = Hold::kNone;
      if (IsServing(machine.state)) Serve(to.machine);
      break;
    case Event::kDrained:
      to.machine.state = State::kDeletionInProgress;
      break;
    case Event::kStuck:
      to.effects = {.read_locations = true, .replace_locations = true, .tell_stuck = true};
      break;
    case Event::kLost:
      Lose(to.machine);
      break;
    case Event::kForced:
      to.effects.forget = true;
      break;
    default:
      std::unreachable();
  }
  return to;
}

Transition Step(Machine machine, Event event) {
  const Transition to = TryStep(machine, event);
  assert(to.possible);
  return to;
}

}  // namespace berth::difftracker
