#include "simulate/eni_witness.h"

#include <algorithm>
#include <utility>

#include "json/json.h"
#include "log/format.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;
using cloud::simulator::Received;

// From a look at an ENI to the request that follows: the call may wait for its
// turn.
constexpr auto kLookLasts = 150s;
// A request that a reconcile may not have called back yet.
constexpr auto kAboutToLeave = 2s;
// An attach that the cloud has accepted has a little more than this.
constexpr auto kAttachTime = 115s;
// A replica that renews its lease within this time has led all the time.
constexpr auto kLeads = 8s;

bool IsIpv6(const std::string& ip) { return ip.contains(':'); }

// The ENI and the server of a call, as ECS and EFLO name them.
const std::string& EniOf(const Received& call) {
  const std::string& id = call.Parameter("NetworkInterfaceId");
  return id.empty() ? call.Parameter("ElasticNetworkInterfaceId") : id;
}
const std::string& ServerOf(const Received& call) {
  const std::string& id = call.Parameter("InstanceId");
  return id.empty() ? call.Parameter("NodeId") : id;
}

// "AttachNetworkInterface" for "AttachElasticNetworkInterface".
std::string ActionOf(const Received& call) {
  std::string action = call.action;
  if (const auto at = action.find("Elastic"); at != std::string::npos) action.erase(at, 7);
  return action;
}

}  // namespace

void EniWitness::Tampered(const std::string& node) { tampered_[node] = world_.scheduler().Now(); }

// A replica may act on the status of before for as long as its caches are late. What it does with a
// status that a user made up is judged by the settled state alone.
bool EniWitness::WasTampered(const std::string& node) const {
  const auto found = tampered_.find(node);
  return found != tampered_.end() && world_.scheduler().Now() - found->second <= grace_ + 60s;
}

void EniWitness::Renewed(const std::string& replica) {
  const auto now = world_.scheduler().Now();
  auto& last = renewed_[replica];
  if (now - std::exchange(last, now) > kLeads)
    std::erase_if(cancelled_, [&](const auto& entry) { return entry.first == replica; });
}

bool EniWitness::HasAddress(const std::string& eni, const std::string& ip) const {
  const cloud::Eni* found = products_.Find(eni);
  if (!found) return false;
  return std::ranges::contains(found->ipv4, ip, &cloud::EniAddress::address) ||
         std::ranges::contains(found->ipv6, ip) || !found->ipv4_prefixes.empty();
}

std::optional<std::string> EniWitness::Sent(const std::string& replica, const Received& call) {
  ++calls_;
  const std::string action = ActionOf(call);
  const std::string& eni = EniOf(call);
  if (action == "CreateNetworkInterface") return CheckCreate(call);
  if (auto wrong = CheckExcluded(replica, action, eni)) return wrong;
  if (action == "AttachNetworkInterface") return CheckAttach(replica, call);
  if (action == "DetachNetworkInterface" || action == "DeleteNetworkInterface") {
    return CheckRemoval(action, eni, ServerOf(call));
  }
  if (action.starts_with("Unassign")) return CheckUnassign(call, eni);
  if (action.starts_with("Assign")) return CheckOthers(action, eni);
  return std::nullopt;
}

void EniWitness::Answered(const std::string& replica, const std::string& action,
                          const std::string& body) {
  const bool is_eflo = action == "ListElasticNetworkInterfaces";
  if (action != "DescribeNetworkInterfaces" && !is_eflo) return;
  const auto answer = Json::Parse(body);
  if (!answer) return;
  if (is_eflo) {
    const Json& data = Part(Part(*answer, "Content"), "Data");
    for (const Json& eni : data.array_range()) {
      if (Text(eni, "Status") != "Unattached") continue;
      available_[{replica, Text(eni, "ElasticNetworkInterfaceId")}] = world_.scheduler().Now();
    }
    return;
  }
  const Json& list = Part(Part(*answer, "NetworkInterfaceSets"), "NetworkInterfaceSet");
  for (const Json& eni : list.array_range()) {
    const auto excluded = excluded_.find(Text(eni, "NetworkInterfaceId"));
    // The list may be older than the tag.
    if (excluded != excluded_.end() && eni.to_string().contains("terway.alibabacloud.com/excluded"))
      excluded->second.try_emplace(replica, world_.scheduler().Now());
    // Whether it was a look for this very request cannot be seen on the wire: any list counts.
    if (Text(eni, "Status") != "Available") continue;
    available_[{replica, Text(eni, "NetworkInterfaceId")}] = world_.scheduler().Now();
  }
}

