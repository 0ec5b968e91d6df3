#include <gmock/gmock.h>

#include "kube/status.h"
#include "reconcile/ipam/system_fixture_test.h"

// Blocks that claims were told of, or are about to get, while their Subnets cannot be created.
namespace berth::ipam {
namespace {

// Refuses the requests that `refuse` has an error for.
class JudgingTransport : public kube::Transport {
 public:
  JudgingTransport(async::Executor& executor, kube::Transport& inner)
      : executor_(executor), inner_(inner) {}

  async::Handle Send(kube::Request request, Done done) override {
    const auto error = refuse ? refuse(request) : std::nullopt;
    if (!error) return inner_.Send(std::move(request), std::move(done));
    ++refused;
    return executor_.RunAfter(1ms, [error = *error, done = std::move(done)] {  //
      done(std::unexpected(error));
    });
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  std::function<std::optional<kube::Error>(const kube::Request&)> refuse;
  int refused = 0;

 private:
  async::Executor& executor_;
  kube::Transport& inner_;
};

const kube::Error kBusy{kube::ErrorClass::kRetry, "ServiceUnavailable", "busy", 503, {}};
const kube::Error kOverQuota{
    kube::ErrorClass::kTerminal, "Forbidden", "exceeded quota: q", 403, {}};

class ToldBlockTest : public SystemTest {
 protected:
  ~ToldBlockTest() override { replica_.reset(); }  // before its transport

  void Up() { BootThrough(judging_); }
  // Refuses the creates of Subnets.
  void RefuseSubnets(const kube::Error& error, const std::string& block = "") {
    judging_.refuse = [error, block](const kube::Request& request) -> std::optional<kube::Error> {
      const bool subnet =
          request.method == kube::Method::kPost && request.path.contains("/subnets");
      return subnet && request.body.contains(block) ? std::optional(error) : std::nullopt;
    };
  }
  void StampedClaim(const std::string& name) {
    ipam::Claim claim;
    claim.id.ns = "default";
    claim.id.name = claim.cluster = name;
    claim.pool = "p";
    claim.block_size = 24;
    const auto stamp = system_->Stamp(claim);
    ASSERT_TRUE(stamp);
    Create("SubnetClaim", name, Format(R"("poolRef":"p","clusterID":"{}","blockSize":24)", name),
           Format(R"(,"annotations":{{"ipam.plexaubnet.io/allocation":"{}"}})", *stamp));
  }
  void HandWritten(const std::string& cluster) {
    Create("Subnet", "hand",
           Format(R"("poolRef":"p","cidr":"10.0.9.0/24","clusterID":"{}")", cluster));
  }

  JudgingTransport judging_{executor_, transport_};
};

TEST_F(ToldBlockTest, ANewLeaderKeepsItForAClaimWhoseClusterHoldsAnotherBlock) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24, "k");
  ASSERT_EQ(Allocated("c"), "10.0.0.0/24");
  HandWritten("k");
  replica_.reset();
  Delete("subnets", "p-10-0-0-0-24");
  Claim("w", "p", 24);
  Up();
  executor_.Advance(1min);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(Allocated("c"), "10.0.0.0/24");
  EXPECT_EQ(Allocated("w"), "10.0.1.0/24");
}

TEST_F(ToldBlockTest, APoolMadeAnewKeepsItForAClaimWhoseClusterHoldsAnotherBlock) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24, "k");
  HandWritten("k");
  RemoveByForce("p");
  Delete("subnets", "p-10-0-0-0-24");
  Claim("w", "p", 24);
  Pool("p", "10.0.0.0/16");
  executor_.Advance(1min);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(Allocated("c"), "10.0.0.0/24");
  EXPECT_EQ(Allocated("w"), "10.0.1.0/24");
}

