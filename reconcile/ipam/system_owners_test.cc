// Owner references that users write, change and remove.
#include <gmock/gmock.h>

#include "reconcile/ipam/system_fixture_test.h"

namespace berth::ipam {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class OwnersTest : public SystemTest {
 protected:
  void PoolClaim(const std::string& name, const std::string& parent, int size) {
    Create("SubnetPoolClaim", name,
           Format(R"("parentPoolRef":"{}","desiredBlockSize":{})", parent, size));
    executor_.Advance(5s);
  }
  std::string BoundPool(const std::string& claim) {
    return Status("subnetpoolclaims", claim).get_value_or<std::string>("boundPoolName", "");
  }
  // The metadata of a user's object that names a pool claim as its owner.
  std::string Of(const std::string& claim) {
    return OwnedBy("SubnetPoolClaim", "subnetpoolclaims", claim);
  }
  bool Exists(const std::string& plural, const std::string& name) {
    return Send(kube::Method::kGet, Path(plural, name)).code == 200;
  }
};

TEST_F(OwnersTest, AnOwnerReferenceDoesNotMakeAClaimsBlockAChildPool) {
  Pool("site", "10.0.0.0/16");
  PoolClaim("pc", "site", 24);
  Create("SubnetClaim", "k", R"("poolRef":"site","clusterID":"x","requestedCIDR":"10.0.7.0/24")");
  ASSERT_EQ(Allocated("k"), "10.0.7.0/24");
  Create("SubnetPool", "x", R"("cidr":"10.0.7.0/24","parentRef":"site")", Of("pc"));
  Claim("thief", "x", 26);
  EXPECT_EQ(Reason("subnetpools", "x"), "PoolOverlap");
  EXPECT_EQ(Reason("subnetclaims", "thief"), "PoolNotReady");
  Boot();
  EXPECT_EQ(Reason("subnetclaims", "thief"), "PoolNotReady");
}

TEST_F(OwnersTest, AnotherOwnerDoesNotTakeAChildPoolAlong) {
  Pool("site", "10.0.0.0/16");
  PoolClaim("one", "site", 20);
  PoolClaim("two", "site", 20);
  const std::string pool = BoundPool("one");
  const std::string uid = Uid("subnetpools", pool);
  Json patch = Get("subnetpools", pool);
  Json second = patch["metadata"]["ownerReferences"][0];
  second["name"] = "two";
  second["uid"] = Uid("subnetpoolclaims", "two");
  second["controller"] = false;
  Json owners = patch["metadata"]["ownerReferences"];
  owners.push_back(second);
  Merge("subnetpools", pool, R"({"metadata":{"ownerReferences":)" + owners.to_string() + "}}");
  executor_.Advance(1min);
  EXPECT_EQ(Reason("subnetpoolclaims", "one"), "Bound");
  Delete("subnetpoolclaims", "two");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("subnetpoolclaims", "two"));
  EXPECT_EQ(Uid("subnetpools", pool), uid);
}

TEST_F(OwnersTest, AUsersPoolThatNamesAPoolClaimIsNotItsChild) {
  Pool("p", "10.1.0.0/24");
  Claim("full", "p", 24);
  PoolClaim("pc", "p", 26);
  Create("SubnetPool", "own", R"("cidr":"192.168.0.0/24")", Of("pc"));
  executor_.Advance(5s);
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "ParentExhausted");
  Delete("subnetclaims", "full");
  executor_.Advance(1min);
  EXPECT_EQ(Get("subnetpools", BoundPool("pc"))["spec"]["cidr"], "10.1.0.0/26");
  // It does not go with the claim either, nor is it in the way.
  Claim("in-own", "own", 26);
  Delete("subnetpoolclaims", "pc");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("subnetpoolclaims", "pc"));
  EXPECT_EQ(Reason("subnetpools", "own"), "Ready");
}

TEST_F(OwnersTest, AUsersClaimThatNamesAPoolClaimIsNotItsBlock) {
  Pool("p", "10.1.0.0/24");
  Pool("q", "10.2.0.0/16");
  Claim("full", "p", 24);
  PoolClaim("pc", "p", 26);
  Create("SubnetClaim", "mine", R"("poolRef":"q","clusterID":"mine","blockSize":26)", Of("pc"));
  Delete("subnetclaims", "full");
  executor_.Advance(1min);
  EXPECT_EQ(Get("subnetpools", BoundPool("pc"))["spec"]["cidr"], "10.1.0.0/26");
  Delete("subnetpoolclaims", "pc");
  executor_.Advance(1min);
  EXPECT_EQ(Allocated("mine"), "10.2.0.0/26");
}

