#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reconcile/difftracker/engine.h"

namespace berth::difftracker {

// The tracked services and locations as live resources show them, while this replica leads. Of the
// control thread.
class Tracker {
 public:
  virtual ~Tracker() = default;

  virtual const Engine& engine() const = 0;
  // The public addresses of a service, as they were last seen.
  virtual const std::vector<std::string>& AddressesOf(const std::string& service) const = 0;
  // The name of the node with this InternalIP; empty for none.
  virtual std::string NodeOf(const std::string& ip) const = 0;
  // Changes since the last time; a service with or without a view.
  virtual std::set<std::string> TakeChangedServices() = 0;
  virtual std::vector<LocationChange> TakeChangedLocations() = 0;
  // Gives up waiting for a deletion; see Engine::ForceDelete. An event says what may stay.
  virtual Forced ForceDelete(const std::string& service) = 0;
  // Expires with the tracker.
  virtual std::weak_ptr<const void> alive() const = 0;
};

}  // namespace berth::difftracker
