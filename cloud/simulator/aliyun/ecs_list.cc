// The calls of EcsProduct that list and describe, and those about tags.
#include <algorithm>
#include <set>

#include "cloud/simulator/aliyun/ecs.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kMostNamed = 100;     // IDs of one call
constexpr std::size_t kLargestPage = 500;   // of ENIs
constexpr std::size_t kMostTagged = 1'000;  // that a list by tag tells of

// {INNER: [{MEMBER: value}, …]}
Json Nested(const char* inner, const char* member, const std::vector<std::string>& values) {
  Json list = Json::Array();
  for (const std::string& value : values) {
    Json item;
    item[member] = value;
    list.push_back(std::move(item));
  }
  Json nested;
  nested[inner] = std::move(list);
  return nested;
}

// True if the ENI has every text that the call filters by.
bool HasEveryText(const EniRecord& record, const Call& call) {
  const Eni& eni = record.eni;
  const auto is = [&](const char* parameter, const std::string& value) {
    return call[parameter].empty() || call[parameter] == value;
  };
  const std::string& group = call["SecurityGroupId"];
  return is("Status", eni.status) && is("Type", eni.type) && is("VpcId", eni.vpc_id) &&
         is("VSwitchId", eni.vswitch_id) && is("InstanceId", eni.instance_id) &&
         is("NetworkInterfaceName", record.name) && is("PrimaryIpAddress", eni.primary_address) &&
         is("ResourceGroupId", eni.resource_group_id) &&
         (group.empty() || std::ranges::contains(eni.security_group_ids, group));
}

bool HasEveryAddress(const Eni& eni, const Call& call) {
  const auto ipv4 = Numbered(call, "PrivateIpAddress");
  const auto ipv6 = Numbered(call, "Ipv6Address");
  return std::ranges::all_of(ipv4,
                             [&](const std::string& address) {
                               return std::ranges::contains(eni.ipv4, address,
                                                            &EniAddress::address);
                             }) &&
         std::ranges::all_of(ipv6, [&](const std::string& address) {
           return std::ranges::contains(eni.ipv6, address);
         });
}

}  // namespace

Json DescribeEni(const EniRecord& record) {
  const Eni& eni = record.eni;
  Json entry;
  entry["NetworkInterfaceId"] = eni.id;
  entry["NetworkInterfaceName"] = record.name;
  entry["Description"] = record.description;
  entry["Status"] = eni.status;
  entry["Type"] = eni.type;
  entry["NetworkInterfaceTrafficMode"] = eni.traffic_mode;
  entry["MacAddress"] = eni.mac_address;
  entry["VSwitchId"] = eni.vswitch_id;
  entry["VpcId"] = eni.vpc_id;
  entry["ZoneId"] = eni.zone_id;
  entry["ResourceGroupId"] = eni.resource_group_id;
  entry["PrivateIpAddress"] = eni.primary_address;
  entry["InstanceId"] = eni.instance_id;
  entry["ServiceManaged"] = eni.service_managed;
  entry["DeleteOnRelease"] = record.delete_on_release;
  entry["SourceDestCheck"] = false;
  entry["CreationTime"] = eni.created_at ? FormatTime(*eni.created_at) : "";
  entry["SecurityGroupIds"]["SecurityGroupId"] = eni.security_group_ids;
  Json ips = Json::Array();
  for (const EniAddress& address : eni.ipv4) {
    Json ip;
    ip["PrivateIpAddress"] = address.address;
    ip["Primary"] = address.primary;
    ips.push_back(std::move(ip));
  }
  entry["PrivateIpSets"]["PrivateIpSet"] = std::move(ips);
  entry["Ipv6Sets"] = Nested("Ipv6Set", "Ipv6Address", eni.ipv6);
  entry["Ipv4PrefixSets"] = Nested("Ipv4PrefixSet", "Ipv4Prefix", eni.ipv4_prefixes);
  entry["Ipv6PrefixSets"] = Nested("Ipv6PrefixSet", "Ipv6Prefix", eni.ipv6_prefixes);
  entry["Tags"] = DescribeTags(eni.tags, "TagKey", "TagValue");
  if (!eni.instance_id.empty()) {
    Json attachment;
    attachment["InstanceId"] = eni.instance_id;
    attachment["DeviceIndex"] = eni.type == "Primary" ? 0 : 1;
    attachment["TrunkNetworkInterfaceId"] = eni.trunk_eni_id;
    entry["Attachment"] = std::move(attachment);
  }
  return entry;
}

