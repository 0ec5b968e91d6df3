#include "handlers/apis/poolusages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/test_executor.h"
#include "kube/object.h"

namespace berth::apis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class PoolUsages : public testing::Test {
 protected:
  void AddPool(const std::string& name, const std::string& spec, const std::string& parent = "",
               const std::string& owner = "") {
    space_.PutPool(kube::Decode<ipam::Pool>(
                       R"({"metadata":{"namespace":"ns","name":")" + name + R"(","uid":")" + name +
                       R"(","ownerReferences":[{"kind":"SubnetPoolClaim","uid":")" + owner +
                       R"("}],"labels":{"plexaubnet.io/parent":")" + parent + R"("}},"spec":{)" +
                       spec + "}}")
                       .value());
  }
  void AddSubnet(const std::string& pool, const std::string& cidr) {
    space_.PutSubnet(Subnet(pool, cidr));
  }
  static ipam::Subnet Subnet(const std::string& pool, const std::string& cidr) {
    return kube::Decode<ipam::Subnet>(R"({"metadata":{"namespace":"ns","name":")" + cidr +
                                      R"(","uid":")" + cidr + R"("},"spec":{"poolRef":")" + pool +
                                      R"(","clusterID":")" + cidr + R"(","cidr":")" + cidr + "\"}}")
        .value();
  }

  Json StatusOf(const std::string& pool) {
    PublishPoolUsage(usages_, "ns/" + pool, space_);
    const auto object = usages_.Get("ns", pool);
    EXPECT_TRUE(object);
    return object ? Json::parse(object->json)["status"] : Json::null();
  }
  std::vector<std::string> CellsOf(const std::string& pool) {
    std::vector<std::string> cells;
    StatusOf(pool);
    for (const Cell& cell : usages_.Get("ns", pool)->cells)
      cells.push_back(Json::parse(cell.json).as_string());
    EXPECT_EQ(cells.size(), usages_.type().columns.size());
    return cells;
  }
  static std::vector<std::string> List(const Json& json) {
    return json.as<std::vector<std::string>>();
  }

  async::TestExecutor executor_;
  ipam::Space space_{executor_,
                     {.on_figures = [](const std::string&) {},
                      .on_room = [](const std::string&) {},
                      .on_placement = [](const std::string&) {}}};
  LiveCollection usages_{PoolUsageType(), 1000, {}};
};

TEST_F(PoolUsages, AnEmptyPoolIsFree) {
  AddPool("p", R"("cidr":"10.0.0.0/16","maxBlockSize":18)");
  EXPECT_EQ(StatusOf("p"), Json::parse(R"({"cidr":"10.0.0.0/16","strategy":"Linear","path":"p",
      "depth":0,"ready":true,"reason":"Ready","unplaced":0,"subnets":0,"reserved":0,
      "usedAddresses":"0","freeAddresses":"65536","delegatedAddresses":"0",
      "reservedAddresses":"0","excludedAddresses":"0","largestFreeBlock":"/16",
      "fragmentation":0.0,"freeCountBySize":{"/16":1,"/17":2,"/18":4},"usedRanges":[],
      "availableRanges":["10.0.0.0-10.0.255.255"],"truncated":false})"));
  EXPECT_THAT(CellsOf("p"), ElementsAre("10.0.0.0/16", "0", "65536", "0", "/16", "0.00", "0", "p",
                                        "<none>", "0", "Linear", "Ready"));
}

TEST_F(PoolUsages, BlocksThatTouchAreOneRange) {
  AddPool("p", R"("cidr":"10.0.0.0/16")");
  for (const char* cidr : {"10.0.0.0/24", "10.0.1.0/24", "10.0.4.0/24", "10.0.255.0/24"})
    AddSubnet("p", cidr);
  const Json status = StatusOf("p");
  EXPECT_THAT(List(status["usedRanges"]),
              ElementsAre("10.0.0.0-10.0.1.255", "10.0.4.0-10.0.4.255", "10.0.255.0-10.0.255.255"));
  EXPECT_THAT(List(status["availableRanges"]),
              ElementsAre("10.0.2.0-10.0.3.255", "10.0.5.0-10.0.254.255"));
  EXPECT_EQ(status["subnets"], 4);
  EXPECT_EQ(status["usedAddresses"], "1024");
  EXPECT_EQ(status["freeAddresses"], "64512");
  EXPECT_EQ(status["largestFreeBlock"], "/18");  // 10.0.64.0, .128 has lost its end
  EXPECT_EQ(status["fragmentation"], 0.75);      // 1 - 16384 / 64512
}

