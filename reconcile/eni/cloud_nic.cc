#include "reconcile/eni/cloud_nic.h"

#include <algorithm>
#include <set>
#include <utility>

namespace berth::eni {
namespace {

bool HasTag(const cloud::Eni& eni, std::string_view key, std::string_view value) {
  const auto tag = eni.tags.find(std::string(key));
  return tag != eni.tags.end() && tag->second == value;
}

bool IsBlocked(const NodeSpec& spec, const cloud::Eni& eni) {
  return IsExcluded(eni) || std::ranges::any_of(spec.tag_block_list, [&eni](const auto& rule) {
           return HasTag(eni, rule.first, rule.second);
         });
}

bool PassesFilter(const NodeSpec& spec, const cloud::Eni& eni) {
  return std::ranges::all_of(
      spec.tag_filter, [&eni](const auto& tag) { return HasTag(eni, tag.first, tag.second); });
}

// The status of an address or prefix that the cloud shows.
std::string ShownStatus(const std::string& status, bool has_pod, bool primary) {
  if (has_pod || primary) return std::string(status == kFrozen ? kFrozen : kValid);
  return std::string(status == kInvalid ? kDeleting : status);
}

void MergeAddress(std::map<std::string, Ip>& addresses, const cloud::EniAddress& shown) {
  Ip& ip = addresses[shown.address];
  if (ip.address.empty()) ip = {.address = shown.address, .status = std::string(kValid)};
  ip.primary = shown.primary;
  if (!shown.name.empty()) ip.name = shown.name;
  ip.status = ShownStatus(ip.status, !ip.pod.empty(), ip.primary);
}

// `shown` are the addresses that the cloud has.
void DropOthers(std::map<std::string, Ip>& addresses, const std::set<std::string>& shown,
                bool keeps_primary) {
  std::erase_if(addresses, [&](auto& entry) {
    Ip& ip = entry.second;
    if (shown.contains(entry.first) || (ip.primary && keeps_primary)) return false;
    if (ip.pod.empty()) return true;
    ip.status = kInvalid;
    ip.primary = false;
    return false;
  });
}

void MergeIpv4(Nic& nic, const cloud::Eni& eni) {
  std::set<std::string> shown;
  bool has_primary = false;
  const auto merge = [&](cloud::EniAddress address) {
    address.primary |= address.address == eni.primary_address;
    has_primary |= address.primary;
    MergeAddress(nic.ipv4, address);
    shown.insert(std::move(address.address));
  };
  for (const cloud::EniAddress& address : eni.ipv4) merge(address);
  if (!eni.primary_address.empty() && !shown.contains(eni.primary_address))
    merge({.address = eni.primary_address, .primary = true, .name = {}});
  DropOthers(nic.ipv4, shown, !has_primary);
}

void MergePrefixes(std::vector<Prefix>& prefixes, const std::vector<std::string>& shown,
                   const PodAddresses& pods) {
  std::set<std::string> left(shown.begin(), shown.end());
  std::erase_if(prefixes, [&](Prefix& prefix) {
    const bool has_pod = pods.HasAnyIn(prefix.prefix);
    if (left.erase(prefix.prefix) != 0) {
      // A Deleting prefix with a pod stays so: it is given back once the pod is gone.
      if (prefix.status == kInvalid) prefix.status = ShownStatus(prefix.status, has_pod, false);
      return false;
    }
    if (has_pod) prefix.status = kInvalid;
    return !has_pod;
  });
  for (const std::string& prefix : left)
    prefixes.push_back({.prefix = prefix, .status = std::string(kValid), .frozen_until = {}});
}

}  // namespace

bool HasTagOf(const Node& node, const cloud::Eni& eni) {
  return HasTag(eni, kNodeTag, node.id.uid);
}

bool IsExcluded(const cloud::Eni& eni) {
  return HasTag(eni, kCreatorTag, "alibabacloud-erdma-controller") ||
         HasTag(eni, kExcludedTag, "true");
}

bool IsLeftBehind(const Node& node, const cloud::Eni& eni) {
  return !eni.instance_id.empty() && eni.instance_id != node.spec.instance && HasTagOf(node, eni) &&
         HasTag(eni, kInstanceTag, eni.instance_id);
}

bool HasCreatorTag(const cloud::Eni& eni) { return HasTag(eni, kCreatorTag, kCreator); }

bool IsUnschedulable(const Node& node, const cloud::Eni& eni, const Nic* known) {
  if (eni.service_managed || IsBlocked(node.spec, eni)) return true;
  if (eni.traffic_mode == kHighPerformance && !node.spec.erdma) return true;
  if (HasTagOf(node, eni)) return false;
  if (!node.spec.tag_filter.empty()) return !PassesFilter(node.spec, eni);
  // An ENI that Terway had in the pool stays there.
  return !HasCreatorTag(eni) && (known == nullptr || known->unschedulable);
}

void MergeEni(Nic& nic, const cloud::Eni& eni, const PodAddresses& pods) {
  nic.id = eni.id;
  const auto take = [](std::string& to, const std::string& from) {
    if (!from.empty()) to = from;
  };
  take(nic.mac, eni.mac_address);
  take(nic.vswitch, eni.vswitch_id);
  take(nic.primary_address, eni.primary_address);
  take(nic.traffic_mode, eni.traffic_mode);
  take(nic.type, eni.type);
  if (!eni.security_group_ids.empty()) nic.security_groups = eni.security_group_ids;

  MergeIpv4(nic, eni);
  for (const std::string& address : eni.ipv6)
    MergeAddress(nic.ipv6, {.address = address, .primary = false, .name = {}});
  DropOthers(nic.ipv6, {eni.ipv6.begin(), eni.ipv6.end()}, false);
  MergePrefixes(nic.ipv4_prefixes, eni.ipv4_prefixes, pods);
  MergePrefixes(nic.ipv6_prefixes, eni.ipv6_prefixes, pods);
}

void MergeVSwitch(Nic& nic, const std::map<std::string, cloud::VSwitch>& vswitches) {
  const auto vswitch = vswitches.find(nic.vswitch);
  if (vswitch == vswitches.end()) return;
  nic.ipv4_cidr = vswitch->second.cidr;
  nic.ipv6_cidr = vswitch->second.ipv6_cidr;
}

void KeepAll(Nic& nic) {
  if (nic.status == kDeleting) nic.status = kInUse;
  const auto keep = [](auto& entry) {
    if (entry.status == kDeleting) entry.status = kValid;
  };
  for (auto& [address, ip] : nic.ipv4) keep(ip);
  for (auto& [address, ip] : nic.ipv6) keep(ip);
  std::ranges::for_each(nic.ipv4_prefixes, keep);
  std::ranges::for_each(nic.ipv6_prefixes, keep);
}

void CountWarmUp(NodeStatus& status, int addresses) {
  if (status.warm_up_target > 0 && !status.warm_up_completed) status.warm_up_allocated += addresses;
}

void BeginUse(NodeStatus& status, Nic& nic) {
  if (nic.status == kAttaching)
    CountWarmUp(status, static_cast<int>(std::max(nic.ipv4.size(), nic.ipv6.size())));
  nic.status = kInUse;
}

void LoseNic(NodeStatus& status, const std::string& id, const PodAddresses& pods) {
  Nic& nic = status.nics.at(id);
  if (!pods.HasAnyOf(nic)) {
    status.nics.erase(id);
    return;
  }
  nic.status = kInvalid;
  const auto lose = [](auto& entry) {
    entry.second.status = kInvalid;
    return entry.second.pod.empty();
  };
  std::erase_if(nic.ipv4, lose);
  std::erase_if(nic.ipv6, lose);
  const auto lose_prefix = [&pods](Prefix& prefix) {
    prefix.status = kInvalid;
    return !pods.HasAnyIn(prefix.prefix);
  };
  std::erase_if(nic.ipv4_prefixes, lose_prefix);
  std::erase_if(nic.ipv6_prefixes, lose_prefix);
}

}  // namespace berth::eni
