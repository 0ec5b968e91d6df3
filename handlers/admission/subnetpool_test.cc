#include "handlers/admission/subnetpool.h"

#include <drogon/utils/Utilities.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

namespace berth::admission {
namespace {

using testing::HasSubstr;

constexpr const char* kValidate = "/validate/plexaubnet.io/subnetpools";
constexpr const char* kMutate = "/mutate/plexaubnet.io/subnetpools";

struct Pool {
  std::string cidr;  // empty: not given
  int block = 0;     // 0: not given
  bool deleting = false;

  Json ToJson() const {
    Json object = Json::parse(R"({"apiVersion":"plexaubnet.io/v1alpha1","kind":"SubnetPool",
                                  "metadata":{"name":"pool"},"spec":{}})");
    if (!cidr.empty()) object["spec"]["cidr"] = cidr;
    if (block != 0) object["spec"]["defaultBlockSize"] = block;
    if (deleting) object["metadata"]["deletionTimestamp"] = "2026-11-16T00:00:00Z";
    return object;
  }
};

Json Review(const std::string& operation, const Json& object, const Json& old_object) {
  Json review = Json::parse(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
      "request":{"uid":"u-1","kind":{"group":"plexaubnet.io","version":"v1alpha1",
                "kind":"SubnetPool"},
                 "resource":{"group":"plexaubnet.io","version":"v1alpha1","resource":"subnetpools"},
                 "name":"pool","userInfo":{"username":"alice"},"dryRun":false}})");
  review["request"]["operation"] = operation;
  review["request"]["object"] = object;
  review["request"]["oldObject"] = old_object;
  return review;
}

class SubnetPoolWebhook : public testing::Test {
 protected:
  SubnetPoolWebhook() { RegisterSubnetPool(webhooks_); }

  struct Answer {
    int code = 0;
    Json body;
  };

  Answer Send(const std::string& path, const std::string& body,
              drogon::HttpMethod method = drogon::Post,
              const std::string& content_type = "application/json") {
    const auto request = drogon::HttpRequest::newHttpRequest();
    request->setMethod(method);
    request->setPath(path);
    request->addHeader("content-type", content_type);
    request->setBody(body);
    EXPECT_EQ(http::RawPath(request), path);
    Answer answer;
    int answers = 0;
    webhooks_.Serve(request, [&](const drogon::HttpResponsePtr& response) {
      answer = {response->statusCode(), Json::parse(response->body())};
      ++answers;
    });
    EXPECT_EQ(answers, 1);
    return answer;
  }

  Json Verdict(const std::string& path, const Json& review) {
    const Answer answer = Send(path, review.to_string());
    EXPECT_EQ(answer.code, 200);
    EXPECT_EQ(answer.body["response"]["uid"], "u-1");
    return answer.body["response"];
  }

  Json Create(const Pool& pool) {
    return Verdict(kValidate, Review("CREATE", pool.ToJson(), Json::null()));
  }
  Json Update(const Pool& before, const Pool& after) {
    return Verdict(kValidate, Review("UPDATE", after.ToJson(), before.ToJson()));
  }
  Json PatchOnCreate(const Pool& pool) {
    const Json response = Verdict(kMutate, Review("CREATE", pool.ToJson(), Json::null()));
    EXPECT_TRUE(response["allowed"].as<bool>());
    if (!response.contains("patch")) return Json::null();
    return Json::parse(drogon::utils::base64Decode(response["patch"].as_string()));
  }

  std::string Metrics() const {
    return prometheus::TextSerializer().Serialize(registry_.Collect());
  }

  prometheus::Registry registry_;
  Webhooks webhooks_{registry_};
};

TEST_F(SubnetPoolWebhook, AllowsACanonicalCidr) {
  for (const char* cidr : {"10.0.0.0/16", "0.0.0.0/0", "192.0.2.1/32", "2001:db8::/32", "::/0"}) {
    EXPECT_TRUE(Create({cidr})["allowed"].as<bool>()) << cidr;
  }
}

TEST_F(SubnetPoolWebhook, DeniesWhatIsNotACidrAndSaysWhere) {
  for (const char* cidr :
       {"x", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "010.0.0.0/8", "2001:db8::/129"}) {
    const Json answer = Create({cidr});
    EXPECT_FALSE(answer["allowed"].as<bool>()) << cidr;
    const Json& status = answer["status"];
    EXPECT_EQ(status["code"], 422);
    EXPECT_EQ(status["details"]["kind"], "SubnetPool");
    EXPECT_EQ(status["details"]["group"], "plexaubnet.io");
    EXPECT_EQ(status["details"]["name"], "pool");
    ASSERT_EQ(status["details"]["causes"].size(), 1u);
    const Json& cause = status["details"]["causes"][0];
    EXPECT_EQ(cause["field"], "spec.cidr");
    EXPECT_EQ(cause["reason"], "FieldValueInvalid");
    EXPECT_THAT(cause["message"].as_string(), HasSubstr(std::string("\"") + cidr + "\""));
  }
}

TEST_F(SubnetPoolWebhook, NamesTheCanonicalForm) {
  const auto message = [&](const char* cidr) {
    return Create({cidr})["status"]["details"]["causes"][0]["message"].as_string();
  };
  EXPECT_THAT(message("10.0.0.1/8"), HasSubstr("the canonical form is \"10.0.0.0/8\""));
  EXPECT_THAT(message("2001:DB8::/32"), HasSubstr("\"2001:db8::/32\""));
  EXPECT_THAT(message("2001:db8:0:0::/32"), HasSubstr("\"2001:db8::/32\""));
}

