#include "cloud/simulator/azure/console.h"

#include <limits>
#include <string>
#include <utility>

#include "cloud/simulator/console.h"

namespace berth::cloud::simulator::azure {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
constexpr std::string_view kTypes[] = {kPublicIps, kLoadBalancers, kNatGateways};
constexpr FaultName kFaultNames[] = {{"applied-then-timeout", Fault::Kind::kLostAnswer},
                                     {"lro-failed", Fault::Kind::kFallsBack},
                                     {"sticks", Fault::Kind::kSticks}};

Json State(const Cloud& cloud) {
  Json state;
  for (const std::string_view type : kTypes) {
    state[Spelled(type)] = Json::Array(cloud.group().List(std::string(type), "", kAll));
  }
  state["services"] = Json::Array(cloud.gateway().ListServices("", kAll));
  state["addressLocations"] = Json::Array(cloud.gateway().ListLocations("", kAll));
  return state;
}

Json Ledger(const Cloud& cloud) {
  Json ledger;
  for (const auto& [type, count] : cloud.group().counts()) {
    ledger["resources"][Spelled(type)]["created"] = count.created;
    ledger["resources"][Spelled(type)]["deleted"] = count.deleted;
  }
  ledger["operationsUnderWay"] = cloud.operations_under_way();
  ledger["calls"] = Json();
  ledger["throttled"] = Json();
  for (const auto& [action, calls] : cloud.calls()) {
    ledger["calls"][action] = calls.carried_out;
    ledger["throttled"][action] = calls.throttled;
  }
  return ledger;
}

http::Response OnResources(Cloud& cloud, const http::Request& request, const std::string& key) {
  const auto slash = key.find('/');
  const std::string type = Lower(key.substr(0, slash));
  const bool is_known = Spelled(type) != "serviceGateways";
  if (slash == key.npos || !is_known) return ConsoleError(404, "name it: /resources/TYPE/NAME");
  const std::string name = key.substr(slash + 1);
  if (request.method == "PUT") cloud.group().Meddle(type, name, Json::parse(request.body));
  const auto shown = cloud.group().Get(type, name);
  if (!shown) return ConsoleError(404, "there is no " + key);
  if (request.method == "DELETE") cloud.group().Erase(type + "/" + Lower(name));
  return ConsoleAnswer(200, *shown);
}

http::Response OnServices(Cloud& cloud, const http::Request& request, const std::string& name) {
  if (request.method == "DELETE") {
    cloud.gateway().EraseService(Lower(name));
  } else if (request.method == "PUT") {
    const Json body = Json::parse(request.body);
    Service service{
        .name = name, .type = TextAt(body, "serviceType"), .nat = TextAt(body, "natGatewayID")};
    if (body.contains("backendPools")) {
      service.pools = body["backendPools"].as<std::vector<std::string>>();
    }
    cloud.gateway().Meddle(std::move(service));
  }
  return ConsoleAnswer(200, Json::Array(cloud.gateway().ListServices("", kAll)));
}

http::Response OnLocations(Cloud& cloud, const http::Request& request, const std::string& ip) {
  const auto node_ip = CanonicalAddress(ip);
  if (!node_ip) return ConsoleError(404, "name it: /locations/IP");
  Addresses addresses;
  if (request.method == "PUT") {
    const Json body = Json::parse(request.body);
    for (const auto& entry : body.object_range()) {
      const auto services = entry.value().as<std::vector<std::string>>();
      addresses[CanonicalAddress(entry.key()).value_or(entry.key())] = {services.begin(),
                                                                        services.end()};
    }
  }
  cloud.gateway().SetLocation(*node_ip, std::move(addresses));
  return ConsoleAnswer(200, Json::Array(cloud.gateway().ListLocations("", kAll)));
}

http::Response OnQuotas(Cloud& cloud, const http::Request& request) {
  const Json body = Json::parse(request.body);
  for (const auto& quota : body.object_range()) {
    cloud.group().SetQuota(Lower(quota.key()), quota.value().as<std::uint64_t>());
  }
  return ConsoleAnswer(200, body);
}

}  // namespace

http::Response Console(Cloud& cloud, const http::Request& request, std::string_view path) {
  const auto slash = path.find('/', 1);
  const std::string_view what = path.substr(1, slash == path.npos ? path.npos : slash - 1);
  const std::string rest(slash == path.npos ? "" : path.substr(slash + 1));
  const bool changes = request.method == "PUT" || request.method == "DELETE";
  try {
    if (what == "state") return ConsoleAnswer(200, State(cloud));
    if (what == "ledger") return ConsoleAnswer(200, Ledger(cloud));
    if (what == "faults") return ConsoleFaults(cloud.faults(), request, kFaultNames);
    if (what == "resources") return OnResources(cloud, request, rest);
    if (what == "services" && changes) return OnServices(cloud, request, rest);
    if (what == "locations" && changes) return OnLocations(cloud, request, rest);
    if (what == "quotas" && changes) return OnQuotas(cloud, request);
  } catch (const JsonError& error) {
    return ConsoleError(400, error.what());
  }
  if (what == "tokens" && request.method == "DELETE") {
    cloud.login().RevokeTokens();
    return ConsoleAnswer(200, Json());
  }
  return ConsoleError(404, "there is nothing here");
}

}  // namespace berth::cloud::simulator::azure
