// The calls of VpcProduct about bandwidth packages.
#include <utility>

#include "cloud/simulator/eip_refusals.h"
#include "cloud/simulator/vpc.h"

namespace berth::cloud::simulator {

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
  eip.bandwidth_package_status = "UNBINDING";
  store_.EndAt(call.now + options_.binding, eip.allocation_id, EipStore::Phase::kPackage);
  return Json::Object();
}

Outcome VpcProduct::DescribeCommonBandwidthPackages(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  Json list = Json::Array();
  for (const auto& [id, package] : store_.packages()) {
    if (!call["BandwidthPackageId"].empty() && call["BandwidthPackageId"] != id) continue;
    Json members = Json::Array();
    for (const std::string& member : package.members) {
      const Eip& eip = store_.At(member).eip;
      Json entry = Json::Object();
      entry["AllocationId"] = eip.allocation_id;
      entry["IpAddress"] = eip.address;
      entry["BandwidthPackageIpRelationStatus"] = eip.bandwidth_package_status;
      members.push_back(std::move(entry));
    }
    Json entry = Json::Object();
    entry["BandwidthPackageId"] = id;
    entry["Bandwidth"] = std::to_string(package.bandwidth);
    entry["ISP"] = package.isp;
    entry["RegionId"] = options_.region;
    entry["Status"] = "Available";
    entry["PublicIpAddresses"]["PublicIpAddresse"] = std::move(members);
    list.push_back(std::move(entry));
  }
  Json answer = Json::Object();
  answer["TotalCount"] = list.size();
  answer["PageNumber"] = 1;
  answer["PageSize"] = list.size();
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
