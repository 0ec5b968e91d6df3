#include <algorithm>
#include <utility>

#include "kube/json_view.h"
#include "log/format.h"
#include "log/timestamp.h"
#include "reconcile/sandbox/objects.h"
#include "simulate/objects.h"
#include "simulate/sandbox.h"
#include "simulate/world.h"

// Invariants that hold at all times, and the state that must be reached in the end.
namespace berth::simulate {
namespace {

constexpr const char* kSandboxes = "/apis/sandbox.fast.io/v1alpha1/sandboxes";
constexpr const char* kPools = "/apis/sandbox.fast.io/v1alpha1/sandboxpools";
constexpr const char* kAllocation = "sandbox.fast.io/allocation";

std::string KeyOf(const Json& object) {
  return Format("{}/{}", Text(object["metadata"], "namespace"), NameOf(object));
}

std::set<int> PortsOf(const Json& sandbox) {
  std::set<int> ports;
  const Json list = Part(sandbox, "spec").get_value_or<Json>("exposedPorts", Json::Array());
  for (const Json& port : list.array_range()) ports.insert(port.as<int>());
  return ports;
}

std::string PhaseOf(const Json& sandbox) { return Text(Part(sandbox, "status"), "phase"); }

}  // namespace

// Agents run where the machinery runs their pods; a pod's agent ends when the pod is gone.
void Sandbox::FollowPods(World& world) {
  std::map<std::string, Pod> now;
  for (const Json& object : world.List("/api/v1/pods")) {
    if (Text(Part(object["metadata"], "labels"), "app") != "sandbox-agent") continue;
    kube::JsonDocument document;
    const auto parsed = document.Parse(object.to_string());
    if (!parsed) continue;
    const auto pod = sandbox::Pod::From(*parsed);
    if (!pod || pod->ip.empty() || pod->ended) continue;
    now[pod->id.uid] = {pod->ip, pod->id.name, static_cast<std::size_t>(pod->capacity)};
  }
  agents_.Settle(world.scheduler().WallNow());
  for (const auto& [uid, pod] : pods_) {
    if (!now.contains(uid)) agents_.Remove(pod.ip);
  }
  for (const auto& [uid, pod] : now) {
    if (pods_.contains(uid)) continue;
    agents_.Put(pod.ip, {.name = pod.name, .uid = uid, .node = "n0", .capacity = pod.capacity});
  }
  pods_ = std::move(now);
  network_->Settle();
}

std::optional<std::string> Sandbox::Check(World& world, const std::string& writer,
                                          const kube::Request& request) {
  const bool is_pods = request.path.contains("/pods");
  if (writer == "machinery" || writer == "garbage" || is_pods) FollowPods(world);
  agents_.Settle(world.scheduler().WallNow());
  network_->Settle();
  if (auto wrong = CheckContainers()) return wrong;
  if (!request.path.contains("/sandboxes") && writer != "garbage") return std::nullopt;
  const auto sandboxes = world.List(kSandboxes);
  if (auto wrong = CheckAssignments(sandboxes)) return wrong;
  return CheckGone(sandboxes);
}

// A Sandbox has a container on one agent at most.
std::optional<std::string> Sandbox::CheckContainers() const {
  std::map<std::string, std::string> places;  // by the Sandbox's UID
  std::optional<std::string> wrong;
  agents_.ForEach([&](const std::string& ip, const auto& agent) {
    for (const auto& [id, container] : agent.containers()) {
      const std::string place = Format("{} on {}", id, ip);
      const auto [other, is_first] = places.emplace(container.claim_uid, place);
      if (!is_first && !wrong) wrong = Format("two containers: {}, {}", other->second, place);
    }
  });
  return wrong;
}

// No agent has more sandboxes than slots, nor a port twice.
std::optional<std::string> Sandbox::CheckAssignments(const Documents& sandboxes) {
  std::map<std::string, Assigned> now;
  std::map<std::string, std::vector<const Assigned*>> by_pod;
  for (const Json& object : sandboxes) {
    const std::string pod_uid = Text(Part(object, "status"), "assignedPodUID");
    if (pod_uid.empty()) continue;
    const std::string uid = UidOf(object);
    const auto before = assigned_.find(uid);
    const bool is_same = before != assigned_.end() && before->second.pod_uid == pod_uid;
    auto& entry = now[uid];
    entry = is_same ? before->second : Assigned{pod_uid, PortsOf(object)};
    by_pod[pod_uid].push_back(&entry);
  }
  std::optional<std::string> wrong;
  for (const auto& [pod_uid, all] : by_pod) {
    const auto pod = pods_.find(pod_uid);
    if (pod == pods_.end()) continue;
    if (all.size() > pod->second.capacity) {
      wrong = Format("{} of {} slots has {} sandboxes", pod->second.name, pod->second.capacity,
                     all.size());
    }
    std::set<int> ports;
    for (const Assigned* one : all) {
      for (const int port : one->ports) {
        if (!ports.insert(port).second) wrong = Format("{}: port {} twice", pod->second.name, port);
      }
    }
  }
  assigned_ = std::move(now);
  return wrong;
}

// A Sandbox is gone only when its absence was proven.
std::optional<std::string> Sandbox::CheckGone(const Documents& sandboxes) {
  std::set<std::string> now;
  for (const Json& object : sandboxes) now.insert(UidOf(object));
  std::optional<std::string> wrong;
  agents_.ForEach([&](const std::string& ip, const auto& agent) {
    for (const auto& [id, container] : agent.containers()) {
      if (known_.contains(container.claim_uid) && !now.contains(container.claim_uid)) {
        wrong = Format("a Sandbox is gone, and {} has its container {}", ip, id);
      }
    }
  });
  known_ = std::move(now);
  return wrong;
}

// Whether an agent of the sandbox's pool can take it. One that has restarted may get nothing new.
bool Sandbox::HasRoom(const Json& object, const Documents& sandboxes) const {
  const std::string prefix = Text(object["spec"], "poolRef") + "-agent-";
  const std::string ns = Text(object["metadata"], "namespace");
  const std::set<int> ports = PortsOf(object);
  std::map<std::string, std::pair<std::size_t, std::set<int>>> taken;  // by pod UID
  for (const Json& other : sandboxes) {
    auto& [count, ports_there] = taken[Text(Part(other, "status"), "assignedPodUID")];
    ++count;
    ports_there.merge(PortsOf(other));
  }
  for (const Json& pod : world_->List(Format("/api/v1/namespaces/{}/pods", ns))) {
    const auto agent = pods_.find(UidOf(pod));
    if (agent == pods_.end() || !NameOf(pod).starts_with(prefix) || Deleting(pod)) continue;
    const Json statuses =
        Part(pod, "status").get_value_or<Json>("containerStatuses", Json::Array());
    if (!statuses.empty() && statuses[0].get_value_or<int>("restartCount", 0) > 0) continue;
    const auto& [count, ports_there] = taken[agent->first];
    const bool is_free = std::ranges::none_of(
        ports, [&ports_there](int port) { return ports_there.contains(port); });
    if (count < agent->second.capacity && is_free) return true;
  }
  return false;
}

std::optional<std::string> Sandbox::UnsettledSandbox(const Json& object) const {
  const std::string key = KeyOf(object);
  const Json status = Part(object, "status");
  const std::string phase = PhaseOf(object);
  if (Deleting(object)) return Format("{} is being deleted", key);
  if (Part(object["metadata"], "annotations").contains(kAllocation)) {
    return Format("{} has an allocation annotation", key);
  }
  const auto expires = ParseTime(Text(object["spec"], "expireTime"));
  const bool is_over = expires && *expires <= world_->scheduler().WallNow();
  if (is_over && phase != "Expired") return Format("{} has expired and is {}", key, phase);
  if (!is_over && phase == "Expired" && !object["spec"].contains("resetRevision")) {
    // A later expireTime alone does not revive it.
    return std::nullopt;
  }
  const Json ready = ConditionOf(object, "Ready");
  const bool is_ready = Text(ready, "status") == "True";
  if (is_ready != (phase == "Running")) {
    return Format("{} is {} and Ready is {}", key, phase, ready.to_string());
  }
  if (phase == "Bound" || phase.empty() || phase == "Terminating") {
    return Format("{} is {}", key, phase.empty() ? "nothing" : phase);
  }
  const std::string policy = Text(object["spec"], "failurePolicy");
  const bool has_pod = pods_.contains(Text(status, "assignedPodUID"));
  if (phase == "Lost" && policy == "AutoRecreate" && !has_pod) return Format("{} is Lost", key);
  return std::nullopt;
}

// Every container is of a Sandbox that says so, and runs if that is Running.
std::optional<std::string> Sandbox::UnsettledAgents(const Documents& sandboxes) const {
  std::map<std::string, const Json*> by_id;
  for (const Json& object : sandboxes) by_id[Text(Part(object, "status"), "sandboxID")] = &object;
  std::set<std::string> running;
  std::optional<std::string> wrong;
  agents_.ForEach([&](const std::string& ip, const auto& agent) {
    for (const auto& [id, container] : agent.containers()) {
      const auto claimed = by_id.find(id);
      if (claimed == by_id.end()) {
        wrong = Format("{} has a container {} of no Sandbox", ip, id);
      } else if (container.running) {
        running.insert(id);
      }
    }
  });
  for (const Json& object : sandboxes) {
    if (PhaseOf(object) != "Running") continue;
    if (!running.contains(Text(Part(object, "status"), "sandboxID"))) {
      wrong = Format("{} is Running and its container does not run", KeyOf(object));
    }
  }
  return wrong;
}

std::optional<std::string> Sandbox::Unsettled(World& world) {
  FollowPods(world);
  const auto sandboxes = world.List(kSandboxes);
  for (const Json& object : sandboxes) {
    if (auto wrong = UnsettledSandbox(object)) return wrong;
    if (PhaseOf(object) == "Pending" && HasRoom(object, sandboxes)) {
      return Format("{} is Pending, and an agent has room for it", KeyOf(object));
    }
  }
  for (const Json& pool : world.List(kPools)) {
    if (Deleting(pool)) return Format("pool {} is being deleted", KeyOf(pool));
    const Json capacity = Part(pool["spec"], "capacity");
    const auto most = capacity.get_value_or<std::size_t>("poolMax", 0);
    const auto least = capacity.get_value_or<std::size_t>("poolMin", 0);
    std::size_t pods = 0;
    for (const Json& pod :
         world.List(Format("/api/v1/namespaces/{}/pods", Text(pool["metadata"], "namespace")))) {
      if (NameOf(pod).starts_with(NameOf(pool) + "-agent-")) ++pods;
    }
    if (pods < (most > 0 ? std::min(least, most) : least)) {
      return Format("pool {} has {} pods of {}", KeyOf(pool), pods, least);
    }
  }
  return UnsettledAgents(sandboxes);
}

std::optional<std::string> Sandbox::Left(World& world) {
  FollowPods(world);
  for (const char* collection : {kSandboxes, kPools, "/api/v1/pods"}) {
    for (const Json& object : world.List(collection)) {
      return Format("{} {}", collection, KeyOf(object));
    }
  }
  return CheckMemory();
}

}  // namespace berth::simulate
