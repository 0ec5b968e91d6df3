#include "cloud/simulator/vpc.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <ranges>
#include <utility>

#include "cloud/simulator/eip_rules.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kMostTags = 20;
constexpr std::size_t kMostTagged = 50;  // resources of one TagResources
constexpr std::size_t kMostNamed = 50;   // of one DescribeEipAddresses
constexpr std::size_t kLargestPage = 100;
constexpr std::size_t kDefaultPage = 10;
constexpr std::size_t kTagPage = 50;
// 100.64.0.0/10, which is nobody's on the Internet.
constexpr std::uint32_t kFirstAddress = (100u << 24) | (64u << 16);
constexpr std::uint32_t kAddresses = 1u << 22;

Json Done() { return Json::Object(); }
Json List() { return Json::Array(); }

std::unexpected<Refusal> WrongStatus() {
  return Refuse(400, "IncorrectEipStatus",
                "Current elastic IP status does not support this operation.");
}

std::unexpected<Refusal> PackageBusy() {
  return Refuse(400, "BandwidthPackageOperation.conflict",
                "There is already a operation in progress on the bandwidth package.");
}

std::vector<std::string> Split(const std::string& text) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(text, ',')) {
    if (!part.empty()) parts.emplace_back(part.begin(), part.end());
  }
  return parts;
}

