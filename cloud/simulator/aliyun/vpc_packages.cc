// The calls of VpcProduct about bandwidth packages.
#include <utility>

#include "cloud/simulator/aliyun/eip_refusals.h"
#include "cloud/simulator/aliyun/parameters.h"
#include "cloud/simulator/aliyun/tags.h"
#include "cloud/simulator/aliyun/vpc.h"
#include "log/timestamp.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kLargestPage = 50;

Json DescribeMembers(const BandwidthPackage& package, const EipStore& store) {
  Json members = Json::Array();
  for (const std::string& id : package.members) {
    const Eip& eip = store.Find(id)->eip;
    Json member;
    member["AllocationId"] = eip.allocation_id;
    member["IpAddress"] = eip.address;
    member["BandwidthPackageIpRelationStatus"] = eip.bandwidth_package_status;
    members.push_back(std::move(member));
  }
  return members;
}

Json Describe(const std::string& id, const BandwidthPackage& package, const EipStore& store,
              const std::string& region) {
  Json entry;
  entry["BandwidthPackageId"] = id;
  entry["Bandwidth"] = std::to_string(package.bandwidth);
  entry["ISP"] = package.isp;
  entry["RegionId"] = region;
  entry["Status"] = "Available";
  entry["BusinessStatus"] = "Normal";
  entry["BizType"] = "Default";
  entry["InstanceChargeType"] = "PostPaid";
  entry["InternetChargeType"] = "PayByBandwidth";
  entry["Ratio"] = 100;
  entry["ResourceGroupId"] = "rg-default";
  entry["CreationTime"] = FormatTime(package.created_at);
  entry["DeletionProtection"] = false;
  entry["HasReservationData"] = "false";
  entry["ServiceManaged"] = 0;
  entry["Tags"] = DescribeTags({});
  for (const char* member : {"Name", "Description", "ExpiredTime", "Zone"}) entry[member] = "";
  entry["PublicIpAddresses"]["PublicIpAddresse"] = DescribeMembers(package, store);
  return entry;
}

}  // namespace

Outcome VpcProduct::AddCommonBandwidthPackageIp(const Call& call) {
  const auto package = PackageOf(call);
  if (!package) return std::unexpected(package.error());
  if (!call["IpType"].empty() && call["IpType"] != "EIP") return Invalid("IpType");
  const auto record = ToUse(call, "IpInstanceId");
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
  if (const auto go = CheckDryRun(call); !go) return std::unexpected(go.error());
  eip.bandwidth_package_id = call["BandwidthPackageId"];
  eip.bandwidth_package_status = "BINDING";
  (*package)->members.insert(eip.allocation_id);
  store_.EndAt(call.now + options_.binding, eip.allocation_id, EipStore::Phase::kPackage);
  return Json::Object();
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
  if (const auto go = CheckDryRun(call); !go) return std::unexpected(go.error());
  eip.bandwidth_package_status = "UNBINDING";
  store_.EndAt(call.now + options_.binding, eip.allocation_id, EipStore::Phase::kPackage);
  return Json::Object();
}

Outcome VpcProduct::DescribeCommonBandwidthPackages(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  const auto page = PageOf(call, kLargestPage);
  if (!page) return std::unexpected(page.error());
  if (const auto go = CheckDryRun(call); !go) return std::unexpected(go.error());
  std::size_t total = 0;
  Json list = Json::Array();
  for (const auto& [id, package] : store_.packages()) {
    if (!call["BandwidthPackageId"].empty() && call["BandwidthPackageId"] != id) continue;
    if (page->Has(total++)) list.push_back(Describe(id, package, store_, options_.region));
  }
  Json answer = PagedAnswer(*page, total);
  answer["CommonBandwidthPackages"]["CommonBandwidthPackage"] = std::move(list);
  return answer;
}

std::expected<BandwidthPackage*, Refusal> VpcProduct::PackageOf(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  if (call["BandwidthPackageId"].empty()) return Missing("BandwidthPackageId");
  BandwidthPackage* package = store_.FindPackage(call["BandwidthPackageId"]);
  if (!package) {
    return Refuse(404, "InvalidBandwidthPackageId.NotFound",
                  "The specified bandwidthPackageId does not exist in our records.");
  }
  return package;
}

}  // namespace berth::cloud::simulator
