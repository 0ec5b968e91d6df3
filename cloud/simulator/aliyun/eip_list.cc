#include "cloud/simulator/aliyun/eip_list.h"

#include <optional>
#include <utility>

#include "cloud/simulator/aliyun/parameters.h"
#include "cloud/simulator/aliyun/tags.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kMostNamed = 50;  // IDs or addresses of one call
constexpr std::size_t kLargestPage = 100;
constexpr const char* kNoGroup = "";  // of contiguous EIPs: nobody here buys one

// The filters of a call that are more than texts to compare.
struct EipFilter {
  static std::expected<EipFilter, Refusal> Of(const Call& call);

  std::optional<bool> service_managed;
  std::optional<bool> protection;
  async::WallTime created_from = async::WallTime::min();
  async::WallTime created_until = async::WallTime::max();
};

// "2026-01-02T03:04Z", also with seconds.
std::optional<async::WallTime> MinuteTime(std::string text) {
  if (text.size() == 17) text.insert(16, ":00");
  return ParseTime(text);
}

std::expected<EipFilter, Refusal> EipFilter::Of(const Call& call) {
  EipFilter filter;
  for (const auto& [name, field] : {std::pair{"ServiceManaged", &filter.service_managed},
                                    {"SecurityProtectionEnabled", &filter.protection}}) {
    const auto flag = Flag(call, name);
    if (!flag) return std::unexpected(flag.error());
    *field = *flag;
  }
  for (int n = 1; !call[Format("Filter.{}.Key", n)].empty(); ++n) {
    const std::string& key = call[Format("Filter.{}.Key", n)];
    const auto time = MinuteTime(call[Format("Filter.{}.Value", n)]);
    if (!time) return Invalid(Format("Filter.{}.Value", n));
    if (key == "CreationStartTime") {
      filter.created_from = *time;
    } else if (key == "CreationEndTime") {
      filter.created_until = *time;
    } else {
      return Invalid(Format("Filter.{}.Key", n));
    }
  }
  return filter;
}

// True if the EIP has every text that the call filters by.
bool HasEveryText(const Eip& eip, const Call& call) {
  const auto is = [&](const char* parameter, const std::string& value) {
    return call[parameter].empty() || call[parameter] == value;
  };
  return is("Status", eip.status) && is("ChargeType", eip.instance_charge_type) &&
         is("ISP", eip.isp) && is("ResourceGroupId", eip.resource_group_id) &&
         is("EipName", eip.name) && is("AssociatedInstanceType", eip.instance_type) &&
         is("AssociatedInstanceId", eip.instance_id) &&
         is("BandwidthPackageId", eip.bandwidth_package_id) &&
         is("PublicIpAddressPoolId", eip.public_ip_address_pool_id) &&
         is("SegmentInstanceId", kNoGroup);
}

bool Matches(const EipRecord& record, const EipFilter& filter, const Call& call) {
  const Eip& eip = record.eip;
  const std::string& lock = call["LockReason"];
  const bool has_protection = !eip.security_protection_types.empty();
  return HasEveryText(eip, call) && HasEveryTag(eip.tags, call) &&
         (lock.empty() || record.lock_reasons.contains(lock)) &&
         filter.service_managed.value_or(eip.service_managed) == eip.service_managed &&
         filter.protection.value_or(has_protection) == has_protection &&
         record.allocated_at >= filter.created_from && record.allocated_at <= filter.created_until;
}

void DescribeBandwidth(Json& entry, const Eip& eip, const EipStore& store) {
  const BandwidthPackage* package = store.FindPackage(eip.bandwidth_package_id);
  const std::string shared = package ? std::to_string(package->bandwidth) : "";
  entry["Bandwidth"] = package ? shared : eip.bandwidth;
  entry["EipBandwidth"] = eip.bandwidth;
  entry["BandwidthPackageId"] = eip.bandwidth_package_id;
  entry["BandwidthPackageType"] = package ? "CommonBandwidthPackage" : "";
  entry["BandwidthPackageBandwidth"] = shared;
  entry["SecondLimited"] = false;
}

void DescribeBilling(Json& entry, const EipRecord& record) {
  entry["InternetChargeType"] = record.eip.internet_charge_type;
  entry["ChargeType"] = record.eip.instance_charge_type;
  entry["AllocationTime"] = FormatTime(record.allocated_at);
  entry["ExpiredTime"] = record.expires ? FormatTime(*record.expires) : "";
  // Nobody here has an order that is yet to take effect.
  entry["HasReservationData"] = "false";
  for (const char* member : {"ReservationActiveTime", "ReservationBandwidth",
                             "ReservationInternetChargeType", "ReservationOrderType"}) {
    entry[member] = "";
  }
}

