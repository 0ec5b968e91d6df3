#include "reconcile/ipam/system_fixture_test.h"

// The order in which a block is given to those who have a right to it or wait for it.
namespace berth::ipam {
namespace {

// Counts reads of single claims.
class CountingTransport : public kube::Transport {
 public:
  explicit CountingTransport(kube::Transport& inner) : inner_(inner) {}

  async::Handle Send(kube::Request request, Done done) override {
    if (request.method == kube::Method::kGet && request.path.contains("/subnetclaims/")) ++reads;
    return inner_.Send(std::move(request), std::move(done));
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  int reads = 0;

 private:
  kube::Transport& inner_;
};

class RightsTest : public SystemTest {
 protected:
  ~RightsTest() override { replica_.reset(); }

  void DeleteInUse(const std::string& pool) {
    Merge("subnetpools", pool,
          R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
    Delete("subnetpools", pool);
    executor_.Advance(1min);
    ASSERT_EQ(Send(kube::Method::kGet, Path("subnetpools", pool)).code, 404);
  }

  // Two claims were told of 10.0.0.0/26 of pool p: "first" lost it, "own" is Bound to it.
  void LoseToOwn() {
    Pool("p", "10.0.0.0/24");
    Claim("first", "p", 26);
    ASSERT_EQ(Allocated("first"), "10.0.0.0/26");
    DeleteInUse("p");
    Pool("p", "10.0.0.0/24", R"(,"preAllocations":{"own":"10.0.0.0/26"})");
    Claim("own", "p", 26);
    Merge("subnetpools", "p", R"({"spec":{"preAllocations":null}})");
    executor_.Advance(10s);
    ASSERT_EQ(Allocated("own"), "10.0.0.0/26");
    ASSERT_EQ(Reason("subnetclaims", "first"), "AllocationLost");
  }
};

TEST_F(RightsTest, BlocksOfAPoolThatIsRemovedByForceAreFreeForNobody) {
  Create("Subnet", "waits", R"("poolRef":"q","cidr":"10.7.1.0/24","clusterID":"waits")");
  Pool("p", "10.7.0.0/20", R"(,"parentRef":"q")");
  Pool("q", "10.7.0.0/16");
  Create("SubnetClaim", "c", R"("poolRef":"p","clusterID":"c","requestedCIDR":"10.7.1.0/24")");
  ASSERT_EQ(Allocated("c"), "10.7.1.0/24");
  ASSERT_EQ(Status("subnets", "waits")["phase"], "Failed");
  RemoveByForce("p");
  executor_.Advance(10s);
  EXPECT_EQ(Status("subnets", "waits")["phase"], "Failed");
  EXPECT_EQ(Send(kube::Method::kGet, Path("subnets", "p-10-7-1-0-24")).code, 200);
  Pool("p", "10.7.0.0/20", R"(,"parentRef":"q")");
  executor_.Advance(10s);
  EXPECT_EQ(Status("subnets", "p-10-7-1-0-24")["phase"], "Allocated");
  EXPECT_EQ(Status("subnets", "waits")["phase"], "Failed");
}

TEST_F(RightsTest, ASubnetKeepsItsBlockBesideAClaimThatLostItWhenThePoolIsRemovedByForce) {
  Pool("p", "10.0.0.0/24");
  Claim("a", "p", 26);
  replica_.reset();
  Delete("subnets", "p-10-0-0-0-26");
  Create("Subnet", "gw", R"("poolRef":"p","cidr":"10.0.0.0/26","clusterID":"gw")");
  const auto given = Send(kube::Method::kPatch, Path("subnets", "gw") + "/status",
                          R"({"status":{"phase":"Allocated"}})", "application/merge-patch+json");
  ASSERT_EQ(given.code, 200) << given.body;
  Boot();
  executor_.Advance(10s);
  ASSERT_EQ(Status("subnets", "gw")["phase"], "Allocated");
  ASSERT_EQ(Reason("subnetclaims", "a"), "AllocationLost");
  RemoveByForce("p");
  Pool("p", "10.0.0.0/24");
  executor_.Advance(10s);
  EXPECT_EQ(Status("subnets", "gw")["phase"], "Allocated");
  EXPECT_EQ(Reason("subnetclaims", "a"), "AllocationLost");
}

TEST_F(RightsTest, ABoundClaimGoesBeforeOneThatLostTheBlockWhenTheLeaderChanges) {
  LoseToOwn();
  replica_.reset();
  Delete("subnets", "p-10-0-0-0-26");
  Boot();
  executor_.Advance(10s);
  EXPECT_EQ(Phase("own"), "Bound");
  EXPECT_EQ(Reason("subnetclaims", "first"), "AllocationLost");
}

// Both fields together are refused for a claim without a block; here both name the block it has.
TEST_F(RightsTest, AClaimThatNamesItsSizeAndItsBlockKeepsItWhenTheLeaderChanges) {
  Pool("p", "10.0.0.0/26");
  Claim("b", "p", 26);
  Merge("subnetclaims", "b", R"({"spec":{"requestedCIDR":"10.0.0.0/26"}})");
  Claim("waits", "p", 28);
  replica_.reset();
  Delete("subnets", "p-10-0-0-0-26");
  Boot();
  executor_.Advance(10s);
  EXPECT_EQ(Phase("b"), "Bound");
  EXPECT_EQ(Phase("waits"), "Error");
  EXPECT_EQ(Status("subnets", "p-10-0-0-0-26")["phase"], "Allocated");
}

TEST_F(RightsTest, ABoundClaimGoesBeforeASubnetThatWaitsWhenTheLeaderChanges) {
  Pool("p", "10.0.0.0/24");
  Claim("b", "p", 26);
  Create("Subnet", "a-waits", R"("poolRef":"p","cidr":"10.0.0.0/26","clusterID":"f")");
  executor_.Advance(5s);
  ASSERT_EQ(Status("subnets", "a-waits")["phase"], "Failed");
  replica_.reset();
  Delete("subnets", "p-10-0-0-0-26");
  Boot();
  executor_.Advance(10s);
  EXPECT_EQ(Phase("b"), "Bound");
  EXPECT_EQ(Status("subnets", "p-10-0-0-0-26")["phase"], "Allocated");
  EXPECT_EQ(Status("subnets", "a-waits")["phase"], "Failed");
}

TEST_F(RightsTest, ABoundClaimGoesBeforeAChildPoolThatWaitsWhenTheLeaderChanges) {
  Pool("p", "10.0.0.0/24");
  Claim("b", "p", 26);
  Pool("child", "10.0.0.0/26", R"(,"parentRef":"p")");
  replica_.reset();
  Delete("subnets", "p-10-0-0-0-26");
  Boot();
  executor_.Advance(10s);
  EXPECT_EQ(Phase("b"), "Bound");
  EXPECT_NE(Reason("subnetpools", "child"), "Ready");
}

TEST_F(RightsTest, TheLastOwnerOfABlockGetsItWhenThePoolIsMadeAnew) {
  LoseToOwn();
  DeleteInUse("p");
  EXPECT_EQ(Reason("subnetclaims", "first"), "AllocationLost");
  EXPECT_EQ(Reason("subnetclaims", "own"), "PoolNotFound");
  Pool("p", "10.0.0.0/24");
  executor_.Advance(10s);
  EXPECT_EQ(Phase("own"), "Bound");
  EXPECT_EQ(Allocated("own"), "10.0.0.0/26");
  EXPECT_EQ(Reason("subnetclaims", "first"), "AllocationLost");
}

// As when the claim that lost the block first was not told so before the pool went.
TEST_F(RightsTest, OfTwoClaimsThatWereToldOfABlockTheOneThatWasReadyLastGetsIt) {
  for (const bool is_there : {false, true}) {
    replica_.reset();
    for (const char* claim : {"earlier", "later"}) {
      Claim(claim, "p", 26);
      const auto told =
          Send(kube::Method::kPatch, Path("subnetclaims", claim) + "/status",
               Format(R"({{"status":{{"phase":"Error","allocatedCIDR":"10.0.0.0/26","conditions":[)"
                      R"({{"type":"Ready","status":"False","reason":"PoolNotFound","message":"",)"
                      R"("lastTransitionTime":"2026-01-01T00:00:0{}Z"}}]}}}})",
                      claim == std::string_view("earlier") ? 1 : 2),
               "application/merge-patch+json");
      ASSERT_EQ(told.code, 200) << told.body;
    }
    if (is_there) Pool("p", "10.0.0.0/24");
    Boot();
    if (!is_there) Pool("p", "10.0.0.0/24");
    executor_.Advance(10s);
    EXPECT_EQ(Phase("later"), "Bound") << is_there;
    EXPECT_EQ(Reason("subnetclaims", "earlier"), "AllocationLost") << is_there;
    for (const char* claim : {"earlier", "later"}) Delete("subnetclaims", claim);
    while (server_.CollectGarbage()) executor_.Advance(1s);
    DeleteInUse("p");
  }
}

TEST_F(RightsTest, AClaimGoesBeforeASubnetThatWasWrittenWhileItsPoolWasGone) {
  Pool("p", "10.0.0.0/24");
  Claim("b", "p", 26);
  DeleteInUse("p");
  Create("Subnet", "by-hand", R"("poolRef":"p","cidr":"10.0.0.0/26","clusterID":"f")");
  Pool("p", "10.0.0.0/24");
  executor_.Advance(10s);
  EXPECT_EQ(Phase("b"), "Bound");
  EXPECT_EQ(Status("subnets", "by-hand")["phase"], "Failed");
}

TEST_F(RightsTest, AClaimGoesBeforeASubnetThatWasWrittenWhileItsPoolWasBeingDeleted) {
  Pool("p", "10.0.0.0/24");
  Claim("b", "p", 26);
  Merge("subnetpools", "p",
        Format(R"({{"metadata":{{"finalizers":["{}","example.com/held"],)"
               R"("annotations":{{"ipam.plexaubnet.io/allow-delete":"true"}}}}}})",
               kFinalizer));
  Delete("subnetpools", "p");
  executor_.Advance(10s);
  Merge("subnetpools", "p",
        R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":null}}})");
  Create("Subnet", "by-hand", R"("poolRef":"p","cidr":"10.0.0.0/26","clusterID":"f")");
  EXPECT_EQ(Status("subnets", "by-hand")["message"],
            "SubnetPool p is not ready: the pool is being deleted");
  RemoveByForce("p");
  Pool("p", "10.0.0.0/24");
  executor_.Advance(10s);
  EXPECT_EQ(Phase("b"), "Bound");
  EXPECT_EQ(Status("subnets", "by-hand")["phase"], "Failed");
}

TEST_F(RightsTest, AClaimThatLostItsBlockHasItAgainOnceItIsFree) {
  LoseToOwn();
  Delete("subnetclaims", "own");
  while (server_.CollectGarbage()) executor_.Advance(1s);
  executor_.Advance(10s);
  EXPECT_EQ(Phase("first"), "Bound");
  EXPECT_EQ(Allocated("first"), "10.0.0.0/26");
}

TEST_F(RightsTest, ABlockThatIsExcludedIsNotMadeAgain) {
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 26);
  Merge("subnetpools", "p", R"({"spec":{"excludedRanges":["10.0.0.0/27"]}})");
  Delete("subnets", "p-10-0-0-0-26");
  executor_.Advance(10s);
  EXPECT_EQ(Reason("subnetclaims", "c"), "AllocationLost");
  EXPECT_THAT(List("subnets"), testing::IsEmpty());
}

TEST_F(RightsTest, ClaimsThatLostTheirBlocksAreNotReadWheneverOneBecomesFree) {
  CountingTransport counting(transport_);
  BootThrough(counting);
  Pool("p", "10.0.0.0/24");
  for (int i = 0; i < 8; ++i) Claim(Format("c{}", i), "p", 27);
  DeleteInUse("p");
  Pool("p", "10.1.0.0/24");
  Claim("other", "p", 27);
  executor_.Advance(10s);
  ASSERT_EQ(Reason("subnetclaims", "c7"), "AllocationLost");
  const int before = counting.reads;
  Delete("subnetclaims", "other");
  while (server_.CollectGarbage()) executor_.Advance(1s);
  executor_.Advance(10s);
  EXPECT_LE(counting.reads - before, 2);
  replica_.reset();
}

TEST_F(RightsTest, ANonsensicalPoolNameInAStatusIsNotTakenForTheChilds) {
  replica_.reset();
  Pool("p", "10.0.0.0/24");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"p","desiredBlockSize":26)");
  const auto told =
      Send(kube::Method::kPatch, Path("subnetpoolclaims", "pc") + "/status",
           R"({"status":{"boundPoolName":"Not_A_Name"}})", "application/merge-patch+json");
  ASSERT_EQ(told.code, 200) << told.body;
  Boot();
  executor_.Advance(10s);
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "Bound");
}

}  // namespace
}  // namespace berth::ipam
