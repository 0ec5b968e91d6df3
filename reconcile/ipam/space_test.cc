#include "reconcile/ipam/space.h"

#include <gtest/gtest.h>

#include "async/test_executor.h"

namespace berth::ipam {
namespace {

class SpaceTest : public testing::Test {
 protected:
  static Pool MakePool(const std::string& ns, const std::string& name, const std::string& cidr) {
    Pool pool;
    pool.id.ns = ns;
    pool.id.name = name;
    pool.id.uid = ns + name;
    pool.cidr = cidr;
    return pool;
  }
  static Subnet MakeSubnet(const std::string& name, const std::string& pool,
                           const std::string& block) {
    Subnet subnet;
    subnet.id = {.ns = "ns", .name = name, .uid = name};
    subnet.pool = pool;
    subnet.cluster = name;
    subnet.cidr = Cidr::Parse(block).value();
    return subnet;
  }
  void AddPool(const std::string& ns, const std::string& name, const std::string& cidr) {
    space_.PutPool(MakePool(ns, name, cidr));
  }

  async::TestExecutor executor_;
  Space space_{executor_,
               {.on_figures = [](const std::string&) {},
                .on_room = [](const std::string&) {},
                .on_placement = [](const std::string&) {}}};
};

TEST_F(SpaceTest, OfPoolsThatOverlapOneGivesABlockToAUsersSubnet) {
  AddPool("ns", "a", "10.0.0.0/24");
  AddPool("ns", "b", "10.0.0.0/24");
  const Subnet one = MakeSubnet("one", "a", "10.0.0.0/26");
  const Subnet two = MakeSubnet("two", "b", "10.0.0.0/25");
  space_.PutSubnet(one);
  space_.PutSubnet(two);
  EXPECT_EQ(space_.PlacementOf(one).phase, SubnetPhase::kAllocated);
  EXPECT_EQ(space_.PlacementOf(two).phase, SubnetPhase::kFailed);
  EXPECT_EQ(space_.PlacementOf(two).message,
            "10.0.0.0/25 overlaps 10.0.0.0/26 of SubnetPool a, which is in use");
  const Subnet beside = MakeSubnet("beside", "b", "10.0.0.128/25");
  space_.PutSubnet(beside);
  EXPECT_EQ(space_.PlacementOf(beside).phase, SubnetPhase::kAllocated);
  space_.RemoveSubnet(one);
  EXPECT_EQ(space_.PlacementOf(two).phase, SubnetPhase::kAllocated);
}

TEST_F(SpaceTest, ASubnetThatWaitsForABlockOfAnotherPoolGetsItWhenThatPoolGoes) {
  AddPool("ns", "a", "10.0.0.0/24");
  AddPool("ns", "b", "10.0.0.0/24");
  const Subnet one = MakeSubnet("one", "a", "10.0.0.0/26");
  const Subnet two = MakeSubnet("two", "b", "10.0.0.0/26");
  space_.PutSubnet(one);
  space_.PutSubnet(two);
  space_.RemovePool("ns/a");
  EXPECT_EQ(space_.PlacementOf(two).phase, SubnetPhase::kAllocated);
}

TEST_F(SpaceTest, AUsersSubnetDoesNotGetABlockThatAClaimOfAnOverlappingPoolHas) {
  AddPool("ns", "a", "10.0.0.0/24");
  const auto block = space_.Assign("ns/a", {.claim = "c", .cluster = "c", .size = 26, .owner = 7});
  ASSERT_TRUE(block);
  Pool younger = MakePool("ns", "b", "10.0.0.0/24");
  younger.id.created = 5;
  space_.PutPool(younger);
  const Subnet subnet = MakeSubnet("s", "b", "10.0.0.0/24");
  space_.PutSubnet(subnet);
  EXPECT_EQ(space_.PlacementOf(subnet).phase, SubnetPhase::kFailed);
  EXPECT_TRUE(space_.GivenBeside("ns/b", *subnet.cidr));
  space_.Abandon(7);
  EXPECT_EQ(space_.PlacementOf(subnet).phase, SubnetPhase::kAllocated);
}

TEST_F(SpaceTest, APoolThatIsNotValidGivesUsersSubnetsNothing) {
  for (const char* cidr : {"10.0.0.0/24", "nonsense"}) {
    Pool pool = MakePool("ns", "p", cidr);
    pool.min_block = 28;
    pool.max_block = 26;
    space_.PutPool(pool);
    const Subnet subnet = MakeSubnet("s", "p", "10.0.0.0/26");
    space_.PutSubnet(subnet);
    EXPECT_EQ(space_.PlacementOf(subnet).phase, SubnetPhase::kPending) << cidr;
    AddPool("ns", "p", "10.0.0.0/24");
    EXPECT_EQ(space_.PlacementOf(subnet).phase, SubnetPhase::kAllocated) << cidr;
    space_.RemoveSubnet(subnet);
    space_.RemovePool("ns/p");
  }
}

TEST_F(SpaceTest, AStampWhoseReservationIsGoneDoesNotEndThatOfAnother) {
  AddPool("ns", "p", "10.0.0.0/24");
  const auto until = executor_.Now() + std::chrono::seconds(30);
  const auto block =
      space_.Reserve("ns/p", {.claim = "other", .cluster = "other", .size = 26, .owner = 2}, until);
  ASSERT_TRUE(block);
  EXPECT_FALSE(
      space_.Redeem("ns/p", 1, *block, {.claim = "c", .cluster = "c", .size = 26, .owner = 9}));
  EXPECT_EQ(space_.Redeem("ns/p", 2, *block,
                          {.claim = "other", .cluster = "other", .size = 26, .owner = 8}),
            *block);
}

TEST_F(SpaceTest, ASubnetOfAnotherPoolLeavesAnAssignmentAlone) {
  AddPool("one", "p", "10.0.0.0/24");
  AddPool("two", "p", "10.0.0.0/24");
  const Owner claim = Fingerprint("claim-uid");
  const auto block = space_.Assign("one/p", {.claim = "c", .cluster = "c", .owner = claim});
  ASSERT_TRUE(block);
  Subnet subnet;
  subnet.id.ns = "two";
  subnet.id.name = "s";
  subnet.id.uid = "s-uid";
  subnet.pool = "p";
  subnet.cluster = "c";
  subnet.cidr = *block;
  subnet.claim_uid = "claim-uid";
  space_.PutSubnet(subnet);
  EXPECT_EQ(space_.AssignmentOf(claim), *block);
}

TEST_F(SpaceTest, AnAssignmentOfAPoolThatIsGoneEndsWithItsSubnet) {
  AddPool("one", "p", "10.0.0.0/24");
  const Owner claim = Fingerprint("claim-uid");
  const auto block = space_.Assign("one/p", {.claim = "c", .cluster = "c", .owner = claim});
  ASSERT_TRUE(block);
  space_.RemovePool("one/p");
  Subnet subnet;
  subnet.id = {.ns = "one", .name = "s", .uid = "s-uid"};
  subnet.pool = "p";
  subnet.cluster = "c";
  subnet.cidr = *block;
  subnet.claim_uid = "claim-uid";
  subnet.made = true;
  space_.PutSubnet(subnet);
  EXPECT_EQ(space_.AssignmentOf(claim), std::nullopt);
  AddPool("one", "q", "10.0.0.0/24");
  const Wish other{.claim = "o", .cluster = "o", .exact = *block, .owner = 1};
  EXPECT_FALSE(space_.Check("one/q", other)) << "it is the Subnet's";
  space_.RemoveSubnet(subnet);
  EXPECT_TRUE(space_.Check("one/q", other));
  space_.RemovePool("one/q");
  EXPECT_EQ(space_.Remembered(), 0u);
}

// As when a watch that was interrupted brings the next pool of the name as an update.
TEST_F(SpaceTest, ASubnetThatWaitsForADeletedPoolIsPlacedInTheNextOneAfterTheClaims) {
  Pool pool = MakePool("one", "p", "10.0.0.0/24");
  pool.id.deleting = 1;
  space_.PutPool(pool);
  Subnet promised;
  promised.id = {.ns = "one", .name = "promised", .uid = "promised-uid"};
  promised.pool = "p";
  promised.cidr = *Cidr::Parse("10.0.0.0/26");
  Subnet other = promised;
  other.id = {.ns = "one", .name = "other", .uid = "other-uid"};
  other.cidr = *Cidr::Parse("10.0.0.64/26");
  for (const Subnet& subnet : {promised, other}) {
    space_.PutSubnet(subnet);
    EXPECT_EQ(space_.PlacementOf(subnet).message,
              "SubnetPool p is not ready: the pool is being deleted");
  }
  pool.id.deleting = 0;
  pool.id.uid = "another";
  const Owner claim = Fingerprint("claim-uid");
  space_.PutPool(pool, {{.pool = "one/p",
                         .wish = {.claim = "c",
                                  .cluster = "c",
                                  .exact = promised.cidr,
                                  .owner = claim,
                                  .promised = true},
                         .block = *promised.cidr}});
  EXPECT_EQ(space_.AssignmentOf(claim), promised.cidr);
  EXPECT_EQ(space_.PlacementOf(promised).phase, SubnetPhase::kFailed);
  EXPECT_EQ(space_.PlacementOf(other).phase, SubnetPhase::kAllocated);
}

}  // namespace
}  // namespace berth::ipam
