#include "kube/memory/machinery.h"

#include <algorithm>
#include <tuple>

#include "kube/age.h"
#include "kube/memory/endpoint_slices.h"
#include "kube/memory/members.h"
#include "kube/memory/pod_status.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::int64_t kQuarantine = 40;  // seconds, of pods whose node is gone; kube's own
constexpr std::uint32_t kNodeNetwork = 172U << 24 | 16U << 16;  // 172.16.0.0/12
constexpr std::uint32_t kPodNetwork = 10U << 24 | 128U << 16;   // 10.128.0.0/9

// The address of a number in the network, and one in fd00:<second byte>::/32 for dual stack.
std::vector<std::string> IpsOf(std::uint32_t network, std::uint32_t number, bool dual_stack) {
  const std::uint32_t ip = network + number;
  std::vector<std::string> ips{
      Format("{}.{}.{}.{}", ip >> 24, ip >> 16 & 0xFF, ip >> 8 & 0xFF, ip & 0xFF)};
  if (!dual_stack) return ips;
  const std::uint32_t high = number >> 16, low = number & 0xFFFF;
  ips.push_back(high == 0 ? Format("fd00:{}::{:x}", network >> 24, low)
                          : Format("fd00:{}::{:x}:{:x}", network >> 24, high, low));
  return ips;
}

std::string NodeOf(const Object* pod) {
  return pod ? std::string(TextAt(pod->value, "spec", "nodeName")) : std::string();
}

std::string PathOfPod(const Object& pod) {
  return Format("/api/v1/namespaces/{}/pods/{}", pod.ns(), pod.name());
}

// A merge patch of the object as it was read, or nothing when the member is so already.
std::vector<Request> Patch(std::string path, const Object& object, std::string_view member,
                           const Value& value) {
  if (const Value* present = Find(object.value, member); present && *present == value) return {};
  const std::string version = std::to_string(object.version);
  const Value patch =
      Members({{"metadata", Members({{"resourceVersion", version}})}, {member, value}});
  return {{.method = Method::kPatch,
           .path = std::move(path),
           .body = patch.to_string(),
           .content_type = "application/merge-patch+json"}};
}

std::vector<Request> EndPod(const Object& pod) {
  return {
      {.method = Method::kDelete,
       .path = PathOfPod(pod),
       .body = Format(R"({{"gracePeriodSeconds":0,"preconditions":{{"uid":"{}"}}}})", pod.uid())}};
}

bool Selects(const Value& selector, const Value& labels) {
  return std::ranges::all_of(selector.object_range(), [&](const auto& required) {
    const Value* label = labels.find(required.key());
    return label && *label == required.value();
  });
}

template <typename Label>
std::string LabelKey(std::string_view ns, const Label& label) {
  return Format("{}/{}={}", ns, label.key(), label.value().as_string());
}

// Whether all that endpoint slices show of a pod is the same.
bool SameEndpoint(const Object& a, const Object& b) {
  const auto shown = [](const Object& pod) {
    return std::tuple(pod.deleting(), IsReady(pod.value), IsTerminal(pod.value), NodeOf(&pod),
                      pod.value["status"]["podIPs"].to_string(),
                      pod.value["metadata"]["labels"].to_string(),
                      pod.value["spec"]["containers"].to_string());
  };
  return shown(a) == shown(b);
}

void Erase(std::map<std::string, std::set<std::string>, std::less<>>& index, std::string_view key,
           const std::string& item) {
  const auto found = index.find(key);
  if (found == index.end()) return;
  found->second.erase(item);
  if (found->second.empty()) index.erase(found);
}

}  // namespace

std::uint32_t Numbers::Of(const std::string& uid) {
  const auto [found, added] = taken_.try_emplace(uid, 0);
  if (!added) return found->second;
  if (free_.empty()) return found->second = next_++;
  found->second = *free_.begin();
  free_.erase(free_.begin());
  return found->second;
}

void Numbers::Release(std::string_view uid) {
  const auto found = taken_.find(uid);
  if (found == taken_.end()) return;
  free_.insert(found->second);
  taken_.erase(found);
}

