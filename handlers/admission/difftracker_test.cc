#include "handlers/admission/difftracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/test_executor.h"
#include "json/json.h"
#include "log/format.h"

namespace berth::admission {
namespace {

using testing::HasSubstr;

constexpr const char* kSticky =
    R"({"metadata":{"name":"web","namespace":"shop"},"spec":{"type":"LoadBalancer",)"
    R"("sessionAffinity":"ClientIP","ports":[{"port":80}]}})";
constexpr const char* kStickyAndDeleted =
    R"({"metadata":{"name":"web","namespace":"shop","deletionTimestamp":"2026-01-01T00:00:00Z"},)"
    R"("spec":{"type":"LoadBalancer","sessionAffinity":"ClientIP","ports":[{"port":80}]}})";

class DiffTrackerWebhook : public testing::Test {
 protected:
  // The answer's `response`.
  Json Review(const Webhooks& webhooks, const std::string& operation, const std::string& object,
              const std::string& old_object = "null") {
    const std::string review = Format(
        R"({{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u",)"
        R"("kind":{{"group":"","version":"v1","kind":"Service"}},)"
        R"("resource":{{"group":"","version":"v1","resource":"services"}},"namespace":"shop",)"
        R"("name":"web","operation":"{}","object":{},"oldObject":{}}}}})",
        operation, object, old_object);
    Json response;
    webhooks.Review("/validate/core/services", review, executor_, [&](auto answer) {
      ASSERT_TRUE(answer) << answer.error().message;
      response = Json::parse(*answer)["response"];
    });
    executor_.RunUntilIdle();
    return response;
  }

  async::TestExecutor executor_;
  prometheus::Registry registry_;
  Webhooks webhooks_{registry_};
};

TEST_F(DiffTrackerWebhook, RefusesAServiceThatTheGatewayCannotServe) {
  RegisterDiffTracker(webhooks_, true);
  const Json refused = Review(webhooks_, "CREATE", kSticky);
  EXPECT_FALSE(refused["allowed"].as<bool>());
  EXPECT_THAT(refused.to_string(), HasSubstr("spec.sessionAffinity"));
  EXPECT_THAT(refused.to_string(), HasSubstr("UnsupportedSessionAffinity"));
}

TEST_F(DiffTrackerWebhook, WarnsWhereTheMistakeWasThereBefore) {
  RegisterDiffTracker(webhooks_, true);
  const Json warned = Review(webhooks_, "UPDATE", kSticky, kSticky);
  EXPECT_TRUE(warned["allowed"].as<bool>());
  EXPECT_EQ(warned["warnings"].size(), 1u);
}

TEST_F(DiffTrackerWebhook, LetsTheFinalizersOfADeletedServiceGo) {
  RegisterDiffTracker(webhooks_, true);
  EXPECT_TRUE(Review(webhooks_, "UPDATE", kStickyAndDeleted, kSticky)["allowed"].as<bool>());
}

TEST_F(DiffTrackerWebhook, AllowsEveryServiceWhileTheSystemIsOff) {
  RegisterDiffTracker(webhooks_, false);
  EXPECT_TRUE(Review(webhooks_, "CREATE", kSticky)["allowed"].as<bool>());
}

}  // namespace
}  // namespace berth::admission