std::vector<const EniRecord*> EcsProduct::Select(const Call& call,
                                                 const std::vector<std::string>& ids) const {
  std::set<std::string> found(ids.begin(), ids.end());
  const std::string& instance = call["InstanceId"];
  const bool by_tag = ids.empty() && instance.empty() && call.Has("Tag.1.Key");
  if (ids.empty() && !instance.empty()) found = store_.OfInstance(instance);
  if (by_tag) {
    const auto tagged = store_.Tagged(call["Tag.1.Key"], call["Tag.1.Value"]);
    found.insert(tagged.begin(), tagged.end());
  }
  std::vector<const EniRecord*> records;
  const auto add = [&](const EniRecord* record) {
    if (!record || record->visible_at > call.now) return;
    if (!instance.empty() && record->listed_at > call.now) return;
    if (!HasEveryText(*record, call) || !HasEveryAddress(record->eni, call) ||
        !HasEveryTag(record->eni.tags, call)) {
      return;
    }
    if (!by_tag || records.size() < kMostTagged) records.push_back(record);
  };
  if (ids.empty() && instance.empty() && !by_tag) {
    for (const auto& [id, record] : store_.all()) add(&record);
  } else {
    for (const std::string& id : found) add(store_.Find(id));
  }
  return records;
}

Outcome EcsProduct::DescribeNetworkInterfaces(const Call& call) {
  const auto ids = Numbered(call, "NetworkInterfaceId");
  if (ids.size() > kMostNamed) return Invalid("NetworkInterfaceId");
  const bool by_token = call.Has("MaxResults") || call.Has("NextToken");
  const auto page = PageOf(call, kLargestPage);
  if (!page) return std::unexpected(page.error());
  const auto most = Count(call["MaxResults"], kLargestPage);
  if (!most || *most < 1 || *most > kLargestPage) return Invalid("MaxResults");

  const auto records = Select(call, ids);
  Json list = Json::Array();
  Json answer = PagedAnswer(*page, records.size());
  if (by_token) {
    // The token is the last ID of the page before, so that an ENI that goes hides no other.
    auto next = std::ranges::upper_bound(records, call["NextToken"], {},
                                         [](const EniRecord* record) { return record->eni.id; });
    for (; next != records.end() && list.size() < *most; ++next) {
      list.push_back(DescribeEni(**next));
    }
    answer["NextToken"] = next == records.end() ? "" : (*std::prev(next))->eni.id;
  } else {
    for (std::size_t n = 0; n < records.size(); ++n) {
      if (page->Has(n)) list.push_back(DescribeEni(*records[n]));
    }
  }
  answer["NetworkInterfaceSets"]["NetworkInterfaceSet"] = std::move(list);
  return answer;
}

Outcome EcsProduct::DescribeInstances(const Call& call) {
  const auto page = PageOf(call, kMostNamed);
  if (!page) return std::unexpected(page.error());
  std::set<std::string> wanted;
  if (call.Has("InstanceIds")) {
    const auto ids = Json::Parse(call["InstanceIds"], 2);
    if (!ids || !ids->is_array() || ids->size() > kMostNamed) return Invalid("InstanceIds");
    for (const Json& id : ids->array_range()) wanted.insert(id.as<std::string>());
  }
  std::size_t total = 0;
  Json list = Json::Array();
  for (const auto& [id, instance] : instances()) {
    if (call.Has("InstanceIds") && !wanted.contains(id)) continue;
    if (!page->Has(total++)) continue;
    const VSwitch& vswitch = vswitches_.at(instance.vswitch_id).facts;
    Json entry;
    entry["InstanceId"] = id;
    entry["Status"] = instance.status;
    entry["InstanceType"] = instance.type;
    entry["RegionId"] = region_;
    entry["ZoneId"] = vswitch.zone_id;
    entry["CreationTime"] = FormatTime(instance.created_at);
    entry["VpcAttributes"]["VpcId"] = vswitch.vpc_id;
    entry["VpcAttributes"]["VSwitchId"] = vswitch.id;
    Json enis = Json::Array();
    for (const std::string& eni_id : store_.OfInstance(id)) {
      const Eni& eni = store_.Find(eni_id)->eni;
      Json item;
      item["NetworkInterfaceId"] = eni.id;
      item["Type"] = eni.type;
      item["MacAddress"] = eni.mac_address;
      item["PrimaryIpAddress"] = eni.primary_address;
      enis.push_back(std::move(item));
    }
    entry["NetworkInterfaces"]["NetworkInterface"] = std::move(enis);
    list.push_back(std::move(entry));
  }
  Json answer = PagedAnswer(*page, total);
  answer["Instances"]["Instance"] = std::move(list);
  return answer;
}

Outcome EcsProduct::TagResources(const Call& call) { return Retag(call, TagsAdded); }
Outcome EcsProduct::UntagResources(const Call& call) { return Retag(call, TagsRemoved); }

Outcome EcsProduct::Retag(const Call& call, TagChange change) {
  return ChangeTags(
      call, "eni", change,
      [this](const std::string& id) {
        const EniRecord* record = store_.Find(id);
        return record ? &record->eni.tags : nullptr;
      },
      [this](const std::string& id, Tags tags) { SetTags(id, std::move(tags)); });
}

}  // namespace berth::cloud::simulator
