#include <gmock/gmock.h>

#include "reconcile/ipam/system_fixture_test.h"

// Objects as plexaubnet left them: pool claims with names that the API server generated.
namespace berth::ipam {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class TakeoverTest : public SystemTest {
 protected:
  void Tell(const std::string& plural, const std::string& name, const std::string& status) {
    Merge(plural, name + "/status", Format(R"({{"status":{}}})", status));
  }

  // plexaubnet bound the pool claim "finance" to finance-bvd2g, 10.0.16.0/20, and a claim to a
  // block of that.
  void Leave() {
    replica_.reset();
    Pool("world", "10.0.0.0/16");
    Create("SubnetPoolClaim", "finance", R"("parentPoolRef":"world","desiredBlockSize":20)");
    const std::string owner = OwnedBy("SubnetPoolClaim", "subnetpoolclaims", "finance");
    const std::string uid = Uid("subnetpoolclaims", "finance");
    Create("SubnetClaim", "finance-x7k2p",
           Format(R"("poolRef":"world","clusterID":"{}","blockSize":20)", uid), owner);
    Block("finance-x7k2p", "world", "10.0.16.0/20", uid);
    Create("SubnetPool", "finance-bvd2g", R"("cidr":"10.0.16.0/20","defaultBlockSize":24)",
           Format(R"({},"labels":{{"plexaubnet.io/parent":"world"}})", owner));
    Tell("subnetpoolclaims", "finance",
         R"({"observedGeneration":1,"phase":"Bound","boundPoolName":"finance-bvd2g"})");
    Claim("user", "finance-bvd2g", 24);
    Block("user", "finance-bvd2g", "10.0.16.0/24", "user");
  }
  // The Subnet and the status of a claim.
  void Block(const std::string& claim, const std::string& pool, const std::string& cidr,
             const std::string& cluster) {
    const std::string name = SubnetName(pool, *Cidr::Parse(cidr));
    Create("Subnet", name,
           Format(R"("poolRef":"{}","cidr":"{}","clusterID":"{}",)"
                  R"("claimRef":{{"name":"{}","uid":"{}"}})",
                  pool, cidr, cluster, claim, Uid("subnetclaims", claim)),
           OwnedBy("SubnetClaim", "subnetclaims", claim));
    Tell("subnets", name, R"({"phase":"Allocated","allocatedAt":"2026-01-01T00:00:00Z"})");
    Tell("subnetclaims", claim,
         Format(R"({{"observedGeneration":1,"phase":"Bound","allocatedCIDR":"{}"}})", cidr));
  }
};

TEST_F(TakeoverTest, APoolClaimStaysBoundToThePoolThatItsStatusNames) {
  Leave();
  Boot();
  executor_.Advance(2min);
  EXPECT_EQ(Status("subnetpoolclaims", "finance")["boundPoolName"], "finance-bvd2g");
  EXPECT_EQ(Reason("subnetpoolclaims", "finance"), "Bound");
  EXPECT_THAT(List("subnetpools"), SizeIs(2));
  EXPECT_THAT(List("subnetclaims"), SizeIs(2));
  EXPECT_THAT(List("subnets"), SizeIs(2));
  EXPECT_EQ(Allocated("user"), "10.0.16.0/24");
  EXPECT_EQ(PoolStatus("world")["allocatedCount"], 1);
}

TEST_F(TakeoverTest, APoolClaimWithoutStatusIsBoundToThePoolThatItOwns) {
  Leave();
  Tell("subnetpoolclaims", "finance", R"({"phase":null,"boundPoolName":null})");
  Boot();
  executor_.Advance(1min);
  EXPECT_EQ(Status("subnetpoolclaims", "finance")["boundPoolName"], "finance-bvd2g");
  EXPECT_THAT(List("subnetpools"), SizeIs(2));
}

TEST_F(TakeoverTest, APoolThatSomebodyWroteIntoTheStatusIsNotTheChild) {
  Leave();
  Pool("mine", "10.0.64.0/24", R"(,"parentRef":"world")");
  Tell("subnetpoolclaims", "finance", R"({"boundPoolName":"mine"})");
  Boot();
  executor_.Advance(1min);
  EXPECT_EQ(Status("subnetpoolclaims", "finance")["boundPoolName"], "finance-bvd2g");
}

TEST_F(TakeoverTest, AStatusThatNamesSomebodysPoolBindsNothing) {
  Pool("world", "10.0.0.0/16");
  Pool("mine", "10.0.64.0/24", R"(,"parentRef":"world")");
  Create("SubnetPoolClaim", "q", R"("parentPoolRef":"world","desiredBlockSize":24)");
  const auto bound = Status("subnetpoolclaims", "q")["boundPoolName"].as<std::string>();
  replica_.reset();
  Merge("subnetpoolclaims", "q/status", R"({"status":{"boundPoolName":"mine"}})");
  Merge("subnetpools", bound, R"({"metadata":{"ownerReferences":null}})");
  Boot();
  executor_.Advance(1min);
  EXPECT_EQ(Status("subnetpoolclaims", "q")["boundPoolName"], bound);
  EXPECT_EQ(Reason("subnetpoolclaims", "q"), "Bound");
}

TEST_F(TakeoverTest, APoolClaimThatWaitsForItsChildNamesIt) {
  Leave();
  Boot();
  Delete("subnetpools", "finance-bvd2g");
  Tell("subnetpoolclaims", "finance", R"({"boundPoolName":"mine"})");
  executor_.Advance(1min);
  EXPECT_EQ(Reason("subnetpoolclaims", "finance"), "Pending");
  EXPECT_EQ(Status("subnetpoolclaims", "finance")["boundPoolName"], "finance-bvd2g");
}

TEST_F(TakeoverTest, AnothersPoolIsNotAllowedToBeDeleted) {
  Pool("world", "10.0.0.0/16");
  Pool("mine", "10.0.64.0/24", R"(,"parentRef":"world")");
  Create("SubnetPoolClaim", "q", R"("parentPoolRef":"world","desiredBlockSize":8)");
  Merge("subnetpoolclaims", "q/status", R"({"status":{"boundPoolName":"mine"}})");
  Merge("subnetpoolclaims", "q",
        R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
  Delete("subnetpoolclaims", "q");
  executor_.Advance(1min);
  EXPECT_FALSE(Get("subnetpools", "mine")["metadata"].contains("annotations"));
}

TEST_F(TakeoverTest, APoolThatLostItsOwnerReferenceGetsItBack) {
  Leave();
  Merge("subnetpools", "finance-bvd2g",
        R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"mine",)"
        R"("uid":"1"}]}})");
  Boot();
  executor_.Advance(1min);
  EXPECT_EQ(Status("subnetpoolclaims", "finance")["boundPoolName"], "finance-bvd2g");
  const Json owners = Get("subnetpools", "finance-bvd2g")["metadata"]["ownerReferences"];
  ASSERT_EQ(owners.size(), 2u) << "another owner stays";
  EXPECT_EQ(owners[1]["uid"].as<std::string>(), Uid("subnetpoolclaims", "finance"));
  Merge("subnetpools", "world", R"({"spec":{"defaultBlockSize":25}})");
  executor_.Advance(1min);
  EXPECT_EQ(Reason("subnetpools", "finance-bvd2g"), "Ready");
}

TEST_F(TakeoverTest, APoolThatHasAnotherControllerIsAdoptedBesideIt) {
  Leave();
  Merge("subnetpools", "finance-bvd2g",
        R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"mine",)"
        R"("uid":"1","controller":true}]}})");
  Boot();
  executor_.Advance(1min);
  EXPECT_EQ(Reason("subnetpoolclaims", "finance"), "Bound");
  const Json owners = Get("subnetpools", "finance-bvd2g")["metadata"]["ownerReferences"];
  ASSERT_EQ(owners.size(), 2u);
  EXPECT_EQ(owners[1]["controller"], false);
}