void EniWitness::AttachAnswered(const Received& call, const http::Response* answer) {
  if (!ActionOf(call).starts_with("AttachNetwork")) return;
  Attaches& attaches = attaches_[EniOf(call)];
  const bool throttled = answer && answer->code != 200 && answer->body.contains("Throttling");
  (throttled ? attaches.throttled : attaches.answered) = true;
  // Its time begins with the first attach that the cloud accepts.
  if (answer && answer->code == 200 && !attaches.accepted)
    attaches.accepted = world_.scheduler().Now();
}

// An ENI that is given up while it could still be attached.
std::optional<std::string> EniWitness::CheckGivenUp(const NodeView& before,
                                                    const NodeView& after) const {
  for (const auto& [id, nic] : before.nics) {
    const auto later = after.nics.find(id);
    const auto attaches = attaches_.find(id);
    const cloud::Eni* eni = products_.Find(id);
    const bool is_cancelled =
        std::ranges::any_of(cancelled_, [&](const auto& entry) { return entry.second == id; });
    if (nic.status != "Attaching" || later == after.nics.end() ||
        later->second.status != "Deleting" || attaches == attaches_.end() || !eni || is_cancelled ||
        meddled_.contains(id) || WasTampered(after.name) || EniProducts::IsEflo(id))
      continue;  // of EFLO: bound at create, without an attach whose answer could be seen here
    const auto& [throttled, answered, accepted] = attaches->second;
    if (throttled && !answered && eni->status == "Available")
      return Format("{} is given up, and its attach was only throttled", id);
    // An attach to an instance that the spec does not name any more is not wanted.
    if (accepted && eni->status == "Attaching" && eni->instance_id == after.instance &&
        world_.scheduler().Now() - *accepted < kAttachTime)
      return Format("{} is given up, and the cloud is still at it", id);
  }
  return std::nullopt;
}

std::optional<std::string> EniWitness::CheckCreate(const Received& call) const {
  const std::string& token = call.Parameter("ClientToken");
  if (nodes_.HasSeen(token)) return std::nullopt;
  return Format("an ENI is created by the attempt {}, which no Node had", token);
}

std::optional<std::string> EniWitness::CheckAttach(const std::string& replica,
                                                   const Received& call) {
  const std::string& eni = EniOf(call);
  attached_to_[eni].insert(ServerOf(call));
  if (cancelled_.contains({replica, eni})) return Format("{} is attached, and was cancelled", eni);
  if (others_.contains(eni)) return Format("{} of others is attached", eni);
  const auto look = available_.extract({replica, eni});
  if (!look) return Format("{} is attached without a look that showed it Available", eni);
  if (world_.scheduler().Now() - look.mapped() <= kLookLasts + grace_) return std::nullopt;
  return Format("{} is attached long after the last look", eni);
}

std::optional<std::string> EniWitness::CheckOthers(const std::string& action,
                                                   const std::string& eni) const {
  const cloud::Eni* found = products_.Find(eni);
  if (found && found->type == "Primary") return Format("{} of the Primary ENI {}", action, eni);
  if (!others_.contains(eni)) return std::nullopt;
  return Format("{} of {}, which is of others", action, eni);
}

// Assignments go by the last sync, which may be half a day old: they are not judged.
std::optional<std::string> EniWitness::CheckExcluded(const std::string& replica,
                                                     const std::string& action,
                                                     const std::string& eni) const {
  if (!action.ends_with("NetworkInterface")) return std::nullopt;
  const auto excluded = excluded_.find(eni);
  if (excluded == excluded_.end()) return std::nullopt;
  const auto seen = excluded->second.find(replica);
  // Another call of the replica may have shown it while this one was about to leave.
  if (seen == excluded->second.end() || world_.scheduler().Now() - seen->second <= kAboutToLeave)
    return std::nullopt;
  return Format("{} of {}, which is excluded", action, eni);
}

