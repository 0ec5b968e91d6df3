#include "cloud/simulator/aliyun/ecs.h"

#include <gtest/gtest.h>

#include <set>

#include "cloud/simulator/aliyun/cloud.h"
#include "cloud/simulator/aliyun/test_caller.h"

namespace berth::cloud::simulator {
namespace {

using namespace std::chrono_literals;
using aliyun::Parameters;

class EcsTest : public testing::Test {
 protected:
  explicit EcsTest(EcsOptions options = {}) : cloud_({.ecs = options}) {
    caller_.version = "2014-05-26";
    cloud_.Settle(caller_.now);
    cloud_.vpc().CreateVSwitch({.id = "vsw-a", .cidr = "10.0.0.0/24", .ipv6_cidr = "fd00:1::/64"});
    AddInstance("i-1");
    AddInstance("i-2");
  }

  void AddInstance(const std::string& id, const std::string& vswitch = "vsw-a") {
    Instance instance;
    instance.id = id;
    instance.vswitch_id = vswitch;
    ASSERT_TRUE(cloud_.ecs().CreateInstance(instance));
  }
  TestCaller::Answered Ask(const std::string& action, Parameters parameters = {}) {
    return caller_.Ask(action, std::move(parameters));
  }
  std::string Code(const std::string& action, Parameters parameters = {}) {
    return Ask(action, std::move(parameters)).Code();
  }
  static Parameters Plain(Parameters more = {}) {
    more.emplace("VSwitchId", "vsw-a");
    more.emplace("SecurityGroupIds.1", "sg-1");
    return more;
  }
  std::string Make(Parameters more = {}) {
    const auto made = Ask("CreateNetworkInterface", Plain(std::move(more)));
    EXPECT_EQ(made.Code(), "OK");
    return made["NetworkInterfaceId"];
  }
  std::string On(const std::string& action, const std::string& id, Parameters more = {}) {
    more["NetworkInterfaceId"] = id;
    return Code(action, std::move(more));
  }
  std::string Attach(const std::string& id, const std::string& instance = "i-1") {
    return On("AttachNetworkInterface", id, {{"InstanceId", instance}});
  }
  std::string Detach(const std::string& id, const std::string& instance = "i-1") {
    return On("DetachNetworkInterface", id, {{"InstanceId", instance}});
  }
  std::string Delete(const std::string& id) { return On("DeleteNetworkInterface", id); }
  Json List(Parameters filter) {
    return Ask("DescribeNetworkInterfaces", std::move(filter))
        .body["NetworkInterfaceSets"]["NetworkInterfaceSet"];
  }
  std::string Status(const std::string& id) {
    const Json list = List({{"NetworkInterfaceId.1", id}});
    return list.empty() ? "gone" : list[0]["Status"].as<std::string>();
  }
  std::size_t Free(const std::string& id = "vsw-a") {
    return cloud_.vpc().vswitches().at(id).pool.free();
  }

