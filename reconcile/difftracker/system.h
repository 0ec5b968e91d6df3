#pragma once

#include <prometheus/registry.h>

#include <chrono>
#include <memory>
#include <vector>

#include "async/executor.h"
#include "cloud/service_gateway.h"
#include "kube/transport.h"
#include "reconcile/difftracker/tracker.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/leadership.h"

namespace berth::difftracker {

// DiffTracker, whole: the caches of Services, EndpointSlices, Pods and Nodes, always; the engine,
// its driver and the reconcilers while this replica leads. Never waits for the cloud: what needs it
// begins once it could be read. On the control thread.
class System {
 public:
  struct Options {
    // Objects and the cloud's resources are looked at again after so long.
    async::Duration resync = std::chrono::minutes(10);
    prometheus::Registry* registry = nullptr;  // for the metrics, none without one
  };

  // Joins the leadership, which outlives it and has not started; so does the gateway.
  System(async::Executor& executor, kube::Transport& transport, runtime::Leadership& leadership,
         cloud::ServiceGateway& gateway, Options options);
  ~System();
  System(const System&) = delete;
  System& operator=(const System&) = delete;

  bool synced() const;
  bool leading() const;
  // The cloud has been read, and the engine works.
  bool started() const;
  // While leading, null otherwise.
  Tracker* tracker();
  // The controllers while leading, none otherwise.
  std::vector<const runtime::Controller*> controllers() const;
  // Entries of all tables by object. None is left when all objects are gone.
  std::size_t Remembered() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::difftracker