TEST_F(PoolUsages, WhatIsExcludedIsNeitherUsedNorAvailable) {
  AddPool("p", R"("cidr":"10.0.0.0/24","excludedRanges":["10.0.0.0-10.0.0.9","10.0.0.255/32"],
                  "preAllocations":{"router":"10.0.0.16/28"})");
  AddSubnet("p", "10.0.0.32/27");
  const Json status = StatusOf("p");
  EXPECT_THAT(List(status["usedRanges"]), ElementsAre("10.0.0.32-10.0.0.63"));
  EXPECT_THAT(List(status["availableRanges"]),
              ElementsAre("10.0.0.10-10.0.0.15", "10.0.0.64-10.0.0.254"));
  EXPECT_EQ(status["excludedAddresses"], "27");
  EXPECT_EQ(status["usedAddresses"], "32");
  EXPECT_EQ(status["freeAddresses"], "197");
}

TEST_F(PoolUsages, DelegatedIsTrueForEveryKindOfChild) {
  AddPool("root", R"("cidr":"10.0.0.0/16")");
  AddSubnet("root", "10.0.0.0/20");  // a child pool will stand on it
  AddSubnet("root", "10.0.128.0/24");
  AddPool("made", R"("cidr":"10.0.0.0/20")", "root", "10.0.0.0/20");  // the block's clusterID
  AddPool("written", R"("cidr":"10.0.16.0/20")", "root");
  const Json status = StatusOf("root");
  EXPECT_EQ(status["delegatedAddresses"], "8192");
  EXPECT_EQ(status["usedAddresses"], "256");
  EXPECT_EQ(status["freeAddresses"], "57088");
  EXPECT_EQ(status["freeCountBySize"]["/17"], 0);
  EXPECT_THAT(List(status["children"]), ElementsAre("made", "written"));
  EXPECT_EQ(CellsOf("root")[8], "made,written");
}

TEST_F(PoolUsages, APathLeadsFromTheRoot) {
  AddPool("world", R"("cidr":"10.0.0.0/8")");
  AddPool("finance", R"("cidr":"10.0.0.0/12")", "world");
  AddPool("payroll", R"("cidr":"10.0.0.0/16")", "finance");
  const Json status = StatusOf("payroll");
  EXPECT_EQ(status["path"], "world/finance/payroll");
  EXPECT_EQ(status["depth"], 2);
  EXPECT_EQ(status["parent"], "finance");
  EXPECT_EQ(*FieldOf(*usages_.Get("ns", "payroll"), "status.parent"), "finance");
}

TEST_F(PoolUsages, ACircleHasAnEnd) {
  AddPool("a", R"("cidr":"10.0.0.0/8")", "b");
  AddPool("b", R"("cidr":"10.0.0.0/8")", "a");
  EXPECT_EQ(StatusOf("a")["path"], "b/a");
  EXPECT_EQ(StatusOf("a")["ready"], false);
}

TEST_F(PoolUsages, ReservationsAreCountedApart) {
  AddPool("p", R"("cidr":"10.0.0.0/16")");
  ASSERT_TRUE(space_.Reserve("ns/p", {.claim = "c", .cluster = "c", .size = 24, .owner = 7},
                             executor_.Now() + std::chrono::seconds(30)));
  const Json status = StatusOf("p");
  EXPECT_EQ(status["reserved"], 1);
  EXPECT_EQ(status["reservedAddresses"], "256");
  EXPECT_EQ(status["usedAddresses"], "0");
  EXPECT_EQ(status["freeAddresses"], "65280");
}