  Cloud cloud_;
  TestCaller caller_{cloud_};
};

class SlowEcsTest : public EcsTest {
 protected:
  SlowEcsTest()
      : EcsTest({.until_visible = 2s, .attaching = 4s, .detaching = 3s, .deleting = 5s}) {}
  void Pass(async::Duration time) { caller_.now += time; }
};

TEST_F(SlowEcsTest, StatesPassWithTime) {
  const std::string id = Make();
  Pass(2s);
  EXPECT_EQ(Status(id), "Available");
  ASSERT_EQ(Attach(id), "OK");
  EXPECT_EQ(Status(id), "Attaching");
  Pass(3999ms);
  EXPECT_EQ(Status(id), "Attaching");
  Pass(1ms);
  EXPECT_EQ(Status(id), "InUse");
  ASSERT_EQ(Detach(id), "OK");
  EXPECT_EQ(Status(id), "Detaching");
  EXPECT_EQ(cloud_.ecs().Find(id)->instance_id, "i-1");
  Pass(3s);
  EXPECT_EQ(Status(id), "Available");
  EXPECT_EQ(cloud_.ecs().Find(id)->instance_id, "");
  const std::size_t before = Free();
  ASSERT_EQ(Delete(id), "OK");
  EXPECT_EQ(Status(id), "Deleting");
  Pass(5s);
  EXPECT_EQ(Status(id), "gone");
  EXPECT_EQ(Free(), before + 1);
}

TEST_F(SlowEcsTest, ACallThatTheStateDoesNotAllowIsRefused) {
  const std::string id = Make({{"SecondaryPrivateIpAddressCount", "1"}});
  const auto expect_refused = [&](std::vector<std::string> actions) {
    for (const std::string& action : actions) {
      EXPECT_EQ(On(action, id, {{"InstanceId", "i-1"}, {"SecondaryPrivateIpAddressCount", "1"}}),
                "InvalidOperation.InvalidEniState")
          << action << " while " << cloud_.ecs().Find(id)->status;
    }
  };
  const std::string attach = "AttachNetworkInterface";
  const std::string detach = "DetachNetworkInterface";
  const std::string remove = "DeleteNetworkInterface";
  const std::string assign = "AssignPrivateIpAddresses";
  expect_refused({detach});
  Attach(id);
  expect_refused({attach, detach, remove, assign});
  Pass(4s);
  expect_refused({attach, remove});
  EXPECT_EQ(Detach(id, "i-2"), "InvalidOperation.InvalidEniState");
  Detach(id);
  expect_refused({attach, detach, remove, assign});
  Pass(3s);
  Delete(id);
  expect_refused({attach, detach, remove, assign});
}

TEST_F(SlowEcsTest, ListsLagBehind) {
  const std::string id = Make({{"Tag.1.Key", "k"}});
  EXPECT_EQ(List({{"NetworkInterfaceId.1", id}}).size(), 0u);
  EXPECT_EQ(List({{"Tag.1.Key", "k"}}).size(), 0u);
  Pass(2s);
  EXPECT_EQ(List({{"NetworkInterfaceId.1", id}}).size(), 1u);
  EXPECT_EQ(List({{"Tag.1.Key", "k"}}).size(), 1u);
  Attach(id);
  EXPECT_EQ(List({{"InstanceId", "i-1"}}).size(), 1u);  // the primary one
  EXPECT_EQ(Status(id), "Attaching");
  Pass(2s);
  EXPECT_EQ(List({{"InstanceId", "i-1"}}).size(), 2u);
}

TEST_F(SlowEcsTest, AnAttachmentMayFallBackOrStick) {
  const std::string id = Make();
  const std::string other = Make();
  cloud_.faults().Set({{.action = "AttachNetworkInterface", .kind = Fault::Kind::kFallsBack},
                       {.action = "AttachNetworkInterface", .kind = Fault::Kind::kSticks},
                       {.action = "DetachNetworkInterface", .kind = Fault::Kind::kFallsBack}});
  Attach(id);
  Attach(other);
  Pass(1h);
  EXPECT_EQ(Status(id), "Available");
  EXPECT_EQ(cloud_.ecs().Find(id)->instance_id, "");
  EXPECT_EQ(Status(other), "Attaching");
  Attach(id);
  Pass(4s);
  EXPECT_EQ(Status(id), "InUse");
  Detach(id);
  Pass(3s);
  EXPECT_EQ(Status(id), "InUse");
  EXPECT_EQ(cloud_.ecs().Find(id)->instance_id, "i-1");
}

// A change of state that another has overtaken does not end the later one.
TEST_F(SlowEcsTest, AnEarlierTransitionDoesNotEndALaterOne) {
  const std::string id = Make();
  Attach(id);
  Pass(2s);
  cloud_.ecs().SetStatus(id, "Available");
  Attach(id, "i-2");
  Pass(2s);
  EXPECT_EQ(Status(id), "Attaching");
  Pass(2s);
  EXPECT_EQ(Status(id), "InUse");
}

TEST_F(EcsTest, ATokenMakesOneEni) {
  const std::string id = Make({{"ClientToken", "t"}});
  EXPECT_EQ(Make({{"ClientToken", "t"}}), id);
  EXPECT_NE(Make({{"ClientToken", "u"}}), id);
  EXPECT_EQ(Code("CreateNetworkInterface",
                 Plain({{"ClientToken", "t"}, {"SecondaryPrivateIpAddressCount", "3"}})),
            "IdempotentParameterMismatch");
  const Parameters assign{
      {"NetworkInterfaceId", id}, {"SecondaryPrivateIpAddressCount", "2"}, {"ClientToken", "a"}};
  const Json first = Ask("AssignPrivateIpAddresses", assign).body["AssignedPrivateIpAddressesSet"];
  EXPECT_EQ(Ask("AssignPrivateIpAddresses", assign).body["AssignedPrivateIpAddressesSet"], first);
  EXPECT_EQ(cloud_.ecs().Find(id)->ipv4.size(), 3u);
}

TEST_F(EcsTest, AnEniIsMadeAsAsked) {
  const auto made = Ask("CreateNetworkInterface", Plain({{"InstanceType", "Trunk"},
                                                         {"SecondaryPrivateIpAddressCount", "4"},
                                                         {"Ipv6AddressCount", "2"},
                                                         {"PrimaryIpAddress", "10.0.0.77"},
                                                         {"ResourceGroupId", "rg-7"},
                                                         {"Tag.1.Key", "k"},
                                                         {"Tag.1.Value", "v"}}));
  const Eni* eni = cloud_.ecs().Find(made["NetworkInterfaceId"]);
  ASSERT_TRUE(eni);
  EXPECT_EQ(eni->type, "Trunk");
  EXPECT_EQ(eni->traffic_mode, "Standard");
  EXPECT_EQ(eni->primary_address, "10.0.0.77");
  EXPECT_EQ(eni->ipv4.size(), 5u);
  EXPECT_TRUE(eni->ipv4[0].primary);
  EXPECT_FALSE(eni->ipv4[1].primary);
  EXPECT_EQ(eni->ipv6, (std::vector<std::string>{"fd00:1::1", "fd00:1::2"}));
  EXPECT_EQ(eni->zone_id, "cn-hangzhou-a");
  EXPECT_EQ(eni->tags, (Tags{{"k", "v"}}));
  EXPECT_EQ(made.body["PrivateIpSets"]["PrivateIpSet"].size(), 5u);
  EXPECT_EQ(made["MacAddress"], eni->mac_address);
}

TEST_F(EcsTest, AnEniThatCannotBeIsNotMade) {
  const auto refused = [&](Parameters more) {
    const std::size_t before = Free();
    const std::string code = Code("CreateNetworkInterface", Plain(std::move(more)));
    EXPECT_EQ(Free(), before) << code;
    return code;
  };
  EXPECT_EQ(refused({{"InstanceType", "Primary"}}), "InvalidParameter");
  EXPECT_EQ(refused({{"NetworkInterfaceTrafficMode", "Fast"}}), "InvalidParameter");
  EXPECT_EQ(refused({{"SecurityGroupId", "sg-2"}}), "InvalidParameter");
  EXPECT_EQ(refused({{"SecurityGroupIds.1", ""}}), "MissingParameter");
  EXPECT_EQ(refused({{"VSwitchId", ""}}), "MissingParameter");
  EXPECT_EQ(refused({{"VSwitchId", "vsw-x"}}), "InvalidVSwitchId.NotFound");
  EXPECT_EQ(refused({{"SecondaryPrivateIpAddressCount", "50"}}), "InvalidParameter");
  EXPECT_EQ(refused({{"SecondaryPrivateIpAddressCount", "0"}}), "InvalidParameter");
  EXPECT_EQ(refused({{"SecondaryPrivateIpAddressCount", "1"}, {"Ipv4PrefixCount", "1"}}),
            "InvalidParameter");
  EXPECT_EQ(refused({{"Ipv6AddressCount", "1"}, {"Ipv6PrefixCount", "1"}}), "InvalidParameter");
  EXPECT_EQ(refused({{"Ipv6AddressCount", "11"}}), "InvalidParameter");
  EXPECT_EQ(refused({{"PrimaryIpAddress", "10.0.1.1"}}), "InvalidIPAddress.AlreadyUsed");
  EXPECT_EQ(refused({{"RegionId", "mars"}}), "InvalidRegionId.NotFound");
  cloud_.vpc().CreateVSwitch({.id = "vsw-4", .cidr = "10.1.0.0/29"});
  EXPECT_EQ(refused({{"VSwitchId", "vsw-4"}, {"Ipv6AddressCount", "1"}}),
            "InvalidVSwitchId.Ipv6NotTurnOn");
  EXPECT_EQ(refused({{"VSwitchId", "vsw-4"}, {"SecondaryPrivateIpAddressCount", "4"}}),
            "InvalidVSwitchId.IpNotEnough");
  cloud_.ecs().SetQuota(cloud_.ecs().enis().size());
  EXPECT_EQ(refused({}), "MaxEniCountExceeded");
}

TEST_F(EcsTest, AnInstanceHasRoomForItsAdapters) {
  for (int n = 0; n < 3; ++n) EXPECT_EQ(Attach(Make()), "OK");
  const std::string id = Make();
  EXPECT_EQ(Attach(id), "EniPerInstanceLimitExceeded");  // the primary one counts
  EXPECT_EQ(Attach(id, "i-2"), "OK");
  EXPECT_EQ(Attach(Make({{"SecondaryPrivateIpAddressCount", "10"}}), "i-2"),
            "InvalidOperation.Ipv4CountExceeded");
}

TEST_F(EcsTest, AnEniAndItsInstanceAreNeighbours) {
  cloud_.vpc().CreateVSwitch({.id = "vsw-b", .zone_id = "cn-hangzhou-b", .cidr = "10.2.0.0/24"});
  cloud_.vpc().CreateVSwitch({.id = "vsw-c", .vpc_id = "vpc-2", .cidr = "10.3.0.0/24"});
  EXPECT_EQ(Attach(Make({{"VSwitchId", "vsw-b"}})), "InvalidOperation.AvailabilityZoneMismatch");
  EXPECT_EQ(Attach(Make({{"VSwitchId", "vsw-c"}})), "InvalidOperation.VpcMismatch");
  EXPECT_EQ(Attach(Make(), "i-x"), "InvalidEcsId.NotFound");
  EXPECT_EQ(Attach("eni-x"), "InvalidEniId.NotFound");
}

TEST_F(EcsTest, AMemberGoesToATrunkAndTakesNoAdapter) {
  const std::string trunk = Make({{"InstanceType", "Trunk"}});
  const std::string member = Make();
  const Parameters to{{"InstanceId", "i-1"}, {"TrunkNetworkInstanceId", trunk}};
  EXPECT_EQ(On("AttachNetworkInterface", member, to), "InvalidParameter");
  Attach(trunk);
  Attach(Make());
  Attach(Make());
  EXPECT_EQ(On("AttachNetworkInterface", member, to), "OK");
  EXPECT_EQ(cloud_.ecs().Find(member)->type, "Member");
  const Json described = List({{"NetworkInterfaceId.1", member}})[0];
  EXPECT_EQ(described["Attachment"]["TrunkNetworkInterfaceId"].as<std::string>(), trunk);
  EXPECT_EQ(On("DetachNetworkInterface", member, to), "OK");
  EXPECT_EQ(cloud_.ecs().Find(member)->type, "Secondary");
}

TEST_F(EcsTest, StatusesOfRefusals) {
  const auto status = [&](const std::string& action, Parameters parameters) {
    return Ask(action, std::move(parameters)).http_code;
  };
  EXPECT_EQ(status("DeleteNetworkInterface", {{"NetworkInterfaceId", "eni-x"}}), 403);
  EXPECT_EQ(Delete("eni-x"), "InvalidEniId.NotFound");
  EXPECT_EQ(
      status("AttachNetworkInterface", {{"NetworkInterfaceId", "eni-x"}, {"InstanceId", "i-1"}}),
      404);
  const std::string id = Make();
  EXPECT_EQ(status("DetachNetworkInterface", {{"NetworkInterfaceId", id}, {"InstanceId", "i-1"}}),
            400);
  cloud_.ecs().Edit(id).eni.service_managed = true;
  EXPECT_EQ(Delete(id), "InvalidOperation.EniServiceManaged");
  const std::string primary =
      List({{"InstanceId", "i-1"}})[0]["NetworkInterfaceId"].as<std::string>();
  EXPECT_EQ(Detach(primary), "InvalidOperation.DetachPrimaryEniNotAllowed");
}

TEST_F(EcsTest, AddressesComeAndGo) {
  const std::string id = Make();
  Attach(id);
  const std::size_t before = Free();
  const Json assigned =
      Ask("AssignPrivateIpAddresses",
          {{"NetworkInterfaceId", id}, {"SecondaryPrivateIpAddressCount", "9"}})
          .body["AssignedPrivateIpAddressesSet"]["PrivateIpSet"]["PrivateIpAddress"];
  ASSERT_EQ(assigned.size(), 9u);
  EXPECT_EQ(Free(), before - 9);
  const std::string one = assigned[0].as<std::string>();
  EXPECT_EQ(On("AssignPrivateIpAddresses", id, {{"SecondaryPrivateIpAddressCount", "1"}}),
            "InvalidOperation.Ipv4CountExceeded");
  const auto unassign = [&](const std::string& address, const std::string& second = "") {
    return On("UnassignPrivateIpAddresses", id,
              {{"PrivateIpAddress.1", address}, {"PrivateIpAddress.2", second}});
  };
  EXPECT_EQ(unassign(one, "10.9.9.9"), "InvalidIp.IpUnassigned");  // all or none
  EXPECT_EQ(unassign(one), "OK");
  EXPECT_EQ(unassign(one), "InvalidIp.IpUnassigned");
  EXPECT_EQ(unassign(cloud_.ecs().Find(id)->primary_address), "InvalidParameter");
  EXPECT_EQ(Free(), before - 8);
  EXPECT_EQ(cloud_.ecs().Find(id)->ipv4.size(), 9u);
}

TEST_F(EcsTest, PrefixesCountAsAddressesDo) {
  const std::string id = Make();
  Attach(id);
  const Json prefixes =
      Ask("AssignPrivateIpAddresses", {{"NetworkInterfaceId", id}, {"Ipv4PrefixCount", "9"}})
          .body["AssignedPrivateIpAddressesSet"]["Ipv4PrefixSet"]["Ipv4Prefixes"];
  ASSERT_EQ(prefixes.size(), 9u);
  EXPECT_EQ(prefixes[0].as<std::string>(), "10.0.0.16/28");
  EXPECT_EQ(On("AssignPrivateIpAddresses", id, {{"Ipv4PrefixCount", "1"}}),
            "InvalidOperation.Ipv4CountExceeded");
  EXPECT_EQ(On("UnassignPrivateIpAddresses", id, {{"Ipv4Prefix.1", "10.0.0.16/28"}}), "OK");
  EXPECT_EQ(On("UnassignPrivateIpAddresses", id, {{"Ipv4Prefix.1", "10.0.0.16/28"}}),
            "InvalidIp.IpUnassigned");
  const std::string other = Make();  // 15 blocks but the first and the last: 6 are left
  EXPECT_EQ(On("AssignPrivateIpAddresses", other, {{"Ipv4PrefixCount", "7"}}),
            "InvalidVSwitchId.IpNotEnough");
  EXPECT_EQ(On("AssignPrivateIpAddresses", other, {{"Ipv4PrefixCount", "6"}}), "OK");
}

TEST_F(EcsTest, Ipv6ComesAndGoes) {
  const std::string id = Make();
  EXPECT_EQ(On("AssignIpv6Addresses", id, {{"Ipv6AddressCount", "11"}}),
            "InvalidOperation.Ipv6CountExceeded");
  EXPECT_EQ(On("AssignIpv6Addresses", id, {{"Ipv6AddressCount", "2"}}), "OK");
  EXPECT_EQ(On("AssignIpv6Addresses", id, {{"Ipv6PrefixCount", "1"}}), "OK");
  EXPECT_EQ(cloud_.ecs().Find(id)->ipv6_prefixes, std::vector<std::string>{"fd00:1:1::/80"});
  EXPECT_EQ(On("UnassignIpv6Addresses", id, {{"Ipv6Address.1", "fd00:1::1"}}), "OK");
  EXPECT_EQ(On("UnassignIpv6Addresses", id, {{"Ipv6Address.1", "fd00:1::1"}}),
            "InvalidIp.IpUnassigned");
  EXPECT_EQ(On("UnassignIpv6Addresses", id, {{"Ipv6Prefix.1", "fd00:1:1::/80"}}), "OK");
  EXPECT_EQ(cloud_.ecs().Find(id)->ipv6, std::vector<std::string>{"fd00:1::2"});
}

TEST_F(EcsTest, ListsAreFiltered) {
  const std::string tagged = Make({{"Tag.1.Key", "k"}, {"Tag.1.Value", "v"}});
  const std::string trunk = Make({{"InstanceType", "Trunk"}, {"Tag.1.Key", "k"}});
  Attach(trunk);
  const auto only = [&](Parameters filter) {
    const Json list = List(std::move(filter));
    return list.size() == 1 ? list[0]["NetworkInterfaceId"].as<std::string>()
                            : Format("{}", list.size());
  };
  EXPECT_EQ(only({{"Tag.1.Key", "k"}, {"Tag.1.Value", "v"}}), tagged);
  EXPECT_EQ(only({{"Tag.1.Key", "k"}}), "2");
  EXPECT_EQ(only({{"Type", "Trunk"}}), trunk);
  EXPECT_EQ(only({{"Status", "Available"}}), tagged);
  EXPECT_EQ(only({{"InstanceId", "i-1"}, {"Type", "Trunk"}}), trunk);
  EXPECT_EQ(only({{"VSwitchId", "vsw-x"}}), "0");
  EXPECT_EQ(only({{"VpcId", "vpc-default"}, {"SecurityGroupId", "sg-1"}, {"Type", "Trunk"}}),
            trunk);
  EXPECT_EQ(only({{"PrivateIpAddress.1", cloud_.ecs().Find(trunk)->primary_address}}), trunk);
  EXPECT_EQ(only({{"NetworkInterfaceId.1", trunk}, {"NetworkInterfaceId.2", "eni-x"}}), trunk);
  Parameters many;
  for (int n = 1; n <= 101; ++n) many[Format("NetworkInterfaceId.{}", n)] = "eni-x";
  EXPECT_EQ(Code("DescribeNetworkInterfaces", many), "InvalidParameter");
}

TEST_F(EcsTest, ListsHavePages) {
  for (int n = 0; n < 5; ++n) Make({{"Tag.1.Key", "k"}});
  const auto page = Ask("DescribeNetworkInterfaces",
                        {{"Tag.1.Key", "k"}, {"PageSize", "2"}, {"PageNumber", "3"}});
  EXPECT_EQ(page.body["NetworkInterfaceSets"]["NetworkInterfaceSet"].size(), 1u);
  EXPECT_EQ(page["TotalCount"], "5");
  EXPECT_EQ(Code("DescribeNetworkInterfaces", {{"PageSize", "501"}}), "InvalidParameter");
  EXPECT_EQ(Code("DescribeNetworkInterfaces", {{"MaxResults", "501"}}), "InvalidParameter");

  // An ENI that goes between two pages hides no other.
  std::set<std::string> seen;
  std::string token;
  do {
    const auto some = Ask("DescribeNetworkInterfaces",
                          {{"Tag.1.Key", "k"}, {"MaxResults", "2"}, {"NextToken", token}});
    const Json& list = some.body["NetworkInterfaceSets"]["NetworkInterfaceSet"];
    for (const Json& eni : list.array_range()) {
      seen.insert(eni["NetworkInterfaceId"].as<std::string>());
    }
    token = some["NextToken"];
    if (seen.size() == 2) Delete(*seen.begin());
  } while (!token.empty());
  EXPECT_EQ(seen.size(), 5u);
}

TEST_F(EcsTest, AListByTagTellsOfAThousand) {
  cloud_.vpc().CreateVSwitch({.id = "vsw-big", .cidr = "10.8.0.0/16"});
  for (int n = 0; n < 1001; ++n) Make({{"VSwitchId", "vsw-big"}, {"Tag.1.Key", "k"}});
  EXPECT_EQ(Ask("DescribeNetworkInterfaces", {{"Tag.1.Key", "k"}})["TotalCount"], "1000");
  EXPECT_EQ(Ask("DescribeNetworkInterfaces", {{"VSwitchId", "vsw-big"}})["TotalCount"], "1001");
}

TEST_F(EcsTest, AnInstanceTakesItsEnisAlong) {
  const std::string kept = Make({{"DeleteOnRelease", "false"}});
  const std::string lost = Make();
  Attach(kept);
  Attach(lost);
  const Json instances = Ask("DescribeInstances", {{"InstanceIds", R"(["i-1", "i-x"])"}})
                             .body["Instances"]["Instance"];
  ASSERT_EQ(instances.size(), 1u);
  EXPECT_EQ(instances[0]["NetworkInterfaces"]["NetworkInterface"].size(), 3u);
  ASSERT_TRUE(cloud_.ecs().DeleteInstance("i-1"));
  EXPECT_EQ(Status(kept), "Available");
  EXPECT_EQ(Status(lost), "gone");
  EXPECT_EQ(Detach(kept), "InvalidEcsId.NotFound");
  EXPECT_EQ(Ask("DescribeInstances")["TotalCount"], "1");
  EXPECT_EQ(Code("DescribeInstances", {{"InstanceIds", "i-1"}}), "InvalidParameter");
}

TEST_F(EcsTest, TagsAreChanged) {
  const std::string id = Make({{"Tag.1.Key", "old"}});
  const Parameters eni{{"ResourceType", "eni"}, {"ResourceId.1", id}};
  Parameters add = eni;
  add.insert({{"Tag.1.Key", "k"}, {"Tag.1.Value", "v"}});
  EXPECT_EQ(Code("TagResources", add), "OK");
  EXPECT_EQ(List({{"Tag.1.Key", "k"}}).size(), 1u);
  Parameters remove = eni;
  remove.emplace("TagKey.1", "old");
  EXPECT_EQ(Code("UntagResources", remove), "OK");
  EXPECT_EQ(cloud_.ecs().Find(id)->tags, (Tags{{"k", "v"}}));
  EXPECT_EQ(List({{"Tag.1.Key", "old"}}).size(), 0u);
  remove["ResourceId.2"] = "eni-x";
  EXPECT_EQ(Code("UntagResources", remove), "InvalidResourceId.NotFound");
}

TEST_F(EcsTest, VSwitchesTellOfTheirFreeAddresses) {
  caller_.version = "2016-04-28";
  const Json vswitch =
      Ask("DescribeVSwitches", {{"VSwitchId", "vsw-a"}}).body["VSwitches"]["VSwitch"][0];
  EXPECT_EQ(vswitch["AvailableIpAddressCount"].as<int>(), 256 - 4 - 2);
  EXPECT_EQ(vswitch["CidrBlock"].as<std::string>(), "10.0.0.0/24");
  EXPECT_EQ(vswitch["Ipv6CidrBlock"].as<std::string>(), "fd00:1::/64");
  EXPECT_EQ(vswitch["ZoneId"].as<std::string>(), "cn-hangzhou-a");
  EXPECT_EQ(Ask("DescribeVSwitches", {{"VSwitchId", "vsw-x"}})["TotalCount"], "0");
  EXPECT_FALSE(cloud_.vpc().CreateVSwitch({.id = "vsw-a", .cidr = "10.9.0.0/24"}));
  EXPECT_FALSE(cloud_.vpc().CreateVSwitch({.cidr = "10.9.0.1/24"}));
  EXPECT_FALSE(cloud_.vpc().CreateVSwitch({.cidr = "10.9.0.0"}));
}

}  // namespace
}  // namespace berth::cloud::simulator