Machinery::Machinery(Cluster& cluster, Send send, Server::MachineryOptions options)
    : cluster_(cluster),
      send_(std::move(send)),
      options_(options),
      nodes_(cluster.registry().Find("", "nodes")),
      pods_(cluster.registry().Find("", "pods")),
      services_(cluster.registry().Find("", "services")),
      slices_(cluster.registry().Find("discovery.k8s.io", "endpointslices")) {
  cluster_.AddListener(
      [this](Resource& resource, const Change& change) { Notice(resource, change); });
}

// ---- Changes

void Machinery::Notice(const Resource& resource, const Change& change) {
  if (&resource == nodes_.get()) NoticeNode(change);
  if (&resource == pods_.get()) NoticePod(change);
  if (&resource == services_.get()) NoticeService(change);
  if (&resource == slices_.get()) NoticeSlice(change);
}

void Machinery::NoticeNode(const Change& change) {
  const std::string& node = change.key;
  const bool gone = change.type == ChangeType::kDeleted;
  Rank(node);
  Enqueue(Kind::kNode, node);
  if (gone) node_numbers_.Release(change.object->uid());
  if (ranks_.contains(node)) {
    for (const std::string& pod : unscheduled_) Enqueue(Kind::kPod, pod);
  }
  const auto pods = pods_on_.find(node);
  if (pods == pods_on_.end()) return;
  if (gone) missing_[node] = cluster_.UnixNow();
  const Value& now = change.object->value;
  const Object* old = change.previous.get();
  if (!gone && old && IsReady(old->value) == IsReady(now) &&
      InternalIps(old->value) == InternalIps(now))
    return;
  for (const std::string& pod : pods->second) Enqueue(Kind::kPod, pod);
}

void Machinery::NoticePod(const Change& change) {
  const std::string& pod = change.key;
  const bool gone = change.type == ChangeType::kDeleted;
  const Object* old = change.previous.get();
  const Object* now = gone ? nullptr : change.object.get();
  MovePod(pod, NodeOf(old), NodeOf(now));
  if (gone || IsTerminal(now->value)) pod_numbers_.Release(change.object->uid());
  if (gone || !NodeOf(now).empty()) unscheduled_.erase(pod);
  if (!gone) Enqueue(Kind::kPod, pod);
  if (old && now && SameEndpoint(*old, *now)) return;
  for (const std::string& service : old ? ServicesOf(*old) : std::vector<std::string>()) {
    selected_[service].pods.erase(pod);
    Enqueue(Kind::kService, service);
  }
  for (const std::string& service : now ? ServicesOf(*now) : std::vector<std::string>()) {
    selected_[service].pods.insert(pod);
    Enqueue(Kind::kService, service);
  }
}

void Machinery::MovePod(const std::string& pod, const std::string& from, const std::string& to) {
  if (from == to) return;
  if (!from.empty()) {
    Erase(pods_on_, from, pod);
    if (!pods_on_.contains(from)) missing_.erase(from);
    Rank(from);
  }
  if (to.empty()) return;
  pods_on_[to].insert(pod);
  Rank(to);
}

// Puts a node where the number of its pods belongs, or takes it out.
void Machinery::Rank(const std::string& node) {
  if (const auto found = ranks_.find(node); found != ranks_.end()) {
    schedulable_.erase({found->second, node});
    ranks_.erase(found);
  }
  const ObjectPtr object = nodes_->objects.Find(node);
  if (!object || !IsSchedulable(object->value)) return;
  const auto pods = pods_on_.find(node);
  const std::size_t load = pods == pods_on_.end() ? 0 : pods->second.size();
  ranks_[node] = load;
  schedulable_.emplace(load, node);
}

void Machinery::NoticeService(const Change& change) {
  static const Value kNone = Value::Object();
  const Value* old = change.previous ? Find(change.previous->value, "spec", "selector") : nullptr;
  const Value* now = change.type == ChangeType::kDeleted
                         ? nullptr
                         : Find(change.object->value, "spec", "selector");
  if ((old ? *old : kNone) != (now ? *now : kNone)) {
    Unselect(change.key);
    if (now && now->is_object() && !now->empty()) Select(change.key, *now);
  }
  if (now) Enqueue(Kind::kService, change.key);
}

