#pragma once

#include <memory>

#include "async/executor.h"
#include "handlers/apis/live_collection.h"
#include "reconcile/difftracker/tracker.h"

namespace berth::apis {

// The resource `locations`: one object a node IP that the service gateway has addresses behind, or
// is to have, named after the IP, cluster-wide. Only the leading replica has any.
class Locations {
 public:
  // Outlived by `control`, and outlives the last call of the store.
  explicit Locations(async::Executor& control);
  Locations(const Locations&) = delete;
  Locations& operator=(const Locations&) = delete;

  ResourceStore& store() { return locations_; }

  // Shows the locations that changed since the last time; see TrackedServices::Publish.
  void Publish(difftracker::Tracker* tracker);

 private:
  async::Executor& control_;
  LiveCollection locations_;
  std::weak_ptr<const void> shown_;
};

ResourceType LocationType();

}  // namespace berth::apis