TEST_F(OwnersTest, AUsersClaimOfTheSameParentThatNamesAPoolClaimIsNotDeletedForIt) {
  Pool("p", "10.1.0.0/24");
  Claim("mine", "p", 26);
  Claim("full", "p", 25);
  PoolClaim("pc", "p", 25);
  ASSERT_EQ(Reason("subnetpoolclaims", "pc"), "ParentExhausted");
  const Json owner = Json::parse("{" + Of("pc").substr(1) + "}");
  Merge("subnetclaims", "mine", R"({"metadata":)" + owner.to_string() + "}");
  executor_.Advance(1min);
  EXPECT_EQ(Allocated("mine"), "10.1.0.0/26");
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "ParentExhausted");
  Delete("subnetclaims", "full");
  executor_.Advance(1min);
  EXPECT_EQ(Get("subnetpools", BoundPool("pc"))["spec"]["cidr"], "10.1.0.128/25");
  // The garbage collector deletes it with its owner, not Berth.
  Delete("subnetpoolclaims", "pc");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("subnetpoolclaims", "pc"));
  EXPECT_EQ(Allocated("mine"), "10.1.0.0/26");
}

TEST_F(OwnersTest, AUsersClaimThatNamesAPoolClaimBeforeThatHasItsOwnIsNotItsBlock) {
  PoolClaim("pc", "p", 20);
  Create("SubnetClaim", "mine", R"("poolRef":"p","clusterID":"mine","blockSize":24)", Of("pc"));
  Pool("p", "10.0.0.0/16");
  executor_.Advance(1min);
  EXPECT_EQ(Phase("mine"), "Bound");
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "Bound");
}

TEST_F(OwnersTest, ABlocksClaimThatUsersHaveEditedIsMadeAgain) {
  Pool("p", "10.0.0.0/16");
  Claim("full", "p", 16);
  PoolClaim("pc", "p", 20);
  const std::string name = ChildClaimName([&] {
    Identity id;
    id.name = "pc";
    id.uid = Uid("subnetpoolclaims", "pc");
    return id;
  }());
  for (const char* edit : {R"({"spec":{"blockSize":22}})", R"({"spec":{"clusterID":"other"}})"}) {
    Merge("subnetclaims", name, edit);
    executor_.Advance(30s);
    const Json spec = Get("subnetclaims", name)["spec"];
    EXPECT_EQ(spec["blockSize"], 20);
    EXPECT_EQ(spec["clusterID"], name);
  }
  Delete("subnetclaims", "full");
  executor_.Advance(1min);
  EXPECT_EQ(Get("subnetpools", BoundPool("pc"))["spec"]["cidr"], "10.0.0.0/20");
}

TEST_F(OwnersTest, ABlocksClaimIsDeletedAlthoughSomebodysPoolHasTheChildsName) {
  Pool("p", "10.0.0.0/16", R"(,"excludedRanges":["10.0.0.0/16"])");
  PoolClaim("pc", "p", 20);
  Identity id;
  id.name = "pc";
  id.uid = Uid("subnetpoolclaims", "pc");
  executor_.Advance(5s);
  Pool(ChildPoolName(id), "10.9.0.0/24");
  Merge("subnetpools", "p", R"({"spec":{"cidr":"10.0.0.0/20","excludedRanges":[]}})");
  executor_.Advance(1min);
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "InvalidRequest");
  EXPECT_EQ(Send(kube::Method::kGet, Path("subnetclaims", ChildClaimName(id))).code, 404);
}

TEST_F(OwnersTest, ASubnetWhosePoolIsGoneGoesWithItsClaimThatLostIt) {
  Pool("p", "10.0.0.0/24");
  Claim("c", "p", 26);
  Merge("subnets", "p-10-0-0-0-26", R"({"metadata":{"ownerReferences":null}})");
  RemoveByForce("p");
  Delete("subnetclaims", "c");
  executor_.Advance(10s);
  EXPECT_TRUE(List("subnets").empty());
}