TEST_F(SubnetPoolWebhook, RequiresACidr) {
  const Json cause = Create({})["status"]["details"]["causes"][0];
  EXPECT_EQ(cause["reason"], "FieldValueRequired");
  EXPECT_EQ(cause["field"], "spec.cidr");
}

TEST_F(SubnetPoolWebhook, WarnsOnAnUpdateThatKeepsAnOldMistake) {
  const Json answer = Update({"10.0.0.1/8"}, {"10.0.0.1/8", 26});
  EXPECT_TRUE(answer["allowed"].as<bool>());
  ASSERT_EQ(answer["warnings"].size(), 1u);
  EXPECT_THAT(answer["warnings"][0].as_string(), testing::StartsWith("spec.cidr: "));
  EXPECT_LE(answer["warnings"][0].as_string().size(), 120u);
}

TEST_F(SubnetPoolWebhook, DeniesAnUpdateThatMakesAMistake) {
  EXPECT_FALSE(Update({"10.0.0.0/8"}, {"10.0.0.1/8"})["allowed"].as<bool>());
  EXPECT_FALSE(Update({"10.0.0.1/8"}, {"10.0.0.2/8"})["allowed"].as<bool>());
  EXPECT_FALSE(Update({"10.0.0.0/8"}, {})["allowed"].as<bool>());
  const Json fixed = Update({"10.0.0.1/8"}, {"10.0.0.0/8"});
  EXPECT_TRUE(fixed["allowed"].as<bool>());
  EXPECT_FALSE(fixed.contains("warnings"));
}

TEST_F(SubnetPoolWebhook, NeverStandsInTheWayOfADeletion) {
  EXPECT_TRUE(Update({"10.0.0.0/8"}, {"nonsense", 0, true})["allowed"].as<bool>());
  const Json deletion = Review("DELETE", Json::null(), Pool{"nonsense"}.ToJson());
  EXPECT_TRUE(Verdict(kValidate, deletion)["allowed"].as<bool>());
}

TEST_F(SubnetPoolWebhook, LetsStatusUpdatesPass) {
  Json review = Review("UPDATE", Pool{"nonsense"}.ToJson(), Pool{"10.0.0.0/8"}.ToJson());
  review["request"]["subResource"] = "status";
  EXPECT_TRUE(Verdict(kValidate, review)["allowed"].as<bool>());
}

TEST_F(SubnetPoolWebhook, DefaultsTheBlockSizeByFamily) {
  const auto patch = [](int size) {
    Json operation = Json::parse(R"([{"op":"add","path":"/spec/defaultBlockSize"}])");
    operation[0]["value"] = size;
    return operation;
  };
  EXPECT_EQ(PatchOnCreate({"10.0.0.0/8"}), patch(24));
  EXPECT_EQ(PatchOnCreate({"10.0.0.0/28"}), patch(28));
  EXPECT_EQ(PatchOnCreate({"2001:db8::/32"}), patch(64));
  EXPECT_EQ(PatchOnCreate({"2001:db8::/72"}), patch(72));
}

TEST_F(SubnetPoolWebhook, DefaultsNothingThatIsGivenOrUnknowable) {
  EXPECT_EQ(PatchOnCreate({"10.0.0.0/8", 26}), Json::null());
  EXPECT_EQ(PatchOnCreate({"nonsense"}), Json::null());
  EXPECT_EQ(PatchOnCreate({}), Json::null());
}

TEST_F(SubnetPoolWebhook, DefaultingIsIdempotent) {
  Pool pool{"10.0.0.0/8"};
  pool.block = PatchOnCreate(pool)[0]["value"].as<int>();
  EXPECT_EQ(PatchOnCreate(pool), Json::null());
}

TEST_F(SubnetPoolWebhook, RefusesWhatIsNoReviewOfItsResource) {
  EXPECT_EQ(Send(kValidate, "{").code, 400);
  EXPECT_EQ(Send(kValidate, "").code, 400);
  EXPECT_EQ(Send(kValidate, "{}").body["message"], "not an AdmissionReview of admission.k8s.io/v1");
  Json foreign = Review("CREATE", Pool{"10.0.0.0/8"}.ToJson(), Json::null());
  foreign["request"]["resource"]["resource"] = "pods";
  const auto answer = Send(kValidate, foreign.to_string());
  EXPECT_EQ(answer.code, 400);
  EXPECT_THAT(answer.body["message"].as_string(), HasSubstr("pods.plexaubnet.io"));
  EXPECT_EQ(Send("/validate/plexaubnet.io/pods", "{}").code, 404);
  EXPECT_EQ(Send(kValidate, "{}", drogon::Get).code, 405);
  EXPECT_EQ(Send(kValidate, "{}", drogon::Post, "text/plain").code, 415);
}

TEST_F(SubnetPoolWebhook, CountsByResult) {
  Create({"10.0.0.0/8"});
  Create({"x"});
  Create({"y"});
  Send(kValidate, "{}");
  const std::string label = std::string("webhook=\"") + kValidate + "\"";
  EXPECT_THAT(Metrics(),
              HasSubstr("berth_admission_reviews_total{result=\"allowed\"," + label + "} 1"));
  EXPECT_THAT(Metrics(),
              HasSubstr("berth_admission_reviews_total{result=\"denied\"," + label + "} 2"));
  EXPECT_THAT(Metrics(),
              HasSubstr("berth_admission_reviews_total{result=\"malformed\"," + label + "} 1"));
  EXPECT_THAT(Metrics(),
              HasSubstr("controller_runtime_webhook_latency_seconds_count{" + label + "} 3"));
}

}  // namespace
}  // namespace berth::admission
