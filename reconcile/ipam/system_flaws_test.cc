// The flaws of plexaubnet that Berth must not have.
#include "reconcile/ipam/system_fixture_test.h"

namespace berth::ipam {
namespace {

using testing::HasSubstr;

TEST_F(SystemTest, FlawOneNoOverlapBetweenSizes) {
  Pool("p", "10.0.0.0/24");
  Claim("half", "p", 25);
  Claim("whole", "p", 24);
  EXPECT_EQ(Phase("half"), "Bound");
  EXPECT_EQ(Phase("whole"), "Error");
  EXPECT_EQ(Reason("subnetclaims", "whole"), "PoolExhausted");
}

TEST_F(SystemTest, FlawTwoStrategyIsRead) {
  Pool("linear", "10.0.0.0/24");
  Pool("buddy", "10.1.0.0/24", R"(,"strategy":"Buddy")");
  for (const std::string pool : {"linear", "buddy"}) {
    Claim(pool + "-a", pool, 26);
    Claim(pool + "-b", pool, 27);
    Claim(pool + "-c", pool, 28);
    Delete("subnetclaims", pool + "-a");
    Claim(pool + "-d", pool, 28);
  }
  // The lowest address there; the smallest hole here.
  EXPECT_EQ(Allocated("linear-d"), "10.0.0.0/28");
  EXPECT_EQ(Allocated("buddy-d"), "10.1.0.112/28");
}

TEST_F(SystemTest, FlawThreeTheSameClusterTwiceIsAConflict) {
  Pool("p", "10.0.0.0/16");
  Claim("first", "p", 24, "east");
  Claim("second", "p", 25, "east");
  EXPECT_EQ(Phase("second"), "Error");
  EXPECT_EQ(Reason("subnetclaims", "second"), "ClusterIDConflict");
  EXPECT_EQ(Allocated("second"), "");
  Delete("subnetclaims", "first");
  executor_.Advance(10s);
  EXPECT_EQ(Phase("second"), "Bound");
  EXPECT_EQ(List("subnets").size(), 1u);
}

TEST_F(SystemTest, FlawFourClaimsAreRetriedWhenRoomOrAPoolAppears) {
  Claim("early", "p", 25);
  EXPECT_EQ(Reason("subnetclaims", "early"), "PoolNotFound");
  Pool("p", "10.0.0.0/24");
  EXPECT_EQ(Phase("early"), "Bound");
  Claim("second", "p", 25);
  Claim("third", "p", 25);
  EXPECT_EQ(Reason("subnetclaims", "third"), "PoolExhausted");
  Delete("subnetclaims", "second");
  executor_.Advance(10s);
  EXPECT_EQ(Phase("third"), "Bound");
  Claim("fourth", "p", 25);
  EXPECT_EQ(Phase("fourth"), "Error");
  Merge("subnetpools", "p", R"({"spec":{"cidr":"10.0.0.0/23"}})");
  EXPECT_EQ(Phase("fourth"), "Bound");
}

TEST_F(SystemTest, FlawFiveADeletedSubnetComesBackUnderItsClaim) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  const Json before = Get("subnets", "p-10-0-0-0-24");
  Delete("subnets", "p-10-0-0-0-24");
  executor_.Advance(5s);
  const Json after = Get("subnets", "p-10-0-0-0-24");
  EXPECT_NE(after["metadata"]["uid"], before["metadata"]["uid"]);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(Status("subnetclaims", "c")["observedGeneration"],
            Get("subnetclaims", "c")["metadata"]["generation"]);
}

TEST_F(SystemTest, FlawSixNewPoolsAndEditsAreCountedAndConditionsStay) {
  Pool("p", "10.0.0.0/24", R"(,"maxBlockSize":26)");
  EXPECT_EQ(PoolStatus("p")["freeCountBySize"]["26"], 4);
  Send(kube::Method::kPatch, Path("subnetpools", "p") + "/status",
       R"({"status":{"conditions":[{"type":"Theirs","status":"True","reason":"R","message":"m",)"
       R"("lastTransitionTime":"2026-01-01T00:00:00Z"}]}})",
       "application/merge-patch+json");
  Merge("subnetpools", "p", R"({"spec":{"cidr":"10.0.0.0/23"}})");
  const Json status = PoolStatus("p");
  EXPECT_EQ(status["freeCountBySize"]["/26"], 8);
  EXPECT_EQ(status["observedGeneration"], 2);
  EXPECT_EQ(Reason("subnetpools", "p", "Theirs"), "R");
  EXPECT_EQ(Reason("subnetpools", "p"), "Ready");
}

TEST_F(SystemTest, FlawSevenFiguresFollowRealSizes) {
  Pool("p", "10.0.0.0/24", R"(,"maxBlockSize":28)");
  Claim("a", "p", 26);
  Claim("b", "p", 28);
  const Json free = PoolStatus("p")["freeCountBySize"];
  EXPECT_EQ(free.to_string(),
            R"({"/24":0,"/25":1,"/26":2,"/27":5,"/28":11,"24":0,"25":1,"26":2,"27":5,"28":11})");
  Pool("long", "10.1.0.0/28", R"(,"defaultBlockSize":28)");
  EXPECT_EQ(PoolStatus("long")["freeCountBySize"]["28"], 1);
  Pool("six", "2001:db8::/48", R"(,"maxBlockSize":64)");
  EXPECT_EQ(PoolStatus("six")["freeCountBySize"]["/64"], 65536);
}

TEST_F(SystemTest, FlawEightMoreThanAThousandSubnetsCount) {
  Pool("p", "10.0.0.0/16");
  for (int i = 0; i < 1100; ++i) Claim(Format("c{}", i), "p", 28);
  EXPECT_EQ(PoolStatus("p")["allocatedCount"], 1100);
  Boot();
  EXPECT_EQ(PoolStatus("p")["allocatedCount"], 1100);
}

TEST_F(SystemTest, FlawNineABlockOfAChildPoolStaysTheChilds) {
  Pool("world", "10.0.0.0/16");
  Create("SubnetPoolClaim", "one", R"("parentPoolRef":"world","desiredBlockSize":24)");
  Create("SubnetPoolClaim", "two", R"("parentPoolRef":"world","desiredBlockSize":24)");
  executor_.Advance(15s);
  const auto child = [&](const std::string& claim) {
    return Get("subnetpools", Status("subnetpoolclaims", claim)["boundPoolName"].as<std::string>());
  };
  const Json one = child("one");
  EXPECT_EQ(one["spec"]["cidr"], "10.0.0.0/24");
  EXPECT_EQ(child("two")["spec"]["cidr"], "10.0.1.0/24");
  // The claim of the block goes, and the Subnet with it; the child is still there, and so nobody
  // else gets the block, which is claimed for it again.
  const std::string name = one["metadata"]["name"].as<std::string>();
  const Json before = Get("subnets", "world-10-0-0-0-24");
  Delete("subnetclaims", name);
  Claim("c", "world", 24);
  EXPECT_EQ(Allocated("c"), "10.0.2.0/24");
  executor_.Advance(10s);
  EXPECT_EQ(Allocated(name), "10.0.0.0/24");
  EXPECT_NE(Get("subnets", "world-10-0-0-0-24")["metadata"]["uid"], before["metadata"]["uid"]);
}

TEST_F(SystemTest, FlawTenAFailedSubnetRecovers) {
  Pool("p", "10.0.0.0/24");
  Create("Subnet", "one", R"("poolRef":"p","cidr":"10.0.0.0/25","clusterID":"one")");
  Create("Subnet", "two", R"("poolRef":"p","cidr":"10.0.0.0/26","clusterID":"two")");
  EXPECT_EQ(Status("subnets", "one")["phase"], "Allocated");
  EXPECT_EQ(Status("subnets", "two")["phase"], "Failed");
  EXPECT_THAT(Status("subnets", "two")["message"].as<std::string>(), HasSubstr("10.0.0.0/25"));
  Delete("subnets", "one");
  EXPECT_EQ(Status("subnets", "two")["phase"], "Allocated");
}

TEST_F(SystemTest, FlawElevenTheListOfBlocksIsBounded) {
  Pool("p", "10.0.0.0/16");
  for (int i = 0; i < 300; ++i) Claim(Format("c{}", i), "p", 28);
  const Json status = PoolStatus("p");
  EXPECT_EQ(status["allocatedCIDRs"].size(), 256u);
  EXPECT_EQ(status["allocatedCount"], 300);
  EXPECT_EQ(Reason("subnetpools", "p", "ListTruncated"), "TooMany");
}

TEST_F(SystemTest, FlawTwelveOfTwoOverlappingPoolsTheYoungerGivesNothing) {
  Pool("old", "10.0.0.0/24");
  executor_.Advance(2s);
  Pool("young", "10.0.0.0/16");
  Claim("a", "old", 25);
  Claim("b", "young", 25);
  EXPECT_EQ(Phase("a"), "Bound");
  EXPECT_EQ(Reason("subnetclaims", "b"), "PoolNotReady");
  EXPECT_EQ(PoolStatus("young")["conditions"][0]["reason"], "PoolOverlap");
}

TEST_F(SystemTest, FlawThirteenEventsAreDelivered) {
  Pool("p", "10.0.0.0/25");
  Claim("a", "p", 25);
  Claim("b", "p", 25);
  EXPECT_THAT(EventReasons(), testing::IsSupersetOf({"SubnetAllocated", "SubnetPoolExhausted"}));
}

}  // namespace
}  // namespace berth::ipam