TEST_F(OwnersTest, ASubnetWhosePoolIsGoneGoesWithItsClaimThatWasNotToldOfIt) {
  replica_.reset();
  Claim("c", "p", 26);
  SubnetFor("c", "p", "10.0.0.0/26");
  Boot();
  executor_.Advance(10s);
  ASSERT_EQ(Allocated("c"), "");
  ASSERT_EQ(Status("subnets", "p-10-0-0-0-26")["phase"], "Pending");
  Delete("subnetclaims", "c");
  executor_.Advance(10s);
  EXPECT_TRUE(List("subnets").empty());
}

TEST_F(OwnersTest, ABlocksClaimGetsItsOwnerBack) {
  Pool("p", "10.0.0.0/16");
  PoolClaim("pc", "p", 20);
  const std::string name = BoundPool("pc");
  Merge("subnetclaims", name, R"({"metadata":{"ownerReferences":null}})");
  Merge("subnetpoolclaims", "pc", R"({"metadata":{"annotations":{"a":"b"}}})");
  executor_.Advance(5s);
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "Bound");
  EXPECT_EQ(Get("subnetclaims", name)["metadata"]["ownerReferences"][0]["name"], "pc");
  Delete("subnetpoolclaims", "pc");
  executor_.Advance(1min);
  EXPECT_THAT(List("subnets"), IsEmpty());
}

TEST_F(OwnersTest, TheEscapeHoldsForAllChildPoolsOfAClaim) {
  Pool("p", "10.0.0.0/16");
  PoolClaim("pc", "p", 20);
  Create("SubnetPool", "second", R"("cidr":"10.0.64.0/20","parentRef":"p")", Of("pc"));
  Merge("subnetpools", "second", R"({"metadata":{"finalizers":["example.com/held"]}})");
  Merge("subnetpoolclaims", "pc",
        R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
  Delete("subnetpoolclaims", "pc");
  executor_.Advance(5s);
  EXPECT_EQ(Get("subnetpools", "second")["metadata"]["annotations"][kAllowDeleteAnnotation],
            "true");
  EXPECT_EQ(Reason("subnetpoolclaims", "pc"), "Deleting");
  Merge("subnetpools", "second", R"({"metadata":{"finalizers":null}})");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("subnetpoolclaims", "pc"));
  EXPECT_THAT(List("subnetpools"), SizeIs(1));
}

TEST_F(OwnersTest, AUsersSubnetGoesWithTheClaimThatItNames) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  Create("Subnet", "hand",
         Format(R"("poolRef":"p","clusterID":"hand","cidr":"10.0.9.0/24",)"
                R"("claimRef":{{"name":"c","uid":"{}"}})",
                Uid("subnetclaims", "c")));
  ASSERT_EQ(Status("subnets", "hand")["phase"], "Allocated");
  Delete("subnetclaims", "c");
  executor_.Advance(5s);
  EXPECT_FALSE(Exists("subnets", "hand"));
}

TEST_F(OwnersTest, ASubnetThatNamesAClaimByItsUidAloneStays) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  Create("Subnet", "hand",
         Format(R"("poolRef":"p","clusterID":"hand","cidr":"10.0.9.0/24",)"
                R"("claimRef":{{"uid":"{}"}})",
                Uid("subnetclaims", "c")));
  executor_.Advance(1min);
  EXPECT_EQ(Status("subnets", "hand")["phase"], "Allocated");
}

TEST_F(OwnersTest, AClaimsSubnetGetsItsLabelAndItsOwnerBack) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  const auto strip = [this] {
    Merge("subnets", "p-10-0-0-0-24",
          R"({"metadata":{"labels":{"plexaubnet.io/ipam":null},"ownerReferences":null}})");
  };
  strip();
  executor_.Advance(2s);
  EXPECT_THAT(EventReasons(), testing::Not(testing::Contains("AllocationConflict")));
  const Json metadata = Get("subnets", "p-10-0-0-0-24")["metadata"];
  EXPECT_EQ(metadata["labels"]["plexaubnet.io/ipam"], "true");
  EXPECT_EQ(metadata["ownerReferences"][0]["name"], "c");
  // While nobody leads.
  replica_.reset();
  strip();
  Boot();
  executor_.Advance(5s);
  EXPECT_EQ(Reason("subnetclaims", "c"), "Bound");
  Delete("subnetclaims", "c");
  executor_.Advance(5s);
  EXPECT_THAT(List("subnets"), IsEmpty());
  Claim("d", "p", 24, "c");
  EXPECT_EQ(Phase("d"), "Bound") << "the clusterID is free again";
}

