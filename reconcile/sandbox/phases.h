#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reconcile/sandbox/objects.h"

namespace berth::sandbox {

// The wish of metadata and spec.
enum class Wish : std::uint8_t {
  kRun,
  kReset,   // resetRevision is later than the accepted one
  kExpire,  // expireTime has passed
  kDelete,
};

// The state of the sandbox's attempt on its agent, as far as it is known.
enum class Sight : std::uint8_t {
  kNone,      // no agent is assigned
  kGone,      // the pod's UID is gone
  kSilent,    // the agent does not answer
  kForgot,    // not listed, but the agent has restarted, and its list proves nothing
  kUnlisted,  // not listed; too early for a proof
  kAbsent,    // not listed, and its absence is proven
  kCreating,
  kRunning,
  kEnded,     // listed as stopped, failed or terminated
  kStopping,  // a delete is under way
};

enum class Action : std::uint8_t {
  kAssign,  // bind the reservation, or take a slot: Bound, next attempt
  kCreate,  // ensure-create of (UID, attempt)
  kWait,    // for the agent
  kStart,   // Running
  kLose,    // Lost, lostAt
  kFail,    // Failed
  kAgain,   // the slot is released: Pending
  kDelete,  // delete on the agent; the slot drains
  kFree,    // the slot is free
  kExpire,  // Expired, the assignment is cleared
  kAccept,  // the reset is accepted: Pending
  kFinish,  // the finalizer goes
  kRest,    // nothing to be done
};

struct Circumstances {
  bool auto_recreate = false;
  bool recovery_over = false;  // lostAt + recoveryTimeoutSeconds has passed
  bool tries_over = false;     // kMostCreates creates of this attempt have failed
  bool rejected = false;       // the agent refused the last create before any side effect
};

inline constexpr int kMostCreates = 5;

std::string_view ToString(Wish wish);
std::string_view ToString(Sight sight);
std::string_view ToString(Action action);

// A deletion goes before an expiry, that before a reset, that before all else.
Wish WishOf(const Sandbox& sandbox, async::WallTime now);

// The next action for a sandbox. Pure, and complete: every combination has an answer. O(1).
Action Decide(Wish wish, Phase phase, Sight sight, Circumstances circumstances);

// Whether something can still be on the agent: the slot is not to be given to others.
bool IsProvenAbsent(Sight sight);

// The whole table in Markdown, made of Decide: docs/sandbox.md has it.
std::string RenderTable();

}  // namespace berth::sandbox
