#include "server/preflight.h"

#include <gmock/gmock.h>

#include "async/test_executor.h"
#include "http/base64.h"
#include "http/file.h"
#include "kube/memory/local_transport.h"
#include "kube/yaml.h"
#include "log/format.h"
#include "reconcile/test_crds.h"

// A cluster as plexaubnet and AlibabaCloud-EIP-Operator leave it, without Berth and its webhooks.
namespace berth::server {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class PreflightTest : public testing::Test {
 protected:
  PreflightTest() { InstallCrds(server_); }

  Json Send(kube::Method method, const std::string& path, const std::string& body = "") {
    kube::Response answer;
    server_.Handle({.method = method,
                    .path = path,
                    .body = body,
                    .content_type = method == kube::Method::kPatch ? "application/merge-patch+json"
                                                                   : "application/json"},
                   [&](kube::Response response) { answer = std::move(response); });
    EXPECT_LT(answer.code, 300) << path << ": " << answer.body;
    executor_.Advance(2s);  // no two objects are of the same second
    return Json::parse(answer.body);
  }
  // Returns the uid.
  std::string Create(const std::string& ns, const std::string& kind, const std::string& name,
                     const std::string& spec, const std::string& metadata = "") {
    return Send(kube::Method::kPost, Path(ns, kind),
                Format(R"({{"apiVersion":"{}","kind":"{}","metadata":{{"name":"{}"{}}},)"
                       R"("spec":{{{}}}}})",
                       kind == "EIP" ? "eip.alibabacloud.com/v1alpha1" : "plexaubnet.io/v1alpha1",
                       kind, name, metadata, spec))["metadata"]["uid"]
        .as_string();
  }
  void Tell(const std::string& kind, const std::string& name, const std::string& status) {
    Send(kube::Method::kPatch, Path("default", kind) + "/" + name + "/status",
         Format(R"({{"status":{{{}}}}})", status));
  }
  static std::string Path(const std::string& ns, const std::string& kind) {
    if (kind == "EIP") return "/apis/eip.alibabacloud.com/v1alpha1/eips";
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

  PreflightReport Look(Json values = {}) {
    PreflightReport report;
    const auto look = [&]() -> async::Task<void> {
      report = co_await AskSystems(&systems_, &executor_, &transport_, values, "berth-system");
    };
    const auto running = async::Start(look());
    executor_.RunUntilIdle();
    EXPECT_FALSE(running);
    return report;
  }
  std::vector<std::string> Lines(Json values = {}) {
    const auto report = Look(std::move(values));
    EXPECT_THAT(report.errors, IsEmpty());
    std::vector<std::string> lines;
    for (const auto& [object, what, advice] : report.findings) {
      EXPECT_FALSE(advice.empty()) << object;
      lines.push_back(object + ": " + what);
    }
    return lines;
  }

  async::TestExecutor executor_;
  const Systems systems_ = MakeSystems(executor_, {});
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport_{executor_, server_};
};

TEST_F(PreflightTest, FindsNothingInAClusterWithoutObjects) { EXPECT_THAT(Lines(), IsEmpty()); }

TEST_F(PreflightTest, FindsNothingInAClusterWithoutTheKinds) {
  kube::memory::Server bare{{.now = [this] { return executor_.WallNow(); },
                             .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport(executor_, bare);
  PreflightReport report{.findings = {{}}, .errors = {}};
  const auto look = [&]() -> async::Task<void> {
    report = co_await AskSystems(&systems_, &executor_, &transport, {}, "berth-system");
  };
  const auto running = async::Start(look());
  executor_.RunUntilIdle();
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.errors, IsEmpty());
}

TEST_F(PreflightTest, FindsNothingWhereEverythingIsBound) {
  Pool("site", "10.0.0.0/16");
  Bind("shop", "10.0.0.0/24");
  Subnet("by-hand", "10.0.7.0/24", "hand");
  Create("default", "SubnetClaim", "new", R"("poolRef":"site","clusterID":"new","blockSize":24)");
  Create("default", "SubnetPoolClaim", "branch", R"("parentPoolRef":"site","desiredBlockSize":20)");
  EXPECT_THAT(Lines(), IsEmpty());
}

TEST_F(PreflightTest, TellsWhichOfTwoOverlappingPoolsAllocatesNothing) {
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

TEST_F(PreflightTest, TellsThatNeitherPoolAllocatesIfTheYoungerOneHasBlocks) {
  Pool("old", "10.0.0.0/16");
  Pool("site", "10.0.0.0/20");
  Bind("shop", "10.0.0.0/24");
  EXPECT_THAT(Lines(),
              ElementsAre(StartsWith("SubnetPool default/old: allocates nothing (PoolOverlap)"),
                          StartsWith("SubnetPool default/site: allocates nothing (PoolOverlap)")));
}

TEST_F(PreflightTest, TellsOfAPoolWithoutItsParent) {
  Pool("site", "10.0.0.0/16", R"(,"parentRef":"world")");
  EXPECT_THAT(Lines(), ElementsAre("SubnetPool default/site: allocates nothing (ParentNotFound): "
                                   "there is no SubnetPool world"));
}

TEST_F(PreflightTest, TellsOfASecondClaimOfAClusterID) {
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

TEST_F(PreflightTest, TellsOfClaimsWithoutPoolRoomOrBlock) {
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

TEST_F(PreflightTest, TellsOfSubnetsWithoutABlock) {
  Pool("site", "10.0.0.0/16");
  Bind("shop", "10.0.0.0/24");
  Subnet("twice", "10.0.0.0/25", "twice");
  Subnet("orphan", "10.0.9.0/24", "orphan", "orphan", "4f6c0d4e-0000-4000-8000-000000000000");
  EXPECT_THAT(Lines(),
              ElementsAre(StartsWith("Subnet default/orphan: is deleted: SubnetClaim orphan"),
                          "Subnet default/twice: becomes Failed: 10.0.0.0/25 overlaps 10.0.0.0/24, "
                          "which is in use"));
}

TEST_F(PreflightTest, TellsOfPoolClaimsWhosePoolIsMissing) {
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

TEST_F(PreflightTest, TellsOfPoolsInNamespacesThatTheWebhooksLeaveOut) {
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

TEST_F(PreflightTest, TellsOfTwoEipsWithOneAddress) {
  Create("", "EIP", "older", R"("allocationID":"eip-1","bandwidth":"5")");
  Create("", "EIP", "younger", R"("allocationID":"eip-1","bandwidth":"5")");
  EXPECT_THAT(Lines(kube::YamlToJson("eip: {enabled: true}").value()),
              ElementsAre("EIP younger: is not looked after (InvalidConfig): the EIP older has "
                          "eip-1, too"));
  EXPECT_THAT(Lines(), Contains("EIPs: the cluster has 2, and eip.enabled of the chart is false: "
                                "they are not looked after"));
}

TEST_F(PreflightTest, TellsOfAScopeThatHelmCannotChange) {
  EXPECT_THAT(Lines(kube::YamlToJson("eip: {crdScope: Namespaced}").value()),
              ElementsAre("CustomResourceDefinition eips.eip.alibabacloud.com: its scope is "
                          "Cluster, and eip.crdScope of the chart is Namespaced: Helm cannot "
                          "change it"));
}

TEST_F(PreflightTest, TellsOfASecretWithoutAnAccessKey) {
  const auto put = [this](const std::string& name, const std::string& data) {
    Send(kube::Method::kPost, "/api/v1/namespaces/berth-system/secrets",
         Format(R"({{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"{}"}},"data":{{{}}}}})",
                name, data));
  };
  const auto named = [](const std::string& name) {
    return kube::YamlToJson("eip: {enabled: true, credentialsSecret: " + name + "}").value();
  };
  Send(kube::Method::kPost, "/api/v1/namespaces",
       R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"berth-system"}})");
  EXPECT_THAT(Lines(named("aliyun")),
              ElementsAre(StartsWith("Secret berth-system/aliyun: does not exist")));
  put("half", Format(R"("accessKeyID":"{}")", EncodeBase64("LTAI5t")));
  EXPECT_THAT(Lines(named("half")), ElementsAre("Secret berth-system/half: has no access key"));
  put("whole", Format(R"("accessKeyID":"{}","accessKeySecret":"{}")", EncodeBase64("LTAI5t\n"),
                      EncodeBase64("secret\n")));
  EXPECT_THAT(Lines(named("whole")), IsEmpty());
  put("operators", Format(R"("ctrl-secret.yaml":"{}")",
                          EncodeBase64("accessKeyID: LTAI5t\naccessKeySecret: secret\n")));
  EXPECT_THAT(Lines(named("operators")), IsEmpty());
}

TEST_F(PreflightTest, WritesNothing) {
  Pool("site", "10.0.0.0/16");
  Pool("late", "10.0.4.0/22");
  Bind("shop", "10.0.0.0/24");
  BoundClaim("shop-again", "shop", "10.0.0.0/24");
  Create("default", "SubnetClaim", "new", R"("poolRef":"site","clusterID":"new","blockSize":24)");
  Create("default", "SubnetPoolClaim", "branch", R"("parentPoolRef":"site","desiredBlockSize":20)");
  Create("", "EIP", "older", R"("allocationID":"eip-1","bandwidth":"5")");
  Create("", "EIP", "younger", R"("allocationID":"eip-1","bandwidth":"5")");
  const auto before = server_.version();  // every write has a version of its own
  EXPECT_THAT(Lines(), Not(IsEmpty()));
  executor_.Advance(10min);
  EXPECT_EQ(server_.version(), before);
}

TEST_F(PreflightTest, TellsWhatItCannotRead) {
  class Refusing : public kube::Transport {
   public:
    explicit Refusing(async::Executor& executor) : executor_(executor) {}
    async::Handle Send(kube::Request, Done done) override {
      executor_.Post([done = std::move(done)] {
        done(std::unexpected(kube::Error{.error_class = kube::ErrorClass::kTerminal,
                                         .reason = "Forbidden",
                                         .message = "list is forbidden",
                                         .code = 403}));
      });
      return {};
    }
    async::Handle Watch(kube::Request, Stream) override { return {}; }

   private:
    async::Executor& executor_;
  };
  Refusing refusing(executor_);
  PreflightReport report;
  const auto look = [&]() -> async::Task<void> {
    report = co_await AskSystems(&systems_, &executor_, &refusing, {}, "berth-system");
  };
  const auto running = async::Start(look());
  executor_.RunUntilIdle();
  EXPECT_THAT(report.errors, ElementsAre("ipam: list is forbidden", "eip: list is forbidden"));
}

}  // namespace
}  // namespace berth::server
