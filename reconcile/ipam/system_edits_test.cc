// Edits of users past the webhooks.
#include "reconcile/ipam/system_fixture_test.h"

namespace berth::ipam {
namespace {

using testing::HasSubstr;

TEST_F(SystemTest, AClaimKeepsItsBlockWhenItsClusterIDChanges) {
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 26, "one");
  Merge("subnetclaims", "c", R"({"spec":{"clusterID":"two"}})");
  executor_.Advance(60s);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26");
  EXPECT_THAT(List("subnets"), testing::SizeIs(1));
  Boot();
  executor_.Advance(60s);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_THAT(List("subnets"), testing::SizeIs(1));
}

TEST_F(SystemTest, TheSubnetOfAClaimWhoseClusterIDChangedGoesWithIt) {
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 26, "one");
  Merge("subnetclaims", "c", R"({"spec":{"clusterID":"two"}})");
  Delete("subnetclaims", "c");
  while (server_.CollectGarbage()) executor_.Advance(1s);
  executor_.Advance(60s);
  EXPECT_THAT(List("subnets"), testing::IsEmpty());
  Claim("d", "p", 24);
  EXPECT_EQ(Phase("d"), "Bound");
}

TEST_F(SystemTest, TheSpecOfASubnetNeverChanges) {
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 26);
  for (const char* spec : {R"({"clusterID":"d"})", R"({"claimRef":null})", R"({"poolRef":"q"})",
                           R"({"cidr":"10.0.0.64/26"})", R"({"claimRef":{"name":"d"}})"}) {
    const auto edited = Send(kube::Method::kPatch, Path("subnets", "p-10-0-0-0-26"),
                             Format(R"({{"spec":{}}})", spec), "application/merge-patch+json");
    EXPECT_EQ(edited.code, 422) << spec;
    EXPECT_THAT(edited.body, testing::HasSubstr("delete it and make another"));
  }
}

class NamedClaim : public SystemTest {
 protected:
  // A user's Subnet that names a claim.
  void Name(const std::string& claim, const std::string& subnet, const std::string& pool,
            const std::string& cidr, const std::string& cluster) {
    Create("Subnet", subnet,
           Format(R"("poolRef":"{}","cidr":"{}","clusterID":"{}",)"
                  R"("claimRef":{{"name":"{}","uid":"{}"}})",
                  pool, cidr, cluster, claim, Uid("subnetclaims", claim)));
  }
};

TEST_F(NamedClaim, KeepsItsBlock) {
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 26);
  // Some of these have a uid that sorts before that of the claim's own Subnet.
  for (int i = 0; i < 4; ++i)
    Name("c", Format("s{}", i), "p", Format("10.0.0.{}/28", 64 + 16 * i), i < 3 ? "c" : "other");
  executor_.Advance(1min);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26");
  Boot();
  executor_.Advance(1min);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26");
  Delete("subnets", "p-10-0-0-0-26");
  executor_.Advance(1min);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26") << "this one again, or none";
  Delete("subnetclaims", "c");
  while (server_.CollectGarbage()) executor_.Advance(1s);
  executor_.Advance(10min);
  EXPECT_THAT(List("subnets"), testing::IsEmpty()) << "all of them name a claim that is gone";
}

TEST_F(NamedClaim, DoesNotGiveAUsersSubnetAnotherPoolsBlock) {
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 26);
  Claim("d", "p", 26);
  Name("d", "s", "late", "10.0.0.0/26", "d");
  Pool("late", "192.168.0.0/16");
  executor_.Advance(1min);
  EXPECT_EQ(Status("subnets", "s")["phase"], "Failed");
  EXPECT_EQ(Phase("c"), "Bound");
}

TEST_F(SystemTest, AUsersClaimDoesNotGetTheRangeOfAChildPool) {
  Pool("p", "10.0.0.0/24");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"p","desiredBlockSize":26)");
  executor_.Advance(10s);
  const auto child = Status("subnetpoolclaims", "pc")["boundPoolName"].as<std::string>();
  Create("SubnetClaim", "aaa",
         Format(R"("poolRef":"p","clusterID":"{}","requestedCIDR":"10.0.0.0/26")", child));
  Delete("subnetclaims", child);
  while (server_.CollectGarbage()) executor_.Advance(1s);
  executor_.Advance(1min);
  EXPECT_EQ(Phase("aaa"), "Error");
  EXPECT_EQ(Reason("subnetpools", child), "Ready");
}

