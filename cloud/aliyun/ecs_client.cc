#include "cloud/aliyun/ecs_client.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "cloud/aliyun/fields.h"
#include "cloud/aliyun/vswitches.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::cloud::aliyun {
namespace {

// Of the 500 that the cloud gives: an ENI with 50 addresses is 10 KiB, and an answer has a limit.
constexpr std::size_t kPageSize = 250;
constexpr std::size_t kMostPages = 1000;

void AddCount(Parameters& parameters, std::string name, int count) {
  if (count > 0) parameters.emplace(std::move(name), std::to_string(count));
}

Eni ReadEni(const Json& json) {
  Eni eni;
  eni.id = Text(json, "NetworkInterfaceId");
  eni.status = Text(json, "Status");
  eni.type = Text(json, "Type");
  eni.traffic_mode = Text(json, "NetworkInterfaceTrafficMode");
  eni.mac_address = Text(json, "MacAddress");
  eni.vswitch_id = Text(json, "VSwitchId");
  eni.vpc_id = Text(json, "VpcId");
  eni.zone_id = Text(json, "ZoneId");
  eni.security_group_ids = Texts(json, "SecurityGroupIds", "SecurityGroupId");
  eni.resource_group_id = Text(json, "ResourceGroupId");
  eni.primary_address = Text(json, "PrivateIpAddress");
  ForEach(json, "PrivateIpSets", "PrivateIpSet", [&](const Json& ip) {
    eni.ipv4.push_back({Text(ip, "PrivateIpAddress"), IsSet(ip, "Primary"), {}});
  });
  eni.ipv6 = Texts(json, "Ipv6Sets", "Ipv6Set", "Ipv6Address");
  eni.ipv4_prefixes = Texts(json, "Ipv4PrefixSets", "Ipv4PrefixSet", "Ipv4Prefix");
  eni.ipv6_prefixes = Texts(json, "Ipv6PrefixSets", "Ipv6PrefixSet", "Ipv6Prefix");
  const Json& attachment = Member(json, "Attachment");
  eni.instance_id = Text(json, "InstanceId");
  if (eni.instance_id.empty()) eni.instance_id = Text(attachment, "InstanceId");
  eni.trunk_eni_id = Text(attachment, "TrunkNetworkInterfaceId");
  eni.service_managed = IsSet(json, "ServiceManaged");
  eni.created_at = ParseTime(Text(json, "CreationTime"));
  ForEach(json, "Tags", "Tag",
          [&](const Json& tag) { eni.tags.emplace(Text(tag, "TagKey"), Text(tag, "TagValue")); });
  return eni;
}

// A list of ENIs. The caller concludes from it that an ENI is gone, so every entry must be whole.
std::optional<std::vector<Eni>> ReadEnis(const Json& answer) {
  std::vector<Eni> enis;
  bool is_whole = true;
  const bool is_list =
      ForEach(answer, "NetworkInterfaceSets", "NetworkInterfaceSet", [&](const Json& item) {
        enis.push_back(ReadEni(item));
        is_whole = is_whole && !enis.back().id.empty() && !enis.back().status.empty();
      });
  return is_list && is_whole ? std::optional(std::move(enis)) : std::nullopt;
}

Parameters AttachmentOf(std::string id, std::string instance, std::string trunk) {
  Parameters parameters{{"NetworkInterfaceId", std::move(id)}, {"InstanceId", std::move(instance)}};
  AddGiven(parameters, "TrunkNetworkInstanceId", std::move(trunk));
  return parameters;
}

}  // namespace

std::string EcsEndpoint(std::string_view region, bool from_vpc) {
  return Format("https://{}.{}.aliyuncs.com", from_vpc ? "ecs-vpc" : "ecs", region);
}

std::map<std::string, int> EniLimits() {
  return {{"CreateNetworkInterface", 500},     {"AttachNetworkInterface", 500},
          {"DeleteNetworkInterface", 500},     {"DetachNetworkInterface", 400},
          {"DescribeNetworkInterfaces", 800},  {"AssignPrivateIpAddresses", 400},
          {"UnassignPrivateIpAddresses", 400}, {"AssignIpv6Addresses", 400},
          {"UnassignIpv6Addresses", 400},      {"DescribeVSwitches", 300}};
}

