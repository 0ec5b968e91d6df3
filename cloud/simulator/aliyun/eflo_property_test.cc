// Random calls of EFLO beside a naive model of what the cloud should then have.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "cloud/simulator/aliyun/cloud.h"
#include "cloud/simulator/aliyun/test_caller.h"

namespace berth::cloud::simulator {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kQuota = 2;
constexpr std::size_t kIpv4 = 3;
constexpr std::size_t kAddresses = 16 - 4;
constexpr auto kPhase = 3s;

struct ModelAddress {
  std::string status = "Executing";
  async::WallTime ends{};
};

struct ModelEni {
  std::string status = "Executing";
  std::string node;
  async::WallTime ends{};                           // the passing state
  std::map<std::string, ModelAddress> secondaries;  // by name
};

// The cloud as a few maps, and the code that each call should have.
struct Model {
  std::map<std::string, ModelEni> enis;
  async::WallTime now;

  void Pass() {
    std::erase_if(enis, [&](auto& entry) {
      ModelEni& eni = entry.second;
      std::erase_if(eni.secondaries, [&](auto& secondary) {
        ModelAddress& address = secondary.second;
        if (address.ends > now) return false;
        if (address.status == "Deleting") return true;
        address.status = "Available";
        return false;
      });
      if (eni.ends > now) return false;
      if (eni.status == "Deleting") return true;
      if (eni.status == "Executing") eni.status = eni.node.empty() ? "Available" : "InUse";
      if (eni.status == "Attaching") eni.status = "InUse";
      if (eni.status == "Detaching") {
        eni.status = "Available";
        eni.node.clear();
      }
      return false;
    });
  }
  std::size_t Used() const {
    std::size_t used = 2;  // of the nodes' own
    for (const auto& [id, eni] : enis) used += 1 + eni.secondaries.size();
    return used;
  }
  std::size_t EnisOf(const std::string& node) const {
    std::size_t count = 0;
    for (const auto& [id, eni] : enis) count += eni.node == node;
    return count;
  }
  std::string Create(const std::string& node) const {
    if (!node.empty() && EnisOf(node) >= kQuota) return "EniPerInstanceLimitExceeded";
    return Used() >= kAddresses ? "InvalidVSwitchId.IpNotEnough" : "OK";
  }
  std::string Attach(ModelEni& eni, const std::string& node) {
    if (eni.status != "Available") return "1017";
    if (EnisOf(node) >= kQuota) return "EniPerInstanceLimitExceeded";
    if (1 + eni.secondaries.size() > kIpv4) return "1013";
    eni.status = "Attaching";
    eni.node = node;
    eni.ends = now + kPhase;
    return "OK";
  }
  std::string Detach(ModelEni& eni, const std::string& node) {
    if (eni.node != node) return "1011";
    if (eni.status != "InUse") return "1017";
    eni.status = "Detaching";
    eni.ends = now + kPhase;
    return "OK";
  }
  std::string Delete(ModelEni& eni) {
    if (eni.status != "Available") return "1017";
    eni.status = "Deleting";
    eni.ends = now + kPhase;
    return "OK";
  }
  std::string Assign(const ModelEni& eni) const {
    if (eni.status != "Available" && eni.status != "InUse") return "1017";
    if (1 + eni.secondaries.size() >= (eni.node.empty() ? 50 : kIpv4)) return "1013";
    return Used() >= kAddresses ? "InvalidVSwitchId.IpNotEnough" : "OK";
  }
  std::string Unassign(ModelAddress& address) const {
    if (address.status != "Available") return "1017";
    address = {"Deleting", now + kPhase};
    return "OK";
  }
};

// Facts that hold whatever was called.
void CheckInvariants(Cloud& cloud, const Model& model) {
  std::set<std::string> addresses;
  for (const auto& [id, record] : cloud.eflo().enis()) {
    for (const EniAddress& ip : record.eni.ipv4) RC_ASSERT(addresses.insert(ip.address).second);
    if (record.eni.type == "Primary") continue;
    const ModelEni& eni = model.enis.at(id);
    RC_ASSERT(record.eni.status == eni.status);
    RC_ASSERT(record.eni.instance_id == eni.node);
    RC_ASSERT(record.eni.ipv4.size() == 1 + eni.secondaries.size());
    for (const auto& [name, address] : eni.secondaries) {
      RC_ASSERT(record.address_status.at(name) == address.status);
    }
    if (!eni.node.empty()) RC_ASSERT(record.eni.ipv4.size() <= kIpv4);
  }
  RC_ASSERT(cloud.eflo().enis().size() == model.enis.size() + 2);
  for (const char* node : {"e01-0", "e01-1"}) RC_ASSERT(model.EnisOf(node) <= kQuota);
  RC_ASSERT(cloud.vpc().vswitches().at("vsw").pool.free() == kAddresses - addresses.size());
}

std::string CreateOne(TestCaller& caller, Model& model, std::string& expected) {
  const std::string node = *rc::gen::element<std::string>("", "e01-0", "e01-1");
  expected = model.Create(node);
  const auto made = caller.Ask("CreateElasticNetworkInterface", {{"NodeId", node},
                                                                 {"VpcId", "vpc-default"},
                                                                 {"ZoneId", "cn-hangzhou-a"},
                                                                 {"VSwitchId", "vsw"},
                                                                 {"SecurityGroupId", "sg"}});
  if (made.Code() == "OK") {
    const Json& content = made.body["Content"];
    ModelEni& eni = model.enis[content["ElasticNetworkInterfaceId"].as<std::string>()];
    eni.node = node;
    eni.ends = model.now + kPhase;
  }
  return made.Code();
}

std::string Step(TestCaller& caller, Model& model, std::string& expected) {
  const int kind = *rc::gen::inRange(0, 6);
  if (kind == 0 || model.enis.empty()) return CreateOne(caller, model, expected);
  auto chosen = model.enis.begin();
  std::advance(chosen, *rc::gen::inRange<std::size_t>(0, model.enis.size()));
  auto& [id, eni] = *chosen;
  const std::string node = *rc::gen::element<std::string>("e01-0", "e01-1");
  const auto on = [&](const char* action, aliyun::Parameters more) {
    more["ElasticNetworkInterfaceId"] = id;
    return caller.Ask(action, std::move(more));
  };
  switch (kind) {
    case 1:
      expected = model.Attach(eni, node);
      return on("AttachElasticNetworkInterface", {{"NodeId", node}}).Code();
    case 2:
      expected = model.Detach(eni, node);
      return on("DetachElasticNetworkInterface", {{"NodeId", node}}).Code();
    case 3:
      expected = model.Delete(eni);
      return on("DeleteElasticNetworkInterface", {}).Code();
    case 4: {
      expected = model.Assign(eni);
      const auto answer = on("AssignLeniPrivateIpAddress", {});
      if (answer.Code() == "OK") {
        eni.secondaries[answer.body["Content"]["IpName"].as<std::string>()].ends =
            model.now + kPhase;
      }
      return answer.Code();
    }
    default: {
      if (eni.secondaries.empty()) return expected = "OK";
      auto& [name, address] = *eni.secondaries.begin();
      expected = model.Unassign(address);
      return on("UnassignLeniPrivateIpAddress", {{"IpName", name}}).Code();
    }
  }
}

TEST(EfloPropertyTest, StatesAndAddressesAreThoseOfANaiveModel) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    Cloud cloud(
        {.seed = seed,
         .eflo = {
             .attaching = kPhase, .detaching = kPhase, .deleting = kPhase, .assigning = kPhase}});
    TestCaller caller(cloud);
    caller.version = "2022-05-30";
    cloud.vpc().CreateVSwitch({.id = "vsw", .cidr = "10.0.0.0/28"});
    for (const char* id : {"e01-0", "e01-1"}) {
      Instance node{.id = id, .vswitch_id = "vsw"};
      node.adapters = kQuota;
      node.ipv4_per_adapter = kIpv4;
      RC_ASSERT(cloud.eflo().CreateInstance(std::move(node)));
    }
    Model model{.enis = {}, .now = caller.now};
    const auto steps = *rc::gen::inRange(0, 120);
    for (int step = 0; step < steps; ++step) {
      caller.now += std::chrono::seconds(*rc::gen::inRange(0, 3));
      cloud.Settle(caller.now);
      model.now = caller.now;
      model.Pass();
      std::string expected;
      const std::string code = Step(caller, model, expected);
      RC_ASSERT(code == expected);
      CheckInvariants(cloud, model);
    }
  }));
}

}  // namespace
}  // namespace berth::cloud::simulator
