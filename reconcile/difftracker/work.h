#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/service_gateway.h"
#include "kube/api.h"
#include "kube/events.h"
#include "reconcile/difftracker/cloud_survey.h"
#include "reconcile/difftracker/driver.h"
#include "reconcile/difftracker/engine.h"
#include "reconcile/difftracker/feed.h"
#include "reconcile/difftracker/metrics.h"
#include "reconcile/difftracker/pod_reconciler.h"
#include "reconcile/difftracker/service_reconciler.h"
#include "reconcile/difftracker/tracker.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/leadership.h"
#include "reconcile/runtime/overlay.h"

namespace berth::difftracker {

// The work of the leading replica: the engine, which is fed from the caches and whose operations
// the driver carries out, the reconcilers of Services and Pods, and the look at the cloud's
// resources, at the start and every `drift`.
class Work : public Tracker {
 public:
  struct Parts {
    async::Executor& executor;
    runtime::Leadership& leadership;
    cloud::ServiceGateway& gateway;
    std::string cluster;
    Caches caches;
    std::size_t nodes_by_ip;
    runtime::Overlay<Service>& latest;
    async::Duration drift;
    prometheus::Registry* registry;
    Metrics* metrics;
  };

  explicit Work(Parts parts);

  // For runtime::LeaderWork.
  std::vector<runtime::Controller*> controllers() { return {&services_, &pods_}; }
  void Resync();

  // A change of the caches.
  void ServiceChanged(const std::string& key, const Service* before, const Service* now);
  void SliceChanged(const std::string& key, const Slice* now);
  void PodChanged(const std::string& key, const EgressPod* before, const EgressPod* now);
  void NodeChanged(const std::string& name, const Node* before, const Node* now);

  const Engine& engine() const override { return engine_; }
  const std::vector<std::string>& AddressesOf(const std::string& service) const override {
    return driver_.AddressesOf(service);
  }
  std::string NodeOf(const std::string& ip) const override;
  std::set<std::string> TakeChangedServices() override { return driver_.TakeChanged(); }
  std::vector<LocationChange> TakeChangedLocations() override {
    return engine_.TakeLocationChanges();
  }
  Forced ForceDelete(const std::string& service) override;
  std::weak_ptr<const void> alive() const override { return alive_; }

  std::size_t Remembered() const;

 private:
  static constexpr async::Duration kRetryLook = std::chrono::seconds(5);
  static constexpr async::Duration kSecondLook = std::chrono::seconds(30);
  static constexpr async::Duration kRetryUnknown = std::chrono::minutes(1);

  Driver::Parts DriverParts();
  async::Task<void> LookAtTheCloud();
  // Whether the engine has started; the pause before the next try where it has not.
  async::Task<async::Duration> TryToStart();
  async::Task<void> LookForDrift();
  Result<InboundSpec> SpecOfService(const std::string& uid) const;
  async::Task<Result<void>> EnsureFinalizer(std::string uid);
  void QueueService(const std::string& uid);
  void QueuePod(const std::string& uid);
  void Tell(const Notice& notice);
  // The Service of a load balancer, or a pod of an egress: a live one if there is any.
  std::optional<kube::ObjectReference> Subject(const std::string& service, Direction direction,
                                               const std::string& owner) const;

  const Parts parts_;
  const Expected expected_;
  kube::EventRecorder events_;
  Engine engine_;
  Driver driver_;
  Feed feed_;
  ServiceReconciler service_reconciler_;
  PodReconciler pod_reconciler_;
  runtime::Controller services_;
  runtime::Controller pods_;
  std::shared_ptr<const int> alive_ = std::make_shared<const int>(0);
  std::string unreadable_;   // the cloud, since the start
  bool look_again_ = false;  // soon: a list may have been too old
  async::Running looking_;
};

}  // namespace berth::difftracker
