#pragma once

#include <memory>

#include "async/executor.h"
#include "handlers/apis/live_collection.h"
#include "reconcile/difftracker/tracker.h"
#include "reconcile/runtime/desk.h"

namespace berth::apis {

// The resource `trackedservices` (tsvc): one object a load balancer, `lb-<uid>`, and a NAT gateway,
// `nat-<egress>`, cluster-wide. It answers "how far is my Service, and what does it wait for". Only
// the leading replica has any.
//
// To delete one is to give up waiting for its deletion: the finalizers go, and resources may stay
// in the cloud until they are found as orphans. It is refused with a 409 while a Service or pod
// wants the service, and while its operation runs.
class TrackedServices {
 public:
  // Outlived by `control`, and outlives the last call of the store.
  explicit TrackedServices(async::Executor& control);
  TrackedServices(const TrackedServices&) = delete;
  TrackedServices& operator=(const TrackedServices&) = delete;

  ResourceStore& store() { return services_; }

  // Shows the services that changed since the last time. On the control thread, now and then. Null
  // while this replica does not lead: then there are none. Costs what the changes come to.
  void Publish(difftracker::Tracker* tracker);

 private:
  // Of the control thread: the tracker that the objects are of.
  struct Shown {
    difftracker::Tracker* tracker = nullptr;
    std::weak_ptr<const void> alive;

    difftracker::Tracker* get() const { return alive.expired() ? nullptr : tracker; }
  };

  void Delete(const Deletion& deletion, async::Executor& home, ResourceStore::Deleted answer);

  async::Executor& control_;
  LiveCollection services_;
  Shown shown_;
  runtime::Desk<Shown> desk_;
};

ResourceType TrackedServiceType();

}  // namespace berth::apis
