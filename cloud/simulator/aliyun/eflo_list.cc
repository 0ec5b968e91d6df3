// The calls of EfloProduct that list and describe.
#include <algorithm>
#include <set>

#include "cloud/simulator/aliyun/eflo.h"
#include "cloud/simulator/aliyun/eflo_refusals.h"
#include "log/timestamp.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kDefaultPage = 20;
constexpr std::size_t kLargestPage = 100;

const char* TypeOf(const Eni& eni) { return eni.type == "Primary" ? "DEFAULT" : "CUSTOM"; }

// True if the ENI has every text that the call filters by.
bool HasEveryText(const Eni& eni, const Call& call) {
  const auto is = [&](const char* parameter, const std::string& value) {
    return call[parameter].empty() || call[parameter] == value;
  };
  return is("ElasticNetworkInterfaceId", eni.id) && is("NodeId", eni.instance_id) &&
         is("Status", EfloStatus(eni.status)) && is("Type", TypeOf(eni)) &&
         is("Ip", eni.primary_address) && is("VpcId", eni.vpc_id) &&
         is("VSwitchId", eni.vswitch_id) && is("ZoneId", eni.zone_id) &&
         is("ResourceGroupId", eni.resource_group_id);
}

Json DescribeAddress(const EniRecord& record, const EniAddress& ip, const std::string& region) {
  Json entry;
  entry["ElasticNetworkInterfaceId"] = record.eni.id;
  entry["RegionId"] = region;
  entry["IpName"] = ip.name;
  entry["PrivateIpAddress"] = ip.address;
  entry["Status"] = record.address_status.at(ip.name);
  return entry;
}

Json DescribeLeni(const EniRecord& record, const std::string& region) {
  const Eni& eni = record.eni;
  Json entry;
  entry["ElasticNetworkInterfaceId"] = eni.id;
  entry["RegionId"] = region;
  entry["ZoneId"] = eni.zone_id;
  entry["NodeId"] = eni.instance_id;
  entry["Status"] = EfloStatus(eni.status);
  entry["Type"] = TypeOf(eni);
  entry["VpcId"] = eni.vpc_id;
  entry["VSwitchId"] = eni.vswitch_id;
  entry["SecurityGroupId"] = eni.security_group_ids.empty() ? "" : eni.security_group_ids.front();
  entry["ResourceGroupId"] = eni.resource_group_id;
  entry["Ip"] = eni.primary_address;
  entry["Mac"] = eni.mac_address;
  entry["Description"] = record.description;
  entry["CreateTime"] = eni.created_at ? FormatTime(*eni.created_at) : "";
  entry["Tags"] = DescribeTags(eni.tags, "TagKey", "TagValue")["Tag"];
  return entry;
}

// {"Total": n, "Data": [those on the call's page]}
template <typename Item>
Outcome PageOfContent(const Call& call, const std::vector<Item>& items, auto describe) {
  const auto page = PageOf(call, kLargestPage, kDefaultPage);
  if (!page) return std::unexpected(page.error());
  Json data = Json::Array();
  for (std::size_t n = 0; n < items.size(); ++n) {
    if (page->Has(n)) data.push_back(describe(items[n]));
  }
  Json content;
  content["Total"] = items.size();
  content["Data"] = std::move(data);
  return content;
}

}  // namespace

std::vector<const EniRecord*> EfloProduct::Select(const Call& call) const {
  const std::string& id = call["ElasticNetworkInterfaceId"];
  const std::string& node = call["NodeId"];
  const bool by_tag = id.empty() && node.empty() && call.Has("Tag.1.Key");
  std::set<std::string> found;
  if (!id.empty()) found.insert(id);
  if (id.empty() && !node.empty()) found = store_.OfInstance(node);
  if (by_tag) {
    const auto tagged = store_.Tagged(call["Tag.1.Key"], call["Tag.1.Value"]);
    found.insert(tagged.begin(), tagged.end());
  }
  std::vector<const EniRecord*> records;
  const auto add = [&](const EniRecord* record) {
    if (!record || record->visible_at > call.now) return;
    if (!node.empty() && record->listed_at > call.now) return;
    if (!HasEveryText(record->eni, call) || !HasEveryTag(record->eni.tags, call)) return;
    records.push_back(record);
  };
  if (id.empty() && node.empty() && !by_tag) {
    for (const auto& [eni_id, record] : store_.all()) add(&record);
  } else {
    for (const std::string& eni_id : found) add(store_.Find(eni_id));
  }
  return records;
}

Outcome EfloProduct::ListElasticNetworkInterfaces(const Call& call) {
  return PageOfContent(call, Select(call),
                       [this](const EniRecord* record) { return DescribeLeni(*record, region_); });
}

Outcome EfloProduct::GetElasticNetworkInterface(const Call& call) {
  const auto record = Named(call);
  if (!record) return std::unexpected(record.error());
  Json content = DescribeLeni(**record, region_);
  Json addresses = Json::Array();
  for (const EniAddress& ip : (*record)->eni.ipv4) {
    if (!ip.primary) addresses.push_back(DescribeAddress(**record, ip, region_));
  }
  content["PrivateIpAddresses"] = std::move(addresses);
  return content;
}

Outcome EfloProduct::ListLeniPrivateIpAddresses(const Call& call) {
  const auto is = [&](const char* parameter, const std::string& value) {
    return call[parameter].empty() || call[parameter] == value;
  };
  std::vector<std::pair<const EniRecord*, const EniAddress*>> found;
  const auto add = [&](const EniRecord& record) {
    for (const EniAddress& ip : record.eni.ipv4) {
      if (!ip.primary && is("IpName", ip.name) && is("PrivateIpAddress", ip.address) &&
          is("Status", record.address_status.at(ip.name))) {
        found.emplace_back(&record, &ip);
      }
    }
  };
  if (const std::string& id = call["ElasticNetworkInterfaceId"]; id.empty()) {
    for (const auto& [eni_id, record] : store_.all()) add(record);
  } else if (const EniRecord* record = store_.Find(id)) {
    add(*record);
  }
  return PageOfContent(call, found, [this](const auto& pair) {
    return DescribeAddress(*pair.first, *pair.second, region_);
  });
}

}  // namespace berth::cloud::simulator
