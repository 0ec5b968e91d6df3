#include "simulate/eni_users.h"

#include <algorithm>
#include <array>
#include <utility>

#include "log/format.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using Texts = std::vector<std::string>;

Texts Quoted(const Texts& texts) {
  Texts quoted;
  for (const std::string& text : texts) quoted.push_back(Json(text).to_string());
  return quoted;
}

const Texts kCounts = {"0", "1", "2", "3", "5", "8"};
const Texts kFlags = {"true", "false"};

constexpr const char* kSecondary =
    R"({{"networkInterfaceType":"Secondary","networkInterfaceTrafficMode":"Standard","count":{}}})";
constexpr const char* kTrunk =
    R"({"networkInterfaceType":"Trunk","networkInterfaceTrafficMode":"Standard","count":1})";
constexpr const char* kErdma =
    R"({"networkInterfaceType":"Secondary","networkInterfaceTrafficMode":"HighPerformance","count":1})";

std::string Secondaries(std::size_t count) { return Format(kSecondary, count); }

Json VSwitches(Dice& random) {
  switch (random.Below(4)) {
    case 0:
      return Json::Array({EniFleet::kLarge});
    case 1:
      return Json::Array({EniFleet::kLarge, EniFleet::kSmall});
    case 2:
      return Json::Array({EniFleet::kFar, EniFleet::kSmall, EniFleet::kLarge});
    default:
      return Json::Array({EniFleet::kSmall, EniFleet::kLarge});
  }
}

Json Pool(Dice& random) {
  Json pool;
  const auto least = random.Chance(0.3) ? 0 : random.Below(4);
  pool["minPoolSize"] = least;
  pool["maxPoolSize"] = least + random.Below(5);
  if (random.Chance(0.2)) pool["warmUpSize"] = random.Below(6);
  if (random.Chance(0.25)) {
    pool["reclaim"] =
        Json::parse(R"({"after":"1m","interval":"30s","jitterFactor":"0.1","batchSize":2})");
  }
  return pool;
}

Json Interfaces(Dice& random) {
  Json eni;
  eni["vSwitchOptions"] = VSwitches(random);
  eni["securityGroupIDs"] = Json::Array({"sg-1"});
  static constexpr std::array kPolicies = {"ordered", "random", "most"};
  eni["vSwitchSelectPolicy"] = kPolicies[random.Below(kPolicies.size())];
  eni["enableIPv4"] = true;
  if (random.Chance(0.2)) eni["enableIPv6"] = true;
  if (random.Chance(0.08)) {
    eni["enableIPPrefix"] = true;
    eni["ipv4PrefixCount"] = 1 + random.Below(2);
  }
  if (random.Chance(0.2)) eni["tag"]["team"] = "x";
  if (random.Chance(0.3)) eni["tagBlockList"] = Json::parse(R"([{"key":"blocked","value":"yes"}])");
  return eni;
}

