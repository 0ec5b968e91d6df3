#include <gmock/gmock.h>

#include "reconcile/ipam/system_fixture_test.h"

// The claims that an event wakes: only those that wait for what it frees.
namespace berth::ipam {
namespace {

class WakeupTest : public SystemTest {
 protected:
  std::uint64_t Reconciles() const {
    std::uint64_t all = 0;
    for (const auto* controller : system_->controllers()) all += controller->Stats().succeeded;
    return all;
  }
};

TEST_F(WakeupTest, TheEndOfAWaitingClaimWakesNoOther) {
  constexpr int kWaiting = 30;
  Pool("p", "10.0.0.0/24");
  Claim("all", "p", 24);
  for (int i = 0; i < kWaiting; ++i) Claim(Format("w{}", i), "p", 24);
  executor_.Advance(1min);
  const auto before = Reconciles();
  for (int i = 0; i < kWaiting; ++i) Delete("subnetclaims", Format("w{}", i));
  EXPECT_LT(Reconciles() - before, 4 * kWaiting);
}

TEST_F(WakeupTest, ABlockThatBecomesFreeWakesTheClaimThatGetsIt) {
  constexpr int kEach = 64;
  Pool("p", "10.0.0.0/23");
  for (int i = 0; i < kEach; ++i) Claim(Format("c{}", i), "p", 29);
  Claim("large", "p", 24);
  for (int i = 0; i < kEach; ++i) Claim(Format("w{}", i), "p", 29);
  executor_.Advance(1min);
  ASSERT_EQ(Reason("subnetclaims", "w7"), "PoolExhausted");
  const auto before = Reconciles();
  for (int i = 0; i < kEach; ++i) Delete("subnetclaims", Format("c{}", i));
  EXPECT_LT(Reconciles() - before, 16 * kEach);
  for (int i = 0; i < kEach; ++i) EXPECT_EQ(Phase(Format("w{}", i)), "Bound") << i;
  EXPECT_EQ(Reason("subnetclaims", "large"), "PoolExhausted");
  for (int i = 0; i < kEach; ++i) Delete("subnetclaims", Format("w{}", i));
  EXPECT_EQ(Phase("large"), "Bound");
}

TEST_F(WakeupTest, ABlockThatRestsWakesNoClaimThatWaitsForRoom) {
  constexpr int kEach = 64;
  Pool("p", "10.0.0.0/23", R"(,"reuseGracePeriodSeconds":600)");
  for (int i = 0; i < kEach; ++i) Claim(Format("c{}", i), "p", 29);
  for (int i = 0; i < kEach; ++i) Claim(Format("w{}", i), "p", 29);
  executor_.Advance(1min);
  const auto before = Reconciles();
  for (int i = 0; i < kEach; ++i) Delete("subnetclaims", Format("c{}", i));
  EXPECT_LT(Reconciles() - before, 16 * kEach);
  EXPECT_EQ(Reason("subnetclaims", "w7"), "PoolExhausted");
  executor_.Advance(15min);
  for (int i = 0; i < kEach; ++i) EXPECT_EQ(Phase(Format("w{}", i)), "Bound") << i;
}

TEST_F(WakeupTest, ABlockThatBecomesFreeWakesNoBoundPoolClaim) {
  constexpr int kEach = 20;
  Pool("p", "10.0.0.0/16");
  for (int i = 0; i < kEach; ++i) {
    Create("SubnetPoolClaim", Format("b{}", i), R"("parentPoolRef":"p","desiredBlockSize":24)");
    Claim(Format("c{}", i), "p", 24);
  }
  executor_.Advance(1min);
  ASSERT_EQ(Reason("subnetpoolclaims", "b7"), "Bound");
  const auto before = Reconciles();
  for (int i = 0; i < kEach; ++i) Delete("subnetclaims", Format("c{}", i));
  EXPECT_LT(Reconciles() - before, 10 * kEach);
}

TEST_F(WakeupTest, TheEndOfAClaimWakesTheNextOfItsCluster) {
  Pool("p", "10.0.0.0/16");
  Claim("first", "p", 24, "k");
  Claim("second", "p", 24, "k");
  executor_.Advance(5s);
  ASSERT_EQ(Reason("subnetclaims", "second"), "ClusterIDConflict");
  Delete("subnetclaims", "first");
  executor_.Advance(5s);
  EXPECT_EQ(Phase("second"), "Bound");
}

// Deletes the claims c0, c1, … one after the other, and counts the reconciles.
class ManyDeletionsTest : public WakeupTest {
 protected:
  static constexpr int kEach = 64;
  void Fill() {
    Pool("p", "10.0.0.0/23");
    for (int i = 0; i < kEach; ++i) Claim(Format("c{}", i), "p", 29);
  }
  static std::string Block(int i) { return Format("10.0.{}.{}/29", i / 32, i % 32 * 8); }
  std::uint64_t DeleteAll(const std::string& plural, const std::function<std::string(int)>& name) {
    executor_.Advance(1min);
    const auto before = Reconciles();
    for (int i = 0; i < kEach; ++i) Delete(plural, name(i));
    executor_.Advance(1s);
    return Reconciles() - before;
  }
  std::uint64_t DeleteClaims() {
    return DeleteAll("subnetclaims", [](int i) { return Format("c{}", i); });
  }
};

TEST_F(ManyDeletionsTest, WakeOnlyTheClaimThatAskedForTheBlock) {
  Fill();
  for (int i = 0; i < kEach; ++i) {
    Create("SubnetClaim", Format("w{}", i),
           Format(R"("poolRef":"p","clusterID":"w{}","requestedCIDR":"{}")", i, Block(i)));
  }
  EXPECT_LT(DeleteClaims(), 16 * kEach);
  for (int i = 0; i < kEach; ++i) EXPECT_EQ(Allocated(Format("w{}", i)), Block(i));
}

TEST_F(ManyDeletionsTest, WakeNoClaimThatAsksForMore) {
  Fill();
  for (int i = 0; i < kEach; ++i) {
    Create("SubnetClaim", Format("w{}", i),
           Format(R"("poolRef":"p","clusterID":"w{}","requestedCIDR":"10.0.0.0/23")", i));
  }
  EXPECT_LT(DeleteClaims(), 16 * kEach);
  EXPECT_EQ(
      std::ranges::count_if(List("subnetclaims"),
                            [](const Json& claim) { return claim["status"]["phase"] == "Bound"; }),
      1);
}

TEST_F(ManyDeletionsTest, WakeOnlyTheClaimOfTheSameCluster) {
  Fill();
  for (int i = 0; i < kEach; ++i) Claim(Format("w{}", i), "p", 29, Format("c{}", i));
  executor_.Advance(5s);
  ASSERT_EQ(Reason("subnetclaims", "w7"), "ClusterIDConflict");
  EXPECT_LT(DeleteClaims(), 16 * kEach);
  for (int i = 0; i < kEach; ++i) EXPECT_EQ(Phase(Format("w{}", i)), "Bound");
}

TEST_F(ManyDeletionsTest, WakeNoSubnetThatOverlapsOtherBlocksToo) {
  Fill();
  for (int i = 0; i < kEach; ++i) {
    Create("Subnet", Format("w{}", i),
           Format(R"("poolRef":"p","clusterID":"w{}","cidr":"10.0.0.0/23")", i));
  }
  EXPECT_LT(DeleteClaims(), 16 * kEach);
  EXPECT_EQ(std::ranges::count_if(
                List("subnets"),
                [](const Json& subnet) { return subnet["status"]["phase"] == "Allocated"; }),
            1);
}

TEST_F(ManyDeletionsTest, OfSubnetsWakeOnlyTheirOwnClaims) {
  Fill();
  for (int i = 0; i < kEach; ++i) Claim(Format("w{}", i), "p", 29);
  const auto name = [](int i) { return SubnetName("p", *Cidr::Parse(Block(i))); };
  EXPECT_LT(DeleteAll("subnets", name), 16 * kEach);
  for (int i = 0; i < kEach; ++i) EXPECT_EQ(Allocated(Format("c{}", i)), Block(i));
}

TEST_F(ManyDeletionsTest, WakeNoClaimThatHasLostAnotherBlock) {
  Fill();
  Merge("subnetpools", "p",
        R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
  Delete("subnetpools", "p");
  executor_.Advance(1min);
  Pool("p", "10.0.0.0/23", R"(,"excludedRanges":["10.0.1.0/24"])");
  executor_.Advance(5s);
  ASSERT_EQ(Reason("subnetclaims", "c63"), "AllocationLost");
  EXPECT_LT(DeleteClaims(), 16 * kEach);
}

TEST_F(ManyDeletionsTest, WithTheirPoolWakeEachClaimAFewTimes) {
  Fill();
  executor_.Advance(1min);
  Merge("subnetpools", "p",
        R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
  const auto before = Reconciles();
  Delete("subnetpools", "p");
  executor_.Advance(1min);
  EXPECT_LT(Reconciles() - before, 16 * kEach);
  EXPECT_EQ(Reason("subnetclaims", "c7"), "PoolNotFound");
}

TEST_F(ManyDeletionsTest, OfReservationsWakeOnlyThoseWhoGetTheBlock) {
  Pool("p", "10.0.0.0/23");
  for (int i = 0; i < kEach; ++i) {
    class Claim unborn;
    unborn.id.ns = "default";
    unborn.id.name = Format("never{}", i);
    unborn.pool = "p";
    unborn.cluster = unborn.id.name;
    unborn.block_size = 29;
    ASSERT_TRUE(system_->Stamp(unborn));
  }
  const auto before = Reconciles();
  for (int i = 0; i < 2 * kEach; ++i) Claim(Format("w{}", i), "p", 29);
  EXPECT_LT(Reconciles() - before, 16 * 2 * kEach);
  EXPECT_EQ(Phase("w63"), "Bound");
  EXPECT_EQ(Reason("subnetclaims", "w127"), "PoolExhausted");
}

}  // namespace
}  // namespace berth::ipam
