#include "server/demo.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <map>
#include <sstream>

#include "kube/config.h"
#include "kube/memory/conformance/body_text.h"
#include "server/serve_fixture_test.h"

// `berth demo` as kubectl meets it: real sockets, real TLS, the real program.
namespace berth::server::test {
namespace {

using testing::HasSubstr;

const std::string kPools = "/apis/plexaubnet.io/v1alpha1/namespaces/default/subnetpools";
const std::string kMaps = "/api/v1/namespaces/default/configmaps";

std::string Pool(const std::string& name, const std::string& cidr) {
  return R"({"apiVersion":"plexaubnet.io/v1alpha1","kind":"SubnetPool","metadata":{"name":")" +
         name + R"("},"spec":{"cidr":")" + cidr + R"("}})";
}

std::string Map(const std::string& name, const std::string& value) {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
         R"("},"data":{"value":")" + value + R"("}})";
}

class DemoTest : public testing::Test {
 protected:
  DemoTest() {
    if (!demo_.listening()) throw std::runtime_error("berth does not start: " + demo_.Log());
    auto config = kube::LoadKubeconfig(Kubeconfig());
    if (!config) throw std::runtime_error(config.error().message);
    config_ = std::move(*config);
  }

  void TearDown() override { EXPECT_EQ(demo_.Stop(), 0) << demo_.Log(); }

  std::filesystem::path Kubeconfig() const { return demo_.state_dir() / "kubeconfig"; }

  TlsClient Connect() const {
    return TlsClient(demo_.port("kubernetes"), TlsOptions{.trust = config_.ca_pem});
  }
  HeaderLines Authorized(HeaderLines headers = {}) const {
    headers.push_back("Authorization: Bearer " + config_.token);
    return headers;
  }
  std::optional<HttpResponse> Ask(const std::string& method, const std::string& target,
                                  const std::string& body = {},
                                  const std::string& type = "application/json") const {
    return Connect().Exchange(Request(method, target, Authorized({"Content-Type: " + type}), body));
  }
  // The body of an answer with this code.
  Json Expect(int code, const std::optional<HttpResponse>& response) const {
    EXPECT_EQ(Code(response), code) << Body(response);
    return response ? Json::parse(response->body) : Json::null();
  }
  TlsClient Watch(const std::string& target) const {
    TlsClient client = Connect();
    EXPECT_TRUE(client.Send(Get(target, Authorized())));
    EXPECT_EQ(Code(client.ReadHead()), 200) << client.error();
    return client;
  }

  BerthProcess demo_{BerthProcess::Demo{}};
  kube::Config config_;
};

// The next event as "ADDED name".
std::string Next(TlsClient& watch) {
  const auto line = watch.ReadLine();
  if (!line) return watch.ended() ? "(end)" : watch.error();
  const Json event = Json::parse(*line);
  return event["type"].as_string() + " " + event["object"]["metadata"]["name"].as_string();
}

TEST_F(DemoTest, OnlyTheTokenOpensIt) {
  std::string other = config_.token;
  other.back() = other.back() == '0' ? '1' : '0';
  for (const std::string& path :
       {kPools, kPools + "?watch=true", kWorkQueues, std::string("/apis"), std::string("/")}) {
    SCOPED_TRACE(path);
    ExpectStatus(Connect().Exchange(Get(path)), 401);
    for (const std::string& given :
         {std::string("Bearer "), "Bearer " + other, "Bearer " + config_.token + "0",
          "Basic " + config_.token, config_.token})
      ExpectStatus(Connect().Exchange(Get(path, {"Authorization: " + given})), 401);
    ExpectStatus(Connect().Exchange(Get(path, kAdmin)), 401);
  }
  EXPECT_EQ(Code(Connect().Exchange(Get(kPools, Authorized()))), 200);
}

TEST_F(DemoTest, ASecondOneLeavesTheFilesOfTheFirstAlone) {
  const std::string dir = demo_.state_dir();
  BerthProcess second(BerthProcess::Demo{{{"state-dir", dir}}});
  EXPECT_FALSE(second.listening());
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(second.Log(), testing::AllOf(HasSubstr(dir), HasSubstr("--state-dir")));
  EXPECT_EQ(kube::LoadKubeconfig(Kubeconfig())->token, config_.token);
}