TEST_F(SystemTest, ABlockThatIsToldInAnOddFormIsNotBelieved) {
  Claim("c", "later", 28);
  Merge("subnetclaims", "c/status", R"({"status":{"allocatedCIDR":"10.0.0.5/28"}})");
  Pool("later", "10.1.0.0/24");
  executor_.Advance(10s);
  EXPECT_EQ(Allocated("c"), "10.1.0.0/28");
}

TEST_F(SystemTest, AFinalizerThatIsTakenOffAPoolComesBack) {
  Pool("p", "10.0.0.0/24");
  executor_.Advance(10s);
  Merge("subnetpools", "p", R"({"metadata":{"finalizers":null}})");
  executor_.Advance(5s);
  EXPECT_EQ(Get("subnetpools", "p")["metadata"]["finalizers"].size(), 1u);
}

TEST_F(SystemTest, AClaimThatLostItsBlockFollowsItsSpec) {
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 26);
  replica_.reset();
  Merge("subnetpools", "p", R"({"spec":{"excludedRanges":["10.0.0.0/26"]}})");
  Delete("subnets", "p-10-0-0-0-26");
  Boot();
  EXPECT_EQ(Reason("subnetclaims", "c"), "AllocationLost");
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26") << "it is made again once that is possible";
  Merge("subnetclaims", "c", R"({"spec":{"blockSize":27}})");
  executor_.Advance(5s);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(Allocated("c"), "10.0.0.64/27");
}

TEST_F(SystemTest, AClaimThatIsBoundToAnotherBlockThanItsSpecAsksForSaysSo) {
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 26);
  Merge("subnetclaims", "c", R"({"spec":{"blockSize":28}})");
  executor_.Advance(5s);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26");
  const Json status = Status("subnetclaims", "c");
  EXPECT_THAT(status["conditions"][0]["message"].as<std::string>(),
              testing::HasSubstr("spec asks for another block since: recreate the claim"));
}

// The leader before died after it had made the Subnet, and may have told the claim.
TEST_F(SystemTest, ABlockIsKeptWhoseSubnetWasToldNothingYet) {
  Pool("p", "10.0.0.0/24");
  replica_.reset();
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c","requestedCIDR":"10.0.0.128/26")");
  SubnetFor("c", "p", "10.0.0.128/26");
  Merge("subnetpools", "p", R"({"spec":{"cidr":"10.0.0.0/25"}})");
  Pool("upper", "10.0.0.128/25");
  Boot();
  executor_.Advance(1min);
  EXPECT_EQ(Allocated("c"), "10.0.0.128/26");
  Claim("d", "upper", 26);
  EXPECT_EQ(Allocated("d"), "10.0.0.192/26");
}

TEST_F(SystemTest, ABlockIsKeptWhoseSubnetsPhaseAUserEdits) {
  Pool("p", "10.0.0.0/24");
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c","requestedCIDR":"10.0.0.128/26")");
  replica_.reset();
  Merge("subnets", "p-10-0-0-128-26/status", R"({"status":{"phase":"Failed"}})");
  Merge("subnetpools", "p", R"({"spec":{"cidr":"10.0.0.0/25"}})");
  Boot();
  executor_.Advance(1min);
  EXPECT_EQ(Allocated("c"), "10.0.0.128/26");
  EXPECT_EQ(Status("subnets", "p-10-0-0-128-26")["phase"], "Allocated");
}

