#include "kube/memory/workload_columns.h"

#include "kube/memory/render.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::string_view kNone = "<none>";
constexpr std::size_t kShown = 3;  // ports or addresses of an endpoint slice

using Make = Value (*)(const Value& object, std::int64_t now);

Column Of(std::string name, Make make, int priority = 0) {
  return {.name = std::move(name), .type = "string", .priority = priority, .make = make};
}

Value Or(std::string_view text, std::string_view otherwise = kNone) {
  return Value(text.empty() ? otherwise : text);
}

void Append(std::string& list, std::string_view item) {
  if (!list.empty()) list += ",";
  list += item;
}

Value Age(const Value& object, std::int64_t now) {
  return AgeOf(TextAt(object, "metadata", "creationTimestamp"), now);
}

// ---- Pods

std::span<const Value> Containers(const Value& pod) {
  return pod["status"]["containerStatuses"].array_range();
}

Value PodReady(const Value& pod, std::int64_t /*now*/) {
  int ready = 0;
  for (const Value& container : Containers(pod)) {
    const Value* flag = Find(container, "ready");
    if (flag && *flag == Value(true) && Find(container, "state", "running")) ++ready;
  }
  return Value(Format("{}/{}", ready, pod["spec"]["containers"].size()));
}

Value PodStatus(const Value& pod, std::int64_t /*now*/) {
  if (Find(pod, "metadata", "deletionTimestamp")) return "Terminating";
  for (const Value& container : Containers(pod)) {
    for (const std::string_view state : {"waiting", "terminated"}) {
      const std::string_view reason = TextAt(container, "state", state, "reason");
      if (!reason.empty()) return Value(reason);
    }
  }
  const std::string_view reason = TextAt(pod, "status", "reason");
  return Value(reason.empty() ? TextAt(pod, "status", "phase") : reason);
}

Value PodRestarts(const Value& pod, std::int64_t /*now*/) {
  std::int64_t restarts = 0;
  for (const Value& container : Containers(pod)) restarts += IntAt(container, "restartCount");
  return Value(std::to_string(restarts));
}

// ---- Nodes

Value NodeStatus(const Value& node, std::int64_t /*now*/) {
  std::string status;
  for (const Value& condition : node["status"]["conditions"].array_range()) {
    if (TextAt(condition, "type") != "Ready") continue;
    status = TextAt(condition, "status") == "True" ? "Ready" : "NotReady";
  }
  if (status.empty()) status = "Unknown";
  const Value* unschedulable = Find(node, "spec", "unschedulable");
  if (unschedulable && *unschedulable == Value(true)) status += ",SchedulingDisabled";
  return Value(status);
}

Value NodeRoles(const Value& node, std::int64_t /*now*/) {
  constexpr std::string_view kRole = "node-role.kubernetes.io/";
  std::string roles;
  for (const auto& label : node["metadata"]["labels"].object_range()) {
    if (label.key().starts_with(kRole))
      Append(roles, std::string_view(label.key()).substr(kRole.size()));
  }
  return Or(roles);
}

Value NodeAddress(const Value& node, std::string_view type) {
  for (const Value& address : node["status"]["addresses"].array_range()) {
    if (TextAt(address, "type") == type) return Or(TextAt(address, "address"));
  }
  return kNone;
}

template <const char* kMember>
Value NodeInfo(const Value& node, std::int64_t /*now*/) {
  return Or(TextAt(node, "status", "nodeInfo", kMember), "<unknown>");
}
constexpr char kKubelet[] = "kubeletVersion", kOs[] = "osImage", kKernel[] = "kernelVersion",
               kRuntime[] = "containerRuntimeVersion";

// ---- Services

Value ServiceExternalIp(const Value& service, std::int64_t /*now*/) {
  const std::string_view type = TextAt(service, "spec", "type");
  if (type == "ExternalName") return Or(TextAt(service, "spec", "externalName"));
  std::string addresses;
  for (const Value& ingress : service["status"]["loadBalancer"]["ingress"].array_range()) {
    const std::string_view ip = TextAt(ingress, "ip");
    Append(addresses, ip.empty() ? TextAt(ingress, "hostname") : ip);
  }
  for (const Value& ip : service["spec"]["externalIPs"].array_range())
    Append(addresses, ip.as_string());
  return Or(addresses, type == "LoadBalancer" ? "<pending>" : kNone);
}