// The values that mean something, by field.
std::map<std::string, Texts> Values(const EniFleet& fleet, bool strange) {
  Texts instances = {"i-nowhere"};
  for (const auto& server : fleet.servers) {
    if (strange) instances.push_back(server.instance);
  }
  return {
      {"spec.nodeMetadata.regionID", Quoted({"cn-hangzhou", "cn-beijing"})},
      {"spec.nodeMetadata.instanceType", Quoted({"ecs.g7.xlarge", "ecs.c7.large"})},
      {"spec.nodeMetadata.instanceID", Quoted(instances)},
      {"spec.nodeMetadata.zoneID", Quoted({EniFleet::kZone, EniFleet::kOtherZone})},
      {"spec.nodeCap.adapters", kCounts},
      {"spec.nodeCap.totalAdapters", kCounts},
      {"spec.nodeCap.ipv4PerAdapter", kCounts},
      {"spec.nodeCap.ipv6PerAdapter", kCounts},
      {"spec.nodeCap.eriQuantity", {"0", "1"}},
      {"spec.datapath.type", Quoted({"veth", "ipvlan", "datapathv2"})},
      {"spec.eni.vSwitchOptions",
       {R"(["vsw-large"])", R"(["vsw-small","vsw-large"])", R"(["vsw-far"])", R"(["vsw-nowhere"])",
        R"(["vsw-small"])", "[]"}},
      {"spec.eni.securityGroupIDs", {R"(["sg-1"])", R"(["sg-1","sg-2"])", "[]"}},
      {"spec.eni.vSwitchSelectPolicy", Quoted({"ordered", "random", "most"})},
      {"spec.eni.tag", {R"({"team":"x"})", R"({"creator":"forged"})", "{}"}},
      {"spec.eni.tagFilter", {R"({"creator":"terway"})", R"({"team":"x"})", "{}"}},
      {"spec.eni.tagBlockList", {R"([{"key":"blocked","value":"yes"}])", "[]"}},
      {"spec.eni.resourceGroupID", Quoted({"", "rg-1"})},
      {"spec.eni.enableIPv4", kFlags},
      {"spec.eni.enableIPv6", kFlags},
      {"spec.eni.enableERDMA", kFlags},
      {"spec.eni.enableTrunk", kFlags},
      {"spec.eni.enableIPPrefix", kFlags},
      {"spec.eni.ipv4PrefixCount", {"0", "1", "2"}},
      {"spec.eni.ipv6PrefixCount", {"0", "1"}},
      {"spec.pool.maxPoolSize", kCounts},
      {"spec.pool.minPoolSize", kCounts},
      {"spec.pool.warmUpSize", kCounts},
      {"spec.pool.poolSyncPeriod", Quoted({"30s", "2m", "nonsense"})},
      {"spec.pool.reclaim.after", Quoted({"10s", "1m", "-1s"})},
      {"spec.pool.reclaim.interval", Quoted({"10s", "1m", "0s"})},
      {"spec.pool.reclaim.jitterFactor", Quoted({"0.1", "1", "-1", "x"})},
      {"spec.pool.reclaim.batchSize", {"0", "1", "3"}},
      {"spec.flavor",
       {Format("[{}]", Secondaries(1)), Format("[{}]", Secondaries(3)), Format("[{}]", kErdma),
        Format("[{},{}]", kTrunk, Secondaries(2)), "[]"}},
      {"status.nextSyncOpenAPITime", Quoted({"2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z"})},
      {"status.lastSyncOpenAPITime", Quoted({"2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z"})},
      {"status.nextIdleIPReclaimTime", Quoted({"2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z"})},
      {"status.warmUpTarget", kCounts},
      {"status.warmUpAllocatedCount", kCounts},
      {"status.networkInterfaces",
       {R"({"eni-forged":{"id":"eni-forged","status":"InUse"}})", "{}"}},
      {"status.attempts", {"{}"}},
  };
}

}  // namespace

EniFleet EniFleet::Draw(Dice& random) {
  EniFleet fleet;
  fleet.has_lingjun = random.Chance(0.25);
  const auto count = 1 + random.Below(3);
  for (std::uint64_t i = 0; i < count; ++i) {
    Server server{.node = Format("n{}", i),
                  .instance = Format("i-{}", i),
                  .adapters = 2 + random.Below(3),
                  .ipv4_per_adapter = 2 + random.Below(5),
                  .lingjun = fleet.has_lingjun && random.Chance(0.6),
                  .spec = {}};
    if (server.lingjun) server.instance = Format("e01-{}", i);
    server.spec = DaemonSpec(server, random);
    fleet.servers.push_back(std::move(server));
  }
  return fleet;
}

const EniFleet::Server* EniFleet::Find(const std::string& node) const {
  const auto found = std::ranges::find(servers, node, &Server::node);
  return found == servers.end() ? nullptr : &*found;
}

Texts EniFleet::names() const {
  Texts names;
  for (const Server& server : servers) names.push_back(server.node);
  return names;
}

std::set<std::string> EniFleet::erdma_nodes() const {
  std::set<std::string> names;
  for (const Server& server : servers) {
    if (server.spec["eni"].contains("enableERDMA")) names.insert(server.node);
  }
  return names;
}

