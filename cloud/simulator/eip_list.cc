#include "cloud/simulator/eip_list.h"

#include <utility>

#include "cloud/simulator/parameters.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kMostNamed = 50;  // IDs or addresses of one call
constexpr std::size_t kLargestPage = 100;
constexpr std::size_t kDefaultPage = 10;

bool HasTag(const Eip& eip, const std::string& key, const std::string& value) {
  const auto found = eip.tags.find(key);
  return found != eip.tags.end() && (value.empty() || found->second == value);
}

// True if the EIP matches every filter given.
bool Matches(const Eip& eip, const Call& call) {
  const auto is = [&](const char* parameter, const std::string& value) {
    return call[parameter].empty() || call[parameter] == value;
  };
  if (!is("Status", eip.status) || !is("ChargeType", eip.instance_charge_type) ||
      !is("ISP", eip.isp) || !is("ResourceGroupId", eip.resource_group_id) ||
      !is("EipName", eip.name) || !is("AssociatedInstanceType", eip.instance_type) ||
      !is("AssociatedInstanceId", eip.instance_id) ||
      !is("PublicIpAddressPoolId", eip.public_ip_address_pool_id)) {
    return false;
  }
  for (int n = 1; call.Has(Format("Tag.{}.Key", n)); ++n) {
    if (!HasTag(eip, call[Format("Tag.{}.Key", n)], call[Format("Tag.{}.Value", n)])) {
      return false;
    }
  }
  return true;
}

Json Describe(const EipRecord& record, const EipStore& store, const std::string& region) {
  const Eip& eip = record.eip;
  Json entry = Json::Object();
  entry["AllocationId"] = eip.allocation_id;
  entry["IpAddress"] = eip.address;
  entry["Status"] = eip.status;
  entry["RegionId"] = region;
  entry["ISP"] = eip.isp;
  entry["Netmode"] = "public";
  entry["InternetChargeType"] = eip.internet_charge_type;
  entry["ChargeType"] = eip.instance_charge_type;
  // What it gets, which in a package is the package's; then its own.
  const BandwidthPackage* package = store.FindPackage(eip.bandwidth_package_id);
  entry["Bandwidth"] = package ? std::to_string(package->bandwidth) : eip.bandwidth;
  entry["EipBandwidth"] = eip.bandwidth;
  entry["BandwidthPackageId"] = eip.bandwidth_package_id;
  entry["BandwidthPackageType"] = package ? "CommonBandwidthPackage" : "";
  entry["BandwidthPackageBandwidth"] = package ? std::to_string(package->bandwidth) : "";
  entry["ResourceGroupId"] = eip.resource_group_id;
  entry["Name"] = eip.name;
  entry["Descritpion"] = eip.description;  // sic; the right name came later
  entry["Description"] = eip.description;
  entry["PublicIpAddressPoolId"] = eip.public_ip_address_pool_id;
  entry["InstanceId"] = eip.instance_id;
  entry["InstanceType"] = eip.instance_type;
  Json protection = Json::Array();
  for (const std::string& type : eip.security_protection_types) protection.push_back(type);
  entry["SecurityProtectionTypes"]["SecurityProtectionType"] = std::move(protection);
  entry["DeletionProtection"] = eip.deletion_protection;
  entry["ServiceManaged"] = eip.service_managed ? 1 : 0;
  entry["AllocationTime"] = FormatTime(record.allocated_at);
  Json tags = Json::Array();
  for (const auto& [key, value] : eip.tags) {
    Json tag = Json::Object();
    tag["Key"] = key;
    tag["Value"] = value;
    tags.push_back(std::move(tag));
  }
  entry["Tags"]["Tag"] = std::move(tags);
  return entry;
}

}  // namespace

std::vector<const EipRecord*> SelectEips(const EipStore& store, const std::vector<std::string>& ids,
                                         const std::vector<std::string>& addresses,
                                         const Call& call) {
  auto records = store.Visible(ids, addresses, call["Tag.1.Key"], call["Tag.1.Value"]);
  std::erase_if(records, [&](const EipRecord* record) { return !Matches(record->eip, call); });
  return records;
}

Outcome DescribeEips(const EipStore& store, const std::string& region, const Call& call) {
  const auto ids = CommaSeparated(call["AllocationId"]);
  const auto addresses = CommaSeparated(call["EipAddress"]);
  if (ids.size() > kMostNamed) return Invalid("AllocationId");
  if (addresses.size() > kMostNamed) return Invalid("EipAddress");
  const auto page_size = Count(call["PageSize"], kDefaultPage);
  const auto page = Count(call["PageNumber"], 1);
  if (!page_size || *page_size < 1 || *page_size > kLargestPage) return Invalid("PageSize");
  if (!page || *page < 1) return Invalid("PageNumber");

  std::size_t total = 0;
  Json list = Json::Array();
  for (const EipRecord* record : SelectEips(store, ids, addresses, call)) {
    if (total / *page_size == *page - 1) list.push_back(Describe(*record, store, region));
    ++total;
  }
  Json answer = Json::Object();
  answer["TotalCount"] = total;
  answer["PageNumber"] = *page;
  answer["PageSize"] = *page_size;
  answer["EipAddresses"]["EipAddress"] = std::move(list);
  return answer;
}

}  // namespace berth::cloud::simulator