TEST_F(TakeoverTest, APoolThatIsOrphanedStaysWhenItsClaimIsDeleted) {
  Leave();
  Boot();
  const auto deleted = Send(kube::Method::kDelete, Path("subnetpoolclaims", "finance"),
                            R"({"apiVersion":"v1","kind":"DeleteOptions",)"
                            R"("propagationPolicy":"Orphan"})");
  ASSERT_EQ(deleted.code, 200);
  while (server_.CollectGarbage()) executor_.Advance(1s);
  executor_.Advance(1min);
  EXPECT_THAT(List("subnetpoolclaims"), SizeIs(0));
  EXPECT_EQ(Allocated("user"), "10.0.16.0/24");
  Claim("other", "world", 20);
  EXPECT_EQ(Allocated("other"), "10.0.0.0/20");
  Claim("second", "world", 20);
  EXPECT_EQ(Allocated("second"), "10.0.32.0/20") << "the pool still has its range";
}

TEST_F(TakeoverTest, ABlocksSubnetThatIsDeletedUnderAnAdoptedPoolComesBack) {
  Leave();
  Boot();
  Delete("subnets", "world-10-0-16-0-20");
  executor_.Advance(10s);
  EXPECT_EQ(Status("subnets", "world-10-0-16-0-20")["phase"], "Allocated");
  EXPECT_EQ(Phase("finance-x7k2p"), "Bound");
  Delete("subnetclaims", "finance-x7k2p");
  executor_.Advance(1min);
  EXPECT_EQ(Status("subnets", "world-10-0-16-0-20")["phase"], "Allocated");
}