Json DaemonSpec(const EniFleet::Server& server, Dice& random) {
  Json metadata;
  metadata["regionID"] = "cn-hangzhou";
  metadata["instanceType"] = "ecs.g7.xlarge";
  metadata["instanceID"] = server.instance;
  metadata["zoneID"] = EniFleet::kZone;
  Json capacity;
  capacity["adapters"] = server.adapters;
  capacity["totalAdapters"] = server.adapters;
  capacity["ipv4PerAdapter"] = server.ipv4_per_adapter;
  capacity["ipv6PerAdapter"] = server.ipv4_per_adapter;
  Json spec;
  spec["nodeMetadata"] = std::move(metadata);
  spec["nodeCap"] = std::move(capacity);
  spec["datapath"]["type"] = "veth";
  Json eni = Interfaces(random);
  std::string flavors = Secondaries(server.adapters - 1);
  if (server.lingjun) {
    // EFLO has neither.
    eni.erase("enableIPv6");
    eni.erase("enableIPPrefix");
  } else if (server.adapters > 2 && random.Chance(0.15)) {
    eni["enableERDMA"] = true;
    spec["nodeCap"]["eriQuantity"] = 1;
    flavors = Format("{},{}", kErdma, Secondaries(server.adapters - 2));
  } else if (server.adapters > 2 && random.Chance(0.15)) {
    eni["enableTrunk"] = true;
    flavors = Format("{},{}", kTrunk, Secondaries(server.adapters - 2));
  }
  spec["eni"] = std::move(eni);
  spec["pool"] = Pool(random);
  spec["flavor"] = Json::parse(Format("[{}]", flavors));
  return spec;
}

std::vector<UserKind> EniUsers(const EniFleet& fleet, bool strange) {
  Texts names = fleet.names();
  if (strange) names.emplace_back(EniFleet::kRival);
  const auto spec = [&fleet](World& world, const std::string&, const std::string& name) {
    const auto* server = fleet.Find(name);
    if (!server) return DaemonSpec(fleet.servers.front(), world.random());
    return world.random().Chance(0.8) ? server->spec : DaemonSpec(*server, world.random());
  };
  // Without access to EFLO, Nodes of Lingjun are not looked after.
  const Texts lingjun = {strange && !fleet.has_lingjun ? "true" : "maybe", "false"};
  std::map<std::string, Texts> labels = {
      {"k8s.aliyun.com/exclusive-mode-eni-type", {"eniOnly", "ENIONLY", "x"}}};
  if (!fleet.has_lingjun) labels["alibabacloud.com/lingjun-worker"] = lingjun;
  // The simulated ECS does not know EFLO's ENIs: a node with some cannot be moved to its API.
  Texts apis = {"hdeni", "ecs-hdeni"};
  if (!fleet.has_lingjun) apis.emplace_back("ecs");
  UserKind nodes{.crd = "nodes.network.alibabacloud.com",
                 .weight = 12,
                 .names = names,
                 .generated_names = {},
                 .spec = spec,
                 .values = Values(fleet, strange),
                 .favourite = "spec.pool.minPoolSize",
                 .next = {},
                 .labels = labels,
                 .annotations = {{"k8s.aliyun.com/eno-api", apis}}};
  UserKind runtimes{
      .crd = "noderuntimes.network.alibabacloud.com",
      .weight = 3,
      .names = fleet.names(),
      .generated_names = {},
      .spec = [](World&, const std::string&, const std::string&) { return Json::Object(); },
      .values = {{"status.pods",
                  {R"({"uid-0":{"podID":"default/p0","status":{"deleted":)"
                   R"({"lastUpdateTime":"2026-01-01T00:00:00Z"}}}})",
                   "{}"}}},
      .favourite = "",
      .next = {},
      .labels = {},
      .annotations = {}};
  return {std::move(nodes), std::move(runtimes)};
}

}  // namespace berth::simulate
