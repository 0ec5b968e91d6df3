#include "kube/memory/pod_status.h"

#include <algorithm>

#include "kube/memory/members.h"

namespace berth::kube::memory {
namespace {

constexpr std::string_view kHostname = "kubernetes.io/hostname";

Value& ArrayAt(Value& value, std::string_view key) {
  if (const Value* found = value.find(key); !found || !found->is_array())
    value.insert_or_assign(key, Value::Array());
  return value[key];
}

Value* FindNamed(Value& list, std::string_view key, std::string_view name) {
  for (Value& item : list.array_range()) {
    if (TextAt(item, key) == name) return &item;
  }
  return nullptr;
}

// The time stays while the status does.
void SetCondition(Value& status, std::string_view type, bool holds, std::string_view reason,
                  std::string_view message, const std::string& date) {
  Value condition = Members({{"type", type}, {"status", holds ? "True" : "False"}});
  condition.insert_or_assign("lastTransitionTime", date);
  if (!reason.empty()) condition.insert_or_assign("reason", reason);
  if (!message.empty()) condition.insert_or_assign("message", message);
  Value& conditions = ArrayAt(status, "conditions");
  Value* old = FindNamed(conditions, "type", type);
  if (!old) return conditions.push_back(std::move(condition));
  if (TextAt(*old, "status") == TextAt(condition, "status"))
    CopyMember(Value(*old), condition, "lastTransitionTime");
  *old = std::move(condition);
}

void SetReady(Value& status, bool ready, std::string_view reason, const std::string& date) {
  for (const std::string_view type : {"Ready", "ContainersReady"})
    SetCondition(status, type, ready, ready ? "" : reason, "", date);
}

Value AddressList(const std::vector<std::string>& ips) {
  Value list = Value::Array();
  for (const std::string& ip : ips) list.push_back(Members({{"ip", ip}}));
  return list;
}

void SetContainers(Value& status, const Value& pod, bool creating, bool ready,
                   const std::string& date) {
  Value list = Value::Array();
  for (const Value& container : pod["spec"]["containers"].array_range()) {
    const std::string_view name = TextAt(container, "name");
    const Value* old = FindNamed(ArrayAt(status, "containerStatuses"), "name", name);
    Value entry = old ? *old
                      : Members({{"name", name},
                                 {"image", TextAt(container, "image")},
                                 {"imageID", ""},
                                 {"lastState", Value::Object()},
                                 {"restartCount", 0}});
    if (creating) {
      entry.insert_or_assign("state",
                             Members({{"waiting", Members({{"reason", "ContainerCreating"}})}}));
    } else if (!old || TextAt(entry, "state", "waiting", "reason") == "ContainerCreating") {
      entry.insert_or_assign("state", Members({{"running", Members({{"startedAt", date}})}}));
    }
    entry.insert_or_assign("ready", ready);
    entry.insert_or_assign("started", !creating);
    list.push_back(std::move(entry));
  }
  status.insert_or_assign("containerStatuses", std::move(list));
}

}  // namespace

std::vector<std::string> InternalIps(const Value& node) {
  std::vector<std::string> ips;
  for (const Value& address : node["status"]["addresses"].array_range()) {
    const std::string_view ip = TextAt(address, "address");
    if (TextAt(address, "type") != "InternalIP" || ip.empty()) continue;
    const bool known =
        std::ranges::any_of(ips, [&](const auto& other) { return IsIpv6(other) == IsIpv6(ip); });
    if (!known) ips.emplace_back(ip);
  }
  return ips;
}

bool IsReady(const Value& object) {
  return std::ranges::any_of(
      object["status"]["conditions"].array_range(), [](const Value& condition) {
        return TextAt(condition, "type") == "Ready" && TextAt(condition, "status") == "True";
      });
}

bool IsTerminal(const Value& pod) {
  const std::string_view phase = TextAt(pod, "status", "phase");
  return phase == "Succeeded" || phase == "Failed";
}

bool IsSchedulable(const Value& node) {
  return IsReady(node) && node["spec"]["unschedulable"] != Value(true) &&
         !Find(node, "metadata", "deletionTimestamp");
}

bool Fits(const Value& pod, const Value& node) {
  const Value& labels = node["metadata"]["labels"];
  return std::ranges::all_of(pod["spec"]["nodeSelector"].object_range(), [&](const auto& required) {
    if (required.key() == kHostname && !labels.contains(kHostname))
      return required.value() == Value(TextAt(node, "metadata", "name"));
    return labels[required.key()] == required.value();
  });
}

Value NodeStatus(const Value& node, const std::vector<std::string>& ips, const std::string& date) {
  Value status = node["status"];
  const std::vector<std::string> present = InternalIps(node);
  for (const std::string& ip : ips) {
    const bool known = std::ranges::any_of(
        present, [&](const auto& other) { return IsIpv6(other) == IsIpv6(ip); });
    if (!known)
      ArrayAt(status, "addresses").push_back(Members({{"type", "InternalIP"}, {"address", ip}}));
  }
  if (!FindNamed(ArrayAt(status, "conditions"), "type", "Ready"))
    SetCondition(status, "Ready", true, "KubeletReady", "a stand-in for a kubelet", date);
  const Value resources = Members({{"cpu", "4"}, {"memory", "16Gi"}, {"pods", "110"}});
  status.try_emplace("capacity", resources);
  status.try_emplace("allocatable", resources);
  status.try_emplace("nodeInfo", Members({{"kubeletVersion", "v1.36.0+berth"},
                                          {"osImage", "none"},
                                          {"kernelVersion", "none"},
                                          {"containerRuntimeVersion", "none"},
                                          {"operatingSystem", "linux"}}));
  return status;
}

Value UnscheduledStatus(const Value& pod, std::string_view why, const std::string& date) {
  Value status = pod["status"];
  SetCondition(status, "PodScheduled", false, "Unschedulable", why, date);
  return status;
}

Value RunningStatus(const Value& pod, const Value& node, const std::vector<std::string>& ips,
                    const std::string& date) {
  Value status = pod["status"];
  const bool creating = ips.empty() && TextAt(status, "podIP").empty();
  const bool ready = !creating && IsReady(node) && !Find(pod, "metadata", "deletionTimestamp") &&
                     TextAt(pod, "metadata", "annotations", kReadyAnnotation) != "false";
  const std::vector<std::string> host_ips = InternalIps(node);
  if (!host_ips.empty()) status.insert_or_assign("hostIP", host_ips.front());
  status.insert_or_assign("hostIPs", AddressList(host_ips));
  if (!ips.empty()) {
    status.insert_or_assign("podIP", ips.front());
    status.insert_or_assign("podIPs", AddressList(ips));
  }
  status.insert_or_assign("phase", creating ? "Pending" : "Running");
  status.try_emplace("startTime", date);
  SetContainers(status, pod, creating, ready, date);
  SetCondition(status, "PodScheduled", true, "", "", date);
  SetCondition(status, "Initialized", true, "", "", date);
  SetReady(status, ready, "ContainersNotReady", date);
  return status;
}

Value EndedStatus(const Value& pod, const std::string& date) {
  Value status = pod["status"];
  for (Value& container : ArrayAt(status, "containerStatuses").array_range()) {
    const std::string started(TextAt(container, "state", "running", "startedAt"));
    Value terminated = Members({{"exitCode", 0}, {"reason", "Completed"}, {"finishedAt", date}});
    if (!started.empty()) terminated.insert_or_assign("startedAt", started);
    container.insert_or_assign("state", Members({{"terminated", std::move(terminated)}}));
    container.insert_or_assign("ready", false);
    container.insert_or_assign("started", false);
  }
  SetReady(status, false, "PodCompleted", date);
  status.insert_or_assign("phase", "Succeeded");
  return status;
}

}  // namespace berth::kube::memory
