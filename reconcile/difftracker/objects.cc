#include "reconcile/difftracker/objects.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "log/format.h"

namespace berth::difftracker {
namespace {

std::string Text(kube::JsonView view) { return std::string(view.StringOr("")); }

// An address of each family as bytes in the network's order, which sorts as the addresses do.
struct ParsedIp {
  bool is_v6 = false;
  std::array<unsigned char, sizeof(in6_addr)> bytes{};

  auto operator<=>(const ParsedIp&) const = default;
};

std::optional<ParsedIp> ParseIp(std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size()) return std::nullopt;
  std::memcpy(terminated.data(), text.data(), text.size());
  ParsedIp ip{.is_v6 = text.contains(':'), .bytes = {}};
  const int read = inet_pton(ip.is_v6 ? AF_INET6 : AF_INET, terminated.data(), ip.bytes.data());
  return read == 1 ? std::optional(ip) : std::nullopt;
}

std::string TextOf(const ParsedIp& ip) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(ip.is_v6 ? AF_INET6 : AF_INET, ip.bytes.data(), text.data(), text.size());
  return text.data();
}

bool IsTrueText(std::string_view text) { return LowerCase(text) == "true"; }

// The source ranges, where not everybody is let in.
void ReadSourceRanges(kube::JsonView ranges, kube::JsonView annotations, Service& service) {
  bool everybody = false;
  std::string text;
  ranges.ForEachItem([&](kube::JsonView range) {
    everybody = everybody || range.StringOr("") == "0.0.0.0/0" || range.StringOr("") == "::/0";
    if (!text.empty()) text += ",";
    text += range.StringOr("");
  });
  if (!text.empty()) {
    // The field goes before the annotations.
    if (everybody) return;
    service.source_ranges = std::move(text);
    service.source_field = "spec.loadBalancerSourceRanges";
    return;
  }
  for (const std::string_view annotation : kSourceRangeAnnotations) {
    const std::string value = Text(annotations[annotation]);
    if (value.empty() || value == "0.0.0.0/0" || value == "::/0") continue;
    service.source_ranges = value;
    service.source_field = Format("metadata.annotations[{}]", annotation);
    return;
  }
}

ServicePort PortOf(kube::JsonView view) {
  const auto [protocol, port, target] = view.Members("protocol", "port", "targetPort");
  ServicePort read{.protocol = std::string(protocol.StringOr("TCP")),
                   .port = static_cast<int>(port.Int().value_or(0)),
                   .target_port = 0,
                   .named_port = Text(target)};
  if (read.named_port.empty()) {
    const int number = static_cast<int>(target.Int().value_or(0));
    read.target_port = number > 0 ? number : read.port;
  }
  return read;
}

// The first address of each family of status.podIPs or hostIPs, or the single one where a kubelet
// does not fill in the list.
std::vector<std::string> AddressesOf(kube::JsonView list, kube::JsonView single,
                                     std::string& bad_ip) {
  std::vector<std::string> addresses;
  const auto add = [&](kube::JsonView view) {
    const std::string text = Text(view);
    if (text.empty()) return;
    const auto ip = CanonicalIp(text);
    if (!ip) {
      bad_ip = text;
      return;
    }
    const bool known = std::ranges::any_of(
        addresses, [&](const std::string& other) { return IsIpv6(other) == IsIpv6(*ip); });
    if (!known) addresses.push_back(*ip);
  };
  list.ForEachItem([&](kube::JsonView item) { add(item["ip"]); });
  if (addresses.empty()) add(single);
  std::ranges::sort(addresses);
  return addresses;
}

}  // namespace

std::optional<std::string> CanonicalIp(std::string_view text) {
  const auto ip = ParseIp(text);
  return ip ? std::optional(TextOf(*ip)) : std::nullopt;
}

bool Service::HasLegacyFinalizer() const {
  return std::ranges::find(id.other_finalizers, kLegacyFinalizer) != id.other_finalizers.end();
}

