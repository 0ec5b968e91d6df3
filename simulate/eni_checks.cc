// Checks after each write, and of the settled state.
#include <algorithm>
#include <set>
#include <utility>

#include "log/format.h"
#include "reconcile/eni/objects.h"
#include "simulate/eni.h"
#include "simulate/eni_counts.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

// Berth must have been quiet for so long in the end.
constexpr auto kQuiet = 3min;
// Calls to the cloud and writes, of a Node, in that time.
constexpr std::uint64_t kMostCalls = 4;
constexpr std::uint64_t kMostWrites = 1;
// Addresses that an ENI may be created with; servers take fewer.
constexpr std::size_t kLargestEni = 10;

// The name of the Node that a request is about; empty for none.
std::string NodeOf(const kube::Request& request) {
  const std::string prefix = std::string(EniNodes::kCollection) + "/";
  if (!request.path.starts_with(prefix)) return "";
  std::string name = request.path.substr(prefix.size());
  return name.substr(0, name.find('/'));
}

}  // namespace

std::optional<std::string> Eni::Check(World& world, const std::string& writer,
                                      const kube::Request& request) {
  const bool by_user = writer == "user";
  if (by_user && request.path.contains("/noderuntimes") && !pods_->writing()) {
    // A user may have written "deleted" of any pod, and Berth believes that.
    for (const std::string& name : fleet_.names()) pods_->Distrust(name);
  }
  if (request.path.empty() || request.path == EniNodes::kCollection) nodes_->RefreshAll();
  if (request.path.ends_with("/leases/berth")) witness_->Renewed(writer);
  const std::string name = NodeOf(request);
  if (name.empty()) return std::nullopt;
  cloud_.Settle(world.scheduler().WallNow());
  const auto before = nodes_->Refresh(name);
  const NodeView* after = nodes_->Find(name);
  if (before && by_user && (!after || after->uid != before->uid)) Gone(*before);
  if (!after) return std::nullopt;
  for (const auto& [id, nic] : after->nics) orphans_.erase(id);
  if (by_user || !before || before->uid != after->uid) return std::nullopt;
  if (request.path.ends_with("/status")) ++writes_;
  if (auto wrong = witness_->Wrote(*before, *after)) return Format("{}: {}", name, *wrong);
  if (!request.path.ends_with("/status") || witness_->WasTampered(name)) return std::nullopt;
  if (auto wrong = CheckFigures(*after)) return wrong;
  return CheckConditions(*after);
}

// A user's write has ended a Node: nobody has seen to its ENIs.
void Eni::Gone(const NodeView& before) {
  for (const auto& [id, nic] : before.nics) orphans_.insert(id);
}

std::optional<std::string> Eni::Unsettled(World& world) {
  Calm(world);
  nodes_->RefreshAll();
  auto wrong = CheckLeaks();
  for (const auto& [name, node] : nodes_->all()) {
    if (!wrong) wrong = CheckNode(world, node);
    if (wrong && wrong->empty()) wrong.reset();
  }
  if (wrong) quiet_.reset();
  return wrong ? wrong : CheckQuiet(world);
}

std::optional<std::string> Eni::Left(World& world) {
  Calm(world);
  users_->DeleteAll();
  pods_->DeleteAll();
  nodes_->RefreshAll();
  if (!nodes_->all().empty()) {
    const NodeView& node = nodes_->all().begin()->second;
    return Format("{} is left: {}", node.name, node.status().to_string());
  }
  if (auto leaked = CheckLeaks()) return leaked;
  return CheckMemory();
}

// Every ENI that Berth made is a Node's, or of an attempt.
std::optional<std::string> Eni::CheckLeaks() const {
  std::set<std::string> attempts;
  for (const auto& [name, node] : nodes_->all()) attempts.insert_range(node.attempts);
  for (const auto* record : products_.All()) {
    const cloud::Eni& eni = record->eni;
    const std::string& id = eni.id;
    if (eni.type == "Primary" || witness_->IsOthers(id) || witness_->IsMeddled(id)) continue;
    if (witness_->IsInherited(id)) continue;
    if (nodes_->WithNic(id)) continue;
    const auto attempt = eni.tags.find(std::string(eni::kAttemptTag));
    if (attempt == eni.tags.end()) return Format("{} has no tag of its attempt", id);
    if (attempts.contains(attempt->second)) continue;
    if (orphans_.contains(id) && eni.status == "InUse") continue;
    return Format("{} is leaked: {} {}", id, eni.status, eni.instance_id);
  }
  return std::nullopt;
}

// Whether its spec is its daemon's and nothing else keeps Berth from its work.
bool Eni::IsJudged(const NodeView& node) const {
  const auto* server = fleet_.Find(node.name);
  const Json& metadata = node.object["metadata"];
  const Json& labels = Part(metadata, "labels");
  const bool special = !server || labels.size() > (server->lingjun ? 1u : 0u) ||
                       node.is_lingjun != server->lingjun ||
                       Part(metadata, "annotations").contains("k8s.aliyun.com/eno-api");
  return server && node.spec() == server->spec && !special &&
         nodes_->OfInstance(node.instance) == 1 && products_.HasServer(node.instance);
}