TEST_F(DemoTest, AServerWhoseClusterPublishesNoRequestHeaderCaSaysSo) {
  ASSERT_TRUE(WaitUntil(
      [&] { return Code(PlainClient(demo_.port("health")).Exchange(Get("/readyz"))) == 200; }));
  ASSERT_EQ(Code(Ask("DELETE",
                     "/api/v1/namespaces/kube-system/configmaps/"
                     "extension-apiserver-authentication")),
            200);
  EXPECT_TRUE(demo_.WaitForLog("request-header CA no longer published"));
  const Pki pki;
  const BerthProcess berth(pki,
                           {{"kubeconfig", Kubeconfig()}, {"requestheader-client-ca-file", ""}});
  EXPECT_TRUE(berth.WaitForLog("request-header CA not found"));
}

TEST_F(DemoTest, HeadersAreAsAnApiServers) {
  const auto header = [&](const std::string& target, const std::string& name) {
    const auto answer = Ask("GET", target);
    return answer ? answer->Header(name) : "(no answer)";
  };
  EXPECT_EQ(header("/healthz", "content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(header("/nowhere", "content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(header(kMaps + "?resourceVersion=99999999999999", "retry-after"), "1");
  TlsClient client = Connect();
  ASSERT_TRUE(client.Send(Request("HEAD", kMaps, Authorized())));
  EXPECT_EQ(Code(client.ReadResponse(/*to_head=*/true)), 405);
  ASSERT_TRUE(client.Send(Request("HEAD", "/version", Authorized())));
  EXPECT_EQ(Code(client.ReadResponse(/*to_head=*/true)), 200);
}

TEST_F(DemoTest, NobodyIsImpersonated) {
  const auto answer = Connect().Exchange(Get(kPools, Authorized({"Impersonate-User: alice"})));
  ExpectStatus(answer, 403);
  EXPECT_THAT(Body(answer), HasSubstr(R"(users \"alice\" is forbidden)"));
}

TEST_F(DemoTest, ItsCredentialsArePrivateAndNewEachTime) {
  for (const auto& [name, mode] :
       {std::pair("", 0700), {"kubeconfig", 0600}, {"curl", 0600}, {"eni.yaml", 0600}}) {
    struct stat found{};
    ASSERT_EQ(stat((demo_.state_dir() / name).c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, static_cast<mode_t>(mode)) << name;
  }
  EXPECT_EQ(config_.token.size(), 64);
  EXPECT_FALSE(demo_.LogContains(config_.token));
  BerthProcess another(BerthProcess::Demo{});
  EXPECT_NE(kube::LoadKubeconfig(another.state_dir() / "kubeconfig")->token, config_.token);
}

TEST_F(DemoTest, ObjectsAreCreatedReadListedAndDeleted) {
  const Json made = Expect(201, Ask("POST", kPools, Pool("office", "10.20.0.0/16")));
  EXPECT_EQ(made["spec"]["cidr"], "10.20.0.0/16");
  EXPECT_EQ(made["spec"]["strategy"], "Linear") << "the CRD's default";
  const Json read = Expect(200, Ask("GET", kPools + "/office"));
  EXPECT_EQ(read["metadata"]["uid"], made["metadata"]["uid"]);
  const Json list = Expect(200, Ask("GET", "/apis/plexaubnet.io/v1alpha1/subnetpools?limit=500"));
  EXPECT_EQ(list["kind"], "SubnetPoolList");
  EXPECT_EQ(list["items"].size(), 1);
  Expect(200, Ask("PATCH", kPools + "/office", R"({"metadata":{"labels":{"a":"b"}}})",
                  "application/merge-patch+json"));
  Expect(200, Ask("DELETE", kPools + "/office"));
  ExpectStatus(Ask("GET", kPools + "/office"), 404);
}

TEST_F(DemoTest, WhatIsNotThereIs404) {
  // A page, not a Status, as kube-apiserver has it where nothing is served.
  EXPECT_EQ(Code(Ask("GET", "/apis/plexaubnet.io/v1alpha1/nothings")), 404);
  EXPECT_EQ(Code(Ask("GET", "/apis/plexaubnet.io/v1alpha1/nothings?watch=true")), 404);
  ExpectStatus(Ask("GET", "/apis/live.berth.dev/v1alpha1/nothings"), 404);
  EXPECT_EQ(Code(Ask("GET", "/nowhere")), 404);
  ExpectStatus(Ask("OPTIONS", kPools), 405);
}

TEST_F(DemoTest, AnObjectInProtobufIsAnsweredInJson) {
  using kube::memory::conformance::ProtobufText;
  const Json made = Expect(
      201, Ask("POST", kMaps,
               ProtobufText::Encode(R"(v1 ConfigMap { 1 { 1 "pb" 8 { } } 2 { 1 "k" 2 "v" } })"),
               "application/vnd.kubernetes.protobuf"));
  EXPECT_EQ(made["kind"], "ConfigMap");
  EXPECT_EQ(made["data"]["k"], "v");
}

TEST_F(DemoTest, WarningsReachTheClient) {
  Json pool = Json::parse(Pool("office", "10.20.0.0/16"));
  pool["spec"]["colour"] = "red";
  pool["spec"]["size"] = "large";
  const auto answer = Ask("POST", kPools, pool.to_string());
  ASSERT_EQ(Code(answer), 201) << Body(answer);
  // Berth's own may follow: that it is not ready yet.
  EXPECT_THAT(answer->Header("warning"),
              testing::StartsWith(
                  R"(299 - "unknown field \"spec.colour\"", 299 - "unknown field \"spec.size\"")"));
}

TEST_F(DemoTest, AggregatedDiscoveryNamesEveryGroup) {
  const std::string form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const auto answer = Connect().Exchange(Get("/apis", Authorized({"Accept: " + form})));
  ASSERT_EQ(Code(answer), 200);
  EXPECT_EQ(answer->Header("content-type"), form);
  std::map<std::string, std::size_t> resources;
  for (const Json& group : Json::parse(answer->body)["items"].array_range())
    resources[group["metadata"]["name"].as_string()] = group["versions"][0]["resources"].size();
  EXPECT_EQ(resources["plexaubnet.io"], 4);
  EXPECT_EQ(resources["live.berth.dev"], 10);
  const auto core = Connect().Exchange(Get("/api", Authorized({"Accept: " + form})));
  EXPECT_EQ(Json::parse(Body(core))["items"][0]["versions"][0]["version"], "v1");
}

TEST_F(DemoTest, AWatchTellsWhatIsThereAndWhatChanges) {
  Expect(201, Ask("POST", kMaps, Map("first", "1")));
  TlsClient watch = Watch(kMaps + "?watch=true");
  EXPECT_EQ(Next(watch), "ADDED first");
  Expect(201, Ask("POST", kMaps, Map("second", "1")));
  Expect(200, Ask("PUT", kMaps + "/first", Map("first", "2")));
  Expect(200, Ask("DELETE", kMaps + "/second"));
  EXPECT_EQ(Next(watch), "ADDED second");
  EXPECT_EQ(Next(watch), "MODIFIED first");
  EXPECT_EQ(Next(watch), "DELETED second");
  demo_.Signal(SIGTERM);
  EXPECT_EQ(Next(watch), "(end)");
}

TEST_F(DemoTest, AWatchOfALargeStateIsNotCutOff) {
  // More than the kernel's buffers and ours together.
  constexpr int kCount = 48;
  const std::string big(512 * 1024, 'x');
  for (int i = 0; i < kCount; ++i)
    Expect(201, Ask("POST", kMaps, Map("big-" + std::to_string(i), big)));
  TlsClient watch = Watch(kMaps + "?watch=true");
  // While the reader has yet to take what there is, more comes.
  Expect(201, Ask("POST", kMaps, Map("last", "1")));
  for (int i = 0; i < kCount; ++i) EXPECT_THAT(Next(watch), HasSubstr("ADDED big-"));
  EXPECT_EQ(Next(watch), "ADDED last");
}

TEST_F(DemoTest, AReaderThatStopsIsCutOffAndTheOthersMissNothing) {
  TlsClient stopped = Watch(kMaps + "?watch=true");
  TlsClient reader = Watch(kMaps + "?watch=true");
  Expect(201, Ask("POST", kMaps, Map("big", "0")));
  EXPECT_EQ(Next(reader), "ADDED big");
  // As much as it takes: the kernel's buffers hold some megabytes before ours fill.
  const std::string padding(512 * 1024, 'x');
  const auto is_cut_off = [this] { return demo_.LogContains("watcher cut off"); };
  for (int i = 0; !is_cut_off() && i < 100; ++i) {
    Expect(200, Ask("PUT", kMaps + "/big", Map("big", padding + std::to_string(i))));
    ASSERT_EQ(Next(reader), "MODIFIED big");
  }
  ASSERT_TRUE(is_cut_off());
  EXPECT_TRUE(stopped.Closed());
  Expect(200, Ask("DELETE", kMaps + "/big"));
  EXPECT_EQ(Next(reader), "DELETED big");
}

TEST_F(DemoTest, TheAggregatedGroupIsServedByBerth) {
  const Json queues = Expect(200, Ask("GET", kWorkQueues));
  EXPECT_EQ(queues["kind"], "WorkQueueList");
  EXPECT_EQ(Expect(200, Ask("GET", "/apis/live.berth.dev/v1alpha1"))["kind"], "APIResourceList");
  Expect(200, Ask("GET", "/openapi/v3/apis/live.berth.dev/v1alpha1"));
  TlsClient watch = Watch(kWorkQueues + "?watch=true");
  EXPECT_EQ(Next(watch), "ADDED housekeeping");
}

TEST_F(DemoTest, BerthIsReadyAsBehindACluster) {
  EXPECT_TRUE(demo_.WaitForLog("export KUBECONFIG=" + Kubeconfig().string()));
  PlainClient health(demo_.port("health"));
  EXPECT_EQ(Code(health.Exchange(Get("/readyz"))), 200);
}

// kubectl up to 1.32 takes standard input that begins with a brace for JSON, never for YAML.
TEST_F(DemoTest, TheManifestsItPrintsAreJson) {
  ASSERT_TRUE(demo_.WaitForLog("/apis/live.berth.dev/v1alpha1/workqueues"));
  std::istringstream log(demo_.Log());
  int manifests = 0;
  for (std::string line; std::getline(log, line);) {
    if (!line.starts_with("  echo '")) continue;
    ++manifests;
    const auto begin = line.find('\'') + 1;
    const auto manifest = line.substr(begin, line.find('\'', begin) - begin);
    EXPECT_NO_THROW(Json::parse(manifest)) << manifest;
  }
  EXPECT_EQ(manifests, 4);
}

TEST_F(DemoTest, ASecondOneOnTheSamePortDoesNotStart) {
  const std::string port = std::to_string(demo_.port("kubernetes"));
  BerthProcess second(BerthProcess::Demo{{{"port", port}}});
  EXPECT_EQ(second.Wait(), 1);
  EXPECT_THAT(second.Log(), testing::AllOf(HasSubstr("cannot listen on 127.0.0.1:" + port),
                                           HasSubstr("choose another port by --port")));
}

TEST(Demo, TakesNoStateDirectoryThatIsNotItsOwn) {
  const TempDir dir;
  std::filesystem::create_directory(dir.path() / "theirs");
  std::filesystem::create_directory_symlink(dir.path() / "theirs", dir.path() / "link");
  WriteFile(dir.path() / "file", "");
  for (const char* name : {"link", "file"}) {
    BerthProcess demo(BerthProcess::Demo{{{"state-dir", dir.path() / name}}});
    EXPECT_EQ(demo.Wait(), 1) << name;
    EXPECT_THAT(demo.Log(), HasSubstr("not a directory of this user")) << name;
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path() / "theirs"));
}

}  // namespace
}  // namespace berth::server::test
