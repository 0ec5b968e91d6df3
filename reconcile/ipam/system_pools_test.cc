#include "reconcile/ipam/system_fixture_test.h"

namespace berth::ipam {
namespace {

TEST_F(SystemTest, DeletionGoesFromTheSubnetsUp) {
  Pool("world", "10.0.0.0/16");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"world","desiredBlockSize":24)");
  executor_.Advance(15s);
  const std::string child = Status("subnetpoolclaims", "pc")["boundPoolName"].as<std::string>();
  Claim("user", child, 26);
  ASSERT_EQ(Phase("user"), "Bound");
  Delete("subnetpoolclaims", "pc");
  executor_.Advance(60s);
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "Deleting");
  EXPECT_EQ(Reason("subnetpools", child), "Deleting");
  EXPECT_EQ(Phase("user"), "Bound");
  EXPECT_EQ(Status("subnets", "world-10-0-0-0-24")["phase"], "Allocated");
  Delete("subnetclaims", "user");
  executor_.Advance(120s);
  EXPECT_TRUE(List("subnetpoolclaims").empty());
  EXPECT_TRUE(List("subnetclaims").empty());
  EXPECT_TRUE(List("subnets").empty());
  EXPECT_EQ(PoolStatus("world")["allocatedCount"], 0);
}

TEST_F(SystemTest, TheEscapeAnnotationTakesTheSubnetsAlong) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  Delete("subnetpools", "p");
  executor_.Advance(40s);
  EXPECT_EQ(Reason("subnetpools", "p"), "Deleting");
  Merge("subnetpools", "p",
        R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
  executor_.Advance(60s);
  EXPECT_TRUE(List("subnetpools").empty());
  EXPECT_TRUE(List("subnets").empty());
  EXPECT_EQ(Reason("subnetclaims", "c"), "PoolNotFound");
}

TEST_F(SystemTest, ExcludedRangesAreNotGivenOut) {
  Pool("p", "10.0.0.0/24", R"(,"excludedRanges":["10.0.0.0-10.0.0.9"])");
  Claim("c", "p", 28);
  EXPECT_EQ(Allocated("c"), "10.0.0.16/28");
}

TEST_F(SystemTest, NothingIsWrittenWhenNothingChanged) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  PoolStatus("p");
  const auto version = server_.version();
  executor_.Advance(std::chrono::minutes(25));  // two resyncs
  // The lease is renewed every three seconds; nothing else is written.
  for (const std::string plural : {"subnetpools", "subnets", "subnetclaims"}) {
    for (const Json& object : List(plural)) {
      EXPECT_LE(std::stoull(object["metadata"]["resourceVersion"].as<std::string>()), version);
    }
  }
}

TEST_F(SystemTest, AStatusThatAnotherControllerKeepsWritingIsCorrectedAFewTimesAMinute) {
  Pool("p", "10.0.0.0/16");
  executor_.Advance(1min);
  const auto begin = executor_.Now();
  int corrected = 0;
  for (int round = 0; round < 100; ++round) {
    if (Status("subnetpools", "p")["allocatedCount"] != 0) continue;
    ++corrected;
    Merge("subnetpools", "p/status", R"({"status":{"allocatedCount":99}})");
  }
  EXPECT_GE(corrected, 3);
  EXPECT_LE(corrected, (executor_.Now() - begin) / 10s + 1);
}

TEST_F(SystemTest, ASubnetThatFindsNoRoomInThePoolItWaitedForFails) {
  Create("Subnet", "a", R"("poolRef":"p","cidr":"10.0.0.0/30","clusterID":"a")");
  Create("Subnet", "b", R"("poolRef":"p","cidr":"10.0.0.0/30","clusterID":"b")");
  ASSERT_EQ(Status("subnets", "b")["phase"], "Pending");
  Pool("p", "10.0.0.0/28");
  EXPECT_EQ(Status("subnets", "a")["phase"], "Allocated");
  EXPECT_EQ(Status("subnets", "b")["phase"], "Failed");
}

TEST_F(SystemTest, AChildPoolGivesOutOnceWhatWasInItsWayIsGone) {
  Pool("p", "10.0.0.0/28");
  Create("Subnet", "a", R"("poolRef":"p","cidr":"10.0.0.4/30","clusterID":"a")");
  Create("Subnet", "b", R"("poolRef":"p","cidr":"10.0.0.8/30","clusterID":"b")");
  Pool("child", "10.0.0.0/29", R"(,"parentRef":"p","maxBlockSize":30)");
  ASSERT_EQ(Reason("subnetpools", "child"), "PoolOverlap");
  Claim("c", "child", 30);
  ASSERT_EQ(Phase("c"), "Error");
  Delete("subnets", "a");
  executor_.Advance(2s);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/30");
  EXPECT_EQ(Status("subnets", "b")["phase"], "Allocated");
}

}  // namespace
}  // namespace berth::ipam