TEST_F(PoolUsages, CountsOfIpv6AreExact) {
  AddPool("p", R"("cidr":"2001:db8::/32")");
  AddSubnet("p", "2001:db8::/64");
  const Json status = StatusOf("p");
  EXPECT_EQ(status["usedAddresses"], "18446744073709551616");
  EXPECT_EQ(status["freeAddresses"], "79228162495817593519834398720");
  EXPECT_EQ(status["freeCountBySize"]["/33"], 1);
  EXPECT_EQ(status["freeCountBySize"]["/64"], 4294967295);
  EXPECT_THAT(List(status["availableRanges"]),
              ElementsAre("2001:db8:0:1::-2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"));
  AddPool("all", R"("cidr":"::/0")", "");
  // IPv4-mapped addresses are not allocated.
  EXPECT_THAT(
      List(StatusOf("all")["availableRanges"]),
      ElementsAre("::-::fffe:ffff:ffff", "::1:0:0:0-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"));
}

TEST_F(PoolUsages, AFullPoolHasNothingLeft) {
  AddPool("p", R"("cidr":"10.0.0.0/24")");
  AddSubnet("p", "10.0.0.0/24");
  const Json status = StatusOf("p");
  EXPECT_FALSE(status.contains("largestFreeBlock"));
  EXPECT_EQ(status["freeAddresses"], "0");
  EXPECT_EQ(status["fragmentation"], 0.0);
  EXPECT_THAT(List(status["availableRanges"]), IsEmpty());
  EXPECT_EQ(CellsOf("p")[4], "<none>");
}

TEST_F(PoolUsages, OfManyRangesSixtyFourAreShown) {
  AddPool("p", R"("cidr":"10.0.0.0/16")");
  for (int i = 0; i < 128; ++i) AddSubnet("p", "10.0." + std::to_string(2 * i) + ".0/24");
  const Json status = StatusOf("p");
  EXPECT_EQ(status["usedRanges"].size(), 64);
  EXPECT_LE(status["availableRanges"].size(), 64);
  EXPECT_EQ(status["truncated"], true);
}

TEST_F(PoolUsages, OfVeryManySubnetsTheFirstAreLookedAt) {
  AddPool("p", R"("cidr":"10.0.0.0/8")");
  for (int i = 0; i < 5000; ++i)
    AddSubnet("p", "10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24");
  const Json status = StatusOf("p");
  EXPECT_EQ(status["subnets"], 5000);
  EXPECT_EQ(status["usedAddresses"], "1280000");
  EXPECT_EQ(status["truncated"], true);
  EXPECT_THAT(List(status["usedRanges"]), ElementsAre("10.0.0.0-10.15.255.255"));
  EXPECT_THAT(List(status["availableRanges"]), IsEmpty());
}

TEST_F(PoolUsages, ABlockThatBeginsBeforeTheRangeIsUsed) {
  AddPool("p", R"("cidr":"10.5.0.0/16")");
  AddSubnet("p", "10.5.0.0/20");
  AddPool("p", R"("cidr":"10.5.8.0/22")");
  const Json status = StatusOf("p");
  EXPECT_EQ(status["freeAddresses"], "0");
  EXPECT_THAT(List(status["usedRanges"]), ElementsAre("10.5.8.0-10.5.11.255"));
  EXPECT_THAT(List(status["availableRanges"]), IsEmpty());
}

TEST_F(PoolUsages, APoolThatIsNotValidSaysWhy) {
  AddPool("p", R"("cidr":"nonsense")");
  const Json status = StatusOf("p");
  EXPECT_EQ(status["reason"], "InvalidSpec");
  EXPECT_FALSE(status.contains("freeAddresses"));
  EXPECT_THAT(CellsOf("p"),
              ElementsAre("nonsense", "<none>", "<none>", "<none>", "<none>", "<none>", "<none>",
                          "p", "<none>", "<none>", "Linear", "InvalidSpec"));
}

TEST_F(PoolUsages, WhatIsGoneGoes) {
  AddPool("p", R"("cidr":"10.0.0.0/16")");
  StatusOf("p");
  const auto version = usages_.version();
  PublishPoolUsage(usages_, "ns/p", space_);
  EXPECT_EQ(usages_.version(), version);
  space_.RemovePool("ns/p");
  PublishPoolUsage(usages_, "ns/p", space_);
  EXPECT_FALSE(usages_.Get("ns", "p"));
}

}  // namespace
}  // namespace berth::apis
