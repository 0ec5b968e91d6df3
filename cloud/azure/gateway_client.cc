#include "cloud/azure/gateway_client.h"

#include <cassert>
#include <optional>
#include <utility>

#include "log/format.h"

namespace berth::cloud::azure {
namespace {

// "web and 3 more"
std::string Some(const std::string& first, std::size_t count) {
  return count > 1 ? Format("{} and {} more", first, count - 1) : first;
}

Error Incomplete(std::string_view action, ErrorClass error_class) {
  return {.error_class = error_class,
          .message = Format("{}: a resource in the answer has no name or no etag", action),
          .code = 200};
}

std::optional<GatewayService> ServiceOf(const Json& json, const ResourceIds&) {
  return ReadService(json);
}
std::optional<Location> LocationOf(const Json& json, const ResourceIds&) {
  return ReadLocation(json);
}

}  // namespace

template <>
struct GatewayClient::Kind<PublicIp> {
  static constexpr std::string_view kName = "PublicIPAddress";
  static constexpr std::string_view kPlural = "PublicIPAddresses";
  static constexpr std::string_view kType = kPublicIps;
  static std::optional<PublicIp> Read(const Json& json, const ResourceIds&) {
    return ReadPublicIp(json);
  }
  static Json BodyOf(const PublicIp& wanted, const std::string& location, const ResourceIds&) {
    return Body(wanted, location);
  }
};

template <>
struct GatewayClient::Kind<LoadBalancer> {
  static constexpr std::string_view kName = "LoadBalancer";
  static constexpr std::string_view kPlural = "LoadBalancers";
  static constexpr std::string_view kType = kLoadBalancers;
  static std::optional<LoadBalancer> Read(const Json& json, const ResourceIds&) {
    return ReadLoadBalancer(json);
  }
  static Json BodyOf(const LoadBalancer& wanted, const std::string& location,
                     const ResourceIds& ids) {
    return Body(wanted, location, ids);
  }
};

template <>
struct GatewayClient::Kind<NatGateway> {
  static constexpr std::string_view kName = "NatGateway";
  static constexpr std::string_view kPlural = "NatGateways";
  static constexpr std::string_view kType = kNatGateways;
  static std::optional<NatGateway> Read(const Json& json, const ResourceIds& ids) {
    return ReadNatGateway(json, ids);
  }
  static Json BodyOf(const NatGateway& wanted, const std::string& location,
                     const ResourceIds& ids) {
    return Body(wanted, location, ids);
  }
};

template <typename T>
async::Task<Result<std::vector<T>>> GatewayClient::List(
    std::string action, std::string target,
    std::optional<T> (*read)(const Json&, const ResourceIds&)) {
  auto items = co_await arm_.List({.action = action, .target = std::move(target)});
  if (!items) co_return std::unexpected(std::move(items.error()));
  std::vector<T> all;
  for (const Json& item : *items) {
    auto one = read(item, ids_);
    if (!one) co_return std::unexpected(Incomplete(action, ErrorClass::kRetry));
    all.push_back(*std::move(one));
  }
  co_return all;
}

template <typename Resource>
async::Task<Result<std::vector<Resource>>> GatewayClient::ListAll() {
  using K = Kind<Resource>;
  return List<Resource>(Format("List{}", K::kPlural), ids_.List(K::kType), &K::Read);
}

template <typename Resource>
async::Task<Result<Resource>> GatewayClient::GetOne(std::string name) {
  using K = Kind<Resource>;
  const std::string action = Format("Get{}", K::kName);
  const auto json =
      co_await arm_.Get({.action = action, .target = ids_.Of(K::kType, name), .resource = name});
  if (!json) co_return std::unexpected(json.error());
  auto read = K::Read(*json, ids_);
  if (!read) co_return std::unexpected(Incomplete(action, ErrorClass::kRetry));
  co_return *std::move(read);
}

template <typename Resource>
async::Task<Result<Resource>> GatewayClient::PutOne(Resource wanted, Wanted is_wanted) {
  using K = Kind<Resource>;
  const std::string action = Format("Put{}", K::kName);
  const http::Header condition = wanted.etag.empty() ? http::Header{"if-none-match", "*"}
                                                     : http::Header{"if-match", wanted.etag};
  const auto json = co_await arm_.Write({.action = action,
                                         .method = "PUT",
                                         .target = ids_.Of(K::kType, wanted.name),
                                         .resource = wanted.name,
                                         .body = K::BodyOf(wanted, location_, ids_).to_string(),
                                         .headers = {condition},
                                         .wanted = std::move(is_wanted)});
  if (!json) co_return std::unexpected(json.error());
  auto read = K::Read(*json, ids_);
  if (!read) co_return std::unexpected(Incomplete(action, ErrorClass::kAmbiguous));
  co_return *std::move(read);
}

template <typename Resource>
async::Task<Result<void>> GatewayClient::DeleteOne(Resource read, Wanted is_wanted) {
  using K = Kind<Resource>;
  assert(!read.etag.empty());  // it was read
  const auto ended = co_await arm_.Write({.action = Format("Delete{}", K::kName),
                                          .method = "DELETE",
                                          .target = ids_.Of(K::kType, read.name),
                                          .resource = read.name,
                                          .headers = {{"if-match", read.etag}},
                                          .wanted = std::move(is_wanted)});
  if (!ended) co_return std::unexpected(ended.error());
  co_return Result<void>();
}

async::Task<Result<void>> GatewayClient::Post(std::string action, std::string_view call,
                                              std::string resource, Json body) {
  const auto ended = co_await arm_.Write({.action = std::move(action),
                                          .method = "POST",
                                          .target = Format("{}/{}", ids_.gateway(), call),
                                          .resource = std::move(resource),
                                          .body = body.to_string()});
  if (!ended) co_return std::unexpected(ended.error());
  co_return Result<void>();
}

async::Task<Result<std::vector<GatewayService>>> GatewayClient::Services() {
  return List<GatewayService>("GetServices", Format("{}/services", ids_.gateway()), &ServiceOf);
}

async::Task<Result<std::vector<Location>>> GatewayClient::Locations() {
  return List<Location>("GetAddressLocations", Format("{}/addressLocations", ids_.gateway()),
                        &LocationOf);
}

async::Task<Result<void>> GatewayClient::UpdateServices(std::vector<ServiceUpdate> updates) {
  assert(updates.size() <= kMostServices);
  if (updates.empty()) co_return Result<void>();
  co_return co_await Post("UpdateServices", "updateServices",
                          Some(updates.front().name, updates.size()), Body(updates, ids_));
}

async::Task<Result<void>> GatewayClient::UpdateLocations(std::vector<LocationUpdate> updates) {
  if (updates.empty()) co_return Result<void>();
  co_return co_await Post("UpdateAddressLocations", "updateAddressLocations",
                          Some(updates.front().location.node_ip, updates.size()), Body(updates));
}

async::Task<Result<std::vector<PublicIp>>> GatewayClient::PublicIps() {
  return ListAll<PublicIp>();
}
async::Task<Result<std::vector<LoadBalancer>>> GatewayClient::LoadBalancers() {
  return ListAll<LoadBalancer>();
}
async::Task<Result<std::vector<NatGateway>>> GatewayClient::NatGateways() {
  return ListAll<NatGateway>();
}

async::Task<Result<PublicIp>> GatewayClient::GetPublicIp(std::string name) {
  return GetOne<PublicIp>(std::move(name));
}
async::Task<Result<LoadBalancer>> GatewayClient::GetLoadBalancer(std::string name) {
  return GetOne<LoadBalancer>(std::move(name));
}
async::Task<Result<NatGateway>> GatewayClient::GetNatGateway(std::string name) {
  return GetOne<NatGateway>(std::move(name));
}

async::Task<Result<PublicIp>> GatewayClient::Put(PublicIp wanted, Wanted is_wanted) {
  return PutOne(std::move(wanted), std::move(is_wanted));
}
async::Task<Result<LoadBalancer>> GatewayClient::Put(LoadBalancer wanted, Wanted is_wanted) {
  return PutOne(std::move(wanted), std::move(is_wanted));
}
async::Task<Result<NatGateway>> GatewayClient::Put(NatGateway wanted, Wanted is_wanted) {
  return PutOne(std::move(wanted), std::move(is_wanted));
}

async::Task<Result<void>> GatewayClient::Delete(PublicIp read, Wanted is_wanted) {
  return DeleteOne(std::move(read), std::move(is_wanted));
}
async::Task<Result<void>> GatewayClient::Delete(LoadBalancer read, Wanted is_wanted) {
  return DeleteOne(std::move(read), std::move(is_wanted));
}
async::Task<Result<void>> GatewayClient::Delete(NatGateway read, Wanted is_wanted) {
  return DeleteOne(std::move(read), std::move(is_wanted));
}

}  // namespace berth::cloud::azure
