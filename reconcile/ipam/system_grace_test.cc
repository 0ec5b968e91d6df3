#include <gmock/gmock.h>

#include "reconcile/ipam/system_fixture_test.h"

// Blocks that rest after their release (reuseGracePeriodSeconds).
namespace berth::ipam {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kMonth[] = R"(,"reuseGracePeriodSeconds":2592000)";

class GraceTest : public SystemTest {
 protected:
  // A claim that was bound and is gone; its block rests.
  void Released(const std::string& claim, const std::string& pool, int size) {
    Claim(claim, pool, size);
    ASSERT_EQ(Phase(claim), "Bound");
    Delete("subnetclaims", claim);
    executor_.Advance(2s);
  }
};

TEST_F(GraceTest, ARestingBlockDoesNotKeepItsPoolFromGoing) {
  Pool("p", "10.0.0.0/24", kMonth);
  Released("c", "p", 26);
  ASSERT_THAT(List("subnets"), SizeIs(1));
  Delete("subnetpools", "p");
  executor_.Advance(10s);
  EXPECT_THAT(List("subnets"), IsEmpty());
  EXPECT_THAT(List("subnetpools"), IsEmpty());
}

TEST_F(GraceTest, ABlockThatIsReleasedFromAPoolBeingDeletedDoesNotRest) {
  Pool("p", "10.0.0.0/24", kMonth);
  Claim("c", "p", 26);
  Delete("subnetpools", "p");
  Delete("subnetclaims", "c");
  executor_.Advance(10s);
  EXPECT_THAT(List("subnets"), IsEmpty());
  EXPECT_THAT(List("subnetpools"), IsEmpty());
}

TEST_F(GraceTest, AShorterGracePeriodHoldsForWhatRestsAlready) {
  Pool("p", "10.0.0.0/24", kMonth);
  Released("c", "p", 26);
  Merge("subnetpools", "p", R"({"spec":{"reuseGracePeriodSeconds":0}})");
  executor_.Advance(2s);
  EXPECT_THAT(List("subnets"), IsEmpty());
}

TEST_F(GraceTest, ASubnetThatIsDeletedUnderItsClaimRestsNoLongerThanItsPoolSays) {
  for (const char* pool : {"p", "q"}) {
    Pool(pool, pool == std::string("p") ? "10.0.0.0/24" : "10.0.1.0/24", kMonth);
    Claim(Format("of-{}", pool), pool, 26);
  }
  Delete("subnets", "p-10-0-0-0-26");
  Delete("subnets", "q-10-0-1-0-26");
  Merge("subnetpools", "p", R"({"spec":{"reuseGracePeriodSeconds":0}})");
  executor_.Advance(5s);
  EXPECT_FALSE(Get("subnets", "p-10-0-0-0-26")["metadata"].contains("deletionTimestamp"))
      << "it was made again";
  Merge("subnetpools", "q",
        R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
  Delete("subnetpools", "q");
  executor_.Advance(10s);
  EXPECT_THAT(List("subnetpools"), SizeIs(1));
}

TEST_F(GraceTest, ARecreatedClaimGetsAnotherBlockAtOnce) {
  Pool("p", "10.0.0.0/24", kMonth);
  Released("c", "p", 26);
  Claim("c", "p", 26);
  EXPECT_EQ(Allocated("c"), "10.0.0.64/26");
  EXPECT_THAT(List("subnets"), SizeIs(2));
}

TEST_F(GraceTest, ARecreatedClaimGetsItsRestingBlockBackWhenItNamesIt) {
  Pool("p", "10.0.0.0/24", kMonth);
  Released("c", "p", 26);
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c","requestedCIDR":"10.0.0.0/26")");
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26");
  EXPECT_THAT(EventReasons(), testing::Not(testing::Contains("AllocationConflict")));
}

TEST_F(GraceTest, ARecreatedClaimGetsItsRestingBlockBackWhenNothingElseIsFree) {
  Pool("p", "10.0.0.0/26", kMonth);
  // Again and again: what is taken back rests as before.
  for (int i = 0; i < 3; ++i) {
    Released("c", "p", 26);
    ASSERT_THAT(List("subnets"), SizeIs(1));
  }
  Claim("c", "p", 26);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26");
}

TEST_F(GraceTest, AClaimThatConflictsDoesNotEndTheRestOfItsCluster) {
  Pool("p", "10.0.0.0/24", kMonth);
  Claim("a", "p", 26, "one");
  Delete("subnetclaims", "a");
  while (server_.CollectGarbage()) executor_.Advance(1s);
  Claim("b", "p", 26, "one");
  Claim("c", "p", 26, "one");
  EXPECT_EQ(Reason("subnetclaims", "c"), "ClusterIDConflict");
  executor_.Advance(1min);
  EXPECT_THAT(List("subnets"), SizeIs(2)) << "the first block still rests";
}

TEST_F(GraceTest, ASmallerClaimDoesNotEndTheRestOfALargeBlock) {
  Pool("p", "10.0.0.0/24", kMonth);
  Released("c", "p", 24);
  Claim("c", "p", 28);
  EXPECT_EQ(Reason("subnetclaims", "c"), "PoolExhausted");
}

TEST_F(GraceTest, ARestingBlockIsKnownAsSuchWhateverUsersWriteIntoItsStatus) {
  Pool("p", "10.0.0.0/24", kMonth);
  Released("c", "p", 26);
  Merge("subnets", "p-10-0-0-0-26/status", R"({"status":{"phase":"Failed"}})");
  Claim("again", "p", 26, "c");
  EXPECT_EQ(Allocated("again"), "10.0.0.64/26");
  EXPECT_EQ(Status("subnets", "p-10-0-0-0-26")["phase"], "Allocated");
}

TEST_F(GraceTest, ARestingBlockIsNotForOtherClusters) {
  Pool("p", "10.0.0.0/26", kMonth);
  Released("c", "p", 26);
  Claim("another", "p", 26);
  Create("SubnetClaim", "exact", R"("poolRef":"p","clusterID":"x","requestedCIDR":"10.0.0.0/26")");
  executor_.Advance(1min);
  EXPECT_EQ(Reason("subnetclaims", "another"), "PoolExhausted");
  const auto message = [&](const std::string& claim) {
    return Status("subnetclaims", claim)["message"].as<std::string>();
  };
  EXPECT_THAT(message("another"), HasSubstr("blocks may rest after their release"));
  EXPECT_THAT(message("exact"), HasSubstr("10.0.0.0/26 rests after its release"));
  // Nor when its own takes it back before them.
  Claim("c", "p", 26);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26");
  EXPECT_EQ(Reason("subnetclaims", "another"), "PoolExhausted");
}

TEST_F(GraceTest, ARestingBlockIsKnownAsSuchAfterARestart) {
  Pool("p", "10.0.0.0/24", kMonth);
  Released("c", "p", 26);
  Boot();
  Claim("c", "p", 26);
  EXPECT_EQ(Allocated("c"), "10.0.0.64/26");
}

// Its claim has a right to it.
TEST_F(GraceTest, ASubnetThatIsDeletedUnderItsClaimHoldsTheClusterId) {
  Pool("p", "10.0.0.0/24", kMonth);
  Claim("c", "p", 26);
  Delete("subnets", "p-10-0-0-0-26");
  Claim("second", "p", 26, "c");
  executor_.Advance(10s);
  EXPECT_EQ(Reason("subnetclaims", "second"), "ClusterIDConflict");
}

}  // namespace
}  // namespace berth::ipam
