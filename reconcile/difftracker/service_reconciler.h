#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "kube/api.h"
#include "kube/conditions.h"
#include "kube/events.h"
#include "reconcile/difftracker/engine.h"
#include "reconcile/difftracker/metrics.h"
#include "reconcile/difftracker/objects.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/overlay.h"

namespace berth::difftracker {

// Writes Services: the finalizer before anything is made for one, ingress and the condition
// berth.dev/Provisioned, and in the end takes the finalizer off, when the engine has let go of the
// service. Services that are neither ours nor carry our finalizer or condition are not touched.
class ServiceReconciler {
 public:
  struct Parts {
    async::Executor& executor;
    kube::Api api;
    kube::EventRecorder& events;
    runtime::Overlay<Service>& services;
    const Engine& engine;
    // The public addresses of a service, as they were last seen.
    std::function<const std::vector<std::string>&(const std::string& uid)> addresses_of;
    // Why the cloud could not be read since the start; empty before the first try.
    std::function<const std::string&()> unreadable;
    Metrics* metrics = nullptr;
  };

  explicit ServiceReconciler(Parts parts) : parts_(std::move(parts)) {}

  async::Task<kube::Result<runtime::Requeue>> Reconcile(std::string key);
  // The first step of a load balancer's creation.
  async::Task<kube::Result<void>> EnsureFinalizer(std::string key, std::string uid);

 private:
  async::Task<kube::Result<void>> AddFinalizer(Service service);
  async::Task<kube::Result<void>> RemoveFinalizers(Service service);
  async::Task<kube::Result<void>> WriteStatus(Service service);
  // Before the engine has started. A condition that is True stays: nothing is known against it.
  async::Task<kube::Result<void>> TellUnreadable(Service service);
  async::Task<kube::Result<void>> Patch(Service service, std::string body, std::string subresource);

  const Parts parts_;
};

// The condition berth.dev/Provisioned of a Service; none where it has none. `view` is null for a
// service that is not tracked.
std::optional<kube::Condition> ProvisionedOf(const Service& service, const ServiceView* view);

}  // namespace berth::difftracker