TEST_F(ToldBlockTest, APoolThatBecomesReadyGivesItToTheClaimWhoseStatusIsLate) {
  Pool("top", "10.0.0.0/8");
  Pool("p", "10.0.0.0/16", R"(,"parentRef":"top")");
  Claim("c", "p", 24);
  ASSERT_EQ(Allocated("c"), "10.0.0.0/24");
  RemoveByForce("top");
  replica_.reset();
  Delete("subnets", "p-10-0-0-0-24");
  Claim("w", "p", 24);
  judging_.refuse = [](const kube::Request& request) {
    return request.path.contains("/subnetclaims/c/status") ? std::optional(kBusy) : std::nullopt;
  };
  Up();
  Pool("top", "10.0.0.0/8");
  executor_.Advance(3s);
  judging_.refuse = nullptr;
  executor_.Advance(1min);
  EXPECT_EQ(Phase("c"), "Bound");
  EXPECT_EQ(Allocated("c"), "10.0.0.0/24");
  EXPECT_EQ(Allocated("w"), "10.0.1.0/24");
}

TEST_F(ToldBlockTest, ItIsLostWhenItIsExcludedBeforeItsSubnetIsMadeAgain) {
  for (const kube::Error& error : {kOverQuota, kBusy}) {
    Up();
    Pool("p", "10.0.0.0/16");
    Claim("c", "p", 24);
    ASSERT_EQ(Allocated("c"), "10.0.0.0/24");
    RefuseSubnets(error);
    Delete("subnets", "p-10-0-0-0-24");
    Merge("subnetpools", "p", R"({"spec":{"excludedRanges":["10.0.0.0/24"]}})");
    executor_.Advance(10s);
    judging_.refuse = nullptr;
    executor_.Advance(2min);
    EXPECT_EQ(Reason("subnetclaims", "c"), "AllocationLost") << error.message;
    Delete("subnetclaims", "c");
    Delete("subnetpools", "p");
  }
}

TEST_F(ToldBlockTest, ItDoesNotKeepItsPoolFromBeingDeletedWhileItsSubnetCannotBeMade) {
  for (const kube::Error& error : {kOverQuota, kBusy}) {
    Up();
    Pool("p", "10.0.0.0/16");
    Claim("c", "p", 24);
    ASSERT_EQ(Allocated("c"), "10.0.0.0/24");
    RefuseSubnets(error);
    Delete("subnets", "p-10-0-0-0-24");
    executor_.Advance(1min);
    Delete("subnetpools", "p");
    executor_.Advance(2min);
    EXPECT_EQ(Send(kube::Method::kGet, Path("subnetpools", "p")).code, 404) << error.message;
    EXPECT_EQ(Reason("subnetclaims", "c"), "PoolNotFound");
    // It has its block again when the pool is made anew.
    judging_.refuse = nullptr;
    Claim("w", "p", 24);
    Pool("p", "10.0.0.0/16");
    executor_.Advance(1min);
    EXPECT_EQ(Phase("c"), "Bound");
    EXPECT_EQ(Allocated("c"), "10.0.0.0/24");
    EXPECT_EQ(Allocated("w"), "10.0.1.0/24");
    for (const char* name : {"c", "w"}) Delete("subnetclaims", name);
    executor_.Advance(1min);
    Delete("subnetpools", "p");
  }
}

TEST_F(ToldBlockTest, AClaimGetsAnotherWhenItsBlockIsExcludedBeforeItsSubnetIsMade) {
  Up();
  Pool("p", "10.0.0.0/16");
  RefuseSubnets(kBusy);
  Claim("c", "p", 24);
  Merge("subnetpools", "p", R"({"spec":{"excludedRanges":["10.0.0.0/24"]}})");
  executor_.Advance(40s);
  judging_.refuse = nullptr;
  executor_.Advance(2min);
  EXPECT_EQ(Allocated("c"), "10.0.1.0/24");
}

