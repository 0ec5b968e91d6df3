#include "kube/memory/endpoint_slices.h"

#include <deque>
#include <map>

#include "kube/memory/members.h"
#include "kube/memory/pod_status.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::string_view kManagedBy = "endpointslice.kubernetes.io/managed-by";
constexpr std::string_view kManager = "endpointslice-controller.k8s.io";

// A slice as it should be.
struct Slice {
  ObjectPtr present;  // null: a new one
  Value ports = Value::Array();
  Value endpoints = Value::Array();
};

// Endpoints with the same ports, in the order of their pods; by the pod's uid.
struct Group {
  Value ports = Value::Array();
  std::vector<std::pair<std::string, Value>> endpoints;
};

// A list of a stored slice, where an empty one is null.
Value ListAt(const Object& slice, std::string_view key) {
  const Value* list = Find(slice.value, key);
  return list && list->is_array() ? *list : Value::Array();
}

std::string_view IpOf(const Value& pod, bool ipv6) {
  for (const Value& entry : pod["status"]["podIPs"].array_range()) {
    const std::string_view ip = TextAt(entry, "ip");
    if (!ip.empty() && IsIpv6(ip) == ipv6) return ip;
  }
  return "";
}

// The number of a target port in the pod; 0 when it has none of that name.
std::int64_t PortNumber(const Value& pod, const Value& port) {
  const Value* target = Find(port, "targetPort");
  if (!target || !target->is_string()) return target ? IntAt(*target) : IntAt(port, "port");
  for (const Value& container : pod["spec"]["containers"].array_range()) {
    for (const Value& candidate : container["ports"].array_range()) {
      const std::string_view protocol = TextAt(candidate, "protocol");
      if (TextAt(candidate, "name") == target->as_string_view() &&
          (protocol.empty() ? "TCP" : protocol) == TextAt(port, "protocol"))
        return IntAt(candidate, "containerPort");
    }
  }
  return 0;
}

Value PortsOf(const Value& service, const Value& pod) {
  Value ports = Value::Array();
  for (const Value& port : service["spec"]["ports"].array_range()) {
    const std::int64_t number = PortNumber(pod, port);
    if (number == 0) continue;
    Value entry = Members(
        {{"name", TextAt(port, "name")}, {"port", number}, {"protocol", TextAt(port, "protocol")}});
    CopyMember(port, entry, "appProtocol");
    ports.push_back(std::move(entry));
  }
  return ports;
}

Value EndpointOf(const Value& service, const Object& pod, std::string_view ip) {
  const bool serving = IsReady(pod.value);
  const bool always = service["spec"]["publishNotReadyAddresses"] == Value(true);
  return Members({{"addresses", Value::Array({Value(ip)})},
                  {"conditions", Members({{"ready", always || (serving && !pod.deleting())},
                                          {"serving", serving},
                                          {"terminating", pod.deleting()}})},
                  {"nodeName", TextAt(pod.value, "spec", "nodeName")},
                  {"targetRef", Members({{"kind", "Pod"},
                                         {"namespace", pod.ns()},
                                         {"name", pod.name()},
                                         {"uid", pod.uid()}})}});
}

// By the text of the ports.
std::map<std::string, Group> GroupsOf(const Value& service, const std::vector<ObjectPtr>& pods,
                                      bool ipv6) {
  std::map<std::string, Group> groups;
  for (const ObjectPtr& pod : pods) {
    const std::string_view ip = IpOf(pod->value, ipv6);
    if (ip.empty() || IsTerminal(pod->value)) continue;
    Value ports = PortsOf(service, pod->value);
    Group& group = groups[ports.to_string()];
    group.ports = std::move(ports);
    group.endpoints.emplace_back(pod->uid(), EndpointOf(service, *pod, ip));
  }
  if (groups.empty()) groups.try_emplace("[]");
  return groups;
}

// The group's slices: those that are there, with the endpoints that stay, then new ones. Slices
// that become empty are `spare`.
std::vector<Slice> Fill(const Group& group, std::vector<ObjectPtr> present, std::size_t max,
                        std::deque<ObjectPtr>& spare) {
  std::map<std::string_view, const Value*> left;
  for (const auto& [uid, endpoint] : group.endpoints) left[uid] = &endpoint;
  std::vector<Slice> slices;
  for (ObjectPtr& object : present) {
    Slice slice{std::move(object), group.ports};
    for (const Value& old : slice.present->value["endpoints"].array_range()) {
      const auto stays = left.find(TextAt(old, "targetRef", "uid"));
      if (stays == left.end()) continue;
      slice.endpoints.push_back(*stays->second);
      left.erase(stays);
    }
    slices.push_back(std::move(slice));
  }
  std::size_t open = 0;  // the first slice that may have room
  for (const auto& [uid, endpoint] : group.endpoints) {
    if (!left.contains(uid)) continue;
    while (open < slices.size() && slices[open].endpoints.size() >= max) ++open;
    if (open == slices.size()) slices.push_back({nullptr, group.ports});
    slices[open].endpoints.push_back(endpoint);
  }
  if (slices.empty()) slices.push_back({nullptr, group.ports});
  std::vector<Slice> full;
  for (Slice& slice : slices) {
    const bool last = group.endpoints.empty() && full.empty();
    if (slice.endpoints.empty() && !last) {
      spare.push_back(slice.present);
    } else {
      full.push_back(std::move(slice));
    }
  }
  return full;
}

