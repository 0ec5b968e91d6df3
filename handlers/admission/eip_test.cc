#include "handlers/admission/eip.h"

#include <drogon/utils/Utilities.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "async/test_executor.h"

// The webhooks for EIPs while there is nobody to ask: an object is judged by itself. With
// everything around them: eip_cluster_test.cc.
namespace berth::admission {
namespace {

using testing::HasSubstr;

constexpr const char* kValidate = "/validate/eip.alibabacloud.com/eips";
constexpr const char* kMutate = "/mutate/eip.alibabacloud.com/eips";
constexpr const char* kNotLooked =
    "Berth does not know the other objects yet: conflicts with them were not looked for";

// JSON, without the braces.
struct Eip {
  std::string spec;
  std::string metadata = {};
  std::string status = {};

  Json ToJson() const {
    return Json::parse(
        R"({"apiVersion":"eip.alibabacloud.com/v1alpha1","kind":"EIP","metadata":{)" + metadata +
        (metadata.empty() ? "" : ",") + R"("name":"web","uid":"u-7"},"spec":{)" + spec +
        R"(},"status":{)" + status + "}}");
  }
};

// A review as an API server sent it, made to be about an EIP.
Json Review(const std::string& captured, const Json& object, const Json& old_object) {
  std::ifstream file(std::string(BERTH_SOURCE_DIR) + "/handlers/testdata/admission/" + captured +
                     ".json");
  Json review = Json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
  Json& request = review["request"];
  for (const char* kind : {"kind", "requestKind"}) {
    request[kind] =
        Json::parse(R"({"group":"eip.alibabacloud.com","version":"v1alpha1","kind":"EIP"})");
  }
  for (const char* resource : {"resource", "requestResource"}) {
    request[resource] =
        Json::parse(R"({"group":"eip.alibabacloud.com","version":"v1alpha1","resource":"eips"})");
  }
  request["name"] = "web";
  request.erase("namespace");
  request["object"] = object;
  request["oldObject"] = old_object;
  return review;
}

class EipAlone : public testing::Test {
 protected:
  EipAlone() { RegisterEip(webhooks_, desk_); }

  Json Verdict(const std::string& path, const Json& review) {
    std::vector<std::string> answers;
    webhooks_.Review(path, review.to_string(), executor_,
                     [&](std::expected<std::string, kube::Status> answer) {
                       answers.push_back(answer.value());
                     });
    executor_.RunUntilIdle();
    EXPECT_EQ(answers.size(), 1);
    return Json::parse(answers.front())["response"];
  }
  Json Create(const Eip& eip) {
    return Verdict(kValidate, Review("create", eip.ToJson(), Json::null()));
  }
  Json Update(const Eip& before, const Eip& after) {
    return Verdict(kValidate, Review("update", after.ToJson(), before.ToJson()));
  }
  Json PatchOf(const Json& review) {
    const Json response = Verdict(kMutate, review);
    EXPECT_TRUE(response["allowed"].as<bool>());
    if (!response.contains("patch")) return Json::null();
    return Json::parse(drogon::utils::base64Decode(response["patch"].as_string()));
  }