Value ServicePorts(const Value& service, std::int64_t /*now*/) {
  std::string ports;
  for (const Value& port : service["spec"]["ports"].array_range()) {
    const std::int64_t node_port = IntAt(port, "nodePort");
    Append(ports, Format("{}{}/{}", IntAt(port, "port"),
                         node_port > 0 ? Format(":{}", node_port) : "", TextAt(port, "protocol")));
  }
  return Or(ports);
}

Value ServiceSelector(const Value& service, std::int64_t /*now*/) {
  std::string selector;
  for (const auto& label : service["spec"]["selector"].object_range())
    Append(selector, Format("{}={}", label.key(), label.value().as_string()));
  return Or(selector);
}

// ---- Endpoint slices

Value FirstOf(const std::vector<std::string>& items) {
  std::string list;
  for (std::size_t i = 0; i < std::min(items.size(), kShown); ++i) Append(list, items[i]);
  if (items.size() > kShown) list += Format(" + {} more...", items.size() - kShown);
  return Or(list, "<unset>");
}

Value SlicePorts(const Value& slice, std::int64_t /*now*/) {
  std::vector<std::string> ports;
  for (const Value& port : slice["ports"].array_range()) {
    const Value* number = Find(port, "port");
    const std::string_view name = TextAt(port, "name");
    ports.push_back(number         ? number->as_string()
                    : name.empty() ? std::string("*")
                                   : std::string(name));
  }
  return FirstOf(ports);
}

Value SliceAddresses(const Value& slice, std::int64_t /*now*/) {
  std::vector<std::string> addresses;
  for (const Value& endpoint : slice["endpoints"].array_range()) {
    for (const Value& address : endpoint["addresses"].array_range())
      addresses.push_back(address.as_string());
  }
  return FirstOf(addresses);
}

}  // namespace

std::vector<Column> PodColumns() {
  return {
      Of("Ready", PodReady),
      Of("Status", PodStatus),
      Of("Restarts", PodRestarts),
      Of("Age", Age),
      Of(
          "IP", [](const Value& pod, std::int64_t) { return Or(TextAt(pod, "status", "podIP")); },
          1),
      Of(
          "Node",
          [](const Value& pod, std::int64_t) { return Or(TextAt(pod, "spec", "nodeName")); }, 1),
      Of(
          "Nominated Node", [](const Value&, std::int64_t) { return Value(kNone); }, 1),
      Of("Readiness Gates", [](const Value&, std::int64_t) { return Value(kNone); }, 1)};
}

std::vector<Column> NodeColumns() {
  return {Of("Status", NodeStatus),
          Of("Roles", NodeRoles),
          Of("Age", Age),
          Of("Version", NodeInfo<kKubelet>),
          Of(
              "Internal-IP",
              [](const Value& node, std::int64_t) { return NodeAddress(node, "InternalIP"); }, 1),
          Of(
              "External-IP",
              [](const Value& node, std::int64_t) { return NodeAddress(node, "ExternalIP"); }, 1),
          Of("OS-Image", NodeInfo<kOs>, 1),
          Of("Kernel-Version", NodeInfo<kKernel>, 1),
          Of("Container-Runtime", NodeInfo<kRuntime>, 1)};
}

std::vector<Column> ServiceColumns() {
  return {Of("Type", [](const Value& service,
                        std::int64_t) { return Value(TextAt(service, "spec", "type")); }),
          Of("Cluster-IP", [](const Value& service,
                              std::int64_t) { return Or(TextAt(service, "spec", "clusterIP")); }),
          Of("External-IP", ServiceExternalIp),
          Of("Port(s)", ServicePorts),
          Of("Age", Age),
          Of("Selector", ServiceSelector, 1)};
}

std::vector<Column> EndpointSliceColumns() {
  return {Of("AddressType",
             [](const Value& slice, std::int64_t) { return Value(TextAt(slice, "addressType")); }),
          Of("Ports", SlicePorts), Of("Endpoints", SliceAddresses), Of("Age", Age)};
}

}  // namespace berth::kube::memory
