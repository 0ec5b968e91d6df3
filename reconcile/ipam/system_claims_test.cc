#include <set>

#include "reconcile/ipam/system_fixture_test.h"

namespace berth::ipam {
namespace {

using testing::HasSubstr;

TEST_F(SystemTest, ClaimBecomesASubnetThatNamesIt) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(Allocated("c"), "10.0.0.0/24");
  const Json subnet = Get("subnets", "p-10-0-0-0-24");
  EXPECT_EQ(subnet["status"]["phase"], "Allocated");
  EXPECT_TRUE(subnet["status"].contains("allocatedAt"));
  EXPECT_EQ(subnet["spec"]["claimRef"]["uid"], Get("subnetclaims", "c")["metadata"]["uid"]);
  EXPECT_EQ(subnet["metadata"]["ownerReferences"][0]["name"], "c");
}

TEST_F(SystemTest, AReleasedBlockRestsForItsGracePeriod) {
  Pool("p", "10.0.0.0/25", R"(,"reuseGracePeriodSeconds":60)");
  Claim("a", "p", 25);
  Delete("subnetclaims", "a");
  Claim("b", "p", 25);
  executor_.Advance(30s);
  EXPECT_EQ(Phase("b"), "Error");
  executor_.Advance(60s);
  EXPECT_EQ(Phase("b"), "Bound");
}

TEST_F(SystemTest, PreAllocatedBlocksAreKeptForTheirClaim) {
  Pool("p", "10.0.0.0/24", R"(,"preAllocations":{"mine":"10.0.0.0/26"})");
  Claim("other", "p", 26);
  Claim("mine", "p", 26);
  EXPECT_EQ(Allocated("other"), "10.0.0.64/26");
  EXPECT_EQ(Allocated("mine"), "10.0.0.0/26");
}

TEST_F(SystemTest, ARestartInTheMiddleFindsEverythingAgain) {
  Pool("p", "10.0.0.0/24");
  for (int i = 0; i < 4; ++i) Claim(Format("a{}", i), "p", 28);
  Boot();
  for (int i = 0; i < 4; ++i) Claim(Format("b{}", i), "p", 28);
  std::vector<std::string> blocks;
  for (const Json& subnet : List("subnets"))
    blocks.push_back(subnet["spec"]["cidr"].as<std::string>());
  EXPECT_THAT(blocks, testing::SizeIs(8));
  EXPECT_EQ(std::set(blocks.begin(), blocks.end()).size(), 8u);
}

TEST_F(SystemTest, AStampedBlockIsTheClaims) {
  Pool("p", "10.0.0.0/24");
  ipam::Claim claim;
  claim.id.ns = "default";
  claim.id.name = "c";
  claim.pool = "p";
  claim.cluster = "c";
  claim.block_size = 26;
  const auto stamp = system_->Stamp(claim);
  ASSERT_TRUE(stamp);
  EXPECT_THAT(*stamp, HasSubstr("10.0.0.0/26"));
  Claim("other", "p", 26);
  EXPECT_EQ(Allocated("other"), "10.0.0.64/26");
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c","blockSize":26)",
         Format(R"(,"annotations":{{"ipam.plexaubnet.io/allocation":"{}"}})", *stamp));
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26");
  EXPECT_FALSE(Get("subnetclaims", "c")["metadata"].contains("annotations"));
}

TEST_F(SystemTest, AForgedStampIsIgnored) {
  Pool("p", "10.0.0.0/24");
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c","blockSize":26)",
         R"(,"annotations":{"ipam.plexaubnet.io/allocation":"10.0.0.128/26 1 00"})");
  EXPECT_EQ(Allocated("c"), "10.0.0.0/26");
}

TEST_F(SystemTest, WhatPlexaubnetLeftIsFinished) {
  Pool("p", "10.0.0.0/24");
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c","blockSize":26)",
         R"(,"finalizers":["ipam.plexaubnet.io/finalizer"])");
  Delete("subnetclaims", "c");
  executor_.Advance(10s);
  EXPECT_TRUE(List("subnetclaims").empty());
  EXPECT_TRUE(List("subnets").empty());
}

}  // namespace
}  // namespace berth::ipam