async::Task<Result<Eni>> EcsClient::Create(EniRequest request, Wanted wanted) {
  Parameters parameters{{"SourceDestCheck", "false"},
                        {"InstanceType", request.trunk ? "Trunk" : "Secondary"}};
  AddGiven(parameters, "ClientToken", std::move(request.client_token));
  AddGiven(parameters, "VSwitchId", std::move(request.vswitch_id));
  AddList(parameters, "SecurityGroupIds", request.security_group_ids);
  AddGiven(parameters, "NetworkInterfaceTrafficMode", std::move(request.traffic_mode));
  AddGiven(parameters, "ResourceGroupId", std::move(request.resource_group_id));
  AddCount(parameters, "SecondaryPrivateIpAddressCount", request.ipv4_addresses - 1);
  AddCount(parameters, "Ipv4PrefixCount", request.ipv4_prefixes);
  AddCount(parameters, "Ipv6AddressCount", request.ipv6_addresses);
  AddCount(parameters, "Ipv6PrefixCount", request.ipv6_prefixes);
  AddTags(parameters, request.tags);
  const auto answer =
      co_await ecs_.Call("CreateNetworkInterface", std::move(parameters), std::move(wanted));
  if (!answer) co_return std::unexpected(answer.error());
  Eni eni = ReadEni(*answer);
  // The cloud's documents: without an ID, no ENI was made.
  if (eni.id.empty()) {
    co_return std::unexpected(Lacks(*answer, "NetworkInterfaceId", ErrorClass::kRetry));
  }
  co_return eni;
}

async::Task<Result<std::vector<Eni>>> EcsClient::Describe(std::vector<std::string> ids) {
  assert(ids.size() <= kMostIds);
  // Without an ID the cloud would tell of all it has.
  if (ids.empty()) co_return std::vector<Eni>();
  Parameters filter;
  AddList(filter, "NetworkInterfaceId", ids);
  co_return co_await List(std::move(filter));
}

async::Task<Result<std::vector<Eni>>> EcsClient::OfInstance(std::string instance) {
  return List({{"InstanceId", std::move(instance)}});
}

async::Task<Result<std::vector<Eni>>> EcsClient::Tagged(std::string key, std::string value) {
  return List({{"Tag.1.Key", std::move(key)}, {"Tag.1.Value", std::move(value)}});
}

async::Task<Result<std::vector<Eni>>> EcsClient::AvailableTagged(std::string key,
                                                                 std::string value) {
  return List(
      {{"Tag.1.Key", std::move(key)}, {"Tag.1.Value", std::move(value)}, {"Status", "Available"}});
}

async::Task<Result<std::vector<Eni>>> EcsClient::List(Parameters filter) {
  std::vector<Eni> enis;
  filter["MaxResults"] = std::to_string(kPageSize);
  for (std::size_t page = 0; page < kMostPages; ++page) {
    const auto answer = co_await ecs_.Call("DescribeNetworkInterfaces", filter);
    if (!answer) co_return std::unexpected(answer.error());
    auto some = ReadEnis(*answer);
    if (!some) co_return std::unexpected(Lacks(*answer, "list of ENIs", ErrorClass::kRetry));
    std::ranges::move(*some, std::back_inserter(enis));
    filter["NextToken"] = Text(*answer, "NextToken");
    if (filter["NextToken"].empty()) co_return enis;
  }
  co_return Terminal(Format("there are more than {} ENIs", enis.size()));
}

async::Task<Result<void>> EcsClient::Attach(std::string id, std::string instance, std::string trunk,
                                            Wanted wanted) {
  return ecs_.Do("AttachNetworkInterface",
                 AttachmentOf(std::move(id), std::move(instance), std::move(trunk)),
                 std::move(wanted));
}

