#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "reconcile/eni/nic_stock.h"
#include "reconcile/eni/pod_addresses.h"
#include "reconcile/eni/pool.h"

namespace berth::eni {
namespace {

// The daemon's word on which pods it has torn down.
class Teardowns {
 public:
  explicit Teardowns(const NodeRuntime* runtime) : runtime_(runtime) {
    if (!runtime) return;
    for (const auto& [uid, pod] : runtime->pods) {
      if (!pod.deleted) standing_.insert(pod.pod);
    }
  }

  // Whether a pod that does not exist any more has let go of its address.
  bool Has(const Ip& ip) const {
    if (!runtime_) return true;
    if (ip.pod_uid.empty()) return !standing_.contains(ip.pod);
    const auto pod = runtime_->pods.find(ip.pod_uid);
    return pod != runtime_->pods.end() && pod->second.deleted;
  }

 private:
  const NodeRuntime* const runtime_;
  std::unordered_set<std::string> standing_;  // names of pods that are not torn down
};

class Binder {
 public:
  Binder(const Node& node, NodeStatus& status, const PodsView& pods, async::WallTime now)
      : node_(node), status_(status), pods_(pods), now_(now), teardowns_(pods.runtime) {
    for (const PodView& pod : pods.pods) wanting_.emplace(pod.pod, Wanting{.pod = &pod});
    for (const auto& [id, nic] : status.nics) {
      for (const auto* addresses : {&nic.ipv4, &nic.ipv6}) {
        for (const auto& [address, ip] : *addresses) {
          if (!ip.pod_uid.empty() && wanting_.contains(ip.pod))
            held_by_uid_[ip.pod_uid].push_back({&nic, &ip});
        }
      }
    }
  }

  Bound Run() {
    ForEachBound([this](Ip& ip) { KeepOwn(ip); });
    ForEachBound([this](Ip& ip) { SettleOther(ip); });
    ClaimReported();
    DropLostNics();
    if (!InPrefixMode(node_)) BindWaiting();
    NoteHeldPrefixes();
    return std::move(bound_);
  }

 private:
  struct Wanting {
    const PodView* pod;
    bool bound = false;
    std::string heir_of = {};  // the uid of the earlier pod; empty for none
  };

  Wanting* Find(const std::string& pod) {
    const auto found = wanting_.find(pod);
    return found == wanting_.end() ? nullptr : &found->second;
  }

  template <typename Visit>
  void ForEachBound(Visit visit) {
    for (auto& [id, nic] : status_.nics) {
      for (auto* addresses : {&nic.ipv4, &nic.ipv6}) {
        for (auto& [address, ip] : *addresses) {
          if (!ip.pod.empty()) visit(ip);
        }
      }
    }
  }

  // Bindings of pods that exist, by uid.
  void KeepOwn(Ip& ip) {
    Wanting* wanting = Find(ip.pod);
    if (wanting && wanting->pod->uid == ip.pod_uid) wanting->bound = true;
  }

  // Bindings without a uid, or of an earlier pod of the same name, or of a pod that is gone.
  void SettleOther(Ip& ip) {
    Wanting* wanting = Find(ip.pod);
    if (wanting && wanting->pod->uid == ip.pod_uid) return;
    const bool torn_down = teardowns_.Has(ip);
    if (wanting && (ip.pod_uid.empty() || Reports(*wanting->pod, ip.address))) {
      ip.pod_uid = wanting->pod->uid;
      wanting->bound = true;
    } else if (wanting && torn_down && Inherits(*wanting, ip.pod_uid)) {
      wanting->heir_of = std::exchange(ip.pod_uid, wanting->pod->uid);
      wanting->bound = true;
    } else if (torn_down) {
      Free(ip);
    }
  }

  // Whether the pod takes over the addresses of one earlier pod of its name.
  bool Inherits(const Wanting& wanting, const std::string& uid) const {
    if (!wanting.pod->addresses.empty()) return false;
    return wanting.heir_of == uid || (!wanting.bound && IsHeritage(*wanting.pod, uid));
  }

  // Whether the addresses of the earlier pod are such as the pod would get now: one of each family,
  // Valid, on one ENI of the pool. An ENI that is being attached again is not.
  bool IsHeritage(const PodView& pod, const std::string& uid) const {
    const auto held = held_by_uid_.find(uid);
    if (held == held_by_uid_.end() || InPrefixMode(node_)) return false;
    int ipv4 = 0;
    int ipv6 = 0;
    for (const auto& [nic, ip] : held->second) {
      if (nic != held->second.front().first || ip->status != kValid) return false;
      ++(ip->address.contains(':') ? ipv6 : ipv4);
    }
    const Nic& nic = *held->second.front().first;
    return IsInPool(nic) && IsErdma(nic) == (pod.erdma && node_.spec.erdma) &&
           ipv4 == (node_.spec.ipv4 ? 1 : 0) && ipv6 == (node_.spec.ipv6 ? 1 : 0);
  }

  static bool Reports(const PodView& pod, const std::string& address) {
    return std::ranges::any_of(pod.addresses, [&](const std::string& reported) {
      return CanonicalAddress(reported) == CanonicalAddress(address);
    });
  }

  void Free(Ip& ip) {
    ip.pod.clear();
    ip.pod_uid.clear();
    if (ip.status == kInvalid && !ip.primary) ip.status = kDeleting;
    bound_.freed = true;
  }