std::optional<std::string> Eni::CheckNode(World&, const NodeView& node) const {
  if (node.deleting) return Format("{} is still being deleted", node.name);
  if (!IsJudged(node)) return std::nullopt;
  if (!node.has_finalizer) return Format("{} has no finalizer", node.name);
  if (!node.attempts.empty()) return Format("{} still has an attempt", node.name);
  if (auto wrong = CheckAgreement(node)) return wrong;
  if (auto wrong = CheckPods(node)) return wrong;
  if (auto wrong = CheckPool(node)) return wrong;
  if (auto wrong = CheckFigures(node)) return wrong;
  return CheckTold(node);
}

// The status shows what the cloud has.
std::optional<std::string> Eni::CheckAgreement(const NodeView& node) const {
  for (const auto& [id, nic] : node.nics) {
    if (auto wrong = CheckNic(node, id)) return wrong;
  }
  int made = 0;
  for (const auto* record : products_.All()) {
    const cloud::Eni& eni = record->eni;
    const std::string& id = eni.id;
    if (eni.instance_id != node.instance || eni.type == "Primary") continue;
    if (!witness_->IsOthers(id) && !witness_->IsMeddled(id)) ++made;
    // An ENI that others could not make on EFLO is bound, and never in use.
    const bool is_failed = witness_->IsOthers(id) && eni.status.ends_with("Failed");
    if (eni.type != "Member" && !is_failed && !node.nics.contains(id)) {
      return Format("{} does not show {}", node.name, id);
    }
  }
  const int most = MostEnis(node.spec());
  if (made > most) return Format("{} has {} ENIs, of {}", node.name, made, most);
  return std::nullopt;
}

bool Eni::HasLivePod(const NicView& nic) const {
  return std::ranges::any_of(nic.ipv4, [&](const auto& entry) {
    return entry.second.bound() && pods_->Live(entry.second);
  });
}

// Whether the ENI was made for a server that was replaced, the cloud has detached it, and pods are
// bound to it still: until these are deleted it is to be attached, perhaps in vain
// (docs/eni-tasks.md, "What is not there yet").
bool Eni::HoldsEarlier(const NodeView& node, const std::string& id) const {
  const cloud::Eni* eni = products_.Find(id);
  if (!eni || !eni->instance_id.empty() || !HasLivePod(node.nics.at(id))) return false;
  const auto server = eni->tags.find(std::string(eni::kInstanceTag));
  return server != eni->tags.end() && server->second != node.instance;
}

std::optional<std::string> Eni::CheckNic(const NodeView& node, const std::string& id) const {
  const NicView& nic = node.nics.at(id);
  const cloud::Eni* eni = products_.Find(id);
  // A binding never changes: the pod keeps the address that others took away until it is deleted.
  if (!eni) {
    return HasLivePod(nic) ? std::nullopt
                           : std::optional(Format("{} shows {}, which is gone", node.name, id));
  }
  if (HoldsEarlier(node, id)) return std::nullopt;
  // Others moved it, or took its tags: whether it is still Berth's depends on when a sync came.
  if (nic.type == "Primary" || witness_->IsMeddled(id)) return std::nullopt;
  if (eni->status != "InUse" || eni->instance_id != node.instance) {
    return Format("{} shows {}, which is {} {}", node.name, id, eni->status, eni->instance_id);
  }
  const auto made_for = eni->tags.find(std::string(eni::kNodeTag));
  const bool is_own = made_for != eni->tags.end() && made_for->second == node.uid;
  // A user may have switched ERDMA off while one of these ENIs was made.
  if (is_own && nic.unschedulable && eni->traffic_mode != "HighPerformance" &&
      !eni->service_managed) {
    return Format("{} does not use {}, which was made for it", node.name, id);
  }
  if (nic.status != eni->status) return Format("{} shows {} as {}", node.name, id, nic.status);
  const bool blocked = witness_->IsOthers(id) && nic.unschedulable;
  const auto& states = products_.Of(id).enis().at(id).address_status;
  for (const auto& ip : eni->ipv4) {
    // An address that EFLO could not give, or is at, is not shown.
    const auto state = states.find(ip.name);
    if (state != states.end() && state->second != "Available") continue;
    const NicAddress* address = nic.Find(ip.address);
    if (!address && !blocked) return Format("{} does not show {} of {}", node.name, ip.address, id);
    if (address && address->status != "Valid") {
      return Format("{} shows {} of {} as {}", node.name, ip.address, id, address->status);
    }
  }
  for (const auto& [ip, address] : nic.ipv4) {
    const bool has = std::ranges::contains(eni->ipv4, ip, &cloud::EniAddress::address);
    if (!has && address.status == "Valid" && eni->ipv4_prefixes.empty()) {
      return Format("{} shows {} of {}, which the cloud took away", node.name, ip, id);
    }
  }
  return std::nullopt;
}