async::Task<Result<void>> EcsClient::Detach(std::string id, std::string instance, std::string trunk,
                                            Wanted wanted) {
  return ecs_.Do("DetachNetworkInterface",
                 AttachmentOf(std::move(id), std::move(instance), std::move(trunk)),
                 std::move(wanted));
}

async::Task<Result<void>> EcsClient::Delete(std::string id, Wanted wanted) {
  return ecs_.Do("DeleteNetworkInterface", {{"NetworkInterfaceId", std::move(id)}},
                 std::move(wanted));
}

Enis::Assigned EcsClient::AssignIpv4(std::string id, int count, std::string client_token) {
  return Assign({"AssignPrivateIpAddresses", "SecondaryPrivateIpAddressCount", "PrivateIpSet",
                 "PrivateIpAddress"},
                std::move(id), count, std::move(client_token));
}

Enis::Assigned EcsClient::AssignIpv4Prefixes(std::string id, int count, std::string client_token) {
  return Assign({"AssignPrivateIpAddresses", "Ipv4PrefixCount", "Ipv4PrefixSet", "Ipv4Prefixes"},
                std::move(id), count, std::move(client_token));
}

Enis::Assigned EcsClient::AssignIpv6(std::string id, int count, std::string client_token) {
  return Assign({"AssignIpv6Addresses", "Ipv6AddressCount", "Ipv6Sets", "Ipv6Address"},
                std::move(id), count, std::move(client_token));
}

Enis::Assigned EcsClient::AssignIpv6Prefixes(std::string id, int count, std::string client_token) {
  return Assign({"AssignIpv6Addresses", "Ipv6PrefixCount", "Ipv6PrefixSets", "Ipv6Prefix"},
                std::move(id), count, std::move(client_token));
}

Enis::Assigned EcsClient::Assign(Assignment assignment, std::string id, int count,
                                 std::string client_token) {
  assert(count > 0 && static_cast<std::size_t>(count) <= kMostAssigned);
  Parameters parameters{{"NetworkInterfaceId", std::move(id)},
                        {assignment.count, std::to_string(count)}};
  AddGiven(parameters, "ClientToken", std::move(client_token));
  const auto answer = co_await ecs_.Call(assignment.action, std::move(parameters));
  if (!answer) co_return std::unexpected(answer.error());
  const Json& nested = Member(*answer, "AssignedPrivateIpAddressesSet");
  auto assigned = Texts(nested.is_object() ? nested : *answer, assignment.set, assignment.item);
  if (assigned.empty()) {
    co_return std::unexpected(Lacks(*answer, assignment.item, ErrorClass::kAmbiguous));
  }
  co_return assigned;
}

async::Task<Result<void>> EcsClient::UnassignIpv4(std::string id, Values addresses) {
  return Unassign("UnassignPrivateIpAddresses", std::move(id), "PrivateIpAddress",
                  std::move(addresses));
}

async::Task<Result<void>> EcsClient::UnassignIpv4Prefixes(std::string id, Values prefixes) {
  return Unassign("UnassignPrivateIpAddresses", std::move(id), "Ipv4Prefix", std::move(prefixes));
}

async::Task<Result<void>> EcsClient::UnassignIpv6(std::string id, Values addresses) {
  return Unassign("UnassignIpv6Addresses", std::move(id), "Ipv6Address", std::move(addresses));
}

async::Task<Result<void>> EcsClient::UnassignIpv6Prefixes(std::string id, Values prefixes) {
  return Unassign("UnassignIpv6Addresses", std::move(id), "Ipv6Prefix", std::move(prefixes));
}

async::Task<Result<void>> EcsClient::Unassign(std::string action, std::string id, std::string name,
                                              Values values) {
  if (values.empty()) co_return Result<void>();
  Parameters parameters{{"NetworkInterfaceId", std::move(id)}};
  AddList(parameters, name, values);
  co_return co_await ecs_.Do(std::move(action), std::move(parameters));
}

async::Task<Result<std::vector<VSwitch>>> EcsClient::DescribeVSwitches(
    std::vector<std::string> ids) {
  return ReadVSwitches(&vpc_, std::move(ids));
}

}  // namespace berth::cloud::aliyun
