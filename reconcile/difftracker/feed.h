#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "async/executor.h"
#include "kube/informer.h"
#include "reconcile/difftracker/engine.h"
#include "reconcile/difftracker/objects.h"
#include "reconcile/difftracker/provisioner.h"

namespace berth::difftracker {

// The caches of a cluster's objects and the numbers of their indexes.
struct Caches {
  const kube::Informer<Service>& services;
  std::size_t services_by_uid;  // of the gateway's keys
  const kube::Informer<Slice>& slices;
  std::size_t slices_by_service;  // "ns/name"
  std::size_t slices_by_node;
  const kube::Informer<Pod>& pods;
  std::size_t pods_by_uid;
  std::size_t pods_by_egress;  // those that are going, too
  const kube::Informer<Node>& nodes;

  // The Service of a key in the gateway, with its own key; null for none.
  const Service* ServiceOf(const std::string& uid) const;
};

// The load balancer that a Service without refusals asks for.
InboundSpec SpecOf(const Service& service);
// Where the addresses of a pod are; addresses whose family the node does not have are left out.
std::vector<Placement> PlacementsOf(const EgressPod& pod);

// Tells the engine of the cluster's objects: all of them once, then each that changed. A pod is
// told of only once it has its finalizer, so that it cannot go before the cloud has let go of it;
// but for the time before the engine starts: an egress whose pods have lost theirs must not be
// taken for an unwanted one. A change costs what the object itself comes to; a node's change of
// address its slices.
class Feed {
 public:
  Feed(async::Executor& executor, Caches caches, Engine& engine)
      : executor_(executor), caches_(caches), engine_(engine) {}

  void TakeAll();
  // Null for an object that was not there, or is not any more.
  void ServiceChanged(const std::string& key, const Service* before, const Service* now);
  void SliceChanged(const std::string& key, const Slice* now);
  void PodChanged(const EgressPod* before, const EgressPod* now);
  void NodeChanged(const std::string& name);  // its addresses

 private:
  // The engine is to know it: it wants a load balancer. One whose spec is refused keeps what it
  // has.
  bool IsFollowed(const Service& service) const;
  void FeedSlices(const std::string& service, const std::string& uid);
  void FeedSlice(const std::string& key, const Slice& slice, const std::string& uid);
  void FeedPod(const EgressPod& pod);

  async::Executor& executor_;
  const Caches caches_;
  Engine& engine_;
};

}  // namespace berth::difftracker
