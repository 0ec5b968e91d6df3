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

// The edits of the tests below go past admission: no webhook is called here.

TEST_F(SystemTest, AChildPoolThatCannotGrowKeepsItsBlocks) {
  Pool("site", "10.0.0.0/16");
  Pool("child", "10.0.0.0/24", R"(,"parentRef":"site")");
  Claim("in-child", "child", 25);
  ASSERT_EQ(Allocated("in-child"), "10.0.0.0/25");
  Claim("first", "site", 24);
  ASSERT_EQ(Allocated("first"), "10.0.1.0/24");
  Merge("subnetpools", "child", R"({"spec":{"cidr":"10.0.0.0/23"}})");
  Claim("second", "site", 24);
  EXPECT_EQ(Allocated("second"), "10.0.2.0/24");
  EXPECT_EQ(
      PoolStatus("child")["conditions"][0]["message"],
      "10.0.0.0/23 is not free in its parent site: 10.0.1.0/24 a Subnet has, and not for this "
      "pool; 10.0.0.0/24 stays held for it");
  // The blocks held for it before are not written down anywhere; its Subnets are.
  Boot();
  Claim("third", "site", 25);
  EXPECT_EQ(Allocated("third"), "10.0.0.128/25");
  Claim("waits", "child", 25);
  EXPECT_EQ(Reason("subnetclaims", "waits"), "PoolNotReady");
  for (const char* claim : {"first", "third"}) Delete("subnetclaims", claim);
  executor_.Advance(5s);
  EXPECT_EQ(Allocated("waits"), "10.0.0.128/25");
  EXPECT_EQ(Reason("subnetpools", "child"), "Ready");
}

TEST_F(SystemTest, AnEditThatDoesNotMoveAChildPoolReleasesNothing) {
  Pool("p", "10.0.0.0/28");
  Pool("child", "10.0.0.0/30", R"(,"parentRef":"p")");
  Create("Subnet", "late", R"("poolRef":"p","cidr":"10.0.0.0/30","clusterID":"late")");
  ASSERT_EQ(Status("subnets", "late")["phase"], "Failed");
  Merge("subnetpools", "child", R"({"spec":{"defaultBlockSize":31}})");
  EXPECT_EQ(Status("subnets", "late")["phase"], "Failed");
  EXPECT_EQ(Reason("subnetpools", "child"), "Ready");
  Boot();
  EXPECT_EQ(Status("subnets", "late")["phase"], "Failed");
}

TEST_F(SystemTest, AChildPoolOnAClaimsBlockGivesNothingOut) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  ASSERT_EQ(Allocated("c"), "10.0.0.0/24");
  Pool("child", "10.0.0.0/24", R"(,"parentRef":"p")");
  Claim("d", "child", 25);
  EXPECT_EQ(Reason("subnetclaims", "d"), "PoolNotReady");
  EXPECT_EQ(Reason("subnetpools", "child"), "PoolOverlap");
  Boot();
  EXPECT_EQ(Reason("subnetclaims", "d"), "PoolNotReady");
  Delete("subnetclaims", "c");
  executor_.Advance(5s);
  EXPECT_EQ(Allocated("d"), "10.0.0.0/25");
}

TEST_F(SystemTest, APoolInsideOneThatHasNoPlaceGivesNothingOut) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  Pool("child", "10.0.0.0/24", R"(,"parentRef":"p")");
  Pool("grandchild", "10.0.0.0/25", R"(,"parentRef":"child")");
  Claim("d", "grandchild", 26);
  EXPECT_EQ(Reason("subnetclaims", "d"), "PoolNotReady");
  EXPECT_EQ(Reason("subnetpools", "grandchild"), "ParentNotReady");
  Delete("subnetclaims", "c");
  executor_.Advance(5s);
  EXPECT_EQ(Allocated("d"), "10.0.0.0/26");
}

TEST_F(SystemTest, BlocksOutsideAShrunkPoolAreNotGivenOutByAnother) {
  Pool("shrunk", "10.0.0.0/24");
  Claim("low", "shrunk", 25);
  Claim("high", "shrunk", 26);
  ASSERT_EQ(Allocated("high"), "10.0.0.128/26");
  Merge("subnetpools", "shrunk", R"({"spec":{"cidr":"10.0.0.0/25"}})");
  Pool("other", "10.0.0.128/25");
  Claim("half", "other", 26);
  EXPECT_EQ(Allocated("half"), "10.0.0.192/26");
  Claim("waits", "other", 26);
  EXPECT_EQ(Reason("subnetclaims", "waits"), "PoolExhausted");
  Delete("subnetclaims", "high");
  executor_.Advance(5s);
  EXPECT_EQ(Allocated("waits"), "10.0.0.128/26");
}

