#include "reconcile/sandbox/phases.h"

#include <array>

#include "log/format.h"

namespace berth::sandbox {
namespace {

constexpr std::array kSights = {
    Sight::kNone,   Sight::kGone,     Sight::kSilent,  Sight::kForgot, Sight::kUnlisted,
    Sight::kAbsent, Sight::kCreating, Sight::kRunning, Sight::kEnded,  Sight::kStopping};

bool IsListed(Sight sight) {
  return sight == Sight::kCreating || sight == Sight::kRunning || sight == Sight::kEnded;
}

// The sandbox is to leave its agent: `then` once it is proven that it has.
Action Leave(Sight sight, Action then) {
  if (IsProvenAbsent(sight)) return then;
  return IsListed(sight) ? Action::kDelete : Action::kWait;
}

Action DecideBound(Sight sight, Circumstances circumstances) {
  switch (sight) {
    case Sight::kNone:
    case Sight::kGone:
      return Action::kAgain;
    case Sight::kForgot:
      return Action::kLose;
    case Sight::kUnlisted:
      return circumstances.tries_over || circumstances.rejected ? Action::kWait : Action::kCreate;
    case Sight::kAbsent:
      if (circumstances.rejected) return Action::kAgain;
      return circumstances.tries_over ? Action::kFail : Action::kCreate;
    case Sight::kRunning:
      return Action::kStart;
    case Sight::kEnded:
      return Action::kFail;
    case Sight::kSilent:
    case Sight::kCreating:
    case Sight::kStopping:
      return Action::kWait;
  }
  return Action::kWait;
}

Action DecideRunning(Sight sight) {
  switch (sight) {
    case Sight::kNone:
    case Sight::kGone:
    case Sight::kForgot:
      return Action::kLose;
    case Sight::kAbsent:
    case Sight::kEnded:
      return Action::kFail;
    case Sight::kRunning:
      return Action::kRest;
    case Sight::kSilent:
    case Sight::kUnlisted:
    case Sight::kCreating:
    case Sight::kStopping:
      return Action::kWait;
  }
  return Action::kWait;
}

Action DecideLost(Sight sight, Circumstances circumstances) {
  if (sight == Sight::kRunning) return Action::kStart;
  if (sight == Sight::kEnded) return Action::kFail;
  if (!IsProvenAbsent(sight)) return Action::kWait;
  if (!circumstances.auto_recreate) return Action::kRest;
  return circumstances.recovery_over ? Action::kAgain : Action::kWait;
}

Action DecideRun(Phase phase, Sight sight, Circumstances circumstances) {
  switch (phase) {
    case Phase::kPending:
      return sight == Sight::kNone ? Action::kAssign : Leave(sight, Action::kAgain);
    case Phase::kBound:
      return DecideBound(sight, circumstances);
    case Phase::kRunning:
      return DecideRunning(sight);
    case Phase::kLost:
      return DecideLost(sight, circumstances);
    case Phase::kFailed:
    case Phase::kExpired:
    case Phase::kTerminating:
      return sight == Sight::kNone ? Action::kRest : Leave(sight, Action::kFree);
  }
  return Action::kRest;
}

struct Row {
  const char* name;
  Wish wish;
  Phase phase;
  Circumstances circumstances;
};

constexpr std::array kRows = {
    Row{"Pending", Wish::kRun, Phase::kPending, {}},
    Row{"Bound", Wish::kRun, Phase::kBound, {}},
    Row{"Bound, the agent refuses it", Wish::kRun, Phase::kBound, {.rejected = true}},
    Row{"Bound, 5 creates have failed", Wish::kRun, Phase::kBound, {.tries_over = true}},
    Row{"Running", Wish::kRun, Phase::kRunning, {}},
    Row{"Lost, Manual", Wish::kRun, Phase::kLost, {}},
    Row{"Lost, AutoRecreate", Wish::kRun, Phase::kLost, {.auto_recreate = true}},
    Row{"Lost, AutoRecreate, recoveryTimeoutSeconds over",
        Wish::kRun,
        Phase::kLost,
        {.auto_recreate = true, .recovery_over = true}},
    Row{"Failed", Wish::kRun, Phase::kFailed, {}},
    Row{"Expired", Wish::kRun, Phase::kExpired, {}},
    Row{"any, resetRevision is newer", Wish::kReset, Phase::kRunning, {}},
    Row{"any but Expired, expireTime has passed", Wish::kExpire, Phase::kRunning, {}},
    Row{"Expired, expireTime has passed", Wish::kExpire, Phase::kExpired, {}},
    Row{"any, being deleted", Wish::kDelete, Phase::kTerminating, {}},
};

}  // namespace

std::string_view ToString(Wish wish) {
  switch (wish) {
    case Wish::kRun:
      return "run";
    case Wish::kReset:
      return "reset";
    case Wish::kExpire:
      return "expire";
    case Wish::kDelete:
      return "delete";
  }
  return "";
}

std::string_view ToString(Sight sight) {
  switch (sight) {
    case Sight::kNone:
      return "no agent";
    case Sight::kGone:
      return "pod UID gone";
    case Sight::kSilent:
      return "agent silent";
    case Sight::kForgot:
      return "unlisted, agent restarted";
    case Sight::kUnlisted:
      return "unlisted, too early";
    case Sight::kAbsent:
      return "proven absent";
    case Sight::kCreating:
      return "creating";
    case Sight::kRunning:
      return "running";
    case Sight::kEnded:
      return "stopped";
    case Sight::kStopping:
      return "terminating";
  }
  return "";
}

std::string_view ToString(Action action) {
  switch (action) {
    case Action::kAssign:
      return "assign";
    case Action::kCreate:
      return "create";
    case Action::kWait:
      return "wait";
    case Action::kStart:
      return "Running";
    case Action::kLose:
      return "Lost";
    case Action::kFail:
      return "Failed";
    case Action::kAgain:
      return "release, Pending";
    case Action::kDelete:
      return "delete";
    case Action::kFree:
      return "release";
    case Action::kExpire:
      return "Expired";
    case Action::kAccept:
      return "accept, Pending";
    case Action::kFinish:
      return "finalizer off";
    case Action::kRest:
      return "–";
  }
  return "";
}

Wish WishOf(const Sandbox& sandbox, async::WallTime now) {
  if (sandbox.id.deleting != 0) return Wish::kDelete;
  if (sandbox.spec.expires && *sandbox.spec.expires <= now) return Wish::kExpire;
  const auto& reset = sandbox.spec.reset;
  const auto& accepted = sandbox.status.accepted_reset;
  return reset && (!accepted || *reset > *accepted) ? Wish::kReset : Wish::kRun;
}

bool IsProvenAbsent(Sight sight) {
  return sight == Sight::kNone || sight == Sight::kGone || sight == Sight::kAbsent;
}

Action Decide(Wish wish, Phase phase, Sight sight, Circumstances circumstances) {
  switch (wish) {
    case Wish::kRun:
      return DecideRun(phase, sight, circumstances);
    case Wish::kReset:
      return Leave(sight, Action::kAccept);
    case Wish::kExpire:
      if (phase == Phase::kExpired && sight == Sight::kNone) return Action::kRest;
      return Leave(sight, Action::kExpire);
    case Wish::kDelete:
      return Leave(sight, Action::kFinish);
  }
  return Action::kRest;
}

std::string RenderTable() {
  std::string table = "| Phase |";
  std::string rule = "|---|";
  for (const Sight sight : kSights) {
    table += Format(" {} |", ToString(sight));
    rule += "---|";
  }
  table += "\n" + rule + "\n";
  for (const Row& row : kRows) {
    table += Format("| {} |", row.name);
    for (const Sight sight : kSights) {
      table += Format(" {} |", ToString(Decide(row.wish, row.phase, sight, row.circumstances)));
    }
    table += "\n";
  }
  return table;
}

}  // namespace berth::sandbox
