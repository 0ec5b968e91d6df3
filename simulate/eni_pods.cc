#include "simulate/eni_pods.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "log/format.h"
#include "log/timestamp.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

constexpr int kMostPods = 24;
constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kCoreNodes = "/api/v1/nodes";
constexpr const char* kRdma = R"(,"resources":{"limits":{"aliyun/erdma":"1"}})";
// A node that no Node describes.
constexpr const char* kElsewhere = "elsewhere";

}  // namespace

EniPods::EniPods(World& world, const EniNodes& nodes, std::vector<std::string> names,
                 std::set<std::string> erdma_nodes)
    : world_(world), nodes_(nodes), names_(std::move(names)), erdma_nodes_(std::move(erdma_nodes)) {
  const auto roll = world.random().Below(10);
  telling_ = roll < 5 ? Telling::kAtOnce : roll < 7 ? Telling::kNever : Telling::kUnreliable;
}

void EniPods::Start() {
  for (const std::string& name : names_) {
    AddCoreNode(name);
    Run(name);
  }
}

void EniPods::AddCoreNode(const std::string& name) {
  world_.Ask({.method = kube::Method::kPost,
              .path = kCoreNodes,
              .body = Format(R"({{"metadata":{{"name":"{}"}}}})", name)});
  core_nodes_.insert(name);
}

void EniPods::Act() {
  const auto roll = world_.random().Below(100);
  if (roll < 45) return CreateSome();
  if (roll < 55) return Burst();
  if (roll < 65) return End();
  DeleteSome();
}

std::string EniPods::SomeNode() {
  if (world_.random().Chance(0.02)) return kElsewhere;
  // Mostly the first, so that its addresses run short.
  if (world_.random().Chance(0.4)) return names_.front();
  return names_[world_.random().Below(names_.size())];
}

EniPods::Pod* EniPods::SomePod() {
  if (pods_.empty()) return nullptr;
  auto pod = pods_.begin();
  std::advance(pod, world_.random().Below(pods_.size()));
  return &pod->second;
}

void EniPods::CreateSome() { Create(Format("p{}", world_.random().Below(kMostPods)), SomeNode()); }

// A Deployment is scaled up.
void EniPods::Burst() {
  const std::string node = SomeNode();
  const auto count = 2 + world_.random().Below(8);
  for (std::uint64_t i = 0; i < count; ++i) {
    Create(Format("p{}", world_.random().Below(kMostPods)), node);
  }
}

void EniPods::Create(const std::string& name, const std::string& node) {
  if (pods_.contains(name)) return;
  Dice& random = world_.random();
  Pod pod{.name = name, .uid = {}, .node = node, .ips = {}};
  const auto kind = random.Below(20);
  const bool host_network = kind == 0;
  const bool pod_eni = kind == 1;
  const bool own_address = kind == 2;
  pod.needs_ip = kind > 2;
  pod.erdma = pod.needs_ip && erdma_nodes_.contains(node) && random.Chance(0.3);
  pod.since = world_.scheduler().Now();
  auto answer =
      world_.Ask({.method = kube::Method::kPost,
                  .path = kPods,
                  .body = Format(R"({{"metadata":{{"name":"{}","annotations":{{{}}}}},)"
                                 R"("spec":{{"nodeName":"{}","hostNetwork":{},)"
                                 R"("containers":[{{"name":"c","image":"i"{}}}]}}}})",
                                 name, pod_eni ? R"("k8s.aliyun.com/pod-eni":"true")" : "", node,
                                 host_network ? "true" : "false", pod.erdma ? kRdma : "")});
  if (answer.code != 201) return;
  pod.uid = simulate::UidOf(answer.body());
  if (host_network || own_address) pod.ips = {Format("192.168.0.{}", 1 + random.Below(250))};
  const Pod& made = pods_.insert_or_assign(name, pod).first->second;
  if (!pod.ips.empty()) {
    PatchStatus(made,
                Format(R"("phase":"Running","podIP":"{0}","podIPs":[{{"ip":"{0}"}}])", pod.ips[0]));
  }
}

void EniPods::PatchStatus(const Pod& pod, const std::string& status) {
  world_.Merge(PathOf(pod.name) + "/status", Format(R"({{"status":{{{}}}}})", status));
}

// A pod's containers end.
void EniPods::End() {
  Pod* pod = SomePod();
  if (!pod || pod->ended) return;
  pod->ended = true;
  pod->ended_at = world_.scheduler().Now();
  PatchStatus(*pod,
              Format(R"("phase":"{}")", world_.random().Chance(0.7) ? "Succeeded" : "Failed"));
  TellSoon(*pod, true);
}

