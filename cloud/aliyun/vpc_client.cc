#include "cloud/aliyun/vpc_client.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <optional>
#include <utility>

#include "cloud/aliyun/fields.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

constexpr std::size_t kPageSize = 100;  // the most the cloud gives
constexpr std::size_t kMostPages = 1000;

Eip ReadEip(const Json& json) {
  Eip eip;
  eip.allocation_id = Text(json, "AllocationId");
  eip.address = Text(json, "IpAddress");
  eip.status = Text(json, "Status");
  eip.isp = Text(json, "ISP");
  eip.internet_charge_type = Text(json, "InternetChargeType");
  eip.instance_charge_type = Text(json, "ChargeType");
  eip.bandwidth_package_id = Text(json, "BandwidthPackageId");
  eip.bandwidth_package_bandwidth = Text(json, "BandwidthPackageBandwidth");
  // In a package Bandwidth may be the package's.
  eip.bandwidth = Text(json, eip.bandwidth_package_id.empty() ? "Bandwidth" : "EipBandwidth");
  eip.resource_group_id = Text(json, "ResourceGroupId");
  eip.name = Text(json, "Name");
  // The cloud's own spelling came first and is still there.
  eip.description = Text(json, "Description");
  if (eip.description.empty()) eip.description = Text(json, "Descritpion");
  eip.public_ip_address_pool_id = Text(json, "PublicIpAddressPoolId");
  eip.instance_id = Text(json, "InstanceId");
  eip.instance_type = Text(json, "InstanceType");
  eip.security_protection_types = Texts(json, "SecurityProtectionTypes", "SecurityProtectionType");
  eip.deletion_protection = IsSet(json, "DeletionProtection");
  eip.service_managed = IsSet(json, "ServiceManaged");
  eip.business_status = Text(json, "BusinessStatus");
  eip.lock_reasons = Texts(json, "OperationLocks", "LockReason", "LockReason");
  ForEach(json, "Tags", "Tag",
          [&](const Json& tag) { eip.tags.emplace(Text(tag, "Key"), Text(tag, "Value")); });
  return eip;
}

// A list of EIPs. Whether one exists is decided by it, so nothing that is missing is guessed.
std::optional<std::vector<Eip>> ReadEips(const Json& answer) {
  std::vector<Eip> eips;
  bool is_whole = true;
  const bool is_list = ForEach(answer, "EipAddresses", "EipAddress", [&](const Json& item) {
    eips.push_back(ReadEip(item));
    is_whole = is_whole && !eips.back().allocation_id.empty();
  });
  return is_list && is_whole ? std::optional(std::move(eips)) : std::nullopt;
}

}  // namespace

std::string VpcEndpoint(std::string_view region, bool from_vpc) {
  return Format("https://{}.{}.aliyuncs.com", from_vpc ? "vpc-vpc" : "vpc", region);
}

async::Task<Result<AllocatedEip>> VpcClient::AllocateEip(EipRequest request, Wanted wanted) {
  Parameters parameters{{"Netmode", "public"}};
  AddGiven(parameters, "ClientToken", std::move(request.client_token));
  AddGiven(parameters, "Bandwidth", std::move(request.bandwidth));
  AddGiven(parameters, "ISP", std::move(request.isp));
  AddGiven(parameters, "InternetChargeType", std::move(request.internet_charge_type));
  AddGiven(parameters, "InstanceChargeType", std::move(request.instance_charge_type));
  AddGiven(parameters, "PublicIpAddressPoolId", std::move(request.public_ip_address_pool_id));
  AddGiven(parameters, "ResourceGroupId", std::move(request.resource_group_id));
  AddGiven(parameters, "Name", std::move(request.name));
  AddGiven(parameters, "Description", std::move(request.description));
  AddList(parameters, "SecurityProtectionTypes", request.security_protection_types);
  AddTags(parameters, request.tags);
  if (request.period > 0) {
    parameters["Period"] = std::to_string(request.period);
    AddGiven(parameters, "PricingCycle", std::move(request.pricing_cycle));
    parameters["AutoPay"] = request.auto_pay ? "true" : "false";
  }
  const auto answer =
      co_await api_.Call("AllocateEipAddress", std::move(parameters), std::move(wanted));
  if (!answer) co_return std::unexpected(answer.error());
  AllocatedEip eip{Text(*answer, "AllocationId"), Text(*answer, "EipAddress")};
  if (eip.allocation_id.empty()) {
    co_return std::unexpected(Lacks(*answer, "AllocationId", ErrorClass::kAmbiguous));
  }
  co_return eip;
}

