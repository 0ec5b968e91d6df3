#include "handlers/admission/ipam.h"

#include <drogon/utils/Utilities.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include "async/test_executor.h"

// The webhooks of the IPAM while there is nobody to ask: an object is judged by itself. With
// everything around them: ipam_cluster_test.cc.
namespace berth::admission {
namespace {

using testing::HasSubstr;

constexpr const char* kValidate = "/validate/plexaubnet.io/subnetpools";
constexpr const char* kMutate = "/mutate/plexaubnet.io/subnetpools";
constexpr const char* kNotLooked =
    "Berth does not know the other objects yet: conflicts with them were not looked for";

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

class IpamAlone : public testing::Test {
 protected:
  IpamAlone() { RegisterIpam(webhooks_, desk_); }

  struct Answer {
    int code = 0;
    Json body;
  };

  // Over HTTP, where it is refused at once.
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
    std::vector<std::string> answers;
    webhooks_.Review(path, review.to_string(), executor_,
                     [&](std::expected<std::string, kube::Status> answer) {
                       answers.push_back(answer.value());
                     });
    executor_.RunUntilIdle();
    EXPECT_EQ(answers.size(), 1);
    const Json response = Json::parse(answers.front())["response"];
    EXPECT_EQ(response["uid"], "u-1");
    return response;
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

  async::TestExecutor executor_;
  ipam::Desk desk_{executor_};
  prometheus::Registry registry_;
  Webhooks webhooks_{registry_};
};

TEST_F(IpamAlone, AllowsACanonicalCidr) {
  for (const char* cidr : {"10.0.0.0/16", "0.0.0.0/0", "192.0.2.1/32", "2001:db8::/32", "::/0"}) {
    EXPECT_TRUE(Create({cidr})["allowed"].as<bool>()) << cidr;
  }
}

TEST_F(IpamAlone, DeniesWhatIsNotACidrAndSaysWhere) {
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

TEST_F(IpamAlone, NamesTheCanonicalForm) {
  const auto message = [&](const char* cidr) {
    return Create({cidr})["status"]["details"]["causes"][0]["message"].as_string();
  };
  EXPECT_THAT(message("10.0.0.1/8"), HasSubstr("the canonical form is \"10.0.0.0/8\""));
  EXPECT_THAT(message("2001:DB8::/32"), HasSubstr("\"2001:db8::/32\""));
  EXPECT_THAT(message("2001:db8:0:0::/32"), HasSubstr("\"2001:db8::/32\""));
}

TEST_F(IpamAlone, RequiresACidr) {
  const Json cause = Create({})["status"]["details"]["causes"][0];
  EXPECT_EQ(cause["reason"], "FieldValueRequired");
  EXPECT_EQ(cause["field"], "spec.cidr");
}

TEST_F(IpamAlone, WarnsOnAnUpdateThatKeepsAnOldMistake) {
  const Json answer = Update({"10.0.0.1/8"}, {"10.0.0.1/8", 26});
  EXPECT_TRUE(answer["allowed"].as<bool>());
  ASSERT_EQ(answer["warnings"].size(), 2u);
  EXPECT_THAT(answer["warnings"][0].as_string(), testing::StartsWith("spec.cidr: "));
  EXPECT_LE(answer["warnings"][0].as_string().size(), 120u);
  EXPECT_EQ(answer["warnings"][1], kNotLooked);
}

TEST_F(IpamAlone, DeniesAnUpdateThatMakesAMistake) {
  EXPECT_FALSE(Update({"10.0.0.0/8"}, {"10.0.0.1/8"})["allowed"].as<bool>());
  EXPECT_FALSE(Update({"10.0.0.1/8"}, {"10.0.0.2/8"})["allowed"].as<bool>());
  EXPECT_FALSE(Update({"10.0.0.0/8"}, {})["allowed"].as<bool>());
  const Json fixed = Update({"10.0.0.1/8"}, {"10.0.0.0/8"});
  EXPECT_TRUE(fixed["allowed"].as<bool>());
  EXPECT_EQ(fixed["warnings"], Json(std::vector<std::string>{kNotLooked}));
}

TEST_F(IpamAlone, NeverStandsInTheWayOfADeletion) {
  const Json deletion = Review("DELETE", Json::null(), Pool{"nonsense"}.ToJson());
  EXPECT_TRUE(Verdict(kValidate, deletion)["allowed"].as<bool>());
}

TEST_F(IpamAlone, LetsAFinalizerGoWhateverTheSpecSays) {
  Json held = Pool{"nonsense"}.ToJson();
  held["metadata"]["finalizers"] = Json::parse(R"(["ipam.plexaubnet.io/finalizer"])");
  const Json answer = Verdict(kValidate, Review("UPDATE", Pool{"nonsense"}.ToJson(), held));
  EXPECT_TRUE(answer["allowed"].as<bool>());
  EXPECT_FALSE(answer.contains("warnings"));
}

TEST_F(IpamAlone, AnUpdateOfWhatIsBeingDeletedIsJudgedLikeAnyOther) {
  const Pool before{.cidr = "10.0.0.0/16", .deleting = true};
  EXPECT_FALSE(Update(before, {.cidr = "10.9.0.0/16", .deleting = true})["allowed"].as<bool>());
  EXPECT_TRUE(Update(before, {.cidr = "10.0.0.0/15", .deleting = true})["allowed"].as<bool>());
}

TEST_F(IpamAlone, TheParentsLabelIsJudgedToo) {
  Json child = Pool{"10.0.0.0/16"}.ToJson();
  child["spec"]["parentRef"] = "one";
  Json other = child;
  other["metadata"]["labels"] = Json::parse(R"({"plexaubnet.io/parent":"two"})");
  const Json answer = Verdict(kValidate, Review("UPDATE", other, child));
  EXPECT_EQ(answer["status"]["details"]["causes"][0]["field"], "spec.parentRef");
}

TEST_F(IpamAlone, ADeletionIsRefusedByThePoolsOwnStatus) {
  Json used = Pool{"10.0.0.0/16"}.ToJson();
  used["status"] = Json::parse(R"({"allocatedCount":2})");
  const Json answer = Verdict(kValidate, Review("DELETE", Json::null(), used));
  EXPECT_EQ(answer["status"]["code"], 403);
}

TEST_F(IpamAlone, AClaimGetsNoStampButLosesAForgedOne) {
  Json review = Review("CREATE", Json::parse(R"({"metadata":{"name":"pool",
      "annotations":{"ipam.plexaubnet.io/allocation":"10.0.0.0/24 1 2"}},
      "spec":{"poolRef":"p","clusterID":"c"}})"),
                       Json::null());
  review["request"]["resource"]["resource"] = "subnetclaims";
  const Json answer = Verdict("/mutate/plexaubnet.io/subnetclaims", review);
  EXPECT_EQ(Json::parse(drogon::utils::base64Decode(answer["patch"].as_string())),
            Json::parse(R"([{"op":"remove",
                "path":"/metadata/annotations/ipam.plexaubnet.io~1allocation"}])"));
}

