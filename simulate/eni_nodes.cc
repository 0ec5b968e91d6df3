#include "simulate/eni_nodes.h"

#include <algorithm>

#include "reconcile/eni/objects.h"
#include "simulate/objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

std::map<std::string, NicAddress> AddressesOf(const Json& nic, const char* family) {
  std::map<std::string, NicAddress> addresses;
  const Json& all = Part(nic, family);
  for (const auto& entry : all.object_range()) {
    const Json& ip = entry.value();
    addresses.emplace(entry.key(), NicAddress{.status = Text(ip, "status"),
                                              .primary = ip.get_value_or<bool>("primary", false),
                                              .pod = Text(ip, "podID"),
                                              .pod_uid = Text(ip, "podUID")});
  }
  return addresses;
}

int PrefixesOf(const Json& nic, const char* family) {
  const Json& prefixes = Part(nic, family);
  return static_cast<int>(std::ranges::count_if(prefixes.array_range(), [](const Json& prefix) {
    return Text(prefix, "status") != "Invalid";
  }));
}

NicView NicOf(const Json& nic) {
  return {.status = Text(nic, "status"),
          .type = Text(nic, "networkInterfaceType"),
          .unschedulable = nic.get_value_or<bool>("unschedulable", false),
          .erdma = Text(nic, "networkInterfaceTrafficMode") == "HighPerformance",
          .has_error = Part(nic, "conditions").contains("OperationErr"),
          .ipv4 = AddressesOf(nic, "ipv4"),
          .ipv6 = AddressesOf(nic, "ipv6"),
          .prefixes = PrefixesOf(nic, "ipv4Prefix"),
          .ipv6_prefixes = PrefixesOf(nic, "ipv6Prefix")};
}

}  // namespace

const NicAddress* NicView::Find(const std::string& address) const {
  for (const auto* family : {&ipv4, &ipv6}) {
    if (const auto found = family->find(address); found != family->end()) return &found->second;
  }
  return nullptr;
}

NodeView NodeView::Of(Json object) {
  NodeView view{.name = NameOf(object),
                .uid = UidOf(object),
                .deleting = Deleting(object),
                .is_lingjun = Text(Part(object["metadata"], "labels"),
                                   "alibabacloud.com/lingjun-worker") == "true",
                .instance = Text(Part(Part(object, "spec"), "nodeMetadata"), "instanceID"),
                .nics = {},
                .attempts = {},
                .object = {}};
  const Json& finalizers = Part(object["metadata"], "finalizers");
  view.has_finalizer = std::ranges::any_of(finalizers.array_range(), [](const Json& finalizer) {
    return finalizer.as_string() == eni::kFinalizer;
  });
  const Json& status = Part(object, "status");
  const Json& nics = Part(status, "networkInterfaces");
  for (const auto& nic : nics.object_range()) view.nics.emplace(nic.key(), NicOf(nic.value()));
  const Json& attempts = Part(status, "attempts");
  for (const auto& attempt : attempts.object_range()) view.attempts.emplace(attempt.key());
  view.object = std::move(object);
  return view;
}

const Json& NodeView::spec() const { return Part(object, "spec"); }
const Json& NodeView::status() const { return Part(object, "status"); }

void EniNodes::Put(NodeView view) {
  tokens_.insert(view.attempts.begin(), view.attempts.end());
  std::string name = view.name;
  nodes_.insert_or_assign(std::move(name), std::move(view));
}

std::optional<NodeView> EniNodes::Refresh(const std::string& name) {
  std::optional<NodeView> before;
  if (auto known = nodes_.extract(name)) before = std::move(known.mapped());
  for (const Json& object : world_.List(PathOf(name))) Put(NodeView::Of(object));
  return before;
}

void EniNodes::RefreshAll() {
  nodes_.clear();
  for (const Json& object : world_.List(kCollection)) Put(NodeView::Of(object));
}

const NodeView* EniNodes::Find(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? nullptr : &found->second;
}

const NodeView* EniNodes::WithNic(const std::string& eni) const {
  for (const auto& [name, node] : nodes_) {
    if (node.nics.contains(eni)) return &node;
  }
  return nullptr;
}

std::size_t EniNodes::OfInstance(const std::string& instance) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      nodes_, [&](const auto& entry) { return entry.second.instance == instance; }));
}

}  // namespace berth::simulate
