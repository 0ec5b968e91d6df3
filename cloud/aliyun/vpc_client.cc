#include "cloud/aliyun/vpc_client.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <optional>
#include <utility>

#include "cloud/aliyun/error_table.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

constexpr std::size_t kPageSize = 100;  // the most the cloud gives
constexpr std::size_t kMostPages = 1000;

void AddGiven(Parameters& parameters, std::string name, std::string value) {
  if (!value.empty()) parameters.emplace(std::move(name), std::move(value));
}

// "Name.1", "Name.2", …
void AddList(Parameters& parameters, std::string_view name,
             const std::vector<std::string>& values) {
  int n = 0;
  for (const std::string& value : values) parameters.emplace(Format("{}.{}", name, ++n), value);
}

void AddTags(Parameters& parameters, const Tags& tags) {
  int n = 0;
  for (const auto& [key, value] : tags) {
    parameters.emplace(Format("Tag.{}.Key", ++n), key);
    parameters.emplace(Format("Tag.{}.Value", n), value);
  }
}

// The cloud nests its lists: {"Tags": {"Tag": [...]}}. False when there is none.
bool ForEach(const Json& object, std::string_view outer, std::string_view inner, auto visit) {
  const Json& list = Member(Member(object, outer), inner);
  if (!list.is_array()) return false;
  for (const Json& item : list.array_range()) visit(item);
  return true;
}

bool IsSet(const Json& object, std::string_view member) {
  const std::string text = Text(object, member);
  return text == "true" || text == "1";
}

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
  ForEach(json, "SecurityProtectionTypes", "SecurityProtectionType", [&](const Json& type) {
    if (type.is_string()) eip.security_protection_types.push_back(type.as<std::string>());
  });
  eip.deletion_protection = IsSet(json, "DeletionProtection");
  eip.service_managed = IsSet(json, "ServiceManaged");
  eip.business_status = Text(json, "BusinessStatus");
  ForEach(json, "OperationLocks", "LockReason",
          [&](const Json& lock) { eip.lock_reasons.push_back(Text(lock, "LockReason")); });
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

Error Lacks(const Json& answer, std::string_view what, ErrorClass error_class) {
  return {.error_class = error_class,
          .message = Format("the cloud's answer has no {} (request ID {})", what,
                            Text(answer, "RequestId")),
          .code = 200};
}

}  // namespace

std::string VpcEndpoint(std::string_view region, bool from_vpc) {
  return Format("https://{}.{}.aliyuncs.com", from_vpc ? "vpc-vpc" : "vpc", region);
}

async::Task<Result<void>> VpcClient::CheckWanted(std::function<bool()> wanted, Credential key) {
  if (check_) {
    auto good = co_await check_(std::move(key));
    if (!good) co_return good;
  }
  if (!wanted || wanted()) co_return Result<void>();
  co_return std::unexpected(
      Error{.error_class = ErrorClass::kConflict,
            .reason = std::string(kNotSent),
            .message = "the object has changed since: it no longer asks for this"});
}