kube::Result<Service> Service::From(kube::JsonView object) {
  Service service{.id = Identity::From(object, kServiceFinalizer)};
  const kube::JsonView annotations = object["metadata"]["annotations"];
  service.internal = IsTrueText(annotations[kInternalAnnotation].StringOr(""));
  service.idle_timeout = Text(annotations[kIdleTimeoutAnnotation]);
  const auto [type, lb_class, ports, affinity, ip, families, policy, ranges] =
      object["spec"].Members("type", "loadBalancerClass", "ports", "sessionAffinity",
                             "loadBalancerIP", "ipFamilies", "ipFamilyPolicy",
                             "loadBalancerSourceRanges");
  ReadSourceRanges(ranges, annotations, service);
  service.is_load_balancer = type.StringOr("") == "LoadBalancer";
  service.load_balancer_class = Text(lb_class);
  ports.ForEachItem([&](kube::JsonView port) { service.ports.push_back(PortOf(port)); });
  service.client_affinity = affinity.StringOr("None") != "None";
  service.load_balancer_ip = Text(ip);
  families.ForEachItem([&](kube::JsonView item) { service.ip_families.push_back(Text(item)); });
  service.ip_family_policy = Text(policy);
  const kube::JsonView status = object["status"];
  status["loadBalancer"]["ingress"].ForEachItem([&](kube::JsonView entry) {
    const std::string address = Text(entry["ip"]);
    if (!address.empty()) service.ingress_ips.push_back(CanonicalIp(address).value_or(address));
    if (address.empty() || entry["hostname"].exists()) service.foreign_ingress = true;
  });
  if (status["conditions"].is_array()) {
    service.conditions = Json::parse(status["conditions"].ToJson());
  }
  return service;
}

kube::Result<Slice> Slice::From(kube::JsonView object) {
  const kube::JsonView metadata = object["metadata"];
  const std::string_view name = metadata["labels"][kServiceNameLabel].StringOr("");
  Slice slice;
  if (!name.empty()) slice.service = Format("{}/{}", metadata["namespace"].StringOr(""), name);
  if (slice.service.empty() || object["addressType"].StringOr("") == "FQDN") return slice;
  object["endpoints"].ForEachItem([&](kube::JsonView entry) {
    if (!entry["conditions"]["ready"].Bool().value_or(true)) return;
    const auto address = CanonicalIp(entry["addresses"].At(0).StringOr(""));
    if (address) slice.endpoints.push_back({*address, Text(entry["nodeName"])});
  });
  std::ranges::sort(slice.endpoints);
  const auto repeated = std::ranges::unique(slice.endpoints, {}, &Endpoint::address);
  slice.endpoints.erase(repeated.begin(), repeated.end());
  return slice;
}

bool operator==(const EgressPod& a, const EgressPod& b) {
  return a.id.uid == b.id.uid && a.id.finalizer == b.id.finalizer &&
         a.id.deleting == b.id.deleting && a.label == b.label && a.live == b.live &&
         a.addresses == b.addresses && a.hosts == b.hosts && a.bad_ip == b.bad_ip;
}

kube::Result<Pod> Pod::From(kube::JsonView object) {
  const kube::JsonView metadata = object["metadata"];
  const kube::JsonView label = metadata["labels"][kEgressLabel];
  bool has_finalizer = false;
  metadata["finalizers"].ForEachItem([&](kube::JsonView finalizer) {
    has_finalizer = has_finalizer || finalizer.StringOr("") == kPodFinalizer;
  });
  if (!label.exists() && !has_finalizer) return Pod();
  EgressPod pod{.id = Identity::From(object, kPodFinalizer), .label = Text(label)};
  const auto [phase, pod_ips, pod_ip, host_ips, host_ip] =
      object["status"].Members("phase", "podIPs", "podIP", "hostIPs", "hostIP");
  const std::string_view now = phase.StringOr("Pending");
  pod.live = pod.id.deleting == 0 && (now == "Pending" || now == "Running");
  pod.addresses = AddressesOf(pod_ips, pod_ip, pod.bad_ip);
  pod.hosts = AddressesOf(host_ips, host_ip, pod.bad_ip);
  return Pod{std::make_shared<const EgressPod>(std::move(pod))};
}

kube::Result<Node> Node::From(kube::JsonView object) {
  std::optional<ParsedIp> ipv4;
  std::optional<ParsedIp> ipv6;
  object["status"]["addresses"].ForEachItem([&](kube::JsonView entry) {
    if (entry["type"].StringOr("") != "InternalIP") return;
    const auto ip = ParseIp(entry["address"].StringOr(""));
    if (!ip) return;
    auto& smallest = ip->is_v6 ? ipv6 : ipv4;
    if (!smallest || *ip < *smallest) smallest = *ip;
  });
  return Node{.ipv4 = ipv4 ? TextOf(*ipv4) : "", .ipv6 = ipv6 ? TextOf(*ipv6) : ""};
}

std::optional<LabelProblem> EgressProblem(std::string_view label) {
  const auto refusal = CheckEgress(LowerCase(label));
  if (!refusal) return std::nullopt;
  if (*refusal == EgressRefusal::kReserved) {
    return LabelProblem{"ServiceGatewayReservedEgressLabel",
                        Format("{}={}: this egress is Azure's own", kEgressLabel, label)};
  }
  return LabelProblem{
      "ServiceGatewayInvalidEgressLabel",
      Format("{}={}: an egress has letters, digits, '.', '_' and '-', begins with a letter or "
             "digit, ends with one or with '_', and does not look like a UID",
             kEgressLabel, label)};
}

}  // namespace berth::difftracker
