#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "async/executor.h"
#include "reconcile/difftracker/service_machine.h"

namespace berth::difftracker {

enum class Direction : std::uint8_t { kInbound, kOutbound };

// A tracked service as users see it.
struct ServiceView {
  std::string name;  // in the gateway: the Service's UID, or the egress
  Direction direction = Direction::kInbound;
  std::string owner;  // of an inbound one "namespace/name"; empty for an orphan
  State state = State::kNotStarted;
  Hold hold = Hold::kNone;
  bool wanted = false;
  bool running = false;       // its operation
  bool throttled = false;     // the last failure was the cloud's rate limit
  bool quota = false;         // the last failure was a quota
  std::size_t desired = 0;    // addresses of its endpoints or pods
  std::size_t synced = 0;     // of these, in the locations
  std::size_t buffered = 0;   // desired and not synced, while the service cannot take them
  std::size_t to_remove = 0;  // in the locations and not desired
  std::size_t pods = 0;       // of an egress, that are live
  std::size_t retries = 0;    // failures since the last success
  std::optional<async::TimePoint> next_retry;
  std::string blocked_by;  // "operation slot", "2 addresses in locations", …, or empty
  std::string error;       // of the last operation, if it failed
  async::TimePoint since;  // tracked
  async::TimePoint state_since;
};

// A location as users see it.
struct LocationView {
  std::string node_ip;
  std::size_t addresses = 0;       // in the cloud, as last read or synced
  std::size_t pending_add = 0;     // addresses to add or to change
  std::size_t pending_remove = 0;  // addresses to remove
  std::optional<async::TimePoint> last_sync;
  std::string error;  // of the last sync, or of an address that the cloud refuses
};

}  // namespace berth::difftracker