TEST_F(SystemTest, ABlockInOneOfTwoOverlappingPoolsStopsBoth) {
  Pool("old", "10.0.0.0/24");
  executor_.Advance(2s);
  Pool("young", "10.0.0.0/16");
  Create("Subnet", "s", R"("poolRef":"young","cidr":"10.0.0.0/25","clusterID":"s")");
  ASSERT_EQ(Status("subnets", "s")["phase"], "Allocated");
  Claim("a", "old", 25);
  EXPECT_EQ(Reason("subnetclaims", "a"), "PoolNotReady");
  Delete("subnets", "s");
  EXPECT_EQ(Allocated("a"), "10.0.0.0/25");
}

TEST_F(SystemTest, APoolClaimThatCannotBeServedHoldsNothingOfItsParent) {
  Pool("par", "10.0.0.0/16", R"(,"excludedRanges":["10.0.0.0/16"])");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"par","desiredBlockSize":20)");
  executor_.Advance(5s);
  ASSERT_EQ(Reason("subnetpoolclaims", "pc"), "ParentExhausted");
  Merge("subnetpools", "par", R"({"spec":{"cidr":"10.0.0.0/20","excludedRanges":[]}})");
  executor_.Advance(1min);
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "InvalidRequest");
  EXPECT_THAT(EventReasons(), testing::Contains("InvalidRequest"));
  Claim("user", "par", 28);
  EXPECT_EQ(Allocated("user"), "10.0.0.0/28");
}

TEST_F(SystemTest, PoolsNestNoDeeperThanTheyAreLookedAt) {
  Pool("d0", "fd00::/10");
  for (int i = 1; i <= 66; ++i) {
    Pool(Format("d{}", i), Format("fd00::/{}", 10 + i), Format(R"(,"parentRef":"d{}")", i - 1));
  }
  executor_.Advance(5s);
  EXPECT_EQ(Reason("subnetpools", "d64"), "Ready");
  EXPECT_EQ(Reason("subnetpools", "d65"), "InvalidSpec");
}

TEST_F(SystemTest, APoolsFiguresAreNewsWhenItsPathChanges) {
  Pool("a", "10.0.0.0/8");
  Pool("b", "10.0.0.0/16", R"(,"parentRef":"a")");
  Pool("c", "10.0.0.0/24", R"(,"parentRef":"b")");
  Merge("subnetpools", "a", R"({"spec":{"parentRef":"z"}})");
  system_->TakeDirty();
  Merge("subnetpools", "a", R"({"spec":{"parentRef":"y"}})");
  EXPECT_THAT(system_->TakeDirty(), testing::IsSupersetOf({"default/b", "default/c"}));
}

TEST_F(SystemTest, APreAllocationThatIsMovedWakesItsClaim) {
  Pool("p", "10.0.0.0/25", R"(,"preAllocations":{"a":"10.0.0.0/25"})");
  Claim("b", "p", 25);
  ASSERT_EQ(Phase("b"), "Error");
  Merge("subnetpools", "p", R"({"spec":{"preAllocations":{"a":null,"b":"10.0.0.0/25"}}})");
  EXPECT_EQ(Allocated("b"), "10.0.0.0/25");
}

TEST_F(SystemTest, ASubnetOfAnyNameIsListedWithItsCluster) {
  Pool("p", "10.0.0.0/24");
  Create("Subnet", "mine", R"("poolRef":"p","cidr":"10.0.0.0/28","clusterID":"east")");
  // The generated name of a block that another one has.
  Create("Subnet", "p-10-0-0-0-28", R"("poolRef":"p","cidr":"10.0.0.16/28","clusterID":"west")");
  EXPECT_EQ(PoolStatus("p")["allocatedCIDRs"].to_string(),
            R"({"10.0.0.0/28":"east","10.0.0.16/28":"west"})");
}

}  // namespace
}  // namespace berth::ipam