std::string PathOf(const Object& service, const Object* slice) {
  return Format("/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices{}{}", service.ns(),
                slice ? "/" : "", slice ? slice->name() : "");
}

Request CreateSlice(const Object& service, std::string_view type, const Slice& slice) {
  const Value owner = Members({{"apiVersion", "v1"},
                               {"kind", "Service"},
                               {"name", service.name()},
                               {"uid", service.uid()},
                               {"controller", true},
                               {"blockOwnerDeletion", true}});
  const Value labels = Members({{kServiceNameLabel, service.name()}, {kManagedBy, kManager}});
  const Value object =
      Members({{"apiVersion", "discovery.k8s.io/v1"},
               {"kind", "EndpointSlice"},
               {"metadata", Members({{"generateName", Format("{}-", service.name())},
                                     {"labels", labels},
                                     {"ownerReferences", Value::Array({owner})}})},
               {"addressType", type},
               {"endpoints", slice.endpoints},
               {"ports", slice.ports}});
  return {.method = Method::kPost, .path = PathOf(service, nullptr), .body = object.to_string()};
}

Request PatchSlice(const Object& service, const Slice& slice) {
  const std::string version = std::to_string(slice.present->version);
  const Value patch = Members({{"metadata", Members({{"resourceVersion", version}})},
                               {"endpoints", slice.endpoints},
                               {"ports", slice.ports}});
  return {.method = Method::kPatch,
          .path = PathOf(service, slice.present.get()),
          .body = patch.to_string(),
          .content_type = "application/merge-patch+json"};
}

void SyncFamily(const Object& service, std::string_view type, const std::vector<ObjectPtr>& pods,
                const std::vector<ObjectPtr>& slices, std::size_t max,
                std::vector<Request>& requests) {
  const std::map<std::string, Group> groups = GroupsOf(service.value, pods, type == "IPv6");
  std::map<std::string, std::vector<ObjectPtr>> present;  // by ports
  std::deque<ObjectPtr> spare;
  for (const ObjectPtr& slice : slices) {
    if (TextAt(slice->value, "addressType") != type) continue;
    const std::string ports = ListAt(*slice, "ports").to_string();
    groups.contains(ports) ? present[ports].push_back(slice) : spare.push_back(slice);
  }
  std::vector<Slice> wanted;
  for (const auto& [ports, group] : groups) {
    for (Slice& slice : Fill(group, present[ports], max, spare)) wanted.push_back(std::move(slice));
  }
  for (Slice& slice : wanted) {
    if (!slice.present && !spare.empty()) {
      slice.present = spare.front();
      spare.pop_front();
    }
    if (!slice.present) {
      requests.push_back(CreateSlice(service, type, slice));
    } else if (ListAt(*slice.present, "endpoints") != slice.endpoints ||
               ListAt(*slice.present, "ports") != slice.ports) {
      requests.push_back(PatchSlice(service, slice));
    }
  }
  for (const ObjectPtr& slice : spare) {
    requests.push_back({.method = Method::kDelete,
                        .path = PathOf(service, slice.get()),
                        .body = Format(R"({{"preconditions":{{"uid":"{}"}}}})", slice->uid())});
  }
}

}  // namespace

std::string_view ServiceOfSlice(const Value& slice) {
  const Value& labels = slice["metadata"]["labels"];
  return TextAt(labels, kManagedBy) == kManager ? TextAt(labels, kServiceNameLabel) : "";
}

std::vector<Request> SyncSlices(const Object& service, const std::vector<ObjectPtr>& pods,
                                const std::vector<ObjectPtr>& slices, std::size_t max_endpoints) {
  std::vector<Request> requests;
  const Value& families = service.value["spec"]["ipFamilies"];
  if (families.array_range().empty())
    SyncFamily(service, "IPv4", pods, slices, max_endpoints, requests);
  for (const Value& family : families.array_range())
    SyncFamily(service, family.as_string(), pods, slices, max_endpoints, requests);
  return requests;
}

}  // namespace berth::kube::memory
