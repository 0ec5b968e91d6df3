#include <gmock/gmock.h>

#include "http/test_server.h"
#include "server/serve_fixture_test.h"

// Questions to the API server about callers: TokenReviews and SubjectAccessReviews.
namespace berth::server::test {
namespace {

using berth::test::ServedRequest;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kBad = "bad-token";

std::string Review(const ServedRequest& request) {
  if (request.Line().contains("tokenreviews")) {
    Json review = Json::parse(request.body);
    review["status"]["authenticated"] = review["spec"]["token"] != kBad;
    review["status"]["user"]["username"] = "alice";
    return berth::test::Answer(201, review.to_string());
  }
  if (request.Line().contains("subjectaccessreviews")) {
    Json review = Json::parse(request.body);
    review["status"]["allowed"] = true;
    return berth::test::Answer(201, review.to_string());
  }
  return berth::test::Answer(404, "{}");
}

class Reviews : public ServeTest {
 protected:
  void StartBesideCluster() {
    const auto kubeconfig = pki_.dir() / "kubeconfig";
    WriteFile(kubeconfig,
              "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
              "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
              "users: [{name: u, user: {}}]\n"
              "clusters: [{name: c, cluster: {server: '" +
                  cluster_.url() + "'}}]\n");
    Start({{"kubeconfig", kubeconfig}});
  }

  int WithAuthorization(const std::string& value, const std::string& target = kWorkQueues) {
    return Code(Api(nullptr).Exchange(Get(target, {"Authorization: " + value})));
  }
  int AsAlice(const std::string& target) {
    return Code(FrontProxy().Exchange(Get(target, {"X-Remote-User: alice"})));
  }

  // The bodies of the reviews of a kind, in their order.
  std::vector<Json> Asked(const std::string& plural) const {
    std::vector<Json> bodies;
    for (const auto& request : cluster_.requests()) {
      if (request.Line().contains(plural)) bodies.push_back(Json::parse(request.body));
    }
    return bodies;
  }
  std::string LastAttribute(const std::string& name) const {
    const auto asked = Asked("subjectaccessreviews");
    if (asked.empty()) return "(not asked)";
    return asked.back()["spec"]["resourceAttributes"].get_value_or<std::string>(name, "");
  }

  berth::test::Server cluster_{Review};
};

TEST_F(Reviews, ATokenThatWasRefusedIsNotAskedAboutAgainAtOnce) {
  StartBesideCluster();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(WithAuthorization(std::string("Bearer ") + kBad), 401);
  EXPECT_EQ(Asked("tokenreviews").size(), 1u);
}

TEST_F(Reviews, TheSchemeOfATokenMayBeWrittenInAnyCase) {
  StartBesideCluster();
  for (const char* scheme : {"Bearer ", "bearer ", "BEARER "})
    EXPECT_EQ(WithAuthorization(std::string(scheme) + "good-token"), 200) << scheme;
  EXPECT_EQ(WithAuthorization("Basic good-token"), 401);
}

TEST_F(Reviews, ATokenThatIsNoTextIsRefusedUnasked) {
  StartBesideCluster();
  for (const char* token : {"\xff\xfe", "caf\xc3\xa9", "two words", ""})
    EXPECT_EQ(WithAuthorization(std::string("Bearer ") + token), 401) << token;
  EXPECT_THAT(Asked("tokenreviews"), IsEmpty());
}

TEST_F(Reviews, NamesThatAreNotUtf8AreRefusedUnasked) {
  StartBesideCluster();
  EXPECT_EQ(Code(FrontProxy().Exchange(Get(kWorkQueues, {"X-Remote-User: \xff"}))), 401);
  EXPECT_EQ(Code(FrontProxy().Exchange(
                Get(kWorkQueues, {"X-Remote-User: alice", "X-Remote-Group: \xc3\x28"}))),
            401);
  EXPECT_EQ(AsAlice(kWorkQueues + "/%ff"), 400);
  EXPECT_EQ(AsAlice(kWorkQueues + "?fieldSelector=metadata.name%3D%ff"), 400);
  EXPECT_THAT(Asked("subjectaccessreviews"), IsEmpty());
}

TEST_F(Reviews, TheNameOfAFieldSelectorIsAskedAbout) {
  StartBesideCluster();
  EXPECT_EQ(AsAlice(kWorkQueues + "?fieldSelector=metadata.name%3Dhousekeeping"), 200);
  EXPECT_EQ(LastAttribute("verb"), "list");
  EXPECT_EQ(LastAttribute("name"), "housekeeping");
  TlsClient watcher = FrontProxy();
  ASSERT_TRUE(watcher.Send(Get(kWorkQueues + "?watch&fieldSelector=metadata.name%3D%3Dqueue",
                               {"X-Remote-User: alice"})));
  EXPECT_EQ(Code(watcher.ReadHead()), 200);
  EXPECT_EQ(LastAttribute("verb"), "watch");
  EXPECT_EQ(LastAttribute("name"), "queue");
}

TEST_F(Reviews, ASelectorThatLeavesMoreThanOneNameNamesNone) {
  StartBesideCluster();
  for (const char* selector :
       {"metadata.name!%3Dx", "metadata.name%3Da%2Fb", "metadata.name%3D..", "metadata.name%3D"}) {
    EXPECT_EQ(AsAlice(kWorkQueues + "?fieldSelector=" + selector), 200) << selector;
    EXPECT_EQ(LastAttribute("name"), "") << selector;
  }
}

// kube-apiserver authorises the first, so whoever serves another must not serve at all.
TEST_F(Reviews, ARepeatedParameterIsRefusedUnasked) {
  StartBesideCluster();
  const std::string first = "?fieldSelector=metadata.name%3Dmine";
  EXPECT_EQ(AsAlice(kWorkQueues + first + "&fieldSelector="), 400);
  EXPECT_EQ(AsAlice(kWorkQueues + first + "&fieldSelecto%72="), 400);
  EXPECT_EQ(AsAlice(kWorkQueues + "?watch=false&watch=true"), 400);
  EXPECT_THAT(Asked("subjectaccessreviews"), IsEmpty());
}

// Drogon reads a form's body as parameters; kube-apiserver reads the target alone.
TEST_F(Reviews, ParametersInABodyAreNone) {
  StartBesideCluster();
  const std::string body = "fieldSelector=metadata.name%3Dother&watch=true";
  for (const char* type : {"application/x-www-form-urlencoded", ""}) {
    const auto answer = FrontProxy().Exchange(
        Request("GET", kWorkQueues + "?fieldSelector=metadata.name%3Dhousekeeping",
                {"X-Remote-User: alice", std::string("Content-Type: ") + type}, body));
    EXPECT_EQ(Code(answer), 200);
    EXPECT_EQ(Json::parse(Body(answer))["items"][0]["metadata"]["name"], "housekeeping");
    EXPECT_EQ(LastAttribute("verb"), "list");
  }
}

TEST_F(Reviews, AHeaderWhoseNameHasTheHashOfAnotherGivesNoGroup) {
  StartBesideCluster();
  const auto answer =
      FrontProxy().Exchange(Get(kWorkQueues, {"X-Remote-User: alice", "X-Remote-Group: staff",
                                              "17dr62mrvlcl4llmg2xz581e: system:masters"}));
  EXPECT_EQ(Code(answer), 200);
  const auto asked = Asked("subjectaccessreviews");
  ASSERT_EQ(asked.size(), 1u);  // system:masters would not have been asked about
  EXPECT_EQ(asked[0]["spec"]["groups"], Json::parse(R"(["staff","system:authenticated"])"));
}

}  // namespace
}  // namespace berth::server::test
