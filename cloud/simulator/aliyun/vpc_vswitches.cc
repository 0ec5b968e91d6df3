// The calls of VpcProduct about vSwitches.
#include <algorithm>
#include <utility>

#include "cloud/simulator/aliyun/vpc.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kLargestPage = 50;

}  // namespace

std::optional<std::string> VpcProduct::CreateVSwitch(VSwitch facts) {
  auto pool = AddressPool::Of(facts.cidr);
  if (!pool) return std::nullopt;
  if (!facts.ipv6_cidr.empty() && !facts.ipv6_cidr.ends_with("::/64")) return std::nullopt;
  if (facts.id.empty()) facts.id = ids_.Resource("vsw");
  if (facts.vpc_id.empty()) facts.vpc_id = "vpc-default";
  if (facts.zone_id.empty()) facts.zone_id = options_.region + "-a";
  std::string id = facts.id;
  if (!vswitches_.emplace(id, VSwitchRecord{std::move(facts), std::move(*pool)}).second) {
    return std::nullopt;
  }
  return id;
}

Outcome VpcProduct::DescribeVSwitches(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  const auto page = PageOf(call, kLargestPage);
  if (!page) return std::unexpected(page.error());
  const auto ids = CommaSeparated(call["VSwitchId"]);
  const auto is = [&](const char* parameter, const std::string& value) {
    return call[parameter].empty() || call[parameter] == value;
  };
  std::size_t total = 0;
  Json list = Json::Array();
  for (const auto& [id, vswitch] : vswitches_) {
    const VSwitch& facts = vswitch.facts;
    if (!ids.empty() && !std::ranges::contains(ids, id)) continue;
    if (!is("VpcId", facts.vpc_id) || !is("ZoneId", facts.zone_id)) continue;
    if (!page->Has(total++)) continue;
    Json entry;
    entry["VSwitchId"] = id;
    entry["VpcId"] = facts.vpc_id;
    entry["ZoneId"] = facts.zone_id;
    entry["CidrBlock"] = facts.cidr;
    entry["Ipv6CidrBlock"] = facts.ipv6_cidr;
    entry["AvailableIpAddressCount"] = vswitch.pool.free();
    entry["Status"] = "Available";
    list.push_back(std::move(entry));
  }
  Json answer = PagedAnswer(*page, total);
  answer["VSwitches"]["VSwitch"] = std::move(list);
  return answer;
}

}  // namespace berth::cloud::simulator
