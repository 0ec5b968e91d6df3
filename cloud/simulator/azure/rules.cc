#include "cloud/simulator/azure/rules.h"

#include <set>
#include <tuple>

#include "cloud/answer.h"
#include "log/format.h"

namespace berth::cloud::simulator::azure {
namespace {

constexpr int kLastFrontendPort = 65'534;
constexpr int kLastPort = 65'535;
constexpr int kLeastIdle = 4;
constexpr int kMostIdle = 30;

std::unexpected<Refusal> Invalid(std::string_view what) {
  return Refuse(400, "InvalidRequestContent", Format("The value of {} is not valid.", what));
}

int NumberAt(const Json& object, std::string_view member) {
  const Json& value = At(object, member);
  return value.is_int64() ? static_cast<int>(value.as<std::int64_t>()) : -1;
}

bool IsWithin(int value, int least, int most) { return value >= least && value <= most; }

Check CheckSku(const Json& body, std::initializer_list<std::string_view> known) {
  const std::string sku = TextAt(At(body, "sku"), "name");
  for (const std::string_view name : known) {
    if (sku == name) return {};
  }
  return Refuse(400, "InvalidSkuName", Format("The SKU {} is not supported.", sku));
}

Check CheckPublicIp(const Json& body) {
  if (auto sku = CheckSku(body, {"StandardV2", "Standard"}); !sku) return sku;
  const Json& properties = At(body, "properties");
  if (TextAt(properties, "publicIPAllocationMethod") != "Static") {
    return Refuse(400, "StandardSkuPublicIPAddressesMustBeStatic",
                  "Standard SKU public IP addresses must be static.");
  }
  const std::string version = TextAt(properties, "publicIPAddressVersion");
  if (version != "IPv4" && version != "IPv6") return Invalid("publicIPAddressVersion");
  return {};
}

// A rule by itself, and beside those that came before it.
Check CheckRule(const std::string& id, const Json& rule,
                std::set<std::tuple<std::string, int, std::string>>& frontends,
                std::set<std::tuple<std::string, int, std::string>>& backends) {
  const Json& properties = At(rule, "properties");
  const std::string protocol = TextAt(properties, "protocol");
  if (protocol != "Tcp" && protocol != "Udp") return Invalid("protocol");
  const int frontend_port = NumberAt(properties, "frontendPort");
  const int backend_port = NumberAt(properties, "backendPort");
  if (!IsWithin(frontend_port, 1, kLastFrontendPort)) return Invalid("frontendPort");
  if (!IsWithin(backend_port, 1, kLastPort)) return Invalid("backendPort");
  if (!IsWithin(NumberAt(properties, "idleTimeoutInMinutes"), kLeastIdle, kMostIdle)) {
    return Invalid("idleTimeoutInMinutes");
  }
  if (protocol == "Udp" && TextAt(properties, "enableTcpReset") == "true") {
    return Invalid("enableTcpReset");
  }
  const std::string frontend = TextAt(At(properties, "frontendIPConfiguration"), "id");
  const std::string pool = TextAt(At(properties, "backendAddressPool"), "id");
  for (const std::string& part : {frontend, pool}) {
    if (!Lower(part).starts_with(Lower(id) + "/")) {
      return Refuse(400, "InvalidResourceReference", Format("{} is not part of {}.", part, id));
    }
  }
  if (!frontends.emplace(protocol, frontend_port, Lower(frontend)).second) {
    return Refuse(400, "RulesUseSameFrontendPortProtocolAndIPConfig",
                  "Load balancing rules use the same frontend port and protocol.");
  }
  if (!backends.emplace(protocol, backend_port, Lower(pool)).second) {
    return Refuse(400, "RulesUseSameBackendPortProtocolAndPool",
                  "Load balancing rules must use unique pairs of backend port and protocol in a "
                  "backend address pool.");
  }
  return {};
}

Check CheckLoadBalancer(const std::string& id, const Json& body) {
  if (auto sku = CheckSku(body, {"Service"}); !sku) return sku;
  const Json& properties = At(body, "properties");
  if (TextAt(properties, "scope") != "Public") return Invalid("scope");
  const Json& frontends = At(properties, "frontendIPConfigurations");
  if (!frontends.is_array() || frontends.size() != 1) return Invalid("frontendIPConfigurations");
  if (TextAt(At(At(frontends[0], "properties"), "publicIPAddress"), "id").empty()) {
    return Invalid("publicIPAddress");
  }
  const Json& pools = At(properties, "backendAddressPools");
  if (!pools.is_array() || pools.size() != 1) return Invalid("backendAddressPools");
  const Json& rules = At(properties, "loadBalancingRules");
  if (!rules.is_array()) return {};
  std::set<std::tuple<std::string, int, std::string>> at_frontend;
  std::set<std::tuple<std::string, int, std::string>> at_backend;
  std::set<std::string> names;
  for (const Json& rule : rules.array_range()) {
    if (!names.insert(Lower(TextAt(rule, "name"))).second) {
      return Refuse(400, "DuplicateResourceName", "Two rules have the same name.");
    }
    if (auto checked = CheckRule(id, rule, at_frontend, at_backend); !checked) return checked;
  }
  return {};
}

void AddIds(std::vector<std::string>& ids, const Json& list) {
  if (!list.is_array()) return;
  for (const Json& item : list.array_range()) ids.push_back(TextAt(item, "id"));
}

}  // namespace

const Json& At(const Json& object, std::string_view member) { return Member(object, member); }
std::string TextAt(const Json& object, std::string_view member) { return Text(object, member); }

std::string_view Spelled(std::string_view type) {
  if (type == kPublicIps) return "publicIPAddresses";
  if (type == kLoadBalancers) return "loadBalancers";
  if (type == kNatGateways) return "natGateways";
  return "serviceGateways";
}

Check CheckBody(std::string_view type, const std::string& id, const Json& body) {
  if (!body.is_object()) return Malformed("The body is not a JSON object.");
  if (TextAt(body, "location").empty()) {
    return Refuse(400, "LocationRequired", "The location property is required.");
  }
  if (type == kPublicIps) return CheckPublicIp(body);
  if (type == kLoadBalancers) return CheckLoadBalancer(id, body);
  return CheckSku(body, {"StandardV2"});
}

std::vector<std::string> ReferencesIn(std::string_view type, const Json& body) {
  std::vector<std::string> ids;
  const Json& properties = At(body, "properties");
  if (type == kLoadBalancers) {
    const Json& frontends = At(properties, "frontendIPConfigurations");
    if (frontends.is_array()) {
      for (const Json& frontend : frontends.array_range()) {
        ids.push_back(TextAt(At(At(frontend, "properties"), "publicIPAddress"), "id"));
      }
    }
  } else if (type == kNatGateways) {
    AddIds(ids, At(properties, "publicIpAddresses"));
    AddIds(ids, At(properties, "publicIpAddressesV6"));
  }
  return ids;
}

Refusal InUse(std::string_view type, const std::string& name) {
  if (type == kPublicIps) {
    return {400, "PublicIPAddressCannotBeDeleted",
            Format("Public IP address {} can not be deleted since it is still allocated.", name)};
  }
  return {400,
          type == kLoadBalancers ? "InUseLoadBalancerCannotBeDeleted"
                                 : "InUseNatGatewayCannotBeDeleted",
          Format("{} is in use and cannot be deleted.", name)};
}

}  // namespace berth::cloud::simulator::azure
