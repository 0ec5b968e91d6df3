// Checks of a Node's figures and conditions.
#include <set>
#include <utility>

#include "log/format.h"
#include "simulate/eni.h"
#include "simulate/eni_counts.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

// A cache may be behind for longer than a call.
constexpr auto kStale = 60s;

}  // namespace

std::optional<std::string> Eni::CheckFigures(const NodeView& node) const {
  const Json& figures = Part(node.status(), "pool");
  int enis = 0;
  int attaching = 0;
  int addresses = 0;
  int idle = 0;
  for (const auto& [id, nic] : node.nics) {
    if (nic.status == "Invalid") continue;
    ++enis;
    attaching += nic.status == "Attaching" ? 1 : 0;
    const int ipv4 = HeldOf(nic.ipv4) + nic.prefixes;
    const int ipv6 = HeldOf(nic.ipv6) + nic.ipv6_prefixes;
    addresses += std::max(ipv4, ipv6);
    const bool in_pool = nic.status == "InUse" && !nic.unschedulable;
    if (in_pool) idle += IdleOf(ipv6 > ipv4 ? nic.ipv6 : nic.ipv4);
  }
  for (const auto& [name, count] : {std::pair{"enis", enis},
                                    {"addresses", addresses},
                                    {"idle", idle},
                                    {"attaching", attaching}}) {
    if (CountIn(figures, name) == count) continue;
    return Format("{} says {} {}, and has {}", node.name, name, CountIn(figures, name), count);
  }
  return std::nullopt;
}

// The conditions say what the status beside them does.
std::optional<std::string> Eni::CheckConditions(const NodeView& node) const {
  const Json& ready = ConditionOf(node.object, "Ready");
  const Json& synced = ConditionOf(node.object, "Synced");
  const Json& progressing = ConditionOf(node.object, "Progressing");
  const auto generation = node.object["metadata"].get_value_or<std::int64_t>("generation", 0);
  for (const Json* condition : {&ready, &synced, &progressing}) {
    const auto observed = condition->get_value_or<std::int64_t>("observedGeneration", 0);
    if (observed == generation) continue;
    return Format("{} has {} of generation {}, at {}", node.name, Text(*condition, "type"),
                  observed, generation);
  }
  const bool is_ready = Text(ready, "status") == "True";
  bool works = !node.attempts.empty();
  for (const auto& [id, nic] : node.nics) {
    works |= nic.status == "Attaching" || nic.status == "Deleting";
    if (is_ready && nic.status == "Attaching" && nic.has_error) {
      return Format("{} is Ready, and {} cannot be attached", node.name, id);
    }
  }
  if ((Text(progressing, "status") == "True") != works) {
    return Format("{} has Progressing {}", node.name, Text(progressing, "message"));
  }
  const bool has_account = !Text(node.status(), "account").empty();
  if (is_ready && (node.deleting || !has_account)) {
    return Format("{} is Ready, deleted or without an account", node.name);
  }
  if (Text(synced, "status") == "True" && !has_account) {
    return Format("{} is Synced without an account", node.name);
  }
  return is_ready ? CheckReady(node) : std::nullopt;
}

// No pod has waited for an address for so long that Berth must know of it.
std::optional<std::string> Eni::CheckReady(const NodeView& node) const {
  if (HasFlag(Part(node.spec(), "eni"), "enableIPPrefix")) return std::nullopt;
  std::set<std::string> bound;
  for (const auto& [id, nic] : node.nics) {
    for (const auto* family : {&nic.ipv4, &nic.ipv6}) {
      for (const auto& [ip, address] : *family) bound.insert(pods_->UidOf(address));
    }
  }
  for (const EniPods::Pod* pod : pods_->Of(node.name)) {
    const bool is_new = world_->scheduler().Now() - pod->since <= witness_->grace() + kStale;
    if (!pod->needs_ip || is_new || !pod->ips.empty() || pod->deleting) continue;
    if (!bound.contains(pod->uid)) return Format("{} is Ready, and {} waits", node.name, pod->id());
  }
  return std::nullopt;
}

// Ready is what it should be.
std::optional<std::string> Eni::CheckTold(const NodeView& node) const {
  const Json& ready = ConditionOf(node.object, "Ready");
  if (Text(ready, "status") == "True" || MayLackCapacity(node, false)) return std::nullopt;
  const bool has_erdma = MostEnis(node.spec(), true) > 0;
  if (has_erdma && MayLackCapacity(node, true)) return std::nullopt;
  return Format("{} is not Ready: {} {}", node.name, Text(ready, "reason"), Text(ready, "message"));
}

}  // namespace berth::simulate
