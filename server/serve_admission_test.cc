#include <drogon/utils/Utilities.h>
#include <gmock/gmock.h>

#include "server/serve_fixture_test.h"

// Reviews as a kube-apiserver v1.36 sent them (testdata/admission), over the wire.
namespace berth::server::test {
namespace {

using testing::HasSubstr;

class Admission : public ServeTest {
 protected:
  // The response part of the answer, which must be a review of the same uid.
  Json Review(const std::string& path, const std::string& review) {
    if (!berth_) Start();
    const auto response = Webhook().Exchange(Post(path + "?timeout=5s", review));
    EXPECT_EQ(Code(response), 200) << Body(response);
    const Json answer = Json::parse(Body(response));
    EXPECT_EQ(answer["kind"].as<std::string>(), "AdmissionReview");
    EXPECT_EQ(answer["apiVersion"].as<std::string>(), "admission.k8s.io/v1");
    EXPECT_EQ(answer["response"]["uid"], Json::parse(review)["request"]["uid"]);
    return answer["response"];
  }

  std::optional<HttpResponse> Send(const std::string& review) {
    if (!berth_) Start();
    return Webhook().Exchange(Post(kValidate, review));
  }
};

// Every occurrence; at least one.
std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string Captured(const std::string& name) {
  return ReadTestData("admission/" + name + ".json");
}

TEST_F(Admission, EveryCapturedReviewIsAllowedUnderItsUid) {
  for (const char* name : {"create", "update", "delete", "dryrun", "status"}) {
    const Json response = Review(kValidate, Captured(name));
    EXPECT_TRUE(response["allowed"].as<bool>()) << name << ": " << response.to_string();
    EXPECT_FALSE(response.contains("patch")) << name;
  }
}

TEST_F(Admission, MutatingCreateGetsTheDefaultBlockSize) {
  const Json response = Review(kMutate, Captured("create-mutating"));
  EXPECT_TRUE(response["allowed"].as<bool>());
  EXPECT_EQ(response["patchType"].as<std::string>(), "JSONPatch");
  const Json patch = Json::parse(drogon::utils::base64Decode(response["patch"].as<std::string>()));
  EXPECT_EQ(patch, Json::parse(R"([{"op":"add","path":"/spec/defaultBlockSize","value":24}])"));
}

TEST_F(Admission, DefaultIsNotPutOverWhatTheUserChose) {
  const Json response = Review(kMutate, Captured("create"));
  EXPECT_TRUE(response["allowed"].as<bool>());
  EXPECT_FALSE(response.contains("patch"));
}

TEST_F(Admission, NonCanonicalCidrIsDeniedWithItsField) {
  const Json response =
      Review(kValidate, Replaced(Captured("create"), "10.0.0.0/16", "10.0.3.7/16"));
  EXPECT_FALSE(response["allowed"].as<bool>());
  const Json& status = response["status"];
  EXPECT_EQ(status["code"].as<int>(), 422);
  EXPECT_EQ(status["reason"].as<std::string>(), "Invalid");
  ASSERT_EQ(status["details"]["causes"].size(), 1);
  EXPECT_EQ(status["details"]["causes"][0]["field"].as<std::string>(), "spec.cidr");
  EXPECT_EQ(status["details"]["causes"][0]["reason"].as<std::string>(), "FieldValueInvalid");
  EXPECT_THAT(status["message"].as<std::string>(), HasSubstr("10.0.0.0/16"));
}

TEST_F(Admission, DryRunIsJudgedAlike) {
  const std::string review = Captured("dryrun");
  ASSERT_THAT(review, HasSubstr(R"("dryRun":true)"));
  EXPECT_TRUE(Review(kValidate, review)["allowed"].as<bool>());
  // Only in the new object, so that it is a change.
  std::string bad = review;
  bad.replace(bad.find("10.0.0.0/16"), 11, "10.0.3.7/16");
  EXPECT_FALSE(Review(kValidate, bad)["allowed"].as<bool>());
}

TEST_F(Admission, DeleteHasNoObject) {
  const std::string review = Captured("delete");
  ASSERT_THAT(review, HasSubstr(R"("object":null)"));
  EXPECT_TRUE(Review(kValidate, review)["allowed"].as<bool>());
  EXPECT_TRUE(Review(kMutate, review)["allowed"].as<bool>());
}

TEST_F(Admission, StatusIsNotJudgedByItsSpec) {
  const std::string review = Captured("status");
  ASSERT_THAT(review, HasSubstr(R"("subResource":"status")"));
  std::string bad = review;
  bad.replace(bad.find("10.0.0.0/16"), 11, "10.0.3.7/16");
  EXPECT_TRUE(Review(kValidate, bad)["allowed"].as<bool>());
}

TEST_F(Admission, MalformedReviewsAreBadRequests) {
  const std::string good = Captured("create");
  ExpectStatus(Send(good.substr(0, good.size() / 2)), 400);
  ExpectStatus(Send("[]"), 400);
  ExpectStatus(Send("null"), 400);
  ExpectStatus(Send("{}"), 400);
  ExpectStatus(Send(Replaced(good, R"("kind":"AdmissionReview")", R"("kind":"Review")")), 400);
  ExpectStatus(Send(Replaced(good, "admission.k8s.io/v1", "admission.k8s.io/v1beta1")), 400);
  ExpectStatus(Send(Replaced(good, R"("request":{"uid")", R"("request":{"guid")")), 400);
  ExpectStatus(Send(Replaced(good, "882b9fff", R"(\"},{\")")), 400);
  ExpectStatus(Send(Replaced(good, R"("CREATE")", R"("EXPLODE")")), 400);
  ExpectStatus(Send(Replaced(good, "subnetpools", "subnets")), 400);
  ExpectStatus(Send(Replaced(good, R"("group":"plexaubnet.io")", R"("group":"other.io")")), 400);
}

// A Connection header leaves the request to Drogon.
TEST_F(Admission, AReviewIsAnsweredAlikeWithDrogonAndWithoutIt) {
  Start();
  const std::string good = Captured("create");
  for (const auto& [path, review] : {std::pair(kValidate, good),
                                     {kValidate, Replaced(good, "10.0.0.0/16", "10.0.3.7/16")},
                                     {kValidate, good.substr(0, 500)},
                                     {"/validate/plexaubnet.io/others", good}}) {
    TlsClient client = Webhook();
    const auto direct = client.Exchange(Post(path, review));
    const auto through =
        client.Exchange(Post(path, review, {kJsonBody.front(), "Connection: keep-alive"}));
    ASSERT_TRUE(direct && through) << client.error();
    EXPECT_EQ(direct->code, through->code) << path;
    EXPECT_EQ(direct->body, through->body) << path;
    for (const char* header : {"content-type", "retry-after", "connection"})
      EXPECT_EQ(direct->Header(header), through->Header(header)) << path << ": " << header;
    EXPECT_NE(direct->Header("date"), "");
  }
}

TEST_F(Admission, DeepJsonIsRefusedNotACrash) {
  const std::string good = Captured("create");
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  ExpectStatus(Send(Replaced(good, R"("oldObject":null)", R"("oldObject":)" + deep)), 400);
  EXPECT_TRUE(berth_->Running());
}

TEST_F(Admission, OnlyJsonPostsToKnownPathsAreReviews) {
  Start();
  const std::string review = Captured("create");
  ExpectStatus(Webhook().Exchange(Get(kValidate)), 405);
  ExpectStatus(Webhook().Exchange(Request("PUT", kValidate, kJsonBody, review)), 405);
  ExpectStatus(Webhook().Exchange(Post(kValidate, review, {"Content-Type: text/yaml"})), 415);
  ExpectStatus(Webhook().Exchange(Post(kValidate, review, {})), 415);
  ExpectStatus(Webhook().Exchange(Post(kValidate + "/", review)), 404);
  ExpectStatus(Webhook().Exchange(Post("/validate/plexaubnet.io/nothing", review)), 404);
  ExpectStatus(Webhook().Exchange(Post("/", review)), 404);
}

}  // namespace
}  // namespace berth::server::test
