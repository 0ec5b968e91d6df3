#pragma once

#include <map>
#include <string>
#include <vector>

#include "log/format.h"
#include "reconcile/eni/pool_model_cloud_test.h"
#include "reconcile/ipam/cidr.h"

namespace berth::eni::pool_test {

// The pods of a node and the daemon that sets them up.
class ModelPods {
 public:
  struct Pod {
    std::string uid;
    bool erdma = false;
    std::vector<std::string> addresses;  // that the daemon has set up
    bool reported = false;
  };

  ModelPods(Dice& dice, bool has_runtime) : dice_(dice), has_runtime_(has_runtime) {}

  void Add() {
    const std::string name = Format("default/pod-{}", dice_.Below(40));
    if (pods_.contains(name)) return;
    pods_[name] = {.uid = Format("uid-{}", dice_.Next()), .erdma = dice_.Chance(0.2)};
    order_.push_back(name);
  }

  // The object goes; the sandbox stands until RunDaemon tears it down.
  void Remove() {
    if (order_.empty()) return;
    const int at = dice_.Below(static_cast<int>(order_.size()));
    const Pod pod = pods_.extract(order_[at]).mapped();
    standing_.emplace(pod.uid, pod);
    runtime_.pods[pod.uid] = {.pod = order_[at], .deleted = false};
    order_.erase(order_.begin() + at);
  }

  void RunDaemon(const Node& node) {
    for (auto& [name, pod] : pods_) {
      SetUp(node, name, pod);
      if (!pod.addresses.empty() && dice_.Chance(0.7)) pod.reported = true;
    }
    std::erase_if(standing_, [this](const auto& entry) {
      if (!dice_.Chance(0.5)) return false;
      runtime_.pods[entry.first].deleted = true;
      return true;
    });
  }

  // Whether all addresses are in the pods' status, so that those of the Node may be forgotten.
  bool ReportAll(const Node& node) {
    for (auto& [name, pod] : pods_) {
      SetUp(node, name, pod);
      pod.reported = !pod.addresses.empty();
    }
    return standing_.empty();
  }

  // A live pod, or one that is not torn down.
  bool IsStanding(const std::string& name, const std::string& uid) const {
    const auto live = pods_.find(name);
    if (live != pods_.end() && live->second.uid == uid) return true;
    return has_runtime_ && standing_.contains(uid);
  }

  bool IsReported(const std::string& address) const {
    return std::ranges::any_of(pods_, [&address](const auto& entry) {
      return entry.second.reported && std::ranges::contains(entry.second.addresses, address);
    });
  }

  // Whether a sandbox has an address of the block.
  bool HasAnyIn(const std::string& prefix) const {
    const ipam::Cidr block = *ipam::Cidr::Parse(prefix);
    const auto has = [&block](const auto& entry) {
      return std::ranges::any_of(entry.second.addresses, [&block](const std::string& address) {
        return block.Contains(
            *ipam::Cidr::Parse(address + (address.contains(':') ? "/128" : "/32")));
      });
    };
    return std::ranges::any_of(pods_, has) || (has_runtime_ && std::ranges::any_of(standing_, has));
  }

  PodsView View(const NodeStatus& status) {
    PodsView view;
    for (const std::string& name : order_) {
      const Pod& pod = pods_.at(name);
      view.pods.push_back({.pod = name,
                           .uid = pod.uid,
                           .addresses = pod.reported ? pod.addresses : std::vector<std::string>{},
                           .erdma = pod.erdma});
    }
    if (!has_runtime_) return view;
    // The daemon tells of every pod that it finds in status.
    for (const auto& [id, nic] : status.nics) {
      for (const auto* family : {&nic.ipv4, &nic.ipv6}) {
        for (const auto& [address, ip] : *family) {
          if (ip.pod_uid.empty() || runtime_.pods.contains(ip.pod_uid)) continue;
          runtime_.pods[ip.pod_uid] = {.pod = ip.pod, .deleted = !IsStanding(ip.pod, ip.pod_uid)};
        }
      }
    }
    view.runtime = &runtime_;
    return view;
  }

 private:
  void SetUp(const Node& node, const std::string& name, Pod& pod) {
    for (const auto& [id, nic] : node.status.nics) {
      if (!pod.addresses.empty() || nic.status != kInUse) continue;
      for (const auto* family : {&nic.ipv4, &nic.ipv6}) {
        for (const auto& [address, ip] : *family) {
          if (ip.pod == name && ip.pod_uid == pod.uid && ip.status == kValid)
            pod.addresses.push_back(address);
        }
      }
      if (node.spec.prefixes && pod.addresses.empty()) SetUpFromPrefix(nic, pod);
    }
  }

  void SetUpFromPrefix(const Nic& nic, Pod& pod) {
    for (const Prefix& prefix : nic.ipv4_prefixes) {
      if (prefix.status != kValid) continue;
      const ipam::Cidr block = *ipam::Cidr::Parse(prefix.prefix);
      const int number = dice_.Next() % 16;
      const std::string text =
          ipam::Cidr(ipam::Family::kIpv4, block.First() + static_cast<unsigned>(number), 32)
              .ToString();
      pod.addresses.push_back(text.substr(0, text.find('/')));
      return;
    }
  }

  Dice& dice_;
  const bool has_runtime_;
  std::map<std::string, Pod> pods_;
  std::vector<std::string> order_;       // of their creation
  std::map<std::string, Pod> standing_;  // gone, but not torn down; by uid
  NodeRuntime runtime_;
};

}  // namespace berth::eni::pool_test
