// The calls of EcsProduct about addresses.
#include <algorithm>

#include "cloud/simulator/aliyun/ecs.h"
#include "cloud/simulator/aliyun/ecs_refusals.h"

namespace berth::cloud::simulator {
namespace {

// A call that names addresses or prefixes, by number or each by itself.
struct Counts {
  std::size_t addresses = 0;
  std::size_t prefixes = 0;
};

std::expected<Counts, Refusal> CountsOf(const Call& call, const char* addresses,
                                        const char* prefixes) {
  const auto address_count = Count(call[addresses], 0);
  const auto prefix_count = Count(call[prefixes], 0);
  if (!address_count || *address_count > 49) return Invalid(addresses);
  if (!prefix_count || *prefix_count > 10) return Invalid(prefixes);
  if (*address_count > 0 && *prefix_count > 0) return Invalid(prefixes);
  if (*address_count == 0 && *prefix_count == 0) return Missing(addresses);
  return Counts{*address_count, *prefix_count};
}

std::vector<std::string> Last(const std::vector<std::string>& all, std::size_t count) {
  return {all.end() - static_cast<std::ptrdiff_t>(count), all.end()};
}

// The items of `list` that are left without `names`; a refusal unless it has all of them.
std::expected<std::vector<std::string>, Refusal> Without(std::vector<std::string> list,
                                                         const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::erase(list, name) == 0) {
      return Refuse(400, "InvalidIp.IpUnassigned", "The specified IP is not assigned to the ENI.");
    }
  }
  return list;
}

}  // namespace

std::expected<EniRecord*, Refusal> EcsProduct::ToAddress(const Call& call) {
  auto record = ToChange(call);
  if (!record) return record;
  const std::string& status = (*record)->eni.status;
  if (status != "Available" && status != "InUse") return WrongEniState();
  return record;
}

Check EcsProduct::GiveIpv4(Eni& eni, std::size_t addresses, std::size_t prefixes) {
  const auto full = [] {
    return Refuse(403, "InvalidVSwitchId.IpNotEnough",
                  "The vSwitch does not have enough free addresses.");
  };
  AddressPool& pool = vswitches_.at(eni.vswitch_id).pool;
  if (pool.free() < addresses) return full();
  std::vector<std::string> taken;
  for (std::size_t n = 0; n < prefixes; ++n) {
    auto prefix = pool.TakePrefix();
    if (prefix) taken.push_back(std::move(*prefix));
  }
  if (taken.size() < prefixes || pool.free() < addresses) {
    for (const std::string& prefix : taken) pool.Give(prefix);
    return full();
  }
  std::ranges::move(taken, std::back_inserter(eni.ipv4_prefixes));
  for (std::size_t n = 0; n < addresses; ++n) {
    eni.ipv4.push_back({.address = pool.Take().value_or(""), .primary = false, .name = {}});
  }
  return {};
}

Check EcsProduct::GiveIpv6(Eni& eni, std::size_t addresses, std::size_t prefixes) {
  VSwitchRecord& vswitch = vswitches_.at(eni.vswitch_id);
  if (addresses + prefixes > 0 && vswitch.facts.ipv6_cidr.empty()) {
    return Refuse(400, "InvalidVSwitchId.Ipv6NotTurnOn", "IPv6 is not enabled for the vSwitch.");
  }
  for (std::size_t n = 0; n < addresses; ++n) eni.ipv6.push_back(vswitch.TakeIpv6());
  for (std::size_t n = 0; n < prefixes; ++n) {
    eni.ipv6_prefixes.push_back(vswitch.TakeIpv6Prefix());
  }
  return {};
}