TEST_F(OwnersTest, ASubnetThatHasAnotherControllerIsStillItsClaims) {
  Pool("p", "10.0.0.0/16");
  Claim("c", "p", 24);
  Merge(
      "subnets", "p-10-0-0-0-24",
      R"({"metadata":{"labels":{"plexaubnet.io/ipam":null},"ownerReferences":[{"apiVersion":"v1",)"
      R"("kind":"Namespace","name":"default","uid":"u","controller":true}]}})");
  executor_.Advance(5s);
  EXPECT_EQ(Reason("subnetclaims", "c"), "Bound");
}

TEST_F(OwnersTest, ABlockStaysHeldWhileItsClaimIsThereHoweverItIsDeleted) {
  Pool("p", "10.7.0.0/28", R"(,"defaultBlockSize":28)");
  Create("SubnetClaim", "a", R"("poolRef":"p","clusterID":"x","blockSize":28)",
         R"(,"finalizers":["example.com/teardown"])");
  ASSERT_EQ(Allocated("a"), "10.7.0.0/28");
  Delete("subnetclaims", "a");
  Delete("subnets", "p-10-7-0-0-28");  // as in the foreground
  executor_.Advance(5s);
  Claim("b", "p", 28);
  EXPECT_EQ(Reason("subnetclaims", "b"), "PoolExhausted");
  Boot();
  EXPECT_EQ(Reason("subnetclaims", "b"), "PoolExhausted");
  Merge("subnetclaims", "a", R"({"metadata":{"finalizers":null}})");
  executor_.Advance(5s);
  EXPECT_EQ(Allocated("b"), "10.7.0.0/28");
}

TEST_F(OwnersTest, DeletionNamesWhatItWaitsFor) {
  Pool("p", "10.0.0.0/16");
  PoolClaim("pc", "p", 20);
  const std::string name = BoundPool("pc");
  Merge("subnetclaims", name, R"({"metadata":{"finalizers":["example.com/held"]}})");
  Delete("subnetpoolclaims", "pc");
  executor_.Advance(10s);
  EXPECT_EQ(Status("subnetpoolclaims", "pc")["message"],
            "SubnetClaim " + name + " has to go first");
  Merge("subnetclaims", name, R"({"metadata":{"finalizers":null}})");
  executor_.Advance(10s);
  EXPECT_FALSE(Exists("subnetpoolclaims", "pc"));
  Merge("subnetpools", "p",
        Format(R"({{"metadata":{{"finalizers":["{}","example.com/held"]}}}})", kFinalizer));
  Delete("subnetpools", "p");
  executor_.Advance(10s);
  EXPECT_THAT(Status("subnetpools", "p").to_string(),
              testing::HasSubstr("it waits for the finalizers of other controllers"));
}

TEST_F(OwnersTest, ADeletedPoolNamesTheClaimThatKeepsItsBlockAndTheFinalizer) {
  Pool("p", "10.7.0.0/28", R"(,"defaultBlockSize":28)");
  Create("SubnetClaim", "a", R"("poolRef":"p","clusterID":"x","blockSize":28)",
         R"(,"finalizers":["example.com/teardown"])");
  Delete("subnetclaims", "a");
  Delete("subnets", "p-10-7-0-0-28");
  Delete("subnetpools", "p");
  EXPECT_THAT(
      PoolStatus("p")["conditions"][0]["message"].as<std::string>(),
      testing::HasSubstr(
          "it waits for SubnetClaim a to go, which has the finalizer example.com/teardown"));
  Merge("subnetclaims", "a", R"({"metadata":{"finalizers":null}})");
  executor_.Advance(40s);
  EXPECT_FALSE(Exists("subnetpools", "p"));
}

TEST_F(OwnersTest, AChildPoolThatIsGrownIsToldOfItsOwnBlock) {
  Pool("site", "10.0.0.0/16");
  PoolClaim("pc", "site", 24);
  const std::string child = BoundPool("pc");
  Merge("subnetpools", child, R"({"spec":{"cidr":"10.0.0.0/23"}})");
  EXPECT_EQ(PoolStatus(child)["conditions"][0]["message"],
            "10.0.0.0/23 is not free in its parent site: its own block there is 10.0.0.0/24; set "
            "spec.cidr to it");
  Merge("subnetpools", child, R"({"spec":{"cidr":"10.0.0.0/24"}})");
  executor_.Advance(6s);
  EXPECT_EQ(Reason("subnetpools", child), "Ready");
}

}  // namespace
}  // namespace berth::ipam
