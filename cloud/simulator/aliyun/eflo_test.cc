#include "cloud/simulator/aliyun/eflo.h"

#include <gtest/gtest.h>

#include "cloud/simulator/aliyun/cloud.h"
#include "cloud/simulator/aliyun/test_caller.h"
#include "log/format.h"

namespace berth::cloud::simulator {
namespace {

using namespace std::chrono_literals;

class EfloTest : public testing::Test {
 protected:
  EfloTest() {
    caller_.version = "2022-05-30";
    cloud_.Settle(caller_.now);
    cloud_.vpc().CreateVSwitch({.id = "vsw-a", .cidr = "10.0.0.0/24"});
    cloud_.vpc().CreateVSwitch({.id = "vsw-b", .zone_id = "cn-hangzhou-b", .cidr = "10.0.1.0/29"});
    AddNode("e01-1", "vsw-a");
  }

  void AddNode(const std::string& id, const std::string& vswitch) {
    Instance node{.id = id, .vswitch_id = vswitch};
    node.adapters = 2;
    node.ipv4_per_adapter = 3;
    EXPECT_TRUE(cloud_.eflo().CreateInstance(node));
  }
  aliyun::Parameters Wish(aliyun::Parameters more = {}) {
    more.insert({{"NodeId", "e01-1"},
                 {"ZoneId", "cn-hangzhou-a"},
                 {"VSwitchId", "vsw-a"},
                 {"SecurityGroupId", "sg-1"}});
    return more;
  }
  std::string Create(aliyun::Parameters more = {}) {
    const auto made = caller_.Ask("CreateElasticNetworkInterface", Wish(std::move(more)));
    EXPECT_EQ(made.Code(), "OK");
    return made.body["Content"]["ElasticNetworkInterfaceId"].as<std::string>();
  }
  std::string On(const std::string& action, const std::string& id, aliyun::Parameters more = {}) {
    more["ElasticNetworkInterfaceId"] = id;
    return caller_.Code(action, std::move(more));
  }
  Json List(aliyun::Parameters filter) {
    return caller_.Ask("ListElasticNetworkInterfaces", std::move(filter)).body["Content"];
  }
  // As the cloud lists it.
  std::string Status(const std::string& id) {
    const Json data = List({{"ElasticNetworkInterfaceId", id}})["Data"];
    return data.size() == 0 ? "gone" : data[0]["Status"].as<std::string>();
  }
  std::string Assign(const std::string& id) {
    return caller_.Ask("AssignLeniPrivateIpAddress", {{"ElasticNetworkInterfaceId", id}})
        .body["Content"]["IpName"]
        .as<std::string>();
  }
  std::string AddressStatus(const std::string& name) {
    const Json content =
        caller_.Ask("ListLeniPrivateIpAddresses", {{"IpName", name}}).body["Content"];
    return content["Data"].size() == 0 ? "gone" : content["Data"][0]["Status"].as<std::string>();
  }
  void Fail(std::string action, Fault::Kind kind) {
    cloud_.faults().Set({{.action = std::move(action), .kind = kind}});
  }
  void Pass() { caller_.now += 10s; }

