#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "log/format.h"
#include "reconcile/eni/nic_stock.h"
#include "reconcile/eni/pool.h"

// Nodes, ENIs and pods for tests of the pool's rules.
namespace berth::eni::pool_test {

using namespace std::chrono_literals;

inline const async::WallTime kNow{std::chrono::seconds(1'800'000'000)};
inline constexpr const char* kInstance = "i-1";

// Three ENIs of ten addresses beside the primary one, IPv4, no flavors.
inline Node SampleNode() {
  Node node;
  node.id.name = "worker-1";
  node.id.uid = "node-uid";
  NodeSpec& spec = node.spec;
  spec.instance = kInstance;
  spec.instance_type = "ecs.g7.xlarge";
  spec.zone = "zone-a";
  spec.adapters = 4;
  spec.ipv4_per_adapter = 10;
  spec.ipv6_per_adapter = 10;
  spec.has_eni = spec.has_pool = true;
  spec.vswitches = {"vsw-1"};
  spec.security_groups = {"sg-1"};
  spec.vswitch_policy = "ordered";
  spec.ipv4 = true;
  spec.max_pool = 5;
  node.status.warm_up_completed = true;
  return node;
}

inline std::string AddressOf(int eni, int number) { return Format("10.0.{}.{}", eni, number); }
inline std::string Ipv6Of(int eni, int number) { return Format("2001:db8:{}::{}", eni, number); }

// ENI number `eni`, InUse and made by Berth for SampleNode, with addresses 1 to `count`, the first
// of which is primary.
inline cloud::Eni SampleEni(int eni, int count, int ipv6 = 0) {
  cloud::Eni result;
  result.id = Format("eni-{}", eni);
  result.status = kInUse;
  result.type = kSecondaryType;
  result.traffic_mode = kStandard;
  result.mac_address = Format("00:16:3e:00:00:{:02}", eni);
  result.vswitch_id = "vsw-1";
  result.security_group_ids = {"sg-1"};
  result.instance_id = kInstance;
  result.primary_address = AddressOf(eni, 1);
  for (int i = 1; i <= count; ++i)
    result.ipv4.push_back({.address = AddressOf(eni, i), .primary = i == 1, .name = {}});
  for (int i = 1; i <= ipv6; ++i) result.ipv6.push_back(Ipv6Of(eni, i));
  result.tags = {{std::string(kCreatorTag), std::string(kCreator)},
                 {std::string(kNodeTag), "node-uid"}};
  return result;
}

inline cloud::VSwitch SampleVSwitch(const std::string& id = "vsw-1", std::size_t free = 200) {
  return {.id = id,
          .vpc_id = "vpc-1",
          .zone_id = "zone-a",
          .cidr = "10.0.0.0/16",
          .ipv6_cidr = "2001:db8::/56",
          .free_addresses = free};
}

inline VSwitches SampleVSwitches() {
  return {.known = {{"vsw-1", SampleVSwitch()}}, .full_until = {}};
}

inline PodView SamplePod(int number, std::vector<std::string> addresses = {}) {
  return {.pod = Format("default/pod-{}", number),
          .uid = Format("uid-{}", number),
          .addresses = std::move(addresses)};
}

inline PodsView SamplePods(int count) {
  PodsView pods;
  for (int i = 1; i <= count; ++i) pods.pods.push_back(SamplePod(i));
  return pods;
}

// Takes a view of these ENIs.
inline void Show(Node& node, std::vector<cloud::Eni> enis, const PodsView& pods = {},
                 const std::set<std::string>& busy = {}, std::set<std::string> gone = {}) {
  const CloudView view{
      .enis = std::move(enis), .gone = std::move(gone), .vswitches = {{"vsw-1", SampleVSwitch()}}};
  TakeView(node, node.status, view, busy, pods, kNow);
}

inline Bound Bind(Node& node, const PodsView& pods) {
  return BindPods(node, node.status, pods, kNow);
}

inline Wanted Next(const Node& node, const Bound& bound = {},
                   const VSwitches& vswitches = SampleVSwitches(), double random = 0) {
  return NextJob(node, node.status, bound, vswitches, kNow, random);
}

// The job, if it is of this kind.
template <typename Kind>
std::optional<Kind> JobOf(const Wanted& wanted) {
  const Kind* job = wanted.job ? std::get_if<Kind>(&*wanted.job) : nullptr;
  return job ? std::optional(*job) : std::nullopt;
}

// Addresses of the status with the given status; of all Nics, both families.
inline int CountWithStatus(const NodeStatus& status, std::string_view wanted) {
  int count = 0;
  for (const auto& [id, nic] : status.nics) {
    for (const auto* addresses : {&nic.ipv4, &nic.ipv6}) {
      for (const auto& [address, ip] : *addresses) count += ip.status == wanted;
    }
  }
  return count;
}

// "10.0.1.1 10.0.1.2": the addresses of a pod, in the order of the status.
inline std::string AddressesOfPod(const NodeStatus& status, const std::string& pod) {
  std::string result;
  for (const auto& [id, nic] : status.nics) {
    for (const auto* addresses : {&nic.ipv4, &nic.ipv6}) {
      for (const auto& [address, ip] : *addresses) {
        if (ip.pod == pod) result += (result.empty() ? "" : " ") + address;
      }
    }
  }
  return result;
}

}  // namespace berth::eni::pool_test
