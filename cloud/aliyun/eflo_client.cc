#include "cloud/aliyun/eflo_client.h"

#include <cassert>
#include <optional>
#include <utility>

#include "cloud/aliyun/fields.h"
#include "cloud/aliyun/vswitches.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

std::unexpected<Error> Lacking(std::string_view thing) {
  return Terminal(Format("EFLO, the cloud's API of Lingjun nodes, has no {}", thing));
}

// Why EFLO cannot make such an ENI; none if it can.
std::optional<std::string_view> ReasonAgainst(const EniRequest& request) {
  if (request.trunk) return "trunk ENIs";
  if (request.traffic_mode == "HighPerformance") return "high-performance ENIs";
  if (request.ipv4_prefixes > 0 || request.ipv6_prefixes > 0) return "IP prefixes";
  if (request.ipv6_addresses > 0) return "IPv6 addresses to assign";
  if (request.ipv4_addresses > 1) return "ENIs with more than one address from the start";
  return std::nullopt;
}

Enis::Assigned NoneAssigned(std::string_view thing) { co_return Lacking(thing); }

async::Task<Result<void>> NoneUnassigned(Enis::Values values, std::string_view thing) {
  if (values.empty()) co_return Result<void>();
  co_return Lacking(thing);
}

}  // namespace

std::string EfloEndpoint(std::string_view region, bool from_vpc) {
  if (!from_vpc) return Format("https://eflo.{}.aliyuncs.com", region);
  const bool is_first = region == "cn-wulanchabu";  // older than the rule for names
  return Format("https://{}.{}.aliyuncs.com", is_first ? "eflo-tianwen-vpc" : "eflo-vpc", region);
}

std::map<std::string, int> EfloLimits() {
  return {{"CreateElasticNetworkInterface", 1200}, {"DeleteElasticNetworkInterface", 1200},
          {"AttachElasticNetworkInterface", 300},  {"DetachElasticNetworkInterface", 300},
          {"ListElasticNetworkInterfaces", 6000},  {"ListLeniPrivateIpAddresses", 6000},
          {"AssignLeniPrivateIpAddress", 300},     {"UnassignLeniPrivateIpAddress", 300}};
}

async::Task<Result<Eni>> EfloClient::Create(EniRequest request, Wanted wanted) {
  if (const auto reason = ReasonAgainst(request)) co_return Lacking(*reason);
  request.security_group_ids.resize(std::min<std::size_t>(request.security_group_ids.size(), 1));
  Parameters parameters;
  AddGiven(parameters, "ClientToken", request.client_token);
  AddGiven(parameters, "NodeId", request.instance_id);
  AddGiven(parameters, "ZoneId", request.zone_id);
  AddGiven(parameters, "VpcId", request.vpc_id);
  AddGiven(parameters, "VSwitchId", request.vswitch_id);
  AddGiven(parameters, "ResourceGroupId", request.resource_group_id);
  for (const std::string& group : request.security_group_ids) {
    AddGiven(parameters, "SecurityGroupId", group);
  }
  AddTags(parameters, request.tags);
  const auto answer = co_await eflo_.Call("CreateElasticNetworkInterface", std::move(parameters),
                                          std::move(wanted));
  if (!answer) co_return std::unexpected(answer.error());
  std::string id = Text(Member(*answer, "Content"), "ElasticNetworkInterfaceId");
  if (id.empty()) {
    co_return std::unexpected(Lacks(*answer, "ElasticNetworkInterfaceId", ErrorClass::kAmbiguous));
  }
  co_return Eni{.id = std::move(id),
                .status = "Executing",
                .type = "Secondary",
                .traffic_mode = "Standard",
                .vswitch_id = std::move(request.vswitch_id),
                .vpc_id = std::move(request.vpc_id),
                .zone_id = std::move(request.zone_id),
                .security_group_ids = std::move(request.security_group_ids),
                .resource_group_id = std::move(request.resource_group_id),
                .instance_id = std::move(request.instance_id),
                .tags = std::move(request.tags)};
}

async::Task<Result<std::vector<Eni>>> EfloClient::Describe(std::vector<std::string> ids) {
  assert(ids.size() <= kMostIds);
  if (ids.empty()) co_return std::vector<Eni>();
  // Asked for by itself, an ENI waits for no look at others.
  if (ids.size() == 1) {
    co_return co_await lists_.ListWithAddresses({{"ElasticNetworkInterfaceId", ids.front()}});
  }
  co_return co_await look_.See(std::move(ids));
}

async::Task<Result<std::vector<Eni>>> EfloClient::OfInstance(std::string instance) {
  return lists_.ListWithAddresses({{"NodeId", std::move(instance)}});
}

async::Task<Result<std::vector<Eni>>> EfloClient::Tagged(std::string key, std::string value) {
  return lists_.ListWithAddresses(
      {{"Tag.1.Key", std::move(key)}, {"Tag.1.Value", std::move(value)}});
}

async::Task<Result<void>> EfloClient::Attach(std::string id, std::string instance,
                                             std::string trunk, Wanted wanted) {
  return OnNode("AttachElasticNetworkInterface", std::move(id), std::move(instance),
                std::move(trunk), std::move(wanted));
}

async::Task<Result<void>> EfloClient::Detach(std::string id, std::string instance,
                                             std::string trunk, Wanted wanted) {
  return OnNode("DetachElasticNetworkInterface", std::move(id), std::move(instance),
                std::move(trunk), std::move(wanted));
}

