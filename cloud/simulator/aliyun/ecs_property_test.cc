// Random calls of ECS beside a naive model of what the cloud should then have.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>

#include "cloud/simulator/aliyun/cloud.h"
#include "cloud/simulator/aliyun/test_caller.h"

namespace berth::cloud::simulator {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kAdapters = 3;
constexpr std::size_t kIpv4 = 4;
constexpr std::size_t kAddresses = 32 - 4;
constexpr auto kPhase = 3s;

struct ModelEni {
  std::string status = "Available";
  std::string instance;
  std::size_t ipv4 = 1;
  async::WallTime ends{};  // the passing state
};

// The cloud as a few maps, and the code that each call should have.
struct Model {
  std::map<std::string, ModelEni> enis;
  async::WallTime now;

  void Pass() {
    std::erase_if(enis, [&](auto& entry) {
      ModelEni& eni = entry.second;
      if (eni.ends > now) return false;
      if (eni.status == "Deleting") return true;
      if (eni.status == "Attaching") eni.status = "InUse";
      if (eni.status == "Detaching") {
        eni.status = "Available";
        eni.instance.clear();
      }
      return false;
    });
  }
  std::size_t Used() const {
    std::size_t used = 2;  // of the primary ENIs
    for (const auto& [id, eni] : enis) used += eni.ipv4;
    return used;
  }
  std::size_t AdaptersOf(const std::string& instance) const {
    std::size_t adapters = 1;
    for (const auto& [id, eni] : enis) adapters += eni.instance == instance;
    return adapters;
  }
  std::string Attach(ModelEni& eni, const std::string& instance) {
    if (eni.status != "Available") return "InvalidOperation.InvalidEniState";
    if (AdaptersOf(instance) >= kAdapters) return "EniPerInstanceLimitExceeded";
    if (eni.ipv4 > kIpv4) return "InvalidOperation.Ipv4CountExceeded";
    eni = {"Attaching", instance, eni.ipv4, now + kPhase};
    return "OK";
  }
  std::string Detach(ModelEni& eni, const std::string& instance) {
    if (eni.status != "InUse" || eni.instance != instance)
      return "InvalidOperation.InvalidEniState";
    eni = {"Detaching", instance, eni.ipv4, now + kPhase};
    return "OK";
  }
  std::string Delete(ModelEni& eni) {
    if (eni.status != "Available") return "InvalidOperation.InvalidEniState";
    eni = {"Deleting", "", eni.ipv4, now + kPhase};
    return "OK";
  }
  std::string Assign(ModelEni& eni, std::size_t count) {
    if (eni.status != "Available" && eni.status != "InUse")
      return "InvalidOperation.InvalidEniState";
    if (eni.ipv4 + count > (eni.instance.empty() ? 50 : kIpv4)) {
      return "InvalidOperation.Ipv4CountExceeded";
    }
    if (Used() + count > kAddresses) return "InvalidVSwitchId.IpNotEnough";
    eni.ipv4 += count;
    return "OK";
  }
  std::string Unassign(ModelEni& eni) {
    if (eni.status != "Available" && eni.status != "InUse")
      return "InvalidOperation.InvalidEniState";
    --eni.ipv4;
    return "OK";
  }
};

// Facts that hold whatever was called.
void CheckInvariants(Cloud& cloud, const Model& model) {
  std::set<std::string> addresses;
  std::map<std::string, std::size_t> adapters;
  for (const auto& [id, record] : cloud.ecs().enis()) {
    for (const EniAddress& ip : record.eni.ipv4) RC_ASSERT(addresses.insert(ip.address).second);
    ++adapters[record.eni.instance_id];
    RC_ASSERT(record.eni.instance_id.empty() ==
              (record.eni.status == "Available" || record.eni.status == "Deleting"));
    if (record.eni.type == "Primary") continue;
    const ModelEni& eni = model.enis.at(id);
    RC_ASSERT(record.eni.status == eni.status);
    RC_ASSERT(record.eni.instance_id == eni.instance);
    RC_ASSERT(record.eni.ipv4.size() == eni.ipv4);
    if (!eni.instance.empty()) RC_ASSERT(eni.ipv4 <= kIpv4);
  }
  RC_ASSERT(cloud.ecs().enis().size() == model.enis.size() + 2);
  for (const char* instance : {"i-0", "i-1"}) RC_ASSERT(adapters[instance] <= kAdapters);
  RC_ASSERT(cloud.vpc().vswitches().at("vsw").pool.free() == kAddresses - addresses.size());
}

std::string Step(TestCaller& caller, Cloud& cloud, Model& model, std::string& expected) {
  const int kind = *rc::gen::inRange(0, 6);
  if (kind == 0 || model.enis.empty()) {
    const auto more = *rc::gen::inRange<std::size_t>(1, 6);
    expected = model.Used() + 1 + more > kAddresses ? "InvalidVSwitchId.IpNotEnough" : "OK";
    const auto made = caller.Ask("CreateNetworkInterface",
                                 {{"VSwitchId", "vsw"},
                                  {"SecurityGroupId", "sg"},
                                  {"SecondaryPrivateIpAddressCount", std::to_string(more)}});
    if (made.http_code == 200) model.enis[made["NetworkInterfaceId"]].ipv4 = 1 + more;
    return made.Code();
  }
  auto chosen = model.enis.begin();
  std::advance(chosen, *rc::gen::inRange<std::size_t>(0, model.enis.size()));
  auto& [id, eni] = *chosen;
  const std::string instance = *rc::gen::element<std::string>("i-0", "i-1");
  const auto on = [&](const char* action, aliyun::Parameters more) {
    more["NetworkInterfaceId"] = id;
    return caller.Code(action, std::move(more));
  };
  switch (kind) {
    case 1:
      expected = model.Attach(eni, instance);
      return on("AttachNetworkInterface", {{"InstanceId", instance}});
    case 2:
      expected = model.Detach(eni, instance);
      return on("DetachNetworkInterface", {{"InstanceId", instance}});
    case 3:
      expected = model.Delete(eni);
      return on("DeleteNetworkInterface", {});
    case 4: {
      const auto count = *rc::gen::inRange<std::size_t>(1, 4);
      expected = model.Assign(eni, count);
      return on("AssignPrivateIpAddresses",
                {{"SecondaryPrivateIpAddressCount", std::to_string(count)}});
    }
    default: {
      const auto& ips = cloud.ecs().Find(id)->ipv4;
      if (ips.size() < 2) return expected = "OK";
      expected = model.Unassign(eni);
      return on("UnassignPrivateIpAddresses", {{"PrivateIpAddress.1", ips.back().address}});
    }
  }
}

TEST(EcsPropertyTest, StatesAndAddressesAreThoseOfANaiveModel) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    Cloud cloud(
        {.seed = seed, .ecs = {.attaching = kPhase, .detaching = kPhase, .deleting = kPhase}});
    TestCaller caller(cloud);
    caller.version = "2014-05-26";
    cloud.vpc().CreateVSwitch({.id = "vsw", .cidr = "10.0.0.0/27"});
    for (const char* id : {"i-0", "i-1"}) {
      Instance instance{.id = id, .vswitch_id = "vsw"};
      instance.adapters = kAdapters;
      instance.ipv4_per_adapter = kIpv4;
      RC_ASSERT(cloud.ecs().CreateInstance(std::move(instance)));
    }
    Model model{.enis = {}, .now = caller.now};
    const auto steps = *rc::gen::inRange(0, 120);
    for (int step = 0; step < steps; ++step) {
      caller.now += std::chrono::seconds(*rc::gen::inRange(0, 3));
      cloud.Settle(caller.now);
      model.now = caller.now;
      model.Pass();
      std::string expected;
      const std::string code = Step(caller, cloud, model, expected);
      RC_ASSERT(code == expected);
      CheckInvariants(cloud, model);
    }
  }));
}

}  // namespace
}  // namespace berth::cloud::simulator