// The node may have no room for more addresses of the kind, or the vSwitches
// none left.
bool Eni::MayLackCapacity(const NodeView& node, bool erdma) const {
  const auto* server = fleet_.Find(node.name);
  const bool dual = HasFlag(Part(node.spec(), "eni"), "enableIPv6");
  int enis = std::min(MostEnis(node.spec()), static_cast<int>(server->adapters) - 1);
  int of_kind = MostEnis(node.spec(), erdma);
  bool full = true;
  for (const auto* record : products_.All()) {
    const cloud::Eni& eni = record->eni;
    if (eni.instance_id != node.instance || eni.type == "Primary") continue;
    --enis;
    if (erdma != (eni.traffic_mode == "HighPerformance")) continue;
    --of_kind;
    const auto nic = node.nics.find(eni.id);
    const bool of_others = witness_->IsOthers(eni.id) || witness_->IsMeddled(eni.id);
    if (nic == node.nics.end() || nic->second.unschedulable || of_others) continue;
    const bool has_room = record->ipv4_used() < server->ipv4_per_adapter &&
                          (!dual || record->ipv6_used() < server->ipv4_per_adapter);
    if (has_room && FreeOf(eni.vswitch_id) > 0) full = false;
  }
  std::size_t free = 0;
  const Json& vswitches = Part(Part(node.spec(), "eni"), "vSwitchOptions");
  for (const Json& id : vswitches.array_range()) free += FreeOf(id.as<std::string>());
  return full && (enis <= 0 || of_kind <= 0 || free < kLargestEni);
}

// The free addresses of a vSwitch in the zone of the servers.
std::size_t Eni::FreeOf(const std::string& vswitch) const {
  const auto found = cloud_.vpc().vswitches().find(vswitch);
  if (found == cloud_.vpc().vswitches().end()) return 0;
  return found->second.facts.zone_id == EniFleet::kZone ? found->second.pool.free() : 0;
}

// Pods that need an address have one, others none.
std::optional<std::string> Eni::CheckPods(const NodeView& node) const {
  std::set<std::string> bound;
  for (const auto& [id, nic] : node.nics) {
    for (const auto& [ip, address] : nic.ipv4) {
      if (!address.bound()) continue;
      const auto* pod = pods_->Live(address);
      if (pod) {
        bound.insert(pod->uid);
      } else if (!pods_->IsSetUp(node.name, address.pod_uid, async::TimePoint::max())) {
        return Format("{} keeps {} for {}, which is gone", node.name, ip, address.pod);
      }
    }
  }
  if (HasFlag(Part(node.spec(), "eni"), "enableIPPrefix")) return std::nullopt;
  for (const EniPods::Pod* pod : pods_->Of(node.name)) {
    if (!pod->needs_ip || bound.contains(pod->uid) || pod->deleting) continue;
    const bool in_pool = pod->ips.empty() || std::ranges::any_of(node.nics, [&](const auto& nic) {
                           return nic.second.Find(pod->ips[0]) != nullptr;
                         });
    if (in_pool && !MayLackCapacity(node, pod->erdma))
      return Format("{} waits for an address", pod->id());
  }
  return std::nullopt;
}

// Enough addresses are idle, and no more than may be.
std::optional<std::string> Eni::CheckPool(const NodeView& node) const {
  const Json& pool = Part(node.spec(), "pool");
  if (HasFlag(Part(node.spec(), "eni"), "enableIPPrefix")) return std::nullopt;
  int idle = 0;
  int fixed = 0;  // primary addresses, and those of ENIs that are not Berth's to release
  for (const auto& [id, nic] : node.nics) {
    idle += IdleOf(nic);
    const bool kept = witness_->IsOthers(id) || witness_->IsMeddled(id) || nic.type == "Trunk";
    fixed += kept ? IdleOf(nic) : 1;
  }
  const int least = CountIn(pool, "minPoolSize");
  const int most = std::max(least, CountIn(pool, "maxPoolSize"));
  if (idle < least && !MayLackCapacity(node, false)) {
    return Format("{} has {} idle addresses of {}", node.name, idle, least);
  }
  const int warm = CountIn(pool, "warmUpSize");
  if (idle > std::max(most, warm) + fixed) {
    return Format("{} has {} idle addresses, {} at most", node.name, idle, most);
  }
  return std::nullopt;
}

// Nothing changes, so Berth has next to nothing to do.
std::optional<std::string> Eni::CheckQuiet(World& world) {
  const auto now = world.scheduler().Now();
  if (!quiet_) quiet_ = Quiet{now, witness_->calls(), writes_};
  if (now - quiet_->since < kQuiet) return "not quiet for long enough";
  const auto calls = witness_->calls() - quiet_->calls;
  const auto writes = writes_ - quiet_->writes;
  const auto nodes = nodes_->all().size();
  if (calls <= kMostCalls * (nodes + 1) && writes <= kMostWrites * nodes) return std::nullopt;
  quiet_.reset();
  return Format("{} calls to the cloud and {} writes, and nothing changes", calls, writes);
}

}  // namespace berth::simulate
