// The SubnetClaim that Berth makes for a SubnetPoolClaim, when its owner reference is lost.
#include <gmock/gmock.h>

#include "reconcile/ipam/system_fixture_test.h"

namespace berth::ipam {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kNoOwner = R"({"metadata":{"ownerReferences":null}})";
constexpr const char* kAllow =
    R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})";

class InternalClaimTest : public SystemTest {
 protected:
  // A pool claim "pc" of pool "p"; the name of its child pool and of its internal claim.
  std::string Bound(const std::string& more = "") {
    Pool("p", "10.0.0.0/16", more);
    Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"p","desiredBlockSize":20)");
    executor_.Advance(5s);
    return Status("subnetpoolclaims", "pc").get_value_or<std::string>("boundPoolName", "");
  }
  // Without a pause: Berth comes after the last one.
  void AtOnce(kube::Method method, const std::string& path, const std::string& body) {
    const bool patch = method == kube::Method::kPatch;
    server_.Handle({.method = method,
                    .path = path,
                    .body = body,
                    .content_type = patch ? "application/merge-patch+json" : "application/json"},
                   [](const kube::Response& answer) { EXPECT_LT(answer.code, 300); });
  }
  void DeleteOrphaning(const std::string& pool_claim) {
    AtOnce(kube::Method::kDelete, Path("subnetpoolclaims", pool_claim),
           R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Orphan"})");
  }
  void CollectGarbage() {
    while (server_.CollectGarbage()) executor_.Advance(1ms);
  }
  bool Exists(const std::string& plural, const std::string& name) {
    return Send(kube::Method::kGet, Path(plural, name)).code == 200;
  }
};

TEST_F(InternalClaimTest, GetsItsOwnerBackAtOnce) {
  const std::string name = Bound();
  Merge("subnetclaims", name, kNoOwner);
  executor_.Advance(1s);
  EXPECT_EQ(Get("subnetclaims", name)["metadata"]["ownerReferences"][0]["name"], "pc");
}

TEST_F(InternalClaimTest, GoesWithItsPoolClaimAfterItsOwnerReferenceIsLost) {
  const std::string name = Bound();
  AtOnce(kube::Method::kPatch, Path("subnetclaims", name), kNoOwner);
  AtOnce(kube::Method::kDelete, Path("subnetpoolclaims", "pc"), "");
  executor_.Advance(1min);
  EXPECT_THAT(List("subnetpoolclaims"), IsEmpty());
  EXPECT_THAT(List("subnetclaims"), IsEmpty());
  EXPECT_THAT(List("subnets"), IsEmpty());
  EXPECT_THAT(List("subnetpools"), SizeIs(1));
}

TEST_F(InternalClaimTest, GoesWithItsPoolClaimBeforeThereIsAPool) {
  Pool("p", "10.0.0.0/16", R"(,"excludedRanges":["10.0.0.0/16"])");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"p","desiredBlockSize":20)");
  executor_.Advance(5s);
  ASSERT_THAT(List("subnetclaims"), SizeIs(1));
  const std::string name = List("subnetclaims")[0]["metadata"]["name"].as<std::string>();
  AtOnce(kube::Method::kPatch, Path("subnetclaims", name), kNoOwner);
  AtOnce(kube::Method::kDelete, Path("subnetpoolclaims", "pc"), "");
  executor_.Advance(1min);
  EXPECT_THAT(List("subnetpoolclaims"), IsEmpty());
  EXPECT_THAT(List("subnetclaims"), IsEmpty());
}

TEST_F(InternalClaimTest, ForTheRangeOfAChildOfAnotherSizeGetsItsOwnerBack) {
  replica_.reset();
  Pool("p", "10.0.0.0/16");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"p","desiredBlockSize":20)");
  Create("SubnetPool", "child", R"("cidr":"10.0.16.0/21","parentRef":"p")",
         OwnedBy("SubnetPoolClaim", "subnetpoolclaims", "pc"));
  Boot();
  executor_.Advance(5s);
  ASSERT_THAT(List("subnetclaims"), SizeIs(1));
  const Json claim = List("subnetclaims")[0];
  ASSERT_EQ(claim["spec"]["requestedCIDR"], "10.0.16.0/21");
  const std::string name = claim["metadata"]["name"].as<std::string>();
  Merge("subnetclaims", name, kNoOwner);
  executor_.Advance(1s);
  EXPECT_EQ(Get("subnetclaims", name)["metadata"]["ownerReferences"][0]["name"], "pc");
}