async::Task<Result<void>> EfloClient::OnNode(std::string action, std::string id, std::string node,
                                             std::string trunk, Wanted wanted) {
  if (!trunk.empty()) co_return Lacking("trunk ENIs");
  co_return co_await eflo_.Do(
      std::move(action),
      {{"ElasticNetworkInterfaceId", std::move(id)}, {"NodeId", std::move(node)}},
      std::move(wanted));
}

async::Task<Result<void>> EfloClient::Delete(std::string id, Wanted wanted) {
  return eflo_.Do("DeleteElasticNetworkInterface", {{"ElasticNetworkInterfaceId", std::move(id)}},
                  std::move(wanted));
}

Enis::Assigned EfloClient::AssignIpv4(std::string id, int count, std::string client_token) {
  if (count != 1) co_return Lacking("call that assigns more than one address");
  Parameters parameters{{"ElasticNetworkInterfaceId", id}};
  AddGiven(parameters, "ClientToken", std::move(client_token));
  const auto answer = co_await eflo_.Call("AssignLeniPrivateIpAddress", std::move(parameters));
  if (!answer) co_return std::unexpected(answer.error());
  std::string name = Text(Member(*answer, "Content"), "IpName");
  if (name.empty()) co_return std::unexpected(Lacks(*answer, "IpName", ErrorClass::kAmbiguous));
  auto address = co_await AwaitAddress(std::move(id), std::move(name));
  if (!address) co_return std::unexpected(std::move(address.error()));
  co_return std::vector{std::move(*address)};
}

async::Task<Result<std::string>> EfloClient::AwaitAddress(std::string id, std::string name) {
  std::string status;
  for (int look = 0; look < kAssignLooks; ++look) {
    if (look > 0) co_await async::Sleep(executor_, kAssignPause);
    const auto listed =
        co_await lists_.Addresses({{"ElasticNetworkInterfaceId", id}, {"IpName", name}});
    if (!listed) co_return std::unexpected(listed.error());
    if (listed->empty()) continue;  // too new to be listed
    const LeniAddress& address = listed->front();
    status = address.status;
    if (status == "Available") co_return address.ip.address;
    if (status.ends_with("Failed")) {
      // Best effort: it can be used by nobody, but counts.
      (void)co_await UnassignName(id, name);
      co_return std::unexpected(
          Error{.error_class = ErrorClass::kConflict,
                .message = Format("AssignLeniPrivateIpAddress: {} of {} is {}", name, id, status)});
    }
  }
  co_return std::unexpected(
      Error{.error_class = ErrorClass::kAmbiguous,
            .message = Format("AssignLeniPrivateIpAddress: {} of {} cannot be used yet: it is {}",
                              name, id, status.empty() ? "not listed" : status)});
}

async::Task<Result<void>> EfloClient::UnassignIpv4(std::string id, Values addresses) {
  if (addresses.empty()) co_return Result<void>();
  const auto listed = co_await lists_.Addresses({{"ElasticNetworkInterfaceId", id}});
  if (!listed) co_return std::unexpected(listed.error());
  std::map<std::string, std::string> names;  // by address
  for (const LeniAddress& address : *listed) names[address.ip.address] = address.ip.name;
  for (const std::string& address : addresses) {
    if (names.contains(address)) continue;
    co_return std::unexpected(
        Error{.error_class = ErrorClass::kNotFound,
              .message = Format("UnassignLeniPrivateIpAddress: {} does not have {}", id, address)});
  }
  Result<void> worst;
  for (const std::string& address : addresses) {
    auto done = co_await UnassignName(id, names.at(address));
    if (done) continue;
    worst = std::move(done);
    // Gone is gone; the others are still to go.
    if (worst.error().error_class != ErrorClass::kNotFound) break;
  }
  co_return worst;
}

async::Task<Result<void>> EfloClient::UnassignName(std::string id, std::string name) {
  return eflo_.Do("UnassignLeniPrivateIpAddress",
                  {{"ElasticNetworkInterfaceId", std::move(id)}, {"IpName", std::move(name)}});
}

Enis::Assigned EfloClient::AssignIpv4Prefixes(std::string, int, std::string) {
  return NoneAssigned("IP prefixes");
}
Enis::Assigned EfloClient::AssignIpv6(std::string, int, std::string) {
  return NoneAssigned("IPv6 addresses to assign");
}
Enis::Assigned EfloClient::AssignIpv6Prefixes(std::string, int, std::string) {
  return NoneAssigned("IP prefixes");
}

async::Task<Result<void>> EfloClient::UnassignIpv4Prefixes(std::string, Values prefixes) {
  return NoneUnassigned(std::move(prefixes), "IP prefixes");
}
async::Task<Result<void>> EfloClient::UnassignIpv6(std::string, Values addresses) {
  return NoneUnassigned(std::move(addresses), "IPv6 addresses to assign");
}
async::Task<Result<void>> EfloClient::UnassignIpv6Prefixes(std::string, Values prefixes) {
  return NoneUnassigned(std::move(prefixes), "IP prefixes");
}

async::Task<Result<std::vector<VSwitch>>> EfloClient::DescribeVSwitches(
    std::vector<std::string> ids) {
  return ReadVSwitches(&vpc_, std::move(ids));
}

}  // namespace berth::cloud::aliyun