TEST_F(IpamAlone, LetsStatusUpdatesPass) {
  Json review = Review("UPDATE", Pool{"nonsense"}.ToJson(), Pool{"10.0.0.0/8"}.ToJson());
  review["request"]["subResource"] = "status";
  EXPECT_TRUE(Verdict(kValidate, review)["allowed"].as<bool>());
}

TEST_F(IpamAlone, DefaultsTheBlockSizeByFamily) {
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

TEST_F(IpamAlone, DefaultsNothingThatIsGivenOrUnknowable) {
  EXPECT_EQ(PatchOnCreate({"10.0.0.0/8", 26}), Json::null());
  EXPECT_EQ(PatchOnCreate({"nonsense"}), Json::null());
  EXPECT_EQ(PatchOnCreate({}), Json::null());
}

TEST_F(IpamAlone, ABlockSizeOfAnotherTypeIsLeftToTheSchema) {
  Json pool = Pool{"10.0.0.0/8"}.ToJson();
  for (const char* size : {R"("/20")", R"("")", "20.5", "200", "-1", "[]", "{}", "false"}) {
    pool["spec"]["defaultBlockSize"] = Json::parse(size);
    EXPECT_FALSE(Verdict(kMutate, Review("CREATE", pool, Json::null())).contains("patch")) << size;
  }
  pool["spec"]["defaultBlockSize"] = Json::null();
  EXPECT_TRUE(Verdict(kMutate, Review("CREATE", pool, Json::null())).contains("patch"));
}

TEST_F(IpamAlone, AHundredThousandBadExclusionsHaveAShortAnswer) {
  Json pool = Pool{"10.0.0.0/8"}.ToJson();
  Json ranges = Json::Array();
  for (int i = 0; i < 100'000; ++i) ranges.push_back("");
  pool["spec"]["excludedRanges"] = ranges;
  const Json answer = Verdict(kValidate, Review("CREATE", pool, Json::null()));
  EXPECT_FALSE(answer["allowed"].as<bool>());
  EXPECT_LT(answer.to_string().size(), 4096);
}

TEST_F(IpamAlone, DefaultingIsIdempotent) {
  Pool pool{"10.0.0.0/8"};
  pool.block = PatchOnCreate(pool)[0]["value"].as<int>();
  EXPECT_EQ(PatchOnCreate(pool), Json::null());
}

TEST_F(IpamAlone, RefusesWhatIsNoReviewOfItsResource) {
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
  EXPECT_EQ(Send(kValidate, "{}", drogon::Post, "application/jsonx").code, 415);
  EXPECT_EQ(Send(kValidate, "{}", drogon::Post, "application/json;charset=utf-8").code, 400);
}

TEST_F(IpamAlone, CountsByResult) {
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