  async::TestExecutor executor_;
  eip::Desk desk_{executor_};
  prometheus::Registry registry_;
  Webhooks webhooks_{registry_};
};

TEST_F(EipAlone, IsJudgedByItselfAndSaysSo) {
  const Json answer = Create({R"("bandwidth":"20")"});
  EXPECT_TRUE(answer["allowed"].as<bool>());
  EXPECT_EQ(answer["warnings"], Json(std::vector<std::string>{kNotLooked}));
}

TEST_F(EipAlone, ARefusalIsAStatusThatNamesTheFields) {
  const Json answer = Create({R"("bandwidth":"201","isp":"Semaphore")"});
  EXPECT_FALSE(answer["allowed"].as<bool>());
  const Json& status = answer["status"];
  EXPECT_EQ(status["code"], 422);
  EXPECT_EQ(status["reason"], "Invalid");
  EXPECT_EQ(status["details"]["kind"], "EIP");
  EXPECT_EQ(status["details"]["group"], "eip.alibabacloud.com");
  EXPECT_EQ(status["details"]["name"], "web");
  ASSERT_EQ(status["details"]["causes"].size(), 2u);
  EXPECT_EQ(status["details"]["causes"][0]["field"], "spec.isp");
  EXPECT_EQ(status["details"]["causes"][0]["reason"], "FieldValueNotSupported");
  EXPECT_EQ(status["details"]["causes"][1]["field"], "spec.bandwidth");
  EXPECT_THAT(status["message"].as_string(), HasSubstr("EIP.eip.alibabacloud.com \"web\""));
}

TEST_F(EipAlone, WarnsOnAnUpdateThatKeepsAnOldMistake) {
  const Json answer = Update({R"("bandwidth":"900")"}, {R"("bandwidth":"900","name":"x")"});
  EXPECT_TRUE(answer["allowed"].as<bool>());
  ASSERT_EQ(answer["warnings"].size(), 2u);
  EXPECT_THAT(answer["warnings"][0].as_string(), testing::StartsWith("spec.bandwidth: "));
  EXPECT_LE(answer["warnings"][0].as_string().size(), 120u);
}

TEST_F(EipAlone, FlawAnInvalidObjectCanBeDeleted) {
  const std::string held = R"("finalizers":["eip.alibabacloud.com/finalizer"])";
  const std::string deleting = R"("deletionTimestamp":"2026-11-16T00:00:00Z")";
  const std::string bad = R"("bandwidth":"nonsense")";
  const Json gone = Update({bad, held + "," + deleting}, {bad, deleting});
  EXPECT_TRUE(gone["allowed"].as<bool>());
  EXPECT_FALSE(gone.contains("warnings"));
  EXPECT_TRUE(Update({R"("isp":"BGP")", deleting}, {bad, deleting})["allowed"].as<bool>());
  const Json freed = Update({bad, held}, {bad});
  EXPECT_TRUE(freed["allowed"].as<bool>());
  EXPECT_FALSE(freed.contains("warnings")) << "nobody was asked";
}

TEST_F(EipAlone, AMisspeltEscapeIsToldEvenOfAnObjectBeingDeleted) {
  const std::string deleting = R"("deletionTimestamp":"2026-11-16T00:00:00Z")";
  const auto noted = [](const char* value) {
    return std::string(R"("annotations":{"eip.alibabacloud.com/on-stuck":")") + value + "\"}";
  };
  const Json answer = Update({"", deleting}, {"", deleting + "," + noted("abandn")});
  EXPECT_TRUE(answer["allowed"].as<bool>());
  ASSERT_EQ(answer["warnings"].size(), 1u);
  EXPECT_THAT(answer["warnings"][0].as_string(), HasSubstr("abandn"));
  EXPECT_FALSE(Update({"", noted("abandn")}, {"", noted("abandn") + R"(,"labels":{"a":"b"})"})
                   .contains("warnings"))
      << "told when it was written";
}

TEST_F(EipAlone, EveryAnnotationThatIsMisspeltIsTold) {
  for (const char* name : {"on-stuck", "on-lost", "on-foreign"}) {
    const std::string misspelt =
        std::string(R"("annotations":{"eip.alibabacloud.com/)") + name + R"(":"adpot"})";
    for (const Json& answer : {Create({"", misspelt}), Update({""}, {"", misspelt})}) {
      ASSERT_TRUE(answer.contains("warnings")) << name;
      EXPECT_THAT(answer["warnings"][0].as_string(), HasSubstr(name));
    }
  }
}

TEST_F(EipAlone, LetsStatusUpdatesPass) {
  Json review = Review("update", Eip{R"("bandwidth":"x")"}.ToJson(), Eip{""}.ToJson());
  review["request"]["subResource"] = "status";
  EXPECT_TRUE(Verdict(kValidate, review)["allowed"].as<bool>());
}

TEST_F(EipAlone, FillsInHowAnAddressIsPaidFor) {
  EXPECT_EQ(PatchOf(Review("create-mutating", Eip{""}.ToJson(), Json::null())), Json::parse(R"([
      {"op":"add","path":"/spec/internetChargeType","value":"PayByTraffic"},
      {"op":"add","path":"/spec/instanceChargeType","value":"PostPaid"}])"));
  EXPECT_EQ(
      PatchOf(Review("create-mutating", Eip{R"("allocationID":"eip-1")"}.ToJson(), Json::null())),
      Json::null());
}

TEST_F(EipAlone, AValueOfTheWrongTypeIsLeftForTheSchemaToRefuse) {
  for (const char* wrong : {R"("internetChargeType":5,"instanceChargeType":true)",
                            R"("internetChargeType":{},"instanceChargeType":["PostPaid"])"}) {
    EXPECT_EQ(PatchOf(Review("create-mutating", Eip{wrong}.ToJson(), Json::null())), Json::null())
        << wrong;
  }
  const Eip none{R"("internetChargeType":null,"instanceChargeType":null)"};
  EXPECT_EQ(PatchOf(Review("create-mutating", none.ToJson(), Json::null())).size(), 2u);
}

TEST_F(EipAlone, DefaultsNothingWithoutASpec) {
  Json bare = Eip{""}.ToJson();
  bare.erase("spec");
  EXPECT_EQ(PatchOf(Review("create-mutating", bare, Json::null())), Json::null());
}

TEST_F(EipAlone, AnUpdateKeepsWhatItLeavesOut) {
  const std::string status = R"("allocationID":"eip-1","origin":"Created")";
  const Eip stored{R"("allocationID":"eip-1","internetChargeType":"PayByTraffic","bandwidth":"5")",
                   "", status};
  const Eip replaced{R"("bandwidth":"6")", "", status};
  EXPECT_EQ(PatchOf(Review("update", replaced.ToJson(), stored.ToJson())), Json::parse(R"([
      {"op":"add","path":"/spec/allocationID","value":"eip-1"},
      {"op":"add","path":"/spec/internetChargeType","value":"PayByTraffic"}])"));
}

TEST_F(EipAlone, AnUpdateOfMetadataFillsInNothing) {
  EXPECT_EQ(PatchOf(Review("update", Eip{"", R"("labels":{"a":"b"})"}.ToJson(), Eip{""}.ToJson())),
            Json::null());
}

}  // namespace
}  // namespace berth::admission
