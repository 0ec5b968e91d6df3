#include "handlers/admission/review.h"

#include <drogon/utils/Utilities.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <fstream>
#include <iterator>

namespace berth::admission {
namespace {

using testing::HasSubstr;

// A review that the real API server has sent (shared/captures/admission).
std::string Captured(const std::string& name) {
  std::ifstream file(std::string(BERTH_SOURCE_DIR) + "/handlers/testdata/admission/" + name +
                     ".json");
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Expected {
  const char* file;
  const char* uid;
  Operation operation;
  const char* sub_resource;
  bool dry_run;
  bool object;
  bool old_object;
};

class CapturedReview : public testing::TestWithParam<Expected> {};

TEST_P(CapturedReview, IsDecoded) {
  const Expected& expected = GetParam();
  kube::JsonDocument document;
  const auto parsed = document.Parse(Captured(expected.file));
  ASSERT_TRUE(parsed) << parsed.error().message;
  const auto request = Decode(*parsed);
  ASSERT_TRUE(request) << request.error().message;
  EXPECT_EQ(request->uid, expected.uid);
  EXPECT_EQ(request->operation, expected.operation);
  EXPECT_EQ(request->sub_resource, expected.sub_resource);
  EXPECT_EQ(request->dry_run, expected.dry_run);
  EXPECT_EQ(request->object.exists(), expected.object);
  EXPECT_EQ(request->old_object.exists(), expected.old_object);
  EXPECT_EQ(request->group, "crd.spike.dev");
  EXPECT_EQ(request->resource, "things");
  EXPECT_EQ(request->ns, "default");
  EXPECT_EQ(request->name, "t1");
  const auto& present = expected.object ? request->object : request->old_object;
  EXPECT_EQ(present["metadata"]["name"].StringOr(""), "t1");
}

INSTANTIATE_TEST_SUITE_P(All, CapturedReview,
                         testing::Values(Expected{"create", "882b9fff-52c2-436f-9066-9345990afe2f",
                                                  Operation::kCreate, "", false, true, false},
                                         Expected{"create-mutating",
                                                  "7528a019-cd50-4a4e-9618-2ad461de01a5",
                                                  Operation::kCreate, "", false, true, false},
                                         Expected{"update", "68f4a577-a128-4d16-bd61-2ba9db7c8db1",
                                                  Operation::kUpdate, "", false, true, true},
                                         Expected{"status", "e300e1a9-044b-4c6d-acba-3a6b6a5ade0b",
                                                  Operation::kUpdate, "status", false, true, true},
                                         Expected{"dryrun", "f2735524-c153-4d0c-baf4-c1e2c799b4d0",
                                                  Operation::kUpdate, "", true, true, true},
                                         Expected{"delete", "d518481b-c807-4ee9-9196-ae45319b0835",
                                                  Operation::kDelete, "", false, false, true}),
                         [](const auto& test) {
                           std::string name = test.param.file;
                           std::erase(name, '-');
                           return name;
                         });

std::string ErrorOf(const std::string& review) {
  kube::JsonDocument document;
  const auto parsed = document.Parse(review);
  if (!parsed) return parsed.error().message;
  const auto request = Decode(*parsed);
  return request ? "" : request.error().message;
}

// A captured review with one thing changed.
std::string Broken(const std::function<void(Json& review)>& breaks) {
  Json review = Json::parse(Captured("create"));
  breaks(review);
  return review.to_string();
}

TEST(DecodeReview, TakesTheUnbrokenOne) {
  EXPECT_EQ(ErrorOf(Broken([](Json&) {})), "");
}

TEST(DecodeReview, SaysThatItIsNoReview) {
  const std::string why = "not an AdmissionReview of admission.k8s.io/v1";
  EXPECT_EQ(ErrorOf("{}"), why);
  EXPECT_EQ(ErrorOf("[]"), why);
  EXPECT_EQ(ErrorOf("null"), why);
  EXPECT_EQ(ErrorOf("\"AdmissionReview\""), why);
  EXPECT_EQ(ErrorOf(Broken([](Json& r) { r["kind"] = "Pod"; })), why);
  EXPECT_EQ(ErrorOf(Broken([](Json& r) { r["kind"] = 1; })), why);
  EXPECT_EQ(ErrorOf(Broken([](Json& r) { r["apiVersion"] = "admission.k8s.io/v1beta1"; })), why);
  EXPECT_EQ(ErrorOf(Broken([](Json& r) { r.erase("apiVersion"); })), why);
}

TEST(DecodeReview, SaysWhatOfTheRequestIsMissing) {
  const auto without = [](const char* member) {
    return ErrorOf(Broken([&](Json& r) { r["request"].erase(member); }));
  };
  EXPECT_EQ(ErrorOf(Broken([](Json& r) { r.erase("request"); })),
            "the AdmissionReview has no request");
  EXPECT_EQ(ErrorOf(Broken([](Json& r) { r["request"] = "x"; })),
            "the AdmissionReview has no request");
  EXPECT_EQ(without("uid"), "request.uid is missing or malformed");
  EXPECT_THAT(without("operation"), HasSubstr("request.operation is not one of CREATE"));
  EXPECT_EQ(without("resource"), "request.resource is missing");
  EXPECT_EQ(without("object"), "request.object is missing");
}

TEST(DecodeReview, RefusesAUidThatCouldNotGoBackVerbatim) {
  const auto with_uid = [](const std::string& uid) {
    return ErrorOf(Broken([&](Json& r) { r["request"]["uid"] = uid; }));
  };
  EXPECT_EQ(with_uid("a-B_9."), "");
  EXPECT_EQ(with_uid(std::string(128, 'a')), "");
  for (const std::string& bad : {std::string(), std::string(129, 'a'), std::string("a\"b"),
                                 std::string("a b"), std::string("ä"), std::string("a\\")}) {
    EXPECT_EQ(with_uid(bad), "request.uid is missing or malformed") << bad;
  }
}

TEST(DecodeReview, RefusesAnUnknownOperationOrAnObjectThatIsNone) {
  EXPECT_THAT(ErrorOf(Broken([](Json& r) { r["request"]["operation"] = "create"; })),
              HasSubstr("request.operation"));
  EXPECT_THAT(ErrorOf(Broken([](Json& r) { r["request"]["object"] = Json::null(); })),
              HasSubstr("request.object"));
  EXPECT_THAT(ErrorOf(Broken([](Json& r) { r["request"]["object"] = "t1"; })),
              HasSubstr("request.object"));
}

TEST(DecodeReview, ADocumentCutAnywhereIsAnErrorSentence) {
  const std::string whole = Captured("create");
  const std::size_t end = whole.find_last_of('}');
  EXPECT_TRUE(rc::check([&] {
    RC_ASSERT(!ErrorOf(whole.substr(0, *rc::gen::inRange<std::size_t>(0, end))).empty());
  }));
}

TEST(OperationName, IsTheApis) {
  EXPECT_EQ(Name(Operation::kCreate), "CREATE");
  EXPECT_EQ(Name(Operation::kUpdate), "UPDATE");
  EXPECT_EQ(Name(Operation::kDelete), "DELETE");
  EXPECT_EQ(Name(Operation::kConnect), "CONNECT");
}

Json Answer(const Response& response) {
  const Json review = Json::parse(response.ToJson("u-1"));
  EXPECT_EQ(review["kind"], "AdmissionReview");
  EXPECT_EQ(review["apiVersion"], "admission.k8s.io/v1");
  EXPECT_EQ(review["response"]["uid"], "u-1");
  return review["response"];
}

TEST(Response, AllowsWithNothingElse) {
  EXPECT_EQ(Response::Allow().ToJson("u-1"),
            R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",)"
            R"("response":{"uid":"u-1","allowed":true}})");
}

TEST(Response, CarriesThePatchInBase64) {
  Response response;
  response.Add("/spec/a", 1).Replace("/spec/b", "ü/~").Remove("/spec/c");
  const Json answer = Answer(response);
  EXPECT_EQ(answer["patchType"], "JSONPatch");
  EXPECT_EQ(Json::parse(drogon::utils::base64Decode(answer["patch"].as_string())),
            Json::parse(R"([{"op":"add","path":"/spec/a","value":1},
                            {"op":"replace","path":"/spec/b","value":"ü/~"},
                            {"op":"remove","path":"/spec/c"}])"));
}

TEST(Response, ADenialHasAStatusWithCausesAndNoPatch) {
  Response response =
      Response::Deny(kube::Invalid("SubnetPool", "plexaubnet.io", "p",
                                   {{"FieldValueInvalid", "Invalid value: \"x\"", "spec.cidr"}}));
  response.Add("/spec/a", 1);
  EXPECT_FALSE(response.allowed());
  const Json answer = Answer(response);
  EXPECT_FALSE(answer["allowed"].as<bool>());
  EXPECT_FALSE(answer.contains("patch"));
  EXPECT_FALSE(answer.contains("patchType"));
  const Json& status = answer["status"];
  EXPECT_EQ(status["code"], 422);
  EXPECT_EQ(status["reason"], "Invalid");
  EXPECT_EQ(status["details"]["causes"],
            Json::parse(R"([{"reason":"FieldValueInvalid","message":"Invalid value: \"x\"",
                             "field":"spec.cidr"}])"));
}

TEST(Response, KeepsAuditAnnotations) {
  Response response;
  response.Audit("pool", "10.0.0.0/8").Audit("why", "\"quoted\"");
  EXPECT_EQ(Answer(response)["auditAnnotations"],
            Json::parse(R"({"pool":"10.0.0.0/8","why":"\"quoted\""})"));
}

std::vector<std::string> Warnings(const Response& response) {
  const Json answer = Answer(response);
  return answer.contains("warnings") ? answer["warnings"].as<std::vector<std::string>>()
                                     : std::vector<std::string>{};
}

TEST(Response, AWarningIsWholeWhereAllHaveRoom) {
  Response response;
  response.Warn(std::string(1000, 'a')).Warn(std::string(3000, 'b')).Warn("\"c\"\n");
  EXPECT_THAT(Warnings(response),
              testing::ElementsAre(std::string(1000, 'a'), std::string(3000, 'b'), "\"c\"\n"));
}

TEST(Response, AWarningWithoutRoomIsCutTo256BytesButNotInsideACharacter) {
  for (const std::string character : {"é", "€", "𝄞"}) {
    for (std::size_t lead = 246; lead <= 256; ++lead) {
      std::string text(lead, 'a');
      for (int i = 0; i < 100; ++i) text += character;
      Response response;
      response.Warn(std::string(3800, 'x')).Warn(text);
      const std::size_t whole = (256 - lead) / character.size() * character.size();
      EXPECT_EQ(Warnings(response).back(), text.substr(0, lead + whole)) << lead << character;
    }
  }
}

TEST(Response, DropsWarningsBeyond4096Bytes) {
  Response response;
  for (int i = 0; i < 60; ++i) response.Warn(std::string(240, 'a'));
  response.Warn(std::string(16, 'b'));  // 17 × 240 = 4080: this one still fits
  response.Warn("c");
  const auto warnings = Warnings(response);
  ASSERT_EQ(warnings.size(), 18u);
  EXPECT_EQ(warnings.back(), std::string(16, 'b'));
}

}  // namespace
}  // namespace berth::admission