void EniPods::DeleteSome() {
  Dice& random = world_.random();
  const auto count = random.Chance(0.2) ? 1 + random.Below(8) : 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    const Pod* pod = SomePod();
    if (!pod) return;
    const Pod copy = *pod;
    Delete(copy.uid, random.Chance(0.25));
    // As a StatefulSet does.
    if (!random.Chance(0.3)) continue;
    world_.scheduler().After(random.Between(0s, 12s),
                             [this, copy] { Create(copy.name, copy.node); });
  }
}

EniPods::Pod* EniPods::FindPod(const std::string& uid) {
  const auto found =
      std::ranges::find(pods_, uid, [](const auto& entry) { return entry.second.uid; });
  return found == pods_.end() ? nullptr : &found->second;
}

const EniPods::Pod* EniPods::Find(const std::string& uid) const {
  const auto found =
      std::ranges::find(pods_, uid, [](const auto& entry) { return entry.second.uid; });
  return found == pods_.end() ? nullptr : &found->second;
}

void EniPods::Delete(const std::string& uid, bool force) {
  Pod* pod = FindPod(uid);
  if (!pod) return;
  if (force) return Remove(uid);
  world_.Ask({.method = kube::Method::kDelete, .path = PathOf(pod->name)});
  pod->deleting = true;
  const Pod copy = *pod;
  world_.scheduler().After(world_.random().Between(0s, 8s), [this, copy] {
    if (world_.random().Chance(0.5)) TellSoon(copy, true);
    Remove(copy.uid);
  });
}

// The pod's object goes; its node tears it down before or after.
void EniPods::Remove(const std::string& uid) {
  const Pod* pod = Find(uid);
  if (!pod) return;
  const Pod copy = *pod;
  world_.Ask({.method = kube::Method::kDelete,
              .path = PathOf(copy.name),
              .body = R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0})"});
  pods_.erase(copy.name);
  gone_.insert_or_assign(uid, copy);
  TellSoon(copy, true);
}

// The daemon of a node, which acts now and then.
void EniPods::Run(const std::string& node) {
  world_.scheduler().After(world_.random().Between(500ms, 5s), [this, node] {
    for (auto& [name, pod] : pods_) {
      if (pod.node == node && pod.ips.empty() && !pod.ended && !pod.deleting) SetUp(pod);
    }
    const bool tells = collects_ || telling_ == Telling::kAtOnce || world_.random().Chance(0.05);
    if (tells) TellOfGone(node);
    Run(node);
  });
}

// Tells of the pods that the Node's status has and that are gone, where there
// is a NodeRuntime.
void EniPods::TellOfGone(const std::string& name) {
  const NodeView* node = nodes_.Find(name);
  if (!node) return;
  std::map<std::string, Pod> gone;  // by uid
  for (const auto& [id, nic] : node->nics) {
    for (const auto* family : {&nic.ipv4, &nic.ipv6}) {
      for (const auto& [ip, address] : *family) {
        if (address.pod_uid.empty() || Live(address)) continue;
        const auto known = gone_.find(address.pod_uid);
        gone.emplace(address.pod_uid, known != gone_.end()
                                          ? known->second
                                          : Pod{.name = address.pod, .uid = address.pod_uid});
      }
    }
  }
  if (gone.empty()) return;
  const auto runtime = world_.Ask({.path = Format("{}/{}", kRuntimes, name)});
  if (runtime.code != 200) return;
  const Json& told = Part(Part(runtime.body(), "status"), "pods");
  for (const auto& [uid, pod] : gone) {
    if (Part(Part(told, uid), "status").contains("deleted")) continue;
    WriteMark(name, pod, "deleted", false);
    marks_[name][uid].deleted = true;
  }
}

// Gives the pod the addresses that are bound to it, if there are any.
void EniPods::SetUp(Pod& pod) {
  const NodeView* node = nodes_.Find(pod.node);
  if (!node || !pod.needs_ip || !core_nodes_.contains(pod.node)) return;
  std::vector<std::string> ips;
  for (const auto& [id, nic] : node->nics) {
    if (nic.status != "InUse") continue;
    for (const auto* family : {&nic.ipv4, &nic.ipv6}) {
      for (const auto& [ip, address] : *family) {
        if (address.pod_uid == pod.uid && address.status == "Valid") ips.push_back(ip);
      }
    }
  }
  if (ips.empty()) return;
  std::string list;
  for (const std::string& ip : ips) {
    list += Format(R"({}{{"ip":"{}"}})", list.empty() ? "" : ",", ip);
  }
  pod.ips = std::move(ips);
  pod.ips_since = world_.scheduler().Now();
  PatchStatus(pod, Format(R"("phase":"Running","podIP":"{}","podIPs":[{}])", pod.ips[0], list));
  TellSoon(pod, false);
}

