// What users edit past the webhooks.
#include "reconcile/ipam/system_fixture_test.h"

namespace berth::ipam {
namespace {

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

TEST_F(SystemTest, ABlockStaysItsSubnetsWhenItsClusterIDIsEdited) {
  Pool("p", "10.0.0.0/24");
  Create("Subnet", "first", R"("poolRef":"p","cidr":"10.0.0.0/26","clusterID":"one")");
  Create("Subnet", "second", R"("poolRef":"p","cidr":"10.0.0.0/27","clusterID":"two")");
  EXPECT_EQ(Get("subnets", "second")["status"]["phase"], "Failed");
  Merge("subnets", "first", R"({"spec":{"clusterID":"three"}})");
  executor_.Advance(60s);
  EXPECT_EQ(Get("subnets", "first")["status"]["phase"], "Allocated");
  EXPECT_EQ(Get("subnets", "second")["status"]["phase"], "Failed");
  Claim("c", "p", 27, "one");
  EXPECT_EQ(Phase("c"), "Bound") << "nobody has this clusterID any more";
  Claim("d", "p", 27, "three");
  EXPECT_EQ(Phase("d"), "Error");
}

TEST_F(SystemTest, AClaimThatWaitsForAClusterIDIsBoundWhenASubnetGivesItUp) {
  Pool("p", "10.0.0.0/24");
  Create("Subnet", "first", R"("poolRef":"p","cidr":"10.0.0.0/26","clusterID":"one")");
  Claim("c", "p", 27, "one");
  EXPECT_EQ(Phase("c"), "Error");
  Merge("subnets", "first", R"({"spec":{"clusterID":"two"}})");
  executor_.Advance(5s);
  EXPECT_EQ(Phase("c"), "Bound");
}

TEST_F(SystemTest, ARestingBlockIsNobodysWhateverItsClusterIDIsChangedTo) {
  Pool("p", "10.0.0.0/24", R"(,"reuseGracePeriodSeconds":3600)");
  Claim("a", "p", 26, "one");
  Delete("subnetclaims", "a");
  while (server_.CollectGarbage()) executor_.Advance(1s);
  Merge("subnets", "p-10-0-0-0-26", R"({"spec":{"clusterID":"two"}})");
  Claim("b", "p", 26, "two");
  EXPECT_EQ(Phase("b"), "Bound");
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