TEST_F(SystemTest, AChildPoolGoesBeforeASubnetThatWasToldItFailed) {
  Pool("p", "10.0.0.0/24");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"p","desiredBlockSize":26)");
  executor_.Advance(10s);
  const auto block = Status("subnetpoolclaims", "pc")["boundPoolName"].as<std::string>();
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c","requestedCIDR":"10.0.0.0/27")");
  SubnetFor("c", "p", "10.0.0.0/27");
  EXPECT_EQ(Status("subnets", "p-10-0-0-0-27")["phase"], "Failed");
  Merge("subnetclaims", block, R"({"metadata":{"ownerReferences":null}})");
  Delete("subnetclaims", block);
  while (server_.CollectGarbage()) executor_.Advance(1s);
  executor_.Advance(1min);
  EXPECT_EQ(Status("subnets", "p-10-0-0-0-27")["phase"], "Failed");
  EXPECT_EQ(Reason("subnetpools", block), "Ready");
}

TEST_F(SystemTest, BlocksOfAPoolThatWasRemovedByForceAreNotGivenOut) {
  Pool("p", "10.0.0.0/24");
  Pool("child", "10.0.0.0/25", R"(,"parentRef":"p")");
  Claim("c", "child", 26);
  Delete("subnetpools", "child");
  Merge("subnetpools", "child", R"({"metadata":{"finalizers":null}})");
  executor_.Advance(10s);
  ASSERT_EQ(Reason("subnetclaims", "c"), "PoolNotFound");
  Claim("d", "p", 26);
  EXPECT_EQ(Allocated("d"), "10.0.0.64/26");
  Boot();
  Claim("e", "p", 26);
  EXPECT_EQ(Allocated("e"), "10.0.0.128/26");
  // The pool comes back: its claim has its block, and nothing is held twice.
  Delete("subnetclaims", "d");
  while (server_.CollectGarbage()) executor_.Advance(1s);
  Pool("child", "10.0.0.0/25", R"(,"parentRef":"p")");
  executor_.Advance(10s);
  EXPECT_EQ(Phase("c"), "Bound");
  Delete("subnetclaims", "c");
  while (server_.CollectGarbage()) executor_.Advance(1s);
  Claim("f", "child", 25);
  EXPECT_EQ(Allocated("f"), "10.0.0.0/25");
}

TEST_F(SystemTest, AClaimWhosePoolIsMadeAnewElsewhereHasLostItsBlock) {
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 26);
  RemoveByForce("p");
  Delete("subnets", "p-10-0-0-0-26");
  Pool("p", "10.1.0.0/24");
  executor_.Advance(10s);
  EXPECT_EQ(Reason("subnetclaims", "c"), "AllocationLost");
}

TEST_F(SystemTest, ABoundClaimsBlockIsNotLostToAClaimThatWaitsWhenItsSubnetIsDeleted) {
  Pool("p", "10.0.0.0/26");
  Claim("c", "p", 26);
  Claim("waits", "p", 26);
  Delete("subnets", "p-10-0-0-0-26");
  executor_.Advance(1min);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(Phase("waits"), "Error");
  Delete("subnetclaims", "c");
  while (server_.CollectGarbage()) executor_.Advance(1s);
  executor_.Advance(1min);
  EXPECT_EQ(Phase("waits"), "Bound");
}

TEST_F(SystemTest, ABoundClaimsBlockIsNotLostToANewClaimWhenItsSubnetIsDeletedWithoutALeader) {
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 26);
  replica_.reset();
  Delete("subnets", "p-10-0-0-0-26");
  Claim("b", "p", 26);
  Boot();
  executor_.Advance(1min);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26");
  EXPECT_EQ(Allocated("b"), "10.0.0.64/26");
}

