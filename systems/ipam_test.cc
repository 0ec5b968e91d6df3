#include "systems/ipam.h"

#include "http/file.h"
#include "kube/yaml.h"
#include "systems/preflight_fixture_test.h"

namespace berth::systems {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class IpamPreflightTest : public PreflightTest {
 protected:
  // Returns the uid.
  std::string Create(const std::string& ns, const std::string& kind, const std::string& name,
                     const std::string& spec, const std::string& metadata = "") {
    return PreflightTest::Create(
        Path(ns, kind), Format(R"("apiVersion":"plexaubnet.io/v1alpha1","kind":"{}")", kind), name,
        spec, metadata);
  }
  void Tell(const std::string& kind, const std::string& name, const std::string& status) {
    Send(kube::Method::kPatch, Path("default", kind) + "/" + name + "/status",
         Format(R"({{"status":{{{}}}}})", status));
  }
  static std::string Path(const std::string& ns, const std::string& kind) {
    std::string plural = kind + "s";
    for (char& c : plural) c = static_cast<char>(std::tolower(c));
    return Format("/apis/plexaubnet.io/v1alpha1/namespaces/{}/{}", ns, plural);
  }
  void Pool(const std::string& name, const std::string& cidr, const std::string& more = "",
            const std::string& ns = "default") {
    Create(ns, "SubnetPool", name, Format(R"("cidr":"{}"{})", cidr, more));
  }
  // A claim that plexaubnet bound, without its Subnet.
  std::string BoundClaim(const std::string& name, const std::string& cluster,
                         const std::string& cidr) {
    auto uid = Create("default", "SubnetClaim", name,
                      Format(R"("poolRef":"site","clusterID":"{}")", cluster));
    Tell("SubnetClaim", name,
         Format(R"("observedGeneration":1,"phase":"Bound","allocatedCIDR":"{}")", cidr));
    return uid;
  }
  void Subnet(const std::string& name, const std::string& cidr, const std::string& cluster,
              const std::string& claim = "", const std::string& uid = "") {
    const std::string ref =
        uid.empty() ? "" : Format(R"(,"claimRef":{{"name":"{}","uid":"{}"}})", claim, uid);
    Create("default", "Subnet", name,
           Format(R"("poolRef":"site","cidr":"{}","clusterID":"{}"{})", cidr, cluster, ref),
           uid.empty() ? "" : R"(,"labels":{"plexaubnet.io/ipam":"true"})");
  }
  void Bind(const std::string& claim, const std::string& cidr) {
    Subnet("block-of-" + claim, cidr, claim, claim, BoundClaim(claim, claim, cidr));
  }
};

TEST_F(IpamPreflightTest, FindsNothingWhereEverythingIsBound) {
  Pool("site", "10.0.0.0/16");
  Bind("shop", "10.0.0.0/24");
  Subnet("by-hand", "10.0.7.0/24", "hand");
  Create("default", "SubnetClaim", "new", R"("poolRef":"site","clusterID":"new","blockSize":24)");
  Create("default", "SubnetPoolClaim", "branch", R"("parentPoolRef":"site","desiredBlockSize":20)");
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(IpamPreflightTest, TellsWhichOfTwoOverlappingPoolsAllocatesNothing) {
  Pool("site", "10.0.0.0/16");
  Pool("late", "10.0.4.0/22");
  EXPECT_THAT(
      Lines(),
      ElementsAre(AllOf(StartsWith("SubnetPool default/late: allocates nothing (PoolOverlap): "),
                        HasSubstr("overlaps pool site, 10.0.0.0/16")),
                  AllOf(StartsWith("SubnetPool default/site: allocates, but could not be created "
                                   "again: spec.cidr: "),
                        HasSubstr("overlaps the pool \"late\", 10.0.4.0/22"))));
}

TEST_F(IpamPreflightTest, TellsThatNeitherPoolAllocatesIfTheYoungerOneHasBlocks) {
  Pool("old", "10.0.0.0/16");
  Pool("site", "10.0.0.0/20");
  Bind("shop", "10.0.0.0/24");
  EXPECT_THAT(Lines(),
              ElementsAre(StartsWith("SubnetPool default/old: allocates nothing (PoolOverlap)"),
                          StartsWith("SubnetPool default/site: allocates nothing (PoolOverlap)")));
}

TEST_F(IpamPreflightTest, TellsOfAPoolWithoutItsParent) {
  Pool("site", "10.0.0.0/16", R"(,"parentRef":"world")");
  EXPECT_THAT(Lines(), ElementsAre("SubnetPool default/site: allocates nothing (ParentNotFound): "
                                   "there is no SubnetPool world"));
}

TEST_F(IpamPreflightTest, TellsOfASecondClaimOfAClusterID) {
  Pool("site", "10.0.0.0/16");
  Bind("shop", "10.0.0.0/24");
  BoundClaim("shop-again", "shop", "10.0.0.0/24");
  for (const char* name : {"twin-a", "twin-b"}) {
    Create("default", "SubnetClaim", name, R"("poolRef":"site","clusterID":"twin","blockSize":24)");
  }
  EXPECT_THAT(
      Lines(),
      ElementsAre("SubnetClaim default/shop-again: is in Error (ClusterIDConflict) and loses "
                  "10.0.0.0/24, which no Subnet of its own has: cluster shop holds 10.0.0.0/24 in "
                  "this pool already, for another claim",
                  StartsWith("SubnetClaim default/twin-b: is in Error (ClusterIDConflict): cluster "
                             "twin holds 10.0.1.0/24")));
}

TEST_F(IpamPreflightTest, TellsOfClaimsWithoutPoolRoomOrBlock) {
  Pool("site", "10.0.0.0/24");
  Create("default", "SubnetClaim", "nowhere", R"("poolRef":"nowhere","clusterID":"nowhere")");
  BoundClaim("stripped", "stripped", "10.0.0.0/25");
  Create("default", "SubnetClaim", "half", R"("poolRef":"site","clusterID":"half","blockSize":25)");
  Create("default", "SubnetClaim", "late", R"("poolRef":"site","clusterID":"late","blockSize":25)");
  EXPECT_THAT(
      Lines(),
      ElementsAre("SubnetClaim default/stripped: is bound to 10.0.0.0/25, which no Subnet has: a "
                  "Subnet is created for 10.0.0.0/25",
                  StartsWith("SubnetClaim default/nowhere: is in Error (PoolNotFound): "),
                  StartsWith("SubnetClaim default/late: is in Error (PoolExhausted): ")));
}

TEST_F(IpamPreflightTest, TellsOfSubnetsWithoutABlock) {
  Pool("site", "10.0.0.0/16");
  Bind("shop", "10.0.0.0/24");
  Subnet("twice", "10.0.0.0/25", "twice");
  Subnet("orphan", "10.0.9.0/24", "orphan", "orphan", "4f6c0d4e-0000-4000-8000-000000000000");
  EXPECT_THAT(Lines(),
              ElementsAre(StartsWith("Subnet default/orphan: is deleted: SubnetClaim orphan"),
                          "Subnet default/twice: becomes Failed: 10.0.0.0/25 overlaps 10.0.0.0/24, "
                          "which is in use"));
}

TEST_F(IpamPreflightTest, TellsOfPoolClaimsWhosePoolIsMissing) {
  Pool("site", "10.0.0.0/16");
  Create("default", "SubnetPoolClaim", "lost", R"("parentPoolRef":"site","desiredBlockSize":20)");
  Tell("SubnetPoolClaim", "lost", R"("phase":"Bound","boundPoolName":"lost-abcde")");
  Create("default", "SubnetPoolClaim", "orphan",
         R"("parentPoolRef":"world","desiredBlockSize":20)");
  Create("default", "SubnetPoolClaim", "vast", R"("parentPoolRef":"site","desiredBlockSize":16)");
  EXPECT_THAT(Lines(),
              ElementsAre("SubnetPoolClaim default/lost: its SubnetPool lost-abcde is gone: an "
                          "empty pool is created in its place",
                          "SubnetPoolClaim default/orphan: there is no SubnetPool world, its "
                          "spec.parentPoolRef",
                          AllOf(StartsWith("SubnetPoolClaim default/vast: is in Error: "),
                                HasSubstr("must be greater than 16"))));
}

TEST_F(IpamPreflightTest, TellsOfPoolsInNamespacesThatTheWebhooksLeaveOut) {
  for (const char* ns : {"berth-system", "quiet"}) {
    Send(kube::Method::kPost, "/api/v1/namespaces",
         Format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", ns));
  }
  for (const char* ns : {"kube-system", "berth-system", "quiet"})
    Pool("site", "10.0.0.0/16", "", ns);
  const auto is_unchecked = [](const std::string& ns) {
    return StartsWith(Format("SubnetPool {0}/site: the webhooks leave out namespace {0}: ", ns));
  };
  EXPECT_THAT(Lines(), ElementsAre(is_unchecked("berth-system"), is_unchecked("kube-system")));
  const Json values = kube::YamlToJson("webhooks: {excludedNamespaces: [quiet]}").value();
  EXPECT_THAT(Lines(values), ElementsAre(is_unchecked("berth-system"), is_unchecked("quiet")));
  const auto chart = ReadFile(BERTH_SOURCE_DIR "/charts/berth/values.yaml");
  ASSERT_TRUE(chart);
  EXPECT_EQ(Lines(kube::YamlToJson(*chart).value()), Lines()) << "the chart has other defaults";
}

TEST_F(IpamPreflightTest, WritesNothing) {
  Pool("site", "10.0.0.0/16");
  Pool("late", "10.0.4.0/22");
  Bind("shop", "10.0.0.0/24");
  BoundClaim("shop-again", "shop", "10.0.0.0/24");
  Create("default", "SubnetClaim", "new", R"("poolRef":"site","clusterID":"new","blockSize":24)");
  Create("default", "SubnetPoolClaim", "branch", R"("parentPoolRef":"site","desiredBlockSize":20)");
  ExpectNoWrites();
}

}  // namespace
}  // namespace berth::systems
