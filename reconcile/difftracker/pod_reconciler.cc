#include "reconcile/difftracker/pod_reconciler.h"

#include <utility>

#include "log/format.h"
#include "reconcile/difftracker/feed.h"

namespace berth::difftracker {

using runtime::Requeue;

async::Task<kube::Result<Requeue>> PodReconciler::Reconcile(std::string key) {
  const Pod* found = parts_.pods.Get(key);
  if (!found || !found->egress) co_return Requeue{};
  const EgressPod pod = *found->egress;
  if (pod.live) TellProblems(pod);
  const bool is_member = pod.live && !pod.label.empty() && !EgressProblem(pod.label);
  if (is_member && !pod.id.finalizer && !PlacementsOf(pod).empty()) {
    if (parts_.engine.started() && parts_.engine.HoldsPod(pod.id.uid) && parts_.metrics)
      parts_.metrics->FinalizerRecovered();
    if (const auto added = co_await SetFinalizer(pod, true); !added)
      co_return std::unexpected(added.error());
    co_return Requeue{};
  }
  if (is_member || !pod.id.finalizer) co_return Requeue{};
  // Before the cloud was read nothing is known of the pod's addresses; all keys come again then.
  if (!parts_.engine.started() || parts_.engine.HoldsPod(pod.id.uid)) co_return Requeue{};
  if (const auto removed = co_await SetFinalizer(pod, false); !removed)
    co_return std::unexpected(removed.error());
  co_return Requeue{};
}

void PodReconciler::TellProblems(const EgressPod& pod) {
  const auto tell = [&](std::string_view reason, const std::string& note) {
    parts_.events.Record(pod.id.Reference(kPods), kube::EventType::kWarning, reason, "Track", note);
  };
  if (const auto problem = EgressProblem(pod.label); problem && !pod.label.empty()) {
    tell(problem->reason, problem->message);
    return;
  }
  if (!pod.bad_ip.empty()) {
    tell("ServiceGatewayInvalidPodIP", Format("status has {}, which is no IP address", pod.bad_ip));
  }
  const auto placements = PlacementsOf(pod);
  if (placements.size() == pod.addresses.size()) return;
  tell("ServiceGatewayNoNodeLocation",
       "the node has no IP address of the family of the pod's: this address is not tracked");
}

async::Task<kube::Result<void>> PodReconciler::SetFinalizer(EgressPod pod, bool is_wanted) {
  Json patch = runtime::PatchOf(pod.id);
  patch["metadata"]["uid"] = pod.id.uid;
  patch["metadata"]["finalizers"] = runtime::FinalizersOf(pod.id, is_wanted ? kPodFinalizer : "");
  const auto answer = co_await parts_.api.Patch(kPods, pod.id.ns, pod.id.name,
                                                kube::PatchType::kMerge, patch.to_string());
  if (answer || runtime::IsGone(answer.error())) co_return kube::Result<void>();
  if (is_wanted && answer.error().error_class != ErrorClass::kConflict) {
    parts_.events.Record(pod.id.Reference(kPods), kube::EventType::kWarning,
                         "ServiceGatewayFinalizerAddFailed", "AddFinalizer",
                         answer.error().message);
  }
  co_return std::unexpected(answer.error());
}

}  // namespace berth::difftracker