TEST_F(InternalClaimTest, OfPlexaubnetGoesWithItsPoolClaimAfterItsOwnerReferenceIsLost) {
  replica_.reset();
  Pool("p", "10.0.0.0/16");
  Create("SubnetPoolClaim", "pc", R"("parentPoolRef":"p","desiredBlockSize":20)");
  const std::string uid = Uid("subnetpoolclaims", "pc");
  const std::string owner = OwnedBy("SubnetPoolClaim", "subnetpoolclaims", "pc");
  Create("SubnetClaim", "pc-x7k2p", Format(R"("poolRef":"p","clusterID":"{}","blockSize":20)", uid),
         owner);
  Create("Subnet", "p-10-0-0-0-20",
         Format(R"("poolRef":"p","cidr":"10.0.0.0/20","clusterID":"{}",)"
                R"("claimRef":{{"name":"pc-x7k2p","uid":"{}"}})",
                uid, Uid("subnetclaims", "pc-x7k2p")),
         R"(,"labels":{"plexaubnet.io/ipam":"true"})");
  Create("SubnetPool", "pc-bvd2g", R"("cidr":"10.0.0.0/20","parentRef":"p")", owner);
  Boot();
  executor_.Advance(10s);
  ASSERT_EQ(Reason("subnetpoolclaims", "pc"), "Bound");
  Merge("subnetclaims", "pc-x7k2p", kNoOwner);
  executor_.Advance(10s);
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "Bound");
  EXPECT_THAT(List("subnetclaims"), SizeIs(1));
  AtOnce(kube::Method::kPatch, Path("subnetclaims", "pc-x7k2p"), kNoOwner);
  AtOnce(kube::Method::kDelete, Path("subnetpoolclaims", "pc"), "");
  executor_.Advance(1min);
  EXPECT_THAT(List("subnetpoolclaims"), IsEmpty());
  EXPECT_THAT(List("subnetclaims"), IsEmpty());
}

// docs/ipam.md: "To keep the child pool of a pool claim".
TEST_F(InternalClaimTest, GivesItsBlockToTheChildPoolThatIsKept) {
  const std::string name = Bound();
  Claim("till", name, 24);
  ASSERT_EQ(Phase("till"), "Bound");
  Merge("subnetpoolclaims", "pc", kAllow);
  DeleteOrphaning("pc");
  executor_.Advance(30s);  // the garbage collector is slow
  ASSERT_TRUE(Exists("subnetpools", name));
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "Deleting");
  CollectGarbage();
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("subnetpoolclaims", "pc"));
  EXPECT_FALSE(Exists("subnetclaims", name));
  EXPECT_EQ(Allocated("till"), "10.0.0.0/24");
  EXPECT_EQ(Reason("subnetpools", name), "Ready");
  Claim("more", name, 24);
  EXPECT_EQ(Allocated("more"), "10.0.1.0/24");
  Claim("beside", "p", 24);
  EXPECT_EQ(Allocated("beside"), "10.0.16.0/24");
}

TEST_F(InternalClaimTest, GivesItsBlockToTheChildPoolThatIsKeptWithoutAGracePeriod) {
  const std::string name = Bound(R"(,"reuseGracePeriodSeconds":600)");
  DeleteOrphaning("pc");
  CollectGarbage();
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("subnetclaims", name));
  EXPECT_EQ(Reason("subnetpools", name), "Ready");
  EXPECT_THAT(List("subnets"), IsEmpty());
}

TEST_F(InternalClaimTest, DeletedInTheForegroundBesideItsPoolLeavesABlockThatRests) {
  Bound(R"(,"reuseGracePeriodSeconds":600)");
  AtOnce(kube::Method::kDelete, Path("subnetpoolclaims", "pc"),
         R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Foreground"})");
  for (int i = 0; i < 60; ++i) {
    CollectGarbage();
    executor_.Advance(1s);
  }
  EXPECT_THAT(List("subnetpools"), SizeIs(1));
  ASSERT_THAT(List("subnets"), SizeIs(1));
  Claim("next", "p", 20);
  EXPECT_EQ(Allocated("next"), "10.0.16.0/20");
  executor_.Advance(15min);
  EXPECT_THAT(List("subnets"), SizeIs(1));
}

}  // namespace
}  // namespace berth::ipam
