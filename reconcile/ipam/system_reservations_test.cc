#include <gmock/gmock.h>

#include "reconcile/ipam/system_fixture_test.h"

// Blocks that are reserved at admission, for claims that may never arrive.
namespace berth::ipam {
namespace {

using testing::HasSubstr;

class ReservationTest : public SystemTest {
 protected:
  // As the webhook asks, for a claim that is being created.
  std::optional<std::string> Reserve(const std::string& claim, const std::string& pool, int size) {
    ipam::Claim asked;
    asked.id.ns = "default";
    asked.id.name = claim;
    asked.pool = pool;
    asked.cluster = claim;
    asked.block_size = size;
    return system_->Stamp(asked);
  }
  void StampedClaim(const std::string& name, const std::string& spec, const std::string& stamp) {
    Create("SubnetClaim", name, spec,
           Format(R"(,"annotations":{{"ipam.plexaubnet.io/allocation":"{}"}})", stamp));
  }
  std::size_t Reserved(const std::string& pool) {
    return system_->space().Find("default/" + pool)->space->Count(Use::kReserved);
  }
};

TEST_F(ReservationTest, AReservationThatNobodyRedeemsEnds) {
  Pool("p", "10.0.0.0/25");
  ASSERT_TRUE(Reserve("never", "p", 25));
  EXPECT_FALSE(Reserve("late", "p", 25));
  executor_.Advance(40s);
  EXPECT_TRUE(Reserve("late", "p", 25));
}

TEST_F(ReservationTest, ReservationsAreBoundedForAPoolAndInAll) {
  Pool("large", "10.0.0.0/8");
  std::size_t given = 0;
  for (std::size_t i = 0; i < 2 * Space::kMostReservationsOfPool; ++i) {
    given += Reserve(Format("c{}", i), "large", 28).has_value();
  }
  EXPECT_EQ(given, Space::kMostReservationsOfPool);
  for (int pool = 0; pool < 20; ++pool) {
    const std::string name = Format("p{}", pool);
    Pool(name, Format("11.{}.0.0/16", pool));
    for (std::size_t i = 0; i < Space::kMostReservationsOfPool; ++i) {
      given += Reserve(Format("c{}", i), name, 28).has_value();
    }
  }
  EXPECT_EQ(given, Space::kMostReservations);
  executor_.Advance(40s);
  EXPECT_EQ(Reserved("large"), 0u);
  EXPECT_TRUE(Reserve("c", "large", 28));
}

TEST_F(ReservationTest, AClaimThatExistsGoesBeforeReservations) {
  Pool("p", "10.0.0.0/24");
  for (int i = 0; i < 300; ++i) Reserve(Format("never-{}", i), "p", 32);
  ASSERT_EQ(Reserved("p"), 256u);
  Claim("small", "p", 32);
  Claim("half", "p", 25);
  Create("SubnetClaim", "exact", R"("poolRef":"p","clusterID":"x","requestedCIDR":"10.0.0.64/26")");
  EXPECT_EQ(Phase("small"), "Bound");
  EXPECT_EQ(Phase("half"), "Bound");
  EXPECT_EQ(Phase("exact"), "Bound");
  EXPECT_THAT(EventReasons(), testing::Not(testing::Contains("SubnetPoolExhausted")));
}

TEST_F(ReservationTest, AReservationOfALargeBlockYieldsToASmallClaim) {
  Pool("p", "10.0.0.0/24");
  const auto stamp = Reserve("large", "p", 24);
  ASSERT_TRUE(stamp);
  Claim("small", "p", 28);
  EXPECT_EQ(Phase("small"), "Bound");
  StampedClaim("large", R"("poolRef":"p","clusterID":"large","blockSize":24)", *stamp);
  EXPECT_EQ(Reason("subnetclaims", "large"), "PoolExhausted");
}

TEST_F(ReservationTest, AReservedBlockIsNotCalledInUse) {
  Pool("p", "10.0.0.0/24");
  Claim("half", "p", 25);
  ASSERT_TRUE(Reserve("never", "p", 25));
  Claim("whole", "p", 24);
  EXPECT_THAT(Status("subnetclaims", "whole")["message"].as<std::string>(),
              testing::AllOf(HasSubstr("it has no free /24"), testing::Not(HasSubstr("in use"))));
}

TEST_F(ReservationTest, AClaimThatWaitsIsNotWrittenWhenOtherBlocksComeAndGo) {
  Pool("p", "10.0.0.0/24");
  Claim("half", "p", 25);
  Claim("whole", "p", 24);
  const auto before = Get("subnetclaims", "whole")["metadata"]["resourceVersion"];
  Claim("quarter", "p", 26);
  Delete("subnetclaims", "quarter");
  executor_.Advance(1min);
  EXPECT_EQ(Get("subnetclaims", "whole")["metadata"]["resourceVersion"], before);
}

TEST_F(ReservationTest, AClaimThatWaitsForALargeBlockIsNotWrittenWhenPartsOfItComeAndGo) {
  Pool("p", "10.0.0.0/24", R"(,"defaultBlockSize":29)");
  for (const char* name : {"a", "b", "c"}) Claim(name, "p", 29);
  Create("SubnetClaim", "large", R"("poolRef":"p","clusterID":"l","requestedCIDR":"10.0.0.0/25")");
  ASSERT_EQ(Reason("subnetclaims", "large"), "RequestedCIDRTaken");
  const std::string before = Get("subnetclaims", "large").to_string();
  Delete("subnetclaims", "a");
  Delete("subnetclaims", "b");
  executor_.Advance(5s);
  EXPECT_EQ(Get("subnetclaims", "large").to_string(), before);
}

TEST_F(ReservationTest, ABlockThatIsKeptForAClaimDoesNotYieldToOthers) {
  Pool("p", "10.0.0.0/24", R"(,"preAllocations":{"mine":"10.0.0.0/24"})");
  const auto stamp = Reserve("mine", "p", 24);
  ASSERT_TRUE(stamp);
  Claim("other", "p", 26);
  EXPECT_EQ(Reason("subnetclaims", "other"), "PoolExhausted");
  StampedClaim("mine", R"("poolRef":"p","clusterID":"mine","blockSize":24)", *stamp);
  EXPECT_EQ(Allocated("mine"), "10.0.0.0/24");
}

TEST_F(ReservationTest, AClaimWithoutASizeGetsWhatIsKeptForItAtOnce) {
  Pool("p", "10.0.0.0/16", R"(,"defaultBlockSize":26,"preAllocations":{"c":"10.0.5.0/24"})");
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c")");
  EXPECT_EQ(Allocated("c"), "10.0.5.0/24");
}

TEST_F(ReservationTest, AClaimOfAnotherSizeThanWhatIsKeptForItIsToldSoAtOnce) {
  Pool("p", "10.0.0.0/16", R"(,"preAllocations":{"c":"10.0.5.0/24"})");
  EXPECT_FALSE(Reserve("c", "p", 26));
  Claim("c", "p", 26);
  EXPECT_EQ(Reason("subnetclaims", "c"), "InvalidRequest");
  EXPECT_THAT(Status("subnetclaims", "c")["message"].as<std::string>(),
              HasSubstr("pool p keeps 10.0.5.0/24 for this claim, which asks for a /26"));
  Merge("subnetclaims", "c", R"({"spec":{"blockSize":24}})");
  EXPECT_EQ(Allocated("c"), "10.0.5.0/24");
}

// Otherwise the claim is tried again and again for as long as anything is reserved.
TEST_F(ReservationTest, AClaimThatCannotBeServedDoesNotAnnounceRoom) {
  int announced = 0;
  Space space(executor_,
              {.on_figures = [](const std::string&) {},
               .on_room = [&](const std::string&) { ++announced; },
               .on_placement = [](const std::string&) {},
               .on_free = [&](const std::string&, const std::optional<Cidr>&) { ++announced; }});
  ipam::Pool pool;
  pool.id.ns = "default";
  pool.id.name = "p";
  pool.cidr = "10.0.0.0/16";
  pool.pre_allocations = {{"c", "10.0.5.0/24"}};
  space.PutPool(pool);
  ASSERT_TRUE(space.Reserve("default/p", {.claim = "x", .cluster = "x", .size = 24, .owner = 1},
                            executor_.Now() + 30s));
  announced = 0;
  const auto denied =
      space.Assign("default/p", {.claim = "c", .cluster = "c", .size = 26, .owner = 2});
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().reason, "InvalidRequest");
  EXPECT_EQ(announced, 0);
}

TEST_F(ReservationTest, AClaimThatChangedSinceItsReservationIsNotInItsOwnWay) {
  Pool("p", "10.0.0.0/24");
  const auto stamp = Reserve("c", "p", 24);
  ASSERT_TRUE(stamp);
  StampedClaim("c", R"("poolRef":"p","clusterID":"c","blockSize":25)", *stamp);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/25");
  EXPECT_EQ(Reserved("p"), 0u);
}

}  // namespace
}  // namespace berth::ipam