std::optional<std::size_t> Count(const std::string& text, std::size_t otherwise) {
  if (text.empty()) return otherwise;
  std::size_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  if (end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool IsResource(std::string_view type, std::string_view wanted) {
  return std::ranges::equal(type, wanted, [](char a, char b) { return (a | 0x20) == (b | 0x20); });
}

bool IsBeingMoved(const Eip& eip) {
  return eip.bandwidth_package_status == "BINDING" || eip.bandwidth_package_status == "UNBINDING";
}

bool HasTag(const Eip& eip, const std::string& key, const std::string& value) {
  const auto found = eip.tags.find(key);
  return found != eip.tags.end() && (value.empty() || found->second == value);
}

// Whether all that the call asks for is so; what it does not name is.
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

}  // namespace

VpcProduct::VpcProduct(VpcOptions options, Ids& ids) : options_(std::move(options)), ids_(ids) {}

const std::map<std::string_view, VpcProduct::Action>& VpcProduct::Actions() {
  static const std::map<std::string_view, Action> kActions = {
      {"AllocateEipAddress", &VpcProduct::AllocateEipAddress},
      {"DescribeEipAddresses", &VpcProduct::DescribeEipAddresses},
      {"ModifyEipAddressAttribute", &VpcProduct::ModifyEipAddressAttribute},
      {"ReleaseEipAddress", &VpcProduct::ReleaseEipAddress},
      {"AssociateEipAddress", &VpcProduct::AssociateEipAddress},
      {"UnassociateEipAddress", &VpcProduct::UnassociateEipAddress},
      {"AddCommonBandwidthPackageIp", &VpcProduct::AddCommonBandwidthPackageIp},
      {"RemoveCommonBandwidthPackageIp", &VpcProduct::RemoveCommonBandwidthPackageIp},
      {"DescribeCommonBandwidthPackages", &VpcProduct::DescribeCommonBandwidthPackages},
      {"TagResources", &VpcProduct::TagResources},
      {"UnTagResources", &VpcProduct::UntagResources},
      {"ListTagResources", &VpcProduct::ListTagResources},
      {"MoveResourceGroup", &VpcProduct::MoveResourceGroup},
  };
  return kActions;
}

bool VpcProduct::Has(std::string_view action) const { return Actions().contains(action); }

Outcome VpcProduct::Do(const Call& call) {
  Settle(call.now);
  Outcome outcome = (this->*Actions().at(call.action))(call);
  Settle(call.now);  // what takes no time
  return outcome;
}

Outcome VpcProduct::AllocateEipAddress(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  auto eip = EipToAllocate(call);
  if (!eip) return std::unexpected(eip.error());
  if (eips_.size() >= options_.eip_quota) {
    return Refuse(400, "QuotaExceeded.Eip", "Elastic IP address quota exceeded");
  }
  if (!funded_) {
    return Refuse(400, "InsufficientBalance.Eip", "Your account does not have enough balance.");
  }
  const Eip& made = Insert(std::move(*eip), call.now).eip;
  After(call, options_.until_visible, made.allocation_id, Phase::kInvisible);
  Enter({LedgerEntry::Event::kAllocated, call.now, made.allocation_id, made.address, call.caller,
         call["ClientToken"]});
  Json answer = Done();
  answer["AllocationId"] = made.allocation_id;
  answer["EipAddress"] = made.address;
  answer["ResourceGroupId"] = made.resource_group_id;
  if (made.instance_charge_type == "PrePaid") answer["OrderId"] = ids_.Order();
  return answer;
}

Outcome VpcProduct::DescribeEipAddresses(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  const auto ids = Split(call["AllocationId"]);
  const auto addresses = Split(call["EipAddress"]);
  if (ids.size() > kMostNamed) return Invalid("AllocationId");
  if (addresses.size() > kMostNamed) return Invalid("EipAddress");
  const auto page_size = Count(call["PageSize"], kDefaultPage);
  const auto page = Count(call["PageNumber"], 1);
  if (!page_size || *page_size < 1 || *page_size > kLargestPage) return Invalid("PageSize");
  if (!page || *page < 1) return Invalid("PageNumber");

  std::size_t total = 0;
  Json list = List();
  for (const Record* record : Candidates(ids, addresses, call)) {
    if (!Matches(record->eip, call)) continue;
    if (total / *page_size == *page - 1) list.push_back(Describe(*record));
    ++total;
  }
  Json answer = Done();
  answer["TotalCount"] = total;
  answer["PageNumber"] = *page;
  answer["PageSize"] = *page_size;
  answer["EipAddresses"]["EipAddress"] = std::move(list);
  return answer;
}

Outcome VpcProduct::ModifyEipAddressAttribute(const Call& call) {
  if (const auto good = CheckRegion(call, false); !good) return std::unexpected(good.error());
  const auto record = ToChange(call, "AllocationId");
  if (!record) return std::unexpected(record.error());
  auto modified = EipModified((*record)->eip, call);
  if (!modified) return std::unexpected(modified.error());
  (*record)->eip = std::move(*modified);
  return Done();
}

Outcome VpcProduct::ReleaseEipAddress(const Call& call) {
  if (const auto good = CheckRegion(call, false); !good) return std::unexpected(good.error());
  const auto record = ToChange(call, "AllocationId");
  if (!record) return std::unexpected(record.error());
  Eip& eip = (*record)->eip;
  if (eip.instance_charge_type == "PrePaid") {
    return Refuse(400, "Forbidden.ChargeTypeIsPrepaid", "It's forbidden to release a prepaid EIP");
  }
  if (eip.deletion_protection) {
    return Refuse(400, "InvalidOperation.DeletionProtection",
                  "The instance cannot be deleted because of deletion protection.");
  }
  if (eip.status != "Available") return WrongStatus();
  if (IsBeingMoved(eip)) return PackageBusy();
  eip.status = "Releasing";
  After(call, options_.releasing, eip.allocation_id, Phase::kStatus);
  Enter({LedgerEntry::Event::kReleased, call.now, eip.allocation_id, eip.address, call.caller, {}});
  return Done();
}

Outcome VpcProduct::AssociateEipAddress(const Call& call) {
  if (const auto good = CheckRegion(call, false); !good) return std::unexpected(good.error());
  if (call["InstanceId"].empty()) return Missing("InstanceId");
  const auto record = ToChange(call, "AllocationId");
  if (!record) return std::unexpected(record.error());
  Eip& eip = (*record)->eip;
  if (eip.status != "Available") return WrongStatus();
  eip.status = "Associating";
  eip.instance_id = call["InstanceId"];
  eip.instance_type = call["InstanceType"].empty() ? "EcsInstance" : call["InstanceType"];
  After(call, options_.associating, eip.allocation_id, Phase::kStatus);
  return Done();
}

Outcome VpcProduct::UnassociateEipAddress(const Call& call) {
  if (const auto good = CheckRegion(call, false); !good) return std::unexpected(good.error());
  const auto record = ToChange(call, "AllocationId");
  if (!record) return std::unexpected(record.error());
  Eip& eip = (*record)->eip;
  if (eip.status != "InUse") return WrongStatus();
  eip.status = "Unassociating";
  After(call, options_.unassociating, eip.allocation_id, Phase::kStatus);
  return Done();
}

Outcome VpcProduct::AddCommonBandwidthPackageIp(const Call& call) {
  const auto package = PackageOf(call);
  if (!package) return std::unexpected(package.error());
  if (!call["IpType"].empty() && call["IpType"] != "EIP") return Invalid("IpType");
  const auto record = ToChange(call, "IpInstanceId");
  if (!record) return std::unexpected(record.error());
  Eip& eip = (*record)->eip;
  if (IsBeingMoved(eip)) return PackageBusy();
  if (!eip.bandwidth_package_id.empty()) {
    return Refuse(400, "IpInstanceId.AlreadyInBandwidthPackage",
                  "The specified Eip InstanceId already in bandwidthPackage.");
  }
  if (eip.instance_charge_type == "PrePaid") {
    return Refuse(400, "IpInstanceId.ChargeType.NotSupport",
                  "The specified Eip instance is PrePaid type, Cannot add to BandwidthPackage.");
  }
  if (eip.isp != (*package)->isp) return Invalid("ISP");
  eip.bandwidth_package_id = call["BandwidthPackageId"];
  eip.bandwidth_package_status = "BINDING";
  (*package)->members.insert(eip.allocation_id);
  After(call, options_.binding, eip.allocation_id, Phase::kPackage);
  return Done();
}

Outcome VpcProduct::RemoveCommonBandwidthPackageIp(const Call& call) {
  const auto package = PackageOf(call);
  if (!package) return std::unexpected(package.error());
  const auto record = ToChange(call, "IpInstanceId");
  if (!record) return std::unexpected(record.error());
  Eip& eip = (*record)->eip;
  if (eip.bandwidth_package_id != call["BandwidthPackageId"]) {
    return Refuse(400, "OperationUnsupported.IpNotInCbwp",
                  "The specified Eip InstanceId is not in the bandwidthPackage.");
  }
  if (IsBeingMoved(eip)) return PackageBusy();
  eip.bandwidth_package_status = "UNBINDING";
  After(call, options_.binding, eip.allocation_id, Phase::kPackage);
  return Done();
}

Outcome VpcProduct::DescribeCommonBandwidthPackages(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  Json list = List();
  for (const auto& [id, package] : packages_) {
    if (!call["BandwidthPackageId"].empty() && call["BandwidthPackageId"] != id) continue;
    Json members = List();
    for (const std::string& member : package.members) {
      const Eip& eip = eips_.at(member).eip;
      Json entry = Done();
      entry["AllocationId"] = eip.allocation_id;
      entry["IpAddress"] = eip.address;
      entry["BandwidthPackageIpRelationStatus"] = eip.bandwidth_package_status;
      members.push_back(std::move(entry));
    }
    Json entry = Done();
    entry["BandwidthPackageId"] = id;
    entry["Bandwidth"] = std::to_string(package.bandwidth);
    entry["ISP"] = package.isp;
    entry["RegionId"] = options_.region;
    entry["Status"] = "Available";
    entry["PublicIpAddresses"]["PublicIpAddresse"] = std::move(members);
    list.push_back(std::move(entry));
  }
  Json answer = Done();
  answer["TotalCount"] = list.size();
  answer["PageNumber"] = 1;
  answer["PageSize"] = list.size();
  answer["CommonBandwidthPackages"]["CommonBandwidthPackage"] = std::move(list);
  return answer;
}

Outcome VpcProduct::TagResources(const Call& call) {
  const auto records = ToTag(call);
  if (!records) return std::unexpected(records.error());
  const auto tags = NumberedTags(call);
  if (!tags) return std::unexpected(tags.error());
  if (tags->empty()) {
    return Refuse(400, "MissingParameter.TagKey", "You must specify Tag.N.Key.");
  }
  // All or none.
  for (const Record* record : *records) {
    Tags merged = *tags;
    merged.insert(record->eip.tags.begin(), record->eip.tags.end());
    if (merged.size() > kMostTags) {
      return Refuse(400, "QuotaExceed.TagsPerResource",
                    "The maximum number of tags for each resource is exceeded.");
    }
  }
  for (const Record* record : *records) {
    Tags merged = *tags;
    merged.insert(record->eip.tags.begin(), record->eip.tags.end());
    SetTags(record->eip.allocation_id, std::move(merged));
  }
  return Done();
}

Outcome VpcProduct::UntagResources(const Call& call) {
  const auto records = ToTag(call);
  if (!records) return std::unexpected(records.error());
  const auto keys = Numbered(call, "TagKey");
  const bool all = keys.empty() && call["All"] == "true";
  if (keys.empty() && !all) {
    return Refuse(400, "MissingParameter.TagKey", "You must specify TagKey.");
  }
  for (const Record* record : *records) {
    Tags left = all ? Tags() : record->eip.tags;
    for (const std::string& key : keys) left.erase(key);
    SetTags(record->eip.allocation_id, std::move(left));
  }
  return Done();
}

Outcome VpcProduct::ListTagResources(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  const auto begin = Count(call["NextToken"], 0);
  const auto most = Count(call["MaxResults"], kTagPage);
  if (!begin) return Invalid("NextToken");
  if (!most || *most < 1 || *most > kTagPage) return Invalid("MaxResults");
  std::size_t total = 0;
  Json list = List();
  for (const Record* record : Candidates(Numbered(call, "ResourceId"), {}, call)) {
    if (!Matches(record->eip, call)) continue;
    for (const auto& [key, value] : record->eip.tags) {
      if (total >= *begin && list.size() < *most) {
        Json entry = Done();
        entry["ResourceType"] = "EIP";
        entry["ResourceId"] = record->eip.allocation_id;
        entry["TagKey"] = key;
        entry["TagValue"] = value;
        list.push_back(std::move(entry));
      }
      ++total;
    }
  }
  Json answer = Done();
  const std::size_t end = *begin + list.size();
  answer["NextToken"] = end < total ? std::to_string(end) : "";
  answer["TagResources"]["TagResource"] = std::move(list);
  return answer;
}

Outcome VpcProduct::MoveResourceGroup(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  if (!IsResource(call["ResourceType"], "eip")) return Invalid("ResourceType");
  if (call["NewResourceGroupId"].empty()) return Missing("NewResourceGroupId");
  if (!call["NewResourceGroupId"].starts_with("rg-")) return Invalid("NewResourceGroupId");
  const auto record = ToChange(call, "ResourceId");
  if (!record) return std::unexpected(record.error());
  (*record)->eip.resource_group_id = call["NewResourceGroupId"];
  return Done();
}

Check VpcProduct::CheckRegion(const Call& call, bool mandatory) const {
  const std::string& region = call["RegionId"];
  if (region.empty() && mandatory) return Missing("RegionId");
  if (region.empty() || region == options_.region) return {};
  return Refuse(404, "InvalidRegionId.NotFound",
                "The specified RegionId does not exist in our records.");
}

std::expected<VpcProduct::Record*, Refusal> VpcProduct::ToChange(const Call& call,
                                                                 const std::string& parameter) {
  const std::string& id = call[parameter];
  if (id.empty()) return Missing(parameter);
  const auto found = eips_.find(id);
  if (found == eips_.end()) {
    return Refuse(404, "InvalidAllocationId.NotFound", "Specified allocation ID is not found");
  }
  const Eip& eip = found->second.eip;
  if (eip.service_managed) {
    return Refuse(400, "OperationUnsupported.ServiceManaged",
                  "Operation is forbidden because this instance belongs to Service manager.");
  }
  // Of one that is on its way, people can only ask.
  if (eip.status != "Available" && eip.status != "InUse") return WrongStatus();
  return &found->second;
}

std::expected<std::vector<VpcProduct::Record*>, Refusal> VpcProduct::ToTag(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  if (!IsResource(call["ResourceType"], "EIP")) {
    return Refuse(404, "InvalidResourceType.NotFound",
                  "The ResourceType provided does not exist in our records.");
  }
  const auto ids = Numbered(call, "ResourceId");
  if (ids.empty()) {
    return Refuse(400, "MissingParameter.ResourceId", "You must specify ResourceId.N.");
  }
  if (ids.size() > kMostTagged) {
    return Refuse(400, "NumberExceed.ResourceIds",
                  "The maximum number of ResourceIds is exceeded.");
  }
  std::vector<Record*> records;
  for (const std::string& id : ids) {
    const auto found = eips_.find(id);
    if (found == eips_.end() || found->second.eip.status == "Releasing") {
      return Refuse(404, "InvalidResourceId.NotFound",
                    "The specified ResourceIds are not found in our records.");
    }
    records.push_back(&found->second);
  }
  return records;
}

std::expected<VpcProduct::Package*, Refusal> VpcProduct::PackageOf(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  if (call["BandwidthPackageId"].empty()) return Missing("BandwidthPackageId");
  const auto found = packages_.find(call["BandwidthPackageId"]);
  if (found == packages_.end()) {
    return Refuse(404, "InvalidBandwidthPackageId.NotFound",
                  "The specified bandwidthPackageId does not exist in our records.");
  }
  return &found->second;
}

std::vector<const VpcProduct::Record*> VpcProduct::Candidates(
    const std::vector<std::string>& ids, const std::vector<std::string>& addresses,
    const Call& call) const {
  std::vector<const Record*> records;
  const auto add = [&](const std::string& id) {
    const auto found = eips_.find(id);
    if (found == eips_.end() || !found->second.visible) return;
    if (!addresses.empty() && !std::ranges::contains(addresses, found->second.eip.address)) return;
    records.push_back(&found->second);
  };
  if (!ids.empty()) {
    // Each once, however often it was named.
    for (const std::string& id : std::set(ids.begin(), ids.end())) add(id);
  } else if (!addresses.empty()) {
    for (const std::string& address : std::set(addresses.begin(), addresses.end())) {
      const auto found = by_address_.find(address);
      if (found != by_address_.end()) add(found->second);
    }
  } else if (const std::string& key = call["Tag.1.Key"]; !key.empty()) {
    const std::string& value = call["Tag.1.Value"];
    for (auto tag = by_tag_.lower_bound({key, value, ""});
         tag != by_tag_.end() && (*tag)[0] == key && (value.empty() || (*tag)[1] == value); ++tag) {
      add((*tag)[2]);
    }
  } else {
    for (const std::string& id : std::views::keys(eips_)) add(id);
  }
  return records;
}

Json VpcProduct::Describe(const Record& record) const {
  const Eip& eip = record.eip;
  Json entry = Done();
  entry["AllocationId"] = eip.allocation_id;
  entry["IpAddress"] = eip.address;
  entry["Status"] = eip.status;
  entry["RegionId"] = options_.region;
  entry["ISP"] = eip.isp;
  entry["Netmode"] = "public";
  entry["InternetChargeType"] = eip.internet_charge_type;
  entry["ChargeType"] = eip.instance_charge_type;
  // What it gets, which in a package is the package's; then its own.
  const auto package = packages_.find(eip.bandwidth_package_id);
  entry["Bandwidth"] =
      package == packages_.end() ? eip.bandwidth : std::to_string(package->second.bandwidth);
  entry["EipBandwidth"] = eip.bandwidth;
  entry["BandwidthPackageId"] = eip.bandwidth_package_id;
  entry["BandwidthPackageType"] = package == packages_.end() ? "" : "CommonBandwidthPackage";
  entry["BandwidthPackageBandwidth"] =
      package == packages_.end() ? "" : std::to_string(package->second.bandwidth);
  entry["ResourceGroupId"] = eip.resource_group_id;
  entry["Name"] = eip.name;
  entry["Descritpion"] = eip.description;  // sic; the right name came later
  entry["Description"] = eip.description;
  entry["PublicIpAddressPoolId"] = eip.public_ip_address_pool_id;
  entry["InstanceId"] = eip.instance_id;
  entry["InstanceType"] = eip.instance_type;
  Json protection = List();
  for (const std::string& type : eip.security_protection_types) protection.push_back(type);
  entry["SecurityProtectionTypes"]["SecurityProtectionType"] = std::move(protection);
  entry["DeletionProtection"] = eip.deletion_protection;
  entry["ServiceManaged"] = eip.service_managed ? 1 : 0;
  entry["AllocationTime"] = FormatTime(record.allocated_at);
  Json tags = List();
  for (const auto& [key, value] : eip.tags) {
    Json tag = Done();
    tag["Key"] = key;
    tag["Value"] = value;
    tags.push_back(std::move(tag));
  }
  entry["Tags"]["Tag"] = std::move(tags);
  return entry;
}

void VpcProduct::Settle(async::WallTime now) {
  now_ = std::max(now_, now);
  while (!due_.empty() && due_.begin()->first <= now_) {
    const Due due = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    End(due);
  }
}

void VpcProduct::End(const Due& due) {
  const auto found = eips_.find(due.id);
  if (found == eips_.end()) return;  // deleted out of band meanwhile
  Eip& eip = found->second.eip;
  switch (due.phase) {
    case Phase::kInvisible:
      found->second.visible = true;
      return;
    case Phase::kPackage:
      if (eip.bandwidth_package_status == "BINDING") {
        eip.bandwidth_package_status = "BINDED";
      } else if (eip.bandwidth_package_status == "UNBINDING") {
        packages_.at(eip.bandwidth_package_id).members.erase(due.id);
        eip.bandwidth_package_id.clear();
        eip.bandwidth_package_status.clear();
      }
      return;
    case Phase::kStatus:
      if (eip.status == "Releasing") {
        Erase(due.id);
      } else if (eip.status == "Associating") {
        eip.status = "InUse";
      } else if (eip.status == "Unassociating") {
        eip.status = "Available";
        eip.instance_id.clear();
        eip.instance_type.clear();
      }
      return;
  }
}

std::string VpcProduct::CreateEip(Eip eip) {
  const auto fill = [](std::string& field, const char* value) {
    if (field.empty()) field = value;
  };
  fill(eip.status, "Available");
  fill(eip.isp, "BGP");
  fill(eip.internet_charge_type, "PayByTraffic");
  fill(eip.instance_charge_type, "PostPaid");
  fill(eip.bandwidth, "5");
  fill(eip.resource_group_id, "rg-default");
  Record& record = Insert(std::move(eip), now_);
  record.visible = true;
  Enter(
      {LedgerEntry::Event::kAllocated, now_, record.eip.allocation_id, record.eip.address, {}, {}});
  return record.eip.allocation_id;
}

bool VpcProduct::DeleteEip(const std::string& id) {
  const auto found = eips_.find(id);
  if (found == eips_.end()) return false;
  Enter({LedgerEntry::Event::kReleased, now_, id, found->second.eip.address, {}, {}});
  Erase(id);
  return true;
}

const Eip* VpcProduct::Find(const std::string& id) const {
  const auto found = eips_.find(id);
  return found == eips_.end() ? nullptr : &found->second.eip;
}

void VpcProduct::SetTags(const std::string& id, Tags tags) {
  Eip& eip = Edit(id);
  for (const auto& [key, value] : eip.tags) by_tag_.erase({key, value, id});
  eip.tags = std::move(tags);
  for (const auto& [key, value] : eip.tags) by_tag_.insert({key, value, id});
}

std::string VpcProduct::CreatePackage(int bandwidth, std::string isp) {
  std::string id = ids_.Resource("cbwp");
  packages_.emplace(id, Package{bandwidth, std::move(isp), {}});
  return id;
}

std::vector<Eip> VpcProduct::Eips() const {
  std::vector<Eip> all;
  all.reserve(eips_.size());
  for (const Record& record : std::views::values(eips_)) all.push_back(record.eip);
  return all;
}

VpcProduct::Record& VpcProduct::Insert(Eip eip, async::WallTime at) {
  eip.allocation_id = ids_.Resource("eip");
  eip.address = NextAddress();
  by_address_.emplace(eip.address, eip.allocation_id);
  const std::string id = eip.allocation_id;
  Tags tags = std::exchange(eip.tags, {});
  Record& record = eips_.emplace(id, Record{std::move(eip), at}).first->second;
  SetTags(id, std::move(tags));
  return record;
}

void VpcProduct::Erase(const std::string& id) {
  SetTags(id, {});
  const auto found = eips_.find(id);
  by_address_.erase(found->second.eip.address);
  const auto package = packages_.find(found->second.eip.bandwidth_package_id);
  if (package != packages_.end()) package->second.members.erase(id);
  eips_.erase(found);
}

void VpcProduct::Enter(LedgerEntry entry) {
  if (ledger_.size() >= options_.ledger_size) ledger_.pop_front();
  ledger_.push_back(std::move(entry));
}

void VpcProduct::After(const Call& call, async::Duration delay, const std::string& id,
                       Phase phase) {
  due_.emplace(call.now + delay, Due{id, phase});
}

// In turn, so that an address comes again as late as it can.
std::string VpcProduct::NextAddress() {
  for (;;) {
    last_address_ = (last_address_ + 1) % kAddresses;
    const std::uint32_t address = kFirstAddress + last_address_;
    std::string text = Format("{}.{}.{}.{}", address >> 24, (address >> 16) & 255,
                              (address >> 8) & 255, address & 255);
    if (!by_address_.contains(text)) return text;
  }
}

}  // namespace berth::cloud::simulator