void Machinery::Unselect(const std::string& service) {
  const auto found = selected_.find(service);
  if (found == selected_.end()) return;
  const std::string_view ns = std::string_view(service).substr(0, service.find('/'));
  Erase(services_by_label_, LabelKey(ns, found->second.selector.object_range().front()), service);
  selected_.erase(found);
}

void Machinery::Select(const std::string& service, const Value& selector) {
  const std::string ns = service.substr(0, service.find('/'));
  Selected& selected = selected_[service];
  selected.selector = selector;
  services_by_label_[LabelKey(ns, selector.object_range().front())].insert(service);
  pods_->objects.Each(ns + "/", "", std::nullopt,
                      [&](const std::string& key, const ObjectPtr& pod) {
                        if (Selects(selector, pod->value["metadata"]["labels"]))
                          selected.pods.insert(key);
                        return true;
                      });
}

std::vector<std::string> Machinery::ServicesOf(const Object& pod) const {
  std::vector<std::string> services;
  const Value& labels = pod.value["metadata"]["labels"];
  for (const auto& label : labels.object_range()) {
    const auto found = services_by_label_.find(LabelKey(pod.ns(), label));
    if (found == services_by_label_.end()) continue;
    for (const std::string& service : found->second) {
      if (Selects(selected_.at(service).selector, labels)) services.push_back(service);
    }
  }
  return services;
}

void Machinery::NoticeSlice(const Change& change) {
  const bool gone = change.type == ChangeType::kDeleted;
  for (const Object* object : {change.previous.get(), change.object.get()}) {
    const std::string_view name = object ? ServiceOfSlice(object->value) : "";
    if (name.empty()) continue;
    const std::string service = KeyOf(object->ns(), name);
    if (object == change.object.get() && !gone) {
      slices_of_[service].insert(change.key);
    } else {
      Erase(slices_of_, service, change.key);
    }
    Enqueue(Kind::kService, service);
  }
}

// ---- Steps

void Machinery::Enqueue(Kind kind, const std::string& name) {
  Key key{kind, name};
  if (queued_.insert(key).second) queue_.push_back(std::move(key));
}

bool Machinery::Step() {
  for (const std::int64_t now = cluster_.UnixNow(); !due_.empty() && due_.begin()->first <= now;
       due_.erase(due_.begin()))
    Enqueue(Kind::kPod, due_.begin()->second);
  while (outbox_.empty() && !queue_.empty()) {
    const Key key = std::move(queue_.front());
    queue_.pop_front();
    queued_.erase(key);
    if (busy_.contains(key)) {
      again_.insert(key);
      continue;
    }
    for (Request& request : Next(key)) {
      outbox_.emplace_back(key, std::move(request));
      ++busy_[key];
    }
  }
  if (outbox_.empty()) return false;
  const auto [key, request] = std::move(outbox_.front());
  outbox_.pop_front();
  send_(request, [this, key](int code) { Answered(key, code); });
  return true;
}

void Machinery::Answered(const Key& key, int code) {
  if (code >= 300) refused_.insert(key);
  if (--busy_[key] > 0) return;
  busy_.erase(key);
  if (again_.erase(key) > 0) Enqueue(key.kind, key.name);
}

void Machinery::Retry() {
  for (const Key& key : std::exchange(refused_, {})) Enqueue(key.kind, key.name);
}

std::vector<Request> Machinery::Next(const Key& key) {
  Resource& resource = key.kind == Kind::kNode  ? *nodes_
                       : key.kind == Kind::kPod ? *pods_
                                                : *services_;
  const ObjectPtr object = resource.objects.Find(key.name);
  if (!object) return {};
  if (key.kind == Kind::kNode) return NextOfNode(*object);
  return key.kind == Kind::kPod ? NextOfPod(key.name, *object) : NextOfService(key.name, *object);
}