void DescribeAssociation(Json& entry, const EipRecord& record, const std::string& region) {
  const Eip& eip = record.eip;
  const Association& association = record.association;
  const bool associated = !eip.instance_id.empty();
  entry["InstanceId"] = eip.instance_id;
  entry["InstanceType"] = eip.instance_type;
  entry["InstanceRegionId"] = !associated                           ? ""
                              : association.instance_region.empty() ? region
                                                                    : association.instance_region;
  entry["Mode"] = associated && association.mode.empty() ? "NAT" : association.mode;
  entry["PrivateIpAddress"] = association.private_address;
  entry["VpcId"] = association.vpc_id;
}

void DescribeLocks(Json& entry, const EipRecord& record) {
  entry["BusinessStatus"] = record.lock_reasons.empty() ? "Normal" : "OperationLock";
  Json locks = Json::Array();
  for (const std::string& reason : record.lock_reasons) {
    Json lock;
    lock["LockReason"] = reason;
    locks.push_back(std::move(lock));
  }
  entry["OperationLocks"]["LockReason"] = std::move(locks);
}

Json Describe(const EipRecord& record, const EipStore& store, const std::string& region) {
  const Eip& eip = record.eip;
  Json entry;
  entry["AllocationId"] = eip.allocation_id;
  entry["IpAddress"] = eip.address;
  entry["Status"] = eip.status;
  entry["RegionId"] = region;
  entry["ISP"] = eip.isp;
  entry["Netmode"] = "public";
  entry["BizType"] = "Default";
  entry["Zone"] = "";  // of a cloud box
  entry["ResourceGroupId"] = eip.resource_group_id;
  entry["Name"] = eip.name;
  entry["Descritpion"] = eip.description;  // sic; the right name came later
  entry["Description"] = eip.description;
  entry["PublicIpAddressPoolId"] = eip.public_ip_address_pool_id;
  entry["SegmentInstanceId"] = kNoGroup;
  entry["HDMonitorStatus"] = "OFF";
  entry["DeletionProtection"] = eip.deletion_protection;
  entry["ServiceManaged"] = eip.service_managed ? 1 : 0;
  Json regions = Json::Array();
  regions.push_back(region);
  entry["AvailableRegions"]["AvailableRegion"] = std::move(regions);
  Json protection = Json::Array();
  for (const std::string& type : eip.security_protection_types) protection.push_back(type);
  entry["SecurityProtectionTypes"]["SecurityProtectionType"] = std::move(protection);
  entry["Tags"] = DescribeTags(eip.tags);
  DescribeBandwidth(entry, eip, store);
  DescribeBilling(entry, record);
  DescribeAssociation(entry, record, region);
  DescribeLocks(entry, record);
  return entry;
}

}  // namespace

std::expected<std::vector<const EipRecord*>, Refusal> SelectEips(
    const EipStore& store, const std::vector<std::string>& ids,
    const std::vector<std::string>& addresses, const Call& call) {
  const auto filter = EipFilter::Of(call);
  if (!filter) return std::unexpected(filter.error());
  auto records = store.Visible(ids, addresses, call["Tag.1.Key"], call["Tag.1.Value"]);
  std::erase_if(records, [&](const EipRecord* record) { return !Matches(*record, *filter, call); });
  return records;
}

Outcome DescribeEips(const EipStore& store, const std::string& region, const Call& call) {
  const auto ids = CommaSeparated(call["AllocationId"]);
  const auto addresses = CommaSeparated(call["EipAddress"]);
  if (ids.size() > kMostNamed) return Invalid("AllocationId");
  if (addresses.size() > kMostNamed) return Invalid("EipAddress");
  const auto page = PageOf(call, kLargestPage);
  if (!page) return std::unexpected(page.error());
  const auto records = SelectEips(store, ids, addresses, call);
  if (!records) return std::unexpected(records.error());
  if (const auto go = CheckDryRun(call); !go) return std::unexpected(go.error());

  std::size_t total = 0;
  Json list = Json::Array();
  for (const EipRecord* record : *records) {
    if (page->Has(total++)) list.push_back(Describe(*record, store, region));
  }
  Json answer = PagedAnswer(*page, total);
  answer["EipAddresses"]["EipAddress"] = std::move(list);
  return answer;
}

}  // namespace berth::cloud::simulator