void EniPods::TellSoon(const Pod& pod, bool deleted) {
  if (telling_ == Telling::kNever || !pod.needs_ip) return;
  if (telling_ == Telling::kAtOnce) return Tell(pod.node, pod, deleted);
  Dice& random = world_.random();
  if (random.Chance(0.2)) return;
  world_.scheduler().After(random.Between(0s, 40s),
                           [this, pod, deleted] { Tell(pod.node, pod, deleted); });
}

void EniPods::Tell(const std::string& node, const Pod& pod, bool deleted) {
  auto& marks = marks_[node];
  const auto known = marks.find(pod.uid);
  if (deleted && known == marks.end()) return;  // it was never set up
  if (known != marks.end() && known->second.deleted) return;
  const bool gone = gone_.contains(pod.uid) || pod.ended;
  // A daemon that tells late that a pod was set up does so with the time when
  // it was.
  WriteMark(node, pod, deleted ? "deleted" : "initial", !deleted && gone);
  Mark& mark = marks.try_emplace(pod.uid, Mark{false, world_.scheduler().Now()}).first->second;
  mark.deleted = deleted;
}

void EniPods::WriteMark(const std::string& node, const Pod& pod, const char* what, bool earlier) {
  const auto now = std::chrono::floor<std::chrono::seconds>(world_.scheduler().WallNow());
  const std::string patch = Format(
      R"({{"status":{{"pods":{{"{}":{{"podID":"{}","status":{{"{}":{{"lastUpdateTime":"{}"}}}}}}}}}}}})",
      pod.uid, pod.id(), what, FormatTime(earlier ? now - 60s : now));
  const std::string path = Format("{}/{}/status", kRuntimes, node);
  writing_ = true;
  if (world_.Merge(path, patch).code == 404) {
    world_.Ask({.method = kube::Method::kPost,
                .path = kRuntimes,
                .body = Format(R"({{"apiVersion":"network.alibabacloud.com/v1beta1",)"
                               R"("kind":"NodeRuntime","metadata":{{"name":"{}"}}}})",
                               node)});
    world_.Merge(path, patch);
  }
  writing_ = false;
}

void EniPods::ReplaceCoreNode(const std::string& name, std::function<void()> on_added) {
  if (core_nodes_.erase(name) == 0) return;
  world_.Ask({.method = kube::Method::kDelete, .path = Format("{}/{}", kCoreNodes, name)});
  // The garbage collector of pods.
  world_.scheduler().After(world_.random().Between(0s, 30s), [this, name] {
    for (const Pod* pod : Of(name)) Remove(std::string(pod->uid));
  });
  world_.scheduler().After(world_.random().Between(1s, 60s),
                           [this, name, on_added = std::move(on_added)] {
                             AddCoreNode(name);
                             on_added();
                           });
}

void EniPods::CollectGarbage() {
  collects_ = true;
  if (telling_ == Telling::kUnreliable) telling_ = Telling::kAtOnce;
  for (const std::string& node : names_) TellOfGone(node);
}

void EniPods::DeleteAll() {
  while (!pods_.empty()) Remove(std::string(pods_.begin()->second.uid));
  for (const Json& runtime : world_.List(kRuntimes)) {
    world_.Ask(
        {.method = kube::Method::kDelete, .path = Format("{}/{}", kRuntimes, NameOf(runtime))});
  }
}

const EniPods::Pod* EniPods::Live(const NicAddress& address) const {
  for (const auto& [name, pod] : pods_) {
    const bool is = address.pod_uid.empty() ? pod.id() == address.pod : pod.uid == address.pod_uid;
    if (is) return pod.ended ? nullptr : &pod;
  }
  return nullptr;
}

std::vector<const EniPods::Pod*> EniPods::Of(const std::string& node) const {
  std::vector<const Pod*> pods;
  for (const auto& [name, pod] : pods_) {
    if (pod.node == node && !pod.ended) pods.push_back(&pod);
  }
  return pods;
}

const EniPods::Pod* EniPods::WithAddress(const std::string& ip, const std::string& uid) const {
  for (const auto& [name, pod] : pods_) {
    if (pod.uid != uid && !pod.ended && std::ranges::contains(pod.ips, ip)) return &pod;
  }
  return nullptr;
}

std::string EniPods::UidOf(const NicAddress& address) const {
  if (!address.pod_uid.empty()) return address.pod_uid;
  const Pod* pod = Live(address);
  return pod ? pod->uid : "";
}

bool EniPods::IsSetUp(const std::string& node, const std::string& uid,
                      async::TimePoint since) const {
  const auto marks = marks_.find(node);
  if (marks == marks_.end() || distrusted_.contains(node)) return false;
  const auto mark = marks->second.find(uid);
  return mark != marks->second.end() && !mark->second.deleted && mark->second.since <= since;
}

}  // namespace berth::simulate