TEST_F(ToldBlockTest, APreAllocationGoesBeforeABlockThatHasNoSubnetYet) {
  Up();
  Pool("p", "10.0.0.0/16");
  RefuseSubnets(kBusy);
  Claim("c", "p", 24);
  Merge("subnetpools", "p", R"({"spec":{"preAllocations":{"z":"10.0.0.0/24"}}})");
  Claim("z", "p", 24);
  executor_.Advance(40s);
  judging_.refuse = nullptr;
  executor_.Advance(2min);
  EXPECT_EQ(Allocated("c"), "10.0.1.0/24");
  EXPECT_EQ(Allocated("z"), "10.0.0.0/24");
}

TEST_F(ToldBlockTest, APreAllocationGoesBeforeAStamp) {
  for (const kube::Error& error : {kOverQuota, kBusy}) {
    Up();
    Pool("p", "10.0.0.0/16");
    RefuseSubnets(error);
    StampedClaim("c");
    Merge("subnetpools", "p", R"({"spec":{"preAllocations":{"c":"10.0.5.0/24"}}})");
    executor_.Advance(5s);
    judging_.refuse = nullptr;
    executor_.Advance(2min);
    EXPECT_EQ(Allocated("c"), "10.0.5.0/24") << error.message;
    Delete("subnetclaims", "c");
    Delete("subnetpools", "p");
  }
}

TEST_F(ToldBlockTest, AStampIsNoWayAroundAPreAllocationOfAnotherSize) {
  Up();
  Pool("p", "10.0.0.0/16");
  RefuseSubnets(kOverQuota);
  StampedClaim("c");
  Merge("subnetpools", "p", R"({"spec":{"preAllocations":{"c":"10.0.16.0/20"}}})");
  judging_.refuse = nullptr;
  executor_.Advance(1min);
  EXPECT_EQ(Reason("subnetclaims", "c"), "InvalidRequest");
}

const kube::Error kDenied{kube::ErrorClass::kTerminal,
                          "Forbidden",
                          "ValidatingAdmissionPolicy 'net' denied request: not for clusters",
                          403,
                          {}};

TEST_F(ToldBlockTest, ABlockThatAPolicyRefusesKeepsNoClaimFromTheOthers) {
  Up();
  Pool("p", "10.0.0.0/16");
  RefuseSubnets(kDenied, "10.0.0.0/24");
  for (int i = 0; i < 4; ++i) Claim(Format("c{}", i), "p", 24);
  StampedClaim("stamped");
  executor_.Advance(2min);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Phase(Format("c{}", i)), "Bound");
  EXPECT_EQ(Phase("stamped"), "Bound");
}

TEST_F(ToldBlockTest, AClaimThatAsksForARefusedBlockWaitsForIt) {
  Up();
  Pool("p", "10.0.0.0/16", R"(,"preAllocations":{"kept":"10.0.0.0/24"})");
  RefuseSubnets(kDenied, "\"10.0.0.0/24\"");
  Claim("kept", "p", 24);
  executor_.Advance(2min);
  EXPECT_EQ(Reason("subnetclaims", "kept"), "SubnetRefused");
  judging_.refuse = nullptr;
  executor_.Advance(1min);
  EXPECT_EQ(Allocated("kept"), "10.0.0.0/24");
}

TEST_F(ToldBlockTest, APolicyThatRefusesEveryBlockIsAskedAtTheBackOffAndToldOnce) {
  Up();
  Pool("p", "10.0.0.0/16");
  RefuseSubnets(kDenied);
  Claim("c", "p", 24);
  executor_.Advance(2min);
  judging_.refused = 0;
  const Json before = Get("subnetclaims", "c");
  executor_.Advance(10min);
  EXPECT_LE(judging_.refused, 22);
  EXPECT_EQ(Get("subnetclaims", "c"), before) << "nothing is written at every try";
  judging_.refuse = nullptr;
  executor_.Advance(1min);
  EXPECT_EQ(Phase("c"), "Bound");
}

}  // namespace
}  // namespace berth::ipam