async::Task<Result<std::vector<Eip>>> VpcClient::DescribeEips(std::vector<std::string> ids) {
  assert(ids.size() <= kMostIds);
  // Without an ID the cloud would tell of all it has.
  if (ids.empty()) co_return std::vector<Eip>();
  std::string joined;
  for (const std::string& id : ids) joined += (joined.empty() ? "" : ",") + id;
  co_return co_await Describe({{"AllocationId", std::move(joined)}});
}

async::Task<Result<std::vector<Eip>>> VpcClient::EipsTagged(std::string key, std::string value) {
  return Describe({{"Tag.1.Key", std::move(key)}, {"Tag.1.Value", std::move(value)}});
}

async::Task<Result<std::vector<Eip>>> VpcClient::Describe(Parameters filter) {
  std::vector<Eip> eips;
  filter["PageSize"] = std::to_string(kPageSize);
  for (std::size_t number = 1; number <= kMostPages; ++number) {
    filter["PageNumber"] = std::to_string(number);
    const auto answer = co_await api_.Call("DescribeEipAddresses", filter);
    if (!answer) co_return std::unexpected(answer.error());
    auto page = ReadEips(*answer);
    if (!page) co_return std::unexpected(Lacks(*answer, "list of EIPs", ErrorClass::kRetry));
    const bool is_end = page->empty();
    std::ranges::move(*page, std::back_inserter(eips));
    const Json& total = Member(*answer, "TotalCount");
    const bool is_all =
        !total.is_int64() || std::cmp_greater_equal(eips.size(), total.as<std::int64_t>());
    if (is_end || is_all) co_return eips;
  }
  co_return Terminal(Format("there are more than {} EIPs", eips.size()));
}

async::Task<Result<void>> VpcClient::ModifyEip(std::string id, EipChange change, Wanted wanted) {
  Parameters parameters{{"AllocationId", std::move(id)}};
  if (change.bandwidth) parameters["Bandwidth"] = std::move(*change.bandwidth);
  if (change.name) parameters["Name"] = std::move(*change.name);
  if (change.description) parameters["Description"] = std::move(*change.description);
  return api_.Do("ModifyEipAddressAttribute", std::move(parameters), std::move(wanted));
}

async::Task<Result<void>> VpcClient::ReleaseEip(std::string id, Wanted wanted) {
  return api_.Do("ReleaseEipAddress", {{"AllocationId", std::move(id)}}, std::move(wanted));
}

async::Task<Result<void>> VpcClient::UnassociateEip(std::string id, Wanted wanted) {
  return api_.Do("UnassociateEipAddress", {{"AllocationId", std::move(id)}}, std::move(wanted));
}

async::Task<Result<void>> VpcClient::JoinPackage(std::string id, std::string package,
                                                 std::string client_token, Wanted wanted) {
  Parameters parameters{{"IpInstanceId", std::move(id)},
                        {"BandwidthPackageId", std::move(package)},
                        {"IpType", "EIP"}};
  AddGiven(parameters, "ClientToken", std::move(client_token));
  return api_.Do("AddCommonBandwidthPackageIp", std::move(parameters), std::move(wanted));
}

async::Task<Result<void>> VpcClient::LeavePackage(std::string id, std::string package,
                                                  std::string client_token, Wanted wanted) {
  Parameters parameters{{"IpInstanceId", std::move(id)},
                        {"BandwidthPackageId", std::move(package)}};
  AddGiven(parameters, "ClientToken", std::move(client_token));
  return api_.Do("RemoveCommonBandwidthPackageIp", std::move(parameters), std::move(wanted));
}

async::Task<Result<void>> VpcClient::TagEips(std::vector<std::string> ids, Tags tags,
                                             Wanted wanted) {
  Parameters parameters{{"ResourceType", "EIP"}};
  AddList(parameters, "ResourceId", ids);
  AddTags(parameters, tags);
  return api_.Do("TagResources", std::move(parameters), std::move(wanted));
}

async::Task<Result<void>> VpcClient::UntagEips(std::vector<std::string> ids,
                                               std::vector<std::string> keys, Wanted wanted) {
  Parameters parameters{{"ResourceType", "EIP"}};
  AddList(parameters, "ResourceId", ids);
  AddList(parameters, "TagKey", keys);
  return api_.Do("UnTagResources", std::move(parameters), std::move(wanted));
}

async::Task<Result<void>> VpcClient::MoveEip(std::string id, std::string resource_group,
                                             Wanted wanted) {
  return api_.Do("MoveResourceGroup",
                 {{"ResourceId", std::move(id)},
                  {"ResourceType", "eip"},
                  {"NewResourceGroupId", std::move(resource_group)}},
                 std::move(wanted));
}

}  // namespace berth::cloud::aliyun