TEST_F(SystemTest, AClaimGetsItsBlockAgainWhenItsPoolIsMadeAnewBeforeOneThatWaited) {
  Pool("p", "10.0.0.0/24");
  Claim("told", "p", 26);
  ASSERT_EQ(Allocated("told"), "10.0.0.0/26");
  Merge("subnetpools", "p",
        R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
  Delete("subnetpools", "p");
  executor_.Advance(10s);
  Claim("a-new-one", "p", 26);
  ASSERT_EQ(Reason("subnetclaims", "a-new-one"), "PoolNotFound");
  Pool("p", "10.0.0.0/24");
  executor_.Advance(2s);
  EXPECT_EQ(Allocated("told"), "10.0.0.0/26");
  EXPECT_EQ(Phase("told"), "Bound");
  EXPECT_EQ(Allocated("a-new-one"), "10.0.0.64/26");
}

TEST_F(SystemTest, AClaimGetsItsBlockAgainWhenItsPoolIsReadyBeforeOneThatWaited) {
  Pool("m", "10.0.0.0/16");
  Pool("ch", "10.0.1.0/24", R"(,"parentRef":"m")");
  Claim("told", "ch", 26);
  Merge("subnetpools", "m", R"({"spec":{"parentRef":"top"}})");
  Claim("a-new-one", "ch", 26);
  replica_.reset();
  Delete("subnets", "ch-10-0-1-0-26");
  Boot();
  Merge("subnetpools", "m", R"({"spec":{"parentRef":null}})");
  executor_.Advance(2s);
  EXPECT_EQ(Allocated("told"), "10.0.1.0/26");
  EXPECT_EQ(Phase("told"), "Bound");
  EXPECT_EQ(Allocated("a-new-one"), "10.0.1.64/26");
}

TEST_F(SystemTest, AClaimKeepsABlockOfASizeThatItsPoolDoesNotGiveOutAnyMore) {
  Pool("p", "10.0.0.0/24");
  Claim("told", "p", 28);
  Merge("subnetpools", "p", R"({"spec":{"maxBlockSize":26,"defaultBlockSize":26}})");
  replica_.reset();
  Delete("subnets", "p-10-0-0-0-28");
  Boot();
  Claim("n", "p", 26);
  EXPECT_EQ(Allocated("told"), "10.0.0.0/28");
  EXPECT_EQ(Phase("told"), "Bound");
  EXPECT_EQ(Allocated("n"), "10.0.0.64/26");
}

TEST_F(SystemTest, AClaimThatWaitsForAPoolSaysWhyTheNewReasonToo) {
  Pool("ch", "10.1.0.0/24", R"(,"parentRef":"m","defaultBlockSize":28)");
  Claim("c", "ch", 28);
  ASSERT_THAT(Status("subnetclaims", "c").to_string(), HasSubstr("there is no SubnetPool m"));
  Pool("m", "10.9.0.0/16");
  executor_.Advance(2s);
  EXPECT_THAT(Status("subnetclaims", "c").to_string(), HasSubstr("10.1.0.0/24"));
}

TEST_F(SystemTest, AFailedSubnetNamesTheBlockThatIsInItsWayNow) {
  Create("Subnet", "a1", R"("poolRef":"late","cidr":"10.0.0.0/25","clusterID":"a1")");
  Create("Subnet", "a2", R"("poolRef":"late","cidr":"10.0.0.128/25","clusterID":"a2")");
  Create("Subnet", "b", R"("poolRef":"late","cidr":"10.0.0.0/24","clusterID":"b")");
  Pool("late", "10.0.0.0/23");
  ASSERT_THAT(Status("subnets", "b").to_string(), HasSubstr("10.0.0.0/25"));
  Delete("subnets", "a1");
  executor_.Advance(2s);
  EXPECT_THAT(Status("subnets", "b").to_string(), HasSubstr("10.0.0.128/25"));
}

TEST_F(SystemTest, AParentsNameMayBeTooLongForALabel) {
  const std::string parent(70, 'a');
  Pool(parent, "10.0.0.0/24");
  Create("SubnetPoolClaim", "c", Format(R"("parentPoolRef":"{}","desiredBlockSize":26)", parent));
  executor_.Advance(30s);
  EXPECT_EQ(Get("subnetpoolclaims", "c")["status"]["phase"], "Bound");
}

TEST_F(SystemTest, PoolsThatAreEachOthersParentsCanBeDeleted) {
  Pool("a", "10.0.0.0/24", R"(,"parentRef":"b")");
  Pool("b", "10.0.0.0/24", R"(,"parentRef":"a")");
  Delete("subnetpools", "a");
  executor_.Advance(60s);
  EXPECT_THAT(List("subnetpools"), testing::SizeIs(1));
  Delete("subnetpools", "b");
  executor_.Advance(60s);
  EXPECT_THAT(List("subnetpools"), testing::IsEmpty());
}

}  // namespace
}  // namespace berth::ipam
