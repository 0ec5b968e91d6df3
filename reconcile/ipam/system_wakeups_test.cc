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

}  // namespace
}  // namespace berth::ipam
