#pragma once

#include <memory>
#include <optional>
#include <string>

#include "async/executor.h"
#include "reconcile/sandbox/registry.h"

namespace berth::sandbox {

// The slots as live resources show them, while this replica leads. Of the control thread.
class Slots {
 public:
  virtual ~Slots() = default;

  // Changes since the last time come from TakeChangedAgents and TakeChangedReservations, which have
  // one reader.
  virtual Registry& registry() = 0;
  // When the agent has last answered; none when it has not yet.
  virtual std::optional<async::WallTime> SeenAt(const std::string& pod_uid) const = 0;
  // Expires with the slots.
  virtual std::weak_ptr<const void> alive() const = 0;
};

}  // namespace berth::sandbox