std::vector<Request> Machinery::NextOfNode(const Object& node) {
  const std::uint32_t number = node_numbers_.Of(std::string(node.uid()));
  return Patch(
      Format("/api/v1/nodes/{}/status", node.name()), node, "status",
      NodeStatus(node.value, IpsOf(kNodeNetwork, number, options_.dual_stack), cluster_.Date()));
}

std::vector<Request> Machinery::NextOfPod(const std::string& key, const Object& pod) {
  const std::int64_t now = cluster_.UnixNow();
  const std::string status_path = PathOfPod(pod) + "/status";
  const std::string node_name = NodeOf(&pod);
  if (pod.deleting()) {
    const auto end = ParseTimestamp(TextAt(pod.value, "metadata", "deletionTimestamp"));
    const bool graceful = IntAt(pod.value, "metadata", "deletionGracePeriodSeconds") > 0;
    if (end && now < *end) {
      due_.emplace(*end, key);
    } else if (!IsTerminal(pod.value)) {
      return Patch(status_path, pod, "status", EndedStatus(pod.value, cluster_.Date()));
    } else {
      return graceful ? EndPod(pod) : std::vector<Request>();
    }
  }
  if (IsTerminal(pod.value)) return {};
  if (node_name.empty()) return Schedule(key, pod);
  const ObjectPtr node = nodes_->objects.Find(node_name);
  if (!node) {
    const std::int64_t since = missing_.try_emplace(node_name, now).first->second;
    if (now >= since + kQuarantine) return EndPod(pod);
    due_.emplace(since + kQuarantine, key);
    return {};
  }
  if (InternalIps(node->value).empty()) return {};  // soon: then the node changes
  return Patch(status_path, pod, "status",
               RunningStatus(pod.value, node->value, PodIps(pod, node->value), cluster_.Date()));
}

std::vector<Request> Machinery::Schedule(const std::string& key, const Object& pod) {
  const std::string_view scheduler = TextAt(pod.value, "spec", "schedulerName");
  if (!scheduler.empty() && scheduler != "default-scheduler") return {};
  for (const auto& [load, name] : schedulable_) {
    if (!Fits(pod.value, nodes_->objects.Find(name)->value)) continue;
    return Patch(PathOfPod(pod), pod, "spec", Members({{"nodeName", name}}));
  }
  unscheduled_.insert(key);
  const std::string why = Format("0/{} nodes are available", nodes_->objects.size());
  return Patch(PathOfPod(pod) + "/status", pod, "status",
               UnscheduledStatus(pod.value, why, cluster_.Date()));
}

std::vector<std::string> Machinery::PodIps(const Object& pod, const Value& node) {
  if (pod.value["spec"]["hostNetwork"] == Value(true)) return InternalIps(node);
  if (const Value* given = Find(pod.value, "metadata", "annotations", kPodIpsAnnotation)) {
    std::vector<std::string> ips;
    const std::string list = given->as_string();
    for (std::size_t begin = 0; begin < list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      ips.push_back(list.substr(begin, end - begin));
      begin = end + 1;
    }
    return ips;
  }
  const std::uint32_t number = pod_numbers_.Of(std::string(pod.uid()));
  return IpsOf(kPodNetwork, number, options_.dual_stack);
}

std::vector<Request> Machinery::NextOfService(const std::string& key, const Object& service) {
  const auto selected = selected_.find(key);
  if (selected == selected_.end() || TextAt(service.value, "spec", "type") == "ExternalName")
    return {};
  std::vector<ObjectPtr> pods, slices;
  for (const std::string& pod : selected->second.pods) pods.push_back(pods_->objects.Find(pod));
  if (const auto found = slices_of_.find(key); found != slices_of_.end()) {
    for (const std::string& name : found->second) {
      const ObjectPtr slice = slices_->objects.Find(name);
      // Slices of an earlier Service of this name are the garbage collector's.
      const Value& owners = slice->value["metadata"]["ownerReferences"];
      const bool own = std::ranges::any_of(owners.array_range(), [&](const Value& owner) {
        return TextAt(owner, "uid") == service.uid();
      });
      if (own && !slice->deleting()) slices.push_back(slice);
    }
  }
  return SyncSlices(service, pods, slices, options_.max_endpoints);
}

}  // namespace berth::kube::memory