async::Task<Result<AllocatedEip>> VpcClient::AllocateEip(EipRequest request,
                                                         std::function<bool()> wanted) {
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
  const auto answer = co_await api_.Call(
      "AllocateEipAddress", std::move(parameters),
      [this, &wanted](Credential key) { return CheckWanted(wanted, std::move(key)); });
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
    const auto answer = co_await api_.Call("DescribeEipAddresses", filter, check_);
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

async::Task<Result<void>> VpcClient::ModifyEip(std::string id, EipChange change) {
  Parameters parameters{{"AllocationId", std::move(id)}};
  if (change.bandwidth) parameters["Bandwidth"] = std::move(*change.bandwidth);
  if (change.name) parameters["Name"] = std::move(*change.name);
  if (change.description) parameters["Description"] = std::move(*change.description);
  return Do("ModifyEipAddressAttribute", std::move(parameters));
}

async::Task<Result<void>> VpcClient::ReleaseEip(std::string id, std::function<bool()> wanted) {
  return Do("ReleaseEipAddress", {{"AllocationId", std::move(id)}}, std::move(wanted));
}

async::Task<Result<void>> VpcClient::UnassociateEip(std::string id) {
  return Do("UnassociateEipAddress", {{"AllocationId", std::move(id)}});
}

async::Task<Result<void>> VpcClient::JoinPackage(std::string id, std::string package,
                                                 std::string client_token) {
  Parameters parameters{{"IpInstanceId", std::move(id)},
                        {"BandwidthPackageId", std::move(package)},
                        {"IpType", "EIP"}};
  AddGiven(parameters, "ClientToken", std::move(client_token));
  return Do("AddCommonBandwidthPackageIp", std::move(parameters));
}

async::Task<Result<void>> VpcClient::LeavePackage(std::string id, std::string package,
                                                  std::string client_token) {
  Parameters parameters{{"IpInstanceId", std::move(id)},
                        {"BandwidthPackageId", std::move(package)}};
  AddGiven(parameters, "ClientToken", std::move(client_token));
  return Do("RemoveCommonBandwidthPackageIp", std::move(parameters));
}

async::Task<Result<void>> VpcClient::TagEips(std::vector<std::string> ids, Tags tags) {
  Parameters parameters{{"ResourceType", "EIP"}};
  AddList(parameters, "ResourceId", ids);
  AddTags(parameters, tags);
  return Do("TagResources", std::move(parameters));
}

async::Task<Result<void>> VpcClient::UntagEips(std::vector<std::string> ids,
                                               std::vector<std::string> keys) {
  Parameters parameters{{"ResourceType", "EIP"}};
  AddList(parameters, "ResourceId", ids);
  AddList(parameters, "TagKey", keys);
  return Do("UnTagResources", std::move(parameters));
}

async::Task<Result<void>> VpcClient::MoveEip(std::string id, std::string resource_group) {
  return Do("MoveResourceGroup", {{"ResourceId", std::move(id)},
                                  {"ResourceType", "eip"},
                                  {"NewResourceGroupId", std::move(resource_group)}});
}

async::Task<Result<void>> VpcClient::Do(std::string action, Parameters parameters,
                                        std::function<bool()> wanted) {
  const auto answer = co_await api_.Call(
      std::move(action), std::move(parameters),
      [this, &wanted](Credential key) { return CheckWanted(wanted, std::move(key)); });
  if (!answer) co_return std::unexpected(answer.error());
  co_return Result<void>();
}

async::Task<Result<std::string>> VpcClients::AccountOf(Credential key) {
  auto account = co_await accounts_.Of(key);
  if (!account && RefusesKey(account.error().reason)) credentials_.Refused(key);
  co_return account;
}

async::Task<Result<Place>> VpcClients::Here() {
  auto key = co_await credentials_.Get();
  if (!key) co_return std::unexpected(std::move(key.error()));
  auto account = co_await AccountOf(std::move(*key));
  if (!account) co_return std::unexpected(std::move(account.error()));
  co_return Place{region_, std::move(*account)};
}

async::Task<Result<void>> VpcClients::CheckKey(std::string account, Credential key) {
  auto actual = co_await AccountOf(std::move(key));
  if (actual && *actual == account) co_return Result<void>();
  Error error{.error_class = ErrorClass::kRetry, .reason = std::string(kNotSent)};
  error.message = actual ? Format("the access key is of account {} now, not {}", *actual, account)
                         : std::move(actual.error().message);
  co_return std::unexpected(std::move(error));
}

Vpc& VpcClients::In(const std::string& account) {
  return clients_
      .try_emplace(account, api_,
                   [this, account](Credential key) { return CheckKey(account, std::move(key)); })
      .first->second;
}

}  // namespace berth::cloud::aliyun