Outcome EcsProduct::AssignPrivateIpAddresses(const Call& call) {
  const auto record = ToAddress(call);
  if (!record) return std::unexpected(record.error());
  const auto counts = CountsOf(call, "SecondaryPrivateIpAddressCount", "Ipv4PrefixCount");
  if (!counts) return std::unexpected(counts.error());
  Eni& eni = (*record)->eni;
  const std::size_t most =
      eni.instance_id.empty() ? kMostIpv4 : instances().at(eni.instance_id).ipv4_per_adapter;
  if ((*record)->ipv4_used() + counts->addresses + counts->prefixes > most) return TooManyIpv4();
  if (const auto good = GiveIpv4(eni, counts->addresses, counts->prefixes); !good) {
    return std::unexpected(good.error());
  }
  Json assigned;
  assigned["NetworkInterfaceId"] = eni.id;
  assigned["PrivateIpSet"]["PrivateIpAddress"] = Last(AddressesOf(eni), counts->addresses);
  assigned["Ipv4PrefixSet"]["Ipv4Prefixes"] = Last(eni.ipv4_prefixes, counts->prefixes);
  Json answer;
  answer["AssignedPrivateIpAddressesSet"] = std::move(assigned);
  return answer;
}

Outcome EcsProduct::AssignIpv6Addresses(const Call& call) {
  const auto record = ToAddress(call);
  if (!record) return std::unexpected(record.error());
  const auto counts = CountsOf(call, "Ipv6AddressCount", "Ipv6PrefixCount");
  if (!counts) return std::unexpected(counts.error());
  Eni& eni = (*record)->eni;
  const std::size_t most =
      eni.instance_id.empty() ? kMostIpv6 : instances().at(eni.instance_id).ipv6_per_adapter;
  if ((*record)->ipv6_used() + counts->addresses + counts->prefixes > most) return TooManyIpv6();
  if (const auto good = GiveIpv6(eni, counts->addresses, counts->prefixes); !good) {
    return std::unexpected(good.error());
  }
  Json answer;
  answer["NetworkInterfaceId"] = eni.id;
  answer["Ipv6Sets"]["Ipv6Address"] = Last(eni.ipv6, counts->addresses);
  answer["Ipv6PrefixSets"]["Ipv6Prefix"] = Last(eni.ipv6_prefixes, counts->prefixes);
  return answer;
}

Outcome EcsProduct::UnassignPrivateIpAddresses(const Call& call) {
  const auto record = ToAddress(call);
  if (!record) return std::unexpected(record.error());
  Eni& eni = (*record)->eni;
  const auto addresses = Numbered(call, "PrivateIpAddress");
  const auto prefixes = Numbered(call, "Ipv4Prefix");
  if (addresses.empty() == prefixes.empty()) return Invalid("PrivateIpAddress");
  if (std::ranges::contains(addresses, eni.primary_address)) return Invalid("PrivateIpAddress");
  const auto left = Without(AddressesOf(eni), addresses);
  if (!left) return std::unexpected(left.error());
  auto left_prefixes = Without(eni.ipv4_prefixes, prefixes);
  if (!left_prefixes) return std::unexpected(left_prefixes.error());
  AddressPool& pool = vswitches_.at(eni.vswitch_id).pool;
  for (const std::string& address : addresses) pool.Give(address);
  for (const std::string& prefix : prefixes) pool.Give(prefix);
  std::erase_if(eni.ipv4,
                [&](const EniAddress& ip) { return !std::ranges::contains(*left, ip.address); });
  eni.ipv4_prefixes = std::move(*left_prefixes);
  return Json::Object();
}

Outcome EcsProduct::UnassignIpv6Addresses(const Call& call) {
  const auto record = ToAddress(call);
  if (!record) return std::unexpected(record.error());
  Eni& eni = (*record)->eni;
  const auto addresses = Numbered(call, "Ipv6Address");
  const auto prefixes = Numbered(call, "Ipv6Prefix");
  if (addresses.empty() == prefixes.empty()) return Invalid("Ipv6Address");
  auto left = Without(eni.ipv6, addresses);
  if (!left) return std::unexpected(left.error());
  auto left_prefixes = Without(eni.ipv6_prefixes, prefixes);
  if (!left_prefixes) return std::unexpected(left_prefixes.error());
  eni.ipv6 = std::move(*left);
  eni.ipv6_prefixes = std::move(*left_prefixes);
  return Json::Object();
}

}  // namespace berth::cloud::simulator