TEST_F(TakeoverTest, AnAdoptedPoolGoesBeforeItsBlock) {
  Leave();
  Boot();
  Delete("subnetpoolclaims", "finance");
  executor_.Advance(1min);
  EXPECT_EQ(Reason("subnetpoolclaims", "finance"), "Deleting");
  EXPECT_EQ(Status("subnets", "world-10-0-16-0-20")["phase"], "Allocated");
  Delete("subnetclaims", "user");
  executor_.Advance(1min);
  EXPECT_THAT(List("subnetpoolclaims"), SizeIs(0));
  EXPECT_THAT(List("subnetpools"), SizeIs(1));
  EXPECT_THAT(List("subnets"), SizeIs(0));
}

TEST_F(TakeoverTest, AFailedSubnetGoesOnceItsClaimHasAnotherBlock) {
  replica_.reset();
  Pool("world", "10.0.0.0/16");
  Claim("a", "world", 24);
  Claim("b", "world", 25);
  Block("a", "world", "10.0.0.0/24", "a");
  Block("b", "world", "10.0.0.0/25", "b");
  Boot();
  executor_.Advance(1min);
  ASSERT_EQ(Reason("subnetclaims", "b"), "AllocationLost");
  ASSERT_EQ(Status("subnets", "world-10-0-0-0-25")["phase"], "Failed");
  Merge("subnetclaims", "b", R"({"spec":{"blockSize":26}})");
  executor_.Advance(5s);
  EXPECT_EQ(Allocated("b"), "10.0.1.0/26");
  EXPECT_THAT(List("subnets"), SizeIs(2));
  Delete("subnetclaims", "a");
  executor_.Advance(1min);
  EXPECT_THAT(List("subnets"), SizeIs(1));
  EXPECT_EQ(PoolStatus("world")["allocatedCount"], 1);
}

TEST_F(TakeoverTest, APoolClaimWithAnInternalClaimAloneGoesOn) {
  replica_.reset();
  Pool("world", "10.0.0.0/16");
  Create("SubnetPoolClaim", "finance", R"("parentPoolRef":"world","desiredBlockSize":20)");
  Create("SubnetClaim", "finance-x7k2p",
         Format(R"("poolRef":"world","clusterID":"{}","blockSize":20)",
                Uid("subnetpoolclaims", "finance")),
         OwnedBy("SubnetPoolClaim", "subnetpoolclaims", "finance"));
  Boot();
  executor_.Advance(1min);
  EXPECT_EQ(Reason("subnetpoolclaims", "finance"), "Bound");
  ASSERT_THAT(List("subnetclaims"), SizeIs(1));
  EXPECT_EQ(List("subnetclaims")[0]["metadata"]["name"], "finance-x7k2p");
}

TEST_F(TakeoverTest, APoolOfTheChildsNameThatIsSomebodysIsNotTheChild) {
  replica_.reset();
  Pool("world", "10.0.0.0/16");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"world","desiredBlockSize":24)");
  Identity id;
  id.name = "pc";
  id.uid = Uid("subnetpoolclaims", "pc");
  const std::string name = ChildPoolName(id);
  Pool(name, "10.9.0.0/24");
  Boot();
  executor_.Advance(1min);
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "Refused");
  EXPECT_THAT(Status("subnetpoolclaims", "pc")["message"].as<std::string>(),
              HasSubstr("was not made for this claim"));
  Delete("subnetpoolclaims", "pc");
  executor_.Advance(1min);
  EXPECT_THAT(List("subnetpoolclaims"), SizeIs(0));
  EXPECT_EQ(Get("subnetpools", name)["spec"]["cidr"], "10.9.0.0/24");
}

TEST_F(TakeoverTest, AYoungPoolClaimGoesAtOnceAndItsBlockIsFree) {
  Pool("world", "10.0.0.0/16");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"world","desiredBlockSize":24)");
  executor_.Advance(1s);
  ASSERT_EQ(Reason("subnetpoolclaims", "pc"), "Bound");
  Delete("subnetpoolclaims", "pc");
  executor_.Advance(5s);
  EXPECT_THAT(List("subnetpoolclaims"), SizeIs(0));
  Claim("c", "world", 24);
  EXPECT_EQ(Allocated("c"), "10.0.0.0/24");
}

}  // namespace
}  // namespace berth::ipam
