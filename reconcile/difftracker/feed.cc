#include "reconcile/difftracker/feed.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "log/format.h"
#include "reconcile/difftracker/admission.h"

namespace berth::difftracker {
namespace {

// Changes with all that the load balancer is made of, and with what keeps it from being made.
std::uint64_t Fingerprint(const Service& service) {
  std::string text;
  for (const ServicePort& port : service.ports) {
    text += Format("{}/{}/{}/{},", port.protocol, port.port, port.target_port, port.named_port);
  }
  text += Format("{}/{}", service.ipv6(), IdleTimeoutOf(service));
  for (const Refusal& refusal : RefusalsOf(service)) text += refusal.reason;
  return std::hash<std::string>()(text);
}

bool IsWanting(const Service& service) { return service.IsOurs() && service.id.deleting == 0; }

}  // namespace

const Service* Caches::ServiceOf(const std::string& uid) const {
  const Service* found = nullptr;
  services.ForEachIn(services_by_uid, uid,
                     [&](const std::string&, const Service& service) { found = &service; });
  return found;
}

InboundSpec SpecOf(const Service& service) {
  InboundSpec spec{.key = service.GatewayKey(), .ipv6 = service.ipv6(), .rules = {}};
  for (const ServicePort& port : service.ports) {
    const bool udp = port.protocol == "UDP";
    spec.rules.push_back({.udp = udp,
                          .frontend_port = port.port,
                          .backend_port = port.target_port,
                          .idle_timeout_minutes = IdleTimeoutOf(service)});
  }
  std::ranges::sort(spec.rules);
  return spec;
}

std::vector<Placement> PlacementsOf(const EgressPod& pod) {
  std::vector<Placement> placements;
  for (const std::string& address : pod.addresses) {
    const auto host = std::ranges::find_if(
        pod.hosts, [&](const std::string& other) { return IsIpv6(other) == IsIpv6(address); });
    if (host != pod.hosts.end()) placements.push_back({.node_ip = *host, .address = address});
  }
  return placements;
}

void Feed::TakeAll() {
  caches_.services.ForEach([this](const std::string& key, const Service& service) {
    ServiceChanged(key, nullptr, &service);
  });
  caches_.pods.ForEach([this](const std::string&, const Pod& pod) {
    if (pod.egress) FeedPod(*pod.egress);
  });
}

bool Feed::IsFollowed(const Service& service) const {
  return IsWanting(service) && (RefusalsOf(service).empty() || service.id.finalizer ||
                                engine_.Tracks(service.GatewayKey()));
}

void Feed::ServiceChanged(const std::string& key, const Service* before, const Service* now) {
  const auto time = executor_.Now();
  if (before && (!now || now->id.uid != before->id.uid)) {
    engine_.RemoveService(before->GatewayKey(), time);
    before = nullptr;
  }
  if (!now) {
    caches_.slices.ForEachIn(
        caches_.slices_by_service, key,
        [&](const std::string& slice, const Slice&) { engine_.RemoveSlice(slice, time); });
    return;
  }
  const std::string uid = now->GatewayKey();
  if (IsFollowed(*now)) {
    const bool is_known = before && IsWanting(*before) && engine_.Tracks(uid);
    engine_.SetService(uid, key, Fingerprint(*now), time);
    if (!is_known) FeedSlices(key, uid);
  } else {
    engine_.RemoveService(uid, time);
  }
}

void Feed::FeedSlices(const std::string& service, const std::string& uid) {
  caches_.slices.ForEachIn(
      caches_.slices_by_service, service,
      [&](const std::string& key, const Slice& slice) { FeedSlice(key, slice, uid); });
}

void Feed::FeedSlice(const std::string& key, const Slice& slice, const std::string& uid) {
  std::vector<Placement> placements;
  placements.reserve(slice.endpoints.size());
  for (const Endpoint& endpoint : slice.endpoints) {
    const Node* node = caches_.nodes.Get(endpoint.node);
    if (!node || node->IpLike(endpoint.address).empty()) continue;
    placements.push_back({.node_ip = node->IpLike(endpoint.address), .address = endpoint.address});
  }
  engine_.SetSlice(key, uid, placements, executor_.Now());
}

void Feed::SliceChanged(const std::string& key, const Slice* now) {
  const Service* service = now ? caches_.services.Get(now->service) : nullptr;
  if (service && IsFollowed(*service)) {
    FeedSlice(key, *now, service->GatewayKey());
  } else {
    engine_.RemoveSlice(key, executor_.Now());
  }
}

void Feed::PodChanged(const EgressPod* before, const EgressPod* now) {
  if (before && (!now || now->id.uid != before->id.uid)) {
    engine_.RemovePod(before->id.uid, executor_.Now());
  }
  if (now) FeedPod(*now);
}

void Feed::FeedPod(const EgressPod& pod) {
  const auto time = executor_.Now();
  const bool is_valid = !pod.label.empty() && !EgressProblem(pod.label);
  const std::string egress = is_valid ? pod.Egress() : "";
  const auto placements = PlacementsOf(pod);
  if (pod.live && is_valid &&
      (pod.id.finalizer || !engine_.started() || engine_.HoldsPod(pod.id.uid))) {
    engine_.SetPod(pod.id.uid, egress, placements, time);
  } else if (pod.id.finalizer) {
    engine_.DrainPod(pod.id.uid, egress, placements, time);
  } else {
    engine_.RemovePod(pod.id.uid, time);
  }
}

void Feed::NodeChanged(const std::string& name) {
  caches_.slices.ForEachIn(
      caches_.slices_by_node, name,
      [this](const std::string& key, const Slice& slice) { SliceChanged(key, &slice); });
}

}  // namespace berth::difftracker
