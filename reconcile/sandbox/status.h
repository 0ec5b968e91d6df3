#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "json/json.h"
#include "kube/conditions.h"
#include "reconcile/sandbox/objects.h"

namespace berth::sandbox {

// The conditions of a Sandbox. Nothing changes when they say so already but for the generation.
void SetReady(SandboxStatus& status, const Identity& id, kube::ConditionStatus value,
              std::string_view reason, std::string message, async::WallTime now);
void SetAssigned(SandboxStatus& status, const Identity& id, bool value, std::string_view reason,
                 std::string message, async::WallTime now);

// Since when the condition Assigned is True; none if it is not.
std::optional<async::WallTime> AssignedSince(const SandboxStatus& status);

// The assignment ends: assignedPod, its UID, nodeName, sandboxID, endpoints and lostAt go.
void ClearAssignment(SandboxStatus& status);

// The merge patch of the status, with the precondition of the object's version, that makes of the
// status as it was read `to`; none when nothing differs. O(size of both).
std::optional<Json> StatusPatch(const Sandbox& read, const SandboxStatus& to);

}  // namespace berth::sandbox