  // Pods that have addresses of the node without a binding: those of an earlier owner of the pool,
  // and addresses that the cloud took from a pod's ENI and has given to another one since.
  void ClaimReported() {
    std::unordered_map<std::string, const PodView*> reported;
    for (const PodView& pod : pods_.pods) {
      for (const std::string& address : pod.addresses)
        reported.emplace(CanonicalAddress(address), &pod);
    }
    if (reported.empty()) return;
    for (auto& [id, nic] : status_.nics) {
      for (auto* addresses : {&nic.ipv4, &nic.ipv6}) {
        for (auto& [address, ip] : *addresses) {
          const auto pod = reported.find(CanonicalAddress(address));
          if (pod == reported.end() || !ip.pod.empty()) continue;
          Bind(ip, *pod->second);
          if (ip.status == kDeleting) ip.status = kValid;
          if (nic.status == kDeleting) nic.status = kInUse;
        }
      }
    }
  }

  void Bind(Ip& ip, const PodView& pod) {
    ip.pod = pod.pod;
    ip.pod_uid = pod.uid;
    if (Wanting* wanting = Find(pod.pod)) wanting->bound = true;
  }

  void DropLostNics() {
    const PodAddresses addresses(pods_);
    std::erase_if(status_.nics, [&addresses](const auto& entry) {
      return entry.second.status == kInvalid && !addresses.HasAnyOf(entry.second);
    });
  }

  // Free addresses of a Nic, the primary one last: it is taken first, because it stays anyway.
  struct FreeOfNic {
    bool erdma = false;
    std::vector<Ip*> ipv4;
    std::vector<Ip*> ipv6;
  };

  static std::vector<Ip*> FreeOf(std::map<std::string, Ip>& addresses) {
    std::vector<Ip*> free;
    for (auto& [address, ip] : addresses) {
      if (ip.status == kValid && ip.pod.empty()) free.push_back(&ip);
    }
    std::ranges::reverse(free);
    std::ranges::stable_partition(free, [](const Ip* ip) { return !ip->primary; });
    return free;
  }

  void BindWaiting() {
    if (!node_.spec.ipv4 && !node_.spec.ipv6) return;
    std::vector<FreeOfNic> nics;
    for (Nic* nic : PoolNics(status_))
      nics.push_back({IsErdma(*nic), FreeOf(nic->ipv4), FreeOf(nic->ipv6)});
    // Positions of the first Nic that may have free addresses, for either kind of pod.
    std::size_t next = 0;
    std::size_t next_erdma = 0;
    for (const PodView& pod : pods_.pods) {
      if (Find(pod.pod)->bound || !pod.addresses.empty()) continue;
      const bool erdma = pod.erdma && node_.spec.erdma;
      std::size_t& at = erdma ? next_erdma : next;
      while (at < nics.size() && (nics[at].erdma != erdma || !HasFree(nics[at]))) ++at;
      if (at == nics.size()) {
        ++(erdma ? bound_.waiting_erdma : bound_.waiting);
        continue;
      }
      if (node_.spec.ipv4) BindLast(nics[at].ipv4, pod);
      if (node_.spec.ipv6) BindLast(nics[at].ipv6, pod);
      status_.last_modified = now_;
    }
  }

  bool HasFree(const FreeOfNic& nic) const {
    return (!node_.spec.ipv4 || !nic.ipv4.empty()) && (!node_.spec.ipv6 || !nic.ipv6.empty());
  }

  void BindLast(std::vector<Ip*>& free, const PodView& pod) {
    Bind(*free.back(), pod);
    free.pop_back();
  }

  void NoteHeldPrefixes() {
    const PodAddresses addresses(pods_);
    const bool unknown = InPrefixMode(node_) && HasUnreportedPod();
    for (const auto& [id, nic] : status_.nics) {
      for (const auto* prefixes : {&nic.ipv4_prefixes, &nic.ipv6_prefixes}) {
        for (const Prefix& prefix : *prefixes) {
          if (unknown || addresses.HasAnyIn(prefix.prefix)) bound_.held.insert(prefix.prefix);
        }
      }
    }
  }

  // A pod that has no address yet, or is gone but not torn down, may have one that nobody tells.
  bool HasUnreportedPod() {
    if (std::ranges::any_of(pods_.pods, [](const PodView& pod) { return pod.addresses.empty(); }))
      return true;
    if (!pods_.runtime) return false;
    return std::ranges::any_of(pods_.runtime->pods, [this](const auto& entry) {
      if (entry.second.deleted) return false;
      const Wanting* wanting = Find(entry.second.pod);
      return !wanting || wanting->pod->uid != entry.first;
    });
  }

  const Node& node_;
  NodeStatus& status_;
  const PodsView& pods_;
  const async::WallTime now_;
  const Teardowns teardowns_;
  std::unordered_map<std::string, Wanting> wanting_;  // by name
  // Addresses under the names of these, by the uids of the pods that had them first.
  std::unordered_map<std::string, std::vector<std::pair<const Nic*, const Ip*>>> held_by_uid_;
  Bound bound_;
};

}  // namespace

Bound BindPods(const Node& node, NodeStatus& status, const PodsView& pods, async::WallTime now) {
  return Binder(node, status, pods, now).Run();
}

}  // namespace berth::eni