  Cloud cloud_{{.eflo = {.attaching = 10s, .detaching = 10s, .deleting = 10s, .assigning = 10s}}};
  TestCaller caller_{cloud_};
};

TEST_F(EfloTest, AnEniIsBoundToItsNodeWhenItIsMade) {
  const std::string id = Create();
  EXPECT_TRUE(id.starts_with("leni-"));
  EXPECT_EQ(Status(id), "Executing");
  Pass();
  EXPECT_EQ(Status(id), "Available");
  EXPECT_EQ(cloud_.eflo().Find(id)->status, "InUse");
  EXPECT_EQ(On("DeleteElasticNetworkInterface", id), "1017");
  EXPECT_EQ(On("AttachElasticNetworkInterface", id, {{"NodeId", "e01-1"}}), "1017");
  EXPECT_EQ(On("DetachElasticNetworkInterface", id, {{"NodeId", "e01-1"}}), "OK");
  EXPECT_EQ(Status(id), "Detaching");
  EXPECT_EQ(On("DetachElasticNetworkInterface", id, {{"NodeId", "e01-1"}}), "1017");
  Pass();
  EXPECT_EQ(Status(id), "Unattached");
  EXPECT_EQ(On("DetachElasticNetworkInterface", id, {{"NodeId", "e01-1"}}), "1011");
  EXPECT_EQ(On("AttachElasticNetworkInterface", id, {{"NodeId", "e01-x"}}), "1011");
  EXPECT_EQ(On("AttachElasticNetworkInterface", id, {{"NodeId", "e01-1"}}), "OK");
  EXPECT_EQ(Status(id), "Attaching");
  Pass();
  EXPECT_EQ(Status(id), "Available");
  On("DetachElasticNetworkInterface", id, {{"NodeId", "e01-1"}});
  Pass();
  EXPECT_EQ(On("DeleteElasticNetworkInterface", id), "OK");
  EXPECT_EQ(Status(id), "Deleting");
  Pass();
  EXPECT_EQ(Status(id), "gone");
  EXPECT_EQ(On("DeleteElasticNetworkInterface", id), "1011");
  EXPECT_EQ(cloud_.vpc().vswitches().at("vsw-a").pool.free(), 256u - 4u - 1u);
}

TEST_F(EfloTest, WithoutANodeItIsUnattachedAndNeedsAVpc) {
  EXPECT_EQ(caller_.Code("CreateElasticNetworkInterface", Wish({{"NodeId", ""}})),
            "MissingParameter");
  const std::string id = Create({{"NodeId", ""}, {"VpcId", "vpc-default"}});
  Pass();
  EXPECT_EQ(Status(id), "Unattached");
}

TEST_F(EfloTest, AWrongCreateIsRefused) {
  for (const char* name : {"ZoneId", "VSwitchId", "SecurityGroupId"}) {
    EXPECT_EQ(caller_.Code("CreateElasticNetworkInterface", Wish({{name, ""}})),
              "MissingParameter");
  }
  EXPECT_EQ(caller_.Code("CreateElasticNetworkInterface", Wish({{"VSwitchId", "vsw-x"}})),
            "InvalidVSwitchId.NotFound");
  EXPECT_EQ(caller_.Code("CreateElasticNetworkInterface", Wish({{"ZoneId", "z"}})),
            "InvalidParameter");
  EXPECT_EQ(caller_.Code("CreateElasticNetworkInterface", Wish({{"NodeId", "e01-x"}})), "1011");
  EXPECT_EQ(caller_.Code("CreateElasticNetworkInterface", Wish({{"RegionId", "cn-x"}})),
            "InvalidRegionId.NotFound");
  EXPECT_EQ(cloud_.eflo().enis().size(), 1u);
}

TEST_F(EfloTest, ANodeHasAQuotaOfEnisBesideItsOwn) {
  Create();
  const std::string second = Create();
  EXPECT_EQ(caller_.Code("CreateElasticNetworkInterface", Wish()), "EniPerInstanceLimitExceeded");
  Pass();
  On("DetachElasticNetworkInterface", second, {{"NodeId", "e01-1"}});
  Pass();
  Create();
  EXPECT_EQ(On("AttachElasticNetworkInterface", second, {{"NodeId", "e01-1"}}),
            "EniPerInstanceLimitExceeded");
}

TEST_F(EfloTest, AnEniStaysInItsZone) {
  AddNode("e01-2", "vsw-b");
  const std::string id = Create({{"NodeId", ""}, {"VpcId", "vpc-default"}});
  Pass();
  EXPECT_EQ(On("AttachElasticNetworkInterface", id, {{"NodeId", "e01-2"}}), "InvalidParameter");
}

TEST_F(EfloTest, AFullVSwitchRefuses) {
  AddNode("e01-2", "vsw-b");
  while (cloud_.vpc().vswitches().at("vsw-b").pool.free() > 1) {
    cloud_.vpc().vswitches().at("vsw-b").pool.Take();
  }
  const aliyun::Parameters wish =
      Wish({{"NodeId", "e01-2"}, {"ZoneId", "cn-hangzhou-b"}, {"VSwitchId", "vsw-b"}});
  const auto made = caller_.Ask("CreateElasticNetworkInterface", wish);
  EXPECT_EQ(made.Code(), "OK");
  EXPECT_EQ(caller_.Code("CreateElasticNetworkInterface", wish), "InvalidVSwitchId.IpNotEnough");
  Pass();
  const std::string id = made.body["Content"]["ElasticNetworkInterfaceId"].as<std::string>();
  EXPECT_EQ(On("AssignLeniPrivateIpAddress", id), "InvalidVSwitchId.IpNotEnough");
}

TEST_F(EfloTest, AddressesComeAndGoOneByOne) {
  const std::string id = Create();
  EXPECT_EQ(On("AssignLeniPrivateIpAddress", id), "1017");
  Pass();
  const std::string name = Assign(id);
  EXPECT_EQ(AddressStatus(name), "Executing");
  EXPECT_EQ(On("UnassignLeniPrivateIpAddress", id, {{"IpName", name}}), "1017");
  Pass();
  EXPECT_EQ(AddressStatus(name), "Available");
  EXPECT_EQ(On("AssignLeniPrivateIpAddress", id, {{"PrivateIpAddress", "10.0.0.99"}}), "OK");
  EXPECT_EQ(On("AssignLeniPrivateIpAddress", id), "1013");
  EXPECT_EQ(cloud_.eflo().Find(id)->ipv4.back().address, "10.0.0.99");
  EXPECT_EQ(On("UnassignLeniPrivateIpAddress", id, {{"IpName", "sip-x"}}), "1011");
  EXPECT_EQ(On("UnassignLeniPrivateIpAddress", id, {{"IpName", name}}), "OK");
  EXPECT_EQ(AddressStatus(name), "Deleting");
  EXPECT_EQ(On("AssignLeniPrivateIpAddress", id), "1013");  // it counts until it is gone
  Pass();
  EXPECT_EQ(AddressStatus(name), "gone");
  EXPECT_EQ(On("AssignLeniPrivateIpAddress", id, {{"PrivateIpAddress", "10.0.0.99"}}),
            "InvalidIPAddress.AlreadyUsed");
  EXPECT_EQ(On("AssignLeniPrivateIpAddress", id), "OK");
}

TEST_F(EfloTest, AnAddressOnItsWayGoesWithItsEni) {
  const std::string id = Create();
  Pass();
  Assign(id);
  cloud_.eflo().DeleteEni(id);
  Pass();
  EXPECT_EQ(Status(id), "gone");
  EXPECT_EQ(cloud_.vpc().vswitches().at("vsw-a").pool.free(), 256u - 4u - 1u);
}

TEST_F(EfloTest, ListsFilterAndCountPages) {
  const std::string first = Create({{"Tag.1.Key", "k"}, {"Tag.1.Value", "1"}});
  const std::string second = Create({{"Tag.1.Key", "k"}, {"Tag.1.Value", "2"}});
  Pass();
  EXPECT_EQ(List({})["Total"].as<int>(), 3);
  EXPECT_EQ(List({{"Type", "CUSTOM"}})["Total"].as<int>(), 2);
  EXPECT_EQ(List({{"Type", "DEFAULT"}})["Total"].as<int>(), 1);
  EXPECT_EQ(List({{"NodeId", "e01-1"}})["Total"].as<int>(), 3);
  EXPECT_EQ(List({{"NodeId", "e01-x"}})["Total"].as<int>(), 0);
  EXPECT_EQ(List({{"Status", "Available"}})["Total"].as<int>(), 3);
  EXPECT_EQ(List({{"Status", "Unattached"}})["Total"].as<int>(), 0);
  EXPECT_EQ(List({{"Tag.1.Key", "k"}})["Total"].as<int>(), 2);
  const Json tagged = List({{"Tag.1.Key", "k"}, {"Tag.1.Value", "2"}})["Data"];
  ASSERT_EQ(tagged.size(), 1u);
  EXPECT_EQ(tagged[0]["ElasticNetworkInterfaceId"].as<std::string>(), second);
  EXPECT_EQ(tagged[0]["Tags"][0]["TagValue"].as<std::string>(), "2");
  EXPECT_EQ(tagged[0]["SecurityGroupId"].as<std::string>(), "sg-1");
  const Json page = List({{"PageSize", "2"}, {"PageNumber", "2"}});
  EXPECT_EQ(page["Total"].as<int>(), 3);
  EXPECT_EQ(page["Data"].size(), 1u);
  EXPECT_EQ(caller_.Code("ListElasticNetworkInterfaces", {{"PageSize", "101"}}),
            "InvalidParameter");
}

TEST_F(EfloTest, OneIsDescribedWithItsAddresses) {
  const std::string id = Create();
  Pass();
  const std::string name = Assign(id);
  const Json eni = caller_.Ask("GetElasticNetworkInterface", {{"ElasticNetworkInterfaceId", id}})
                       .body["Content"];
  EXPECT_EQ(eni["NodeId"].as<std::string>(), "e01-1");
  EXPECT_EQ(eni["PrivateIpAddresses"].size(), 1u);
  EXPECT_EQ(eni["PrivateIpAddresses"][0]["IpName"].as<std::string>(), name);
  EXPECT_EQ(On("GetElasticNetworkInterface", "leni-x"), "1011");
}

TEST_F(EfloTest, TheNodesOwnEniIsNotForClientsToChange) {
  const std::string own = cloud_.eflo().enis().begin()->first;
  EXPECT_EQ(On("DetachElasticNetworkInterface", own, {{"NodeId", "e01-1"}}), "1017");
  EXPECT_EQ(On("DeleteElasticNetworkInterface", own), "1017");
  EXPECT_EQ(On("AssignLeniPrivateIpAddress", own), "1017");
}

TEST_F(EfloTest, ErrorsAreNumbersInAnAnswerThatIsGood) {
  const auto gone =
      caller_.Ask("DeleteElasticNetworkInterface", {{"ElasticNetworkInterfaceId", "leni-x"}});
  EXPECT_EQ(gone.http_code, 200);
  EXPECT_EQ(gone.body["Code"], Json(1011));
  EXPECT_NE(gone["RequestId"], "");
  EXPECT_EQ(List({})["Total"].as<int>(), 1);
  EXPECT_EQ(caller_.Ask("ListElasticNetworkInterfaces").body["Code"], Json(0));
}

TEST_F(EfloTest, ATokenMakesOneEniAndARefusalIsNotRemembered) {
  const aliyun::Parameters wish = Wish({{"ClientToken", "t"}, {"NodeId", "e01-2"}});
  EXPECT_EQ(caller_.Code("CreateElasticNetworkInterface", wish), "1011");
  AddNode("e01-2", "vsw-a");
  const auto first = caller_.Ask("CreateElasticNetworkInterface", wish);
  EXPECT_EQ(first.Code(), "OK");
  EXPECT_EQ(caller_.Ask("CreateElasticNetworkInterface", wish).body["Content"],
            first.body["Content"]);
  EXPECT_EQ(cloud_.eflo().enis().size(), 3u);  // with two of the nodes' own
}

TEST_F(EfloTest, FaultsLetTheBackgroundGoWrong) {
  Fail("CreateElasticNetworkInterface", Fault::Kind::kFallsBack);
  const std::string broken = Create();
  Pass();
  EXPECT_EQ(Status(broken), "Create Failed");
  EXPECT_EQ(On("DeleteElasticNetworkInterface", broken), "OK");
  Pass();
  const std::string id = Create();
  Pass();
  Fail("DetachElasticNetworkInterface", Fault::Kind::kSticks);
  On("DetachElasticNetworkInterface", id, {{"NodeId", "e01-1"}});
  caller_.now += 1h;
  EXPECT_EQ(Status(id), "Detaching");
  cloud_.eflo().SetStatus(id, "Available");
  Fail("AttachElasticNetworkInterface", Fault::Kind::kFallsBack);
  EXPECT_EQ(On("AttachElasticNetworkInterface", id, {{"NodeId", "e01-1"}}), "OK");
  Pass();
  EXPECT_EQ(Status(id), "Unattached");
  Fail("AssignLeniPrivateIpAddress", Fault::Kind::kFallsBack);
  const std::string name = Assign(id);
  Pass();
  EXPECT_EQ(AddressStatus(name), "Create Failed");
  EXPECT_EQ(On("UnassignLeniPrivateIpAddress", id, {{"IpName", name}}), "OK");
  Pass();
  EXPECT_EQ(AddressStatus(name), "gone");
}

TEST_F(EfloTest, ListsLag) {
  Cloud slow({.eflo = {.until_visible = 5s}});
  TestCaller caller(slow);
  caller.version = "2022-05-30";
  slow.vpc().CreateVSwitch({.id = "vsw-a", .cidr = "10.0.0.0/24"});
  slow.eflo().CreateInstance({.id = "e01-1", .vswitch_id = "vsw-a"});
  const std::string id = caller.Ask("CreateElasticNetworkInterface", Wish())
                             .body["Content"]["ElasticNetworkInterfaceId"]
                             .as<std::string>();
  const auto listed = [&](aliyun::Parameters filter) {
    filter["Type"] = "CUSTOM";
    const auto answer = caller.Ask("ListElasticNetworkInterfaces", filter);
    return answer.body["Content"]["Total"].as<int>();
  };
  EXPECT_EQ(listed({}), 0);
  EXPECT_EQ(listed({{"ElasticNetworkInterfaceId", id}}), 0);
  caller.now += 5s;
  EXPECT_EQ(listed({{"NodeId", "e01-1"}}), 1);
  caller.Ask("DetachElasticNetworkInterface",
             {{"ElasticNetworkInterfaceId", id}, {"NodeId", "e01-1"}});
  caller.Ask("AttachElasticNetworkInterface",
             {{"ElasticNetworkInterfaceId", id}, {"NodeId", "e01-1"}});
  EXPECT_EQ(listed({{"ElasticNetworkInterfaceId", id}}), 1);
  EXPECT_EQ(listed({{"NodeId", "e01-1"}}), 0);
  caller.now += 5s;
  EXPECT_EQ(listed({{"NodeId", "e01-1"}}), 1);
}

TEST_F(EfloTest, EcsAndEfloShareVSwitchesAndNothingElse) {
  cloud_.ecs().CreateInstance({.id = "i-1", .vswitch_id = "vsw-a"});
  const std::string id = Create();
  EXPECT_EQ(cloud_.ecs().Find(id), nullptr);
  EXPECT_FALSE(cloud_.eflo().instances().contains("i-1"));
  EXPECT_NE(cloud_.ecs().enis().begin()->second.eni.mac_address,
            cloud_.eflo().enis().begin()->second.eni.mac_address);
  EXPECT_EQ(cloud_.vpc().vswitches().at("vsw-a").pool.free(), 256u - 4u - 3u);
}

}  // namespace
}  // namespace berth::cloud::simulator
