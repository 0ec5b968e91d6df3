#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/memory/value.h"

// Nodes and pods as a scheduler and a kubelet see them: plain functions of the objects. `date` is
// the present time.
namespace berth::kube::memory {

// Annotations of a pod, for tests and users.
inline constexpr std::string_view kReadyAnnotation = "berth.dev/ready";  // "false": not ready
// Its addresses, separated by commas, in place of the stand-in's. While it is empty the pod waits.
inline constexpr std::string_view kPodIpsAnnotation = "berth.dev/pod-ips";

inline bool IsIpv6(std::string_view ip) { return ip.contains(':'); }

// The first internal address of each family, in the node's order.
std::vector<std::string> InternalIps(const Value& node);
// Whether the condition Ready, of a node or a pod, is True.
bool IsReady(const Value& object);
// Whether the pod has ended: Succeeded or Failed.
bool IsTerminal(const Value& pod);
// Whether new pods may be put on the node; whether this pod may.
bool IsSchedulable(const Value& node);
bool Fits(const Value& pod, const Value& node);

// The status as it should be, from the present one. Conditions, addresses and restart counts that
// others have written stay.
Value NodeStatus(const Value& node, const std::vector<std::string>& ips, const std::string& date);
Value UnscheduledStatus(const Value& pod, std::string_view why, const std::string& date);
// The status of a pod on a node; without addresses it waits for them.
Value RunningStatus(const Value& pod, const Value& node, const std::vector<std::string>& ips,
                    const std::string& date);
Value EndedStatus(const Value& pod, const std::string& date);

}  // namespace berth::kube::memory