std::optional<std::string> EniWitness::CheckRemoval(const std::string& action,
                                                    const std::string& eni,
                                                    const std::string& instance) const {
  if (auto wrong = CheckOthers(action, eni)) return wrong;
  const auto attached = attached_to_.find(eni);
  const bool known = attached != attached_to_.end() && !inherited_.contains(eni);
  const NodeView* node = nodes_.WithNic(eni);
  const bool here = node && node->instance == instance;
  if (!instance.empty() && known && !here && !attached->second.contains(instance)) {
    return Format("{} of {} from {}, where others attached it", action, eni, instance);
  }
  if (!node || node->deleting || WasTampered(node->name)) return std::nullopt;
  const NicView& nic = node->nics.at(eni);
  for (const auto* family : {&nic.ipv4, &nic.ipv6}) {
    for (const auto& [ip, address] : *family) {
      if (!address.bound() || !HasAddress(eni, ip)) continue;
      if (const auto* pod = pods_.Live(address)) {
        return Format("{} of {}, and {} of it is of {}", action, eni, ip, pod->id());
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> EniWitness::CheckUnassign(const Received& call,
                                                     const std::string& eni) const {
  if (auto wrong = CheckOthers(call.action, eni)) return wrong;
  for (const char* name : {"PrivateIpAddress", "Ipv6Address"}) {
    for (int i = 1;; ++i) {
      const std::string& ip = call.Parameter(Format("{}.{}", name, i));
      if (ip.empty()) break;
      if (auto wrong = CheckUnassigned(eni, ip)) return wrong;
    }
  }
  const cloud::Eni* found = products_.Find(eni);
  const std::string& name = call.Parameter("IpName");
  if (!found || name.empty()) return std::nullopt;
  const auto ip = std::ranges::find(found->ipv4, name, &cloud::EniAddress::name);
  return ip == found->ipv4.end() ? std::nullopt : CheckUnassigned(eni, ip->address);
}

std::optional<std::string> EniWitness::CheckUnassigned(const std::string& eni,
                                                       const std::string& ip) const {
  const cloud::Eni* found = products_.Find(eni);
  if (found && found->primary_address == ip) return Format("{} loses its primary address", eni);
  const NodeView* node = nodes_.WithNic(eni);
  if (!node || WasTampered(node->name)) return std::nullopt;
  const NicAddress* address = node->nics.at(eni).Find(ip);
  const auto* pod = address && address->bound() ? pods_.Live(*address) : nullptr;
  return pod ? std::optional(Format("{} is unassigned, and is of {}", ip, pod->id()))
             : std::nullopt;
}

std::optional<std::string> EniWitness::Wrote(const NodeView& before, const NodeView& after) const {
  if (after.deleting) return std::nullopt;
  if (auto wrong = CheckKept(before, after)) return wrong;
  if (auto wrong = CheckGivenUp(before, after)) return wrong;
  for (const auto& [id, nic] : after.nics) {
    for (const auto* family : {&nic.ipv4, &nic.ipv6}) {
      for (const auto& [ip, address] : *family) {
        if (!address.bound()) continue;
        if (auto wrong = CheckBinding(before, after, id, ip)) return wrong;
      }
    }
  }
  return CheckSingle(after);
}

const NicAddress* EniWitness::FindIn(const NodeView& node, const std::string& eni,
                                     const std::string& ip) const {
  const auto nic = node.nics.find(eni);
  return nic == node.nics.end() ? nullptr : nic->second.Find(ip);
}

// Bindings of live pods, and of pods that are still set up, stay.
std::optional<std::string> EniWitness::CheckKept(const NodeView& before,
                                                 const NodeView& after) const {
  const auto now = world_.scheduler().Now();
  for (const auto& [id, nic] : before.nics) {
    for (const auto* family : {&nic.ipv4, &nic.ipv6}) {
      for (const auto& [ip, address] : *family) {
        if (!address.bound()) continue;
        const NicAddress* later = FindIn(after, id, ip);
        const auto* pod = pods_.Live(address);
        const auto found = after.nics.find(id);
        if (pod && pod->node == after.name && found != after.nics.end() &&
            found->second.status == "Deleting" && nic.status != "Deleting" && HasAddress(id, ip)) {
          return Format("{} becomes Deleting, and {} of it is of {}", id, ip, pod->id());
        }
        if (later && later->pod == address.pod && later->pod_uid == address.pod_uid) continue;
        // Terway did not always write the uid.
        if (later && later->pod == address.pod && address.pod_uid.empty()) continue;
        const cloud::Eni* eni = products_.Find(id);
        const bool is_elsewhere =
            eni && !eni->instance_id.empty() && eni->instance_id != after.instance;
        if (pod && pod->node == after.name && HasAddress(id, ip) && !is_elsewhere) {
          return Format("{} of {} is not bound to {} any more", ip, id, pod->id());
        }
        if (!pod && pods_.IsSetUp(after.name, address.pod_uid, now - grace_)) {
          return Format("{} of {} is free, and {} is not torn down", ip, id, address.pod);
        }
      }
    }
  }
  return std::nullopt;
}

// A binding that this write made.
std::optional<std::string> EniWitness::CheckBinding(const NodeView& before, const NodeView& after,
                                                    const std::string& eni,
                                                    const std::string& ip) const {
  const auto now = world_.scheduler().Now();
  const NicView& nic = after.nics.at(eni);
  const NicAddress& address = *nic.Find(ip);
  const NicAddress* earlier = FindIn(before, eni, ip);
  if (earlier && earlier->pod == address.pod && earlier->pod_uid == address.pod_uid) {
    return std::nullopt;
  }
  const bool same_pod =
      earlier && earlier->bound() && earlier->pod == address.pod && earlier->pod_uid.empty();
  if (same_pod) return std::nullopt;
  const std::string uid = pods_.UidOf(address);
  const auto* pod = pods_.Find(uid);
  if (pod && pod->node != after.name) {
    return Format("{} is bound to {}, which is on {}", ip, address.pod, pod->node);
  }
  // A pod that had the address before the status was lost.
  if (pod && std::ranges::contains(pod->ips, ip)) return std::nullopt;
  if (const auto* other = pods_.WithAddress(ip, uid);
      other && other->node == after.name && now - other->ips_since > grace_) {
    return Format("{} is bound to {}, and {} has it", ip, address.pod, other->id());
  }
  if (pod && !pod->needs_ip && pod->ips.empty()) {
    return Format("{} is bound to {}, which needs none", ip, address.pod);
  }
  if (nic.status != "InUse" || nic.unschedulable || address.status != "Valid") {
    return Format("{} of {} is bound to {}: the ENI is {}{}, the address {}", ip, eni, address.pod,
                  nic.status, nic.unschedulable ? ", unschedulable" : "", address.status);
  }
  // A write has the version of the spec that it was made for. Others' moves are seen later.
  const cloud::Eni* found = products_.Find(eni);
  if (found && !found->instance_id.empty() && found->instance_id != after.instance &&
      !meddled_.contains(eni) && !WasTampered(after.name)) {
    return Format("{} of {} is bound to {}: the ENI is at {}, the Node at {}", ip, eni, address.pod,
                  found->instance_id, after.instance);
  }
  return std::nullopt;
}

// No address has two live pods, no live pod two addresses of a family.
std::optional<std::string> EniWitness::CheckSingle(const NodeView& after) const {
  std::map<std::pair<std::string, bool>, std::string> of_pod;  // by uid and family
  for (const auto& [id, nic] : after.nics) {
    for (const auto* family : {&nic.ipv4, &nic.ipv6}) {
      for (const auto& [ip, address] : *family) {
        const auto* pod = address.bound() ? pods_.Live(address) : nullptr;
        if (!pod || !HasAddress(id, ip)) continue;
        for (const auto& [name, node] : nodes_.all()) {
          const auto* same = name == after.name ? nullptr : FindIn(node, id, ip);
          const auto* other = same && same->bound() ? pods_.Live(*same) : nullptr;
          if (other && other->uid != pod->uid && !WasTampered(name) && !WasTampered(after.name)) {
            return Format("{} is bound to {} and to {}", ip, pod->id(), other->id());
          }
        }
        const auto [first, is_new] = of_pod.try_emplace({pod->uid, IsIpv6(ip)}, ip);
        if (!is_new && !WasTampered(after.name)) {
          return Format("{} has {} and {}", pod->id(), first->second, ip);
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace berth::simulate
