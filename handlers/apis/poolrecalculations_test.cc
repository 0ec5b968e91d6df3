#include "handlers/apis/poolrecalculations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/test_cluster.h"

namespace berth::apis {
namespace {

using Answered = std::expected<Action::Outcome, kube::Status>;

class PoolRecalculationTest : public testing::Test {
 protected:
  Answered Create(const std::string& body, bool dry_run = false) {
    kube::JsonDocument document;
    std::vector<Answered> answers;
    action_.Create({.ns = "default", .object = document.Parse(body).value(), .dry_run = dry_run},
                   cluster_.executor,
                   [&](Answered answer) { answers.push_back(std::move(answer)); });
    cluster_.executor.RunUntilIdle();
    EXPECT_EQ(answers.size(), 1);
    return answers.front();
  }
  // Somebody else has written nonsense into the status, which no event tells of.
  void Spoil() {
    const auto answer = cluster_.Send(
        kube::Method::kPatch, std::string(TestCluster::kGroup) + "subnetpools/office/status",
        R"({"status":{"allocatedCount":77}})", "application/merge-patch+json");
    EXPECT_EQ(answer.code, 200) << answer.body;
  }
  Json Allocated() { return cluster_.Get("subnetpools", "office")["status"]["allocatedCount"]; }

  TestCluster cluster_;
  PoolRecalculation action_{cluster_.desk};
};

TEST_F(PoolRecalculationTest, HasAPoolCountedAnew) {
  ASSERT_EQ(cluster_.Create("subnetpools", "office", R"({"cidr":"10.0.0.0/16"})").code, 201);
  cluster_.executor.Advance(std::chrono::seconds(5));
  ASSERT_EQ(Allocated(), 0);
  Spoil();
  cluster_.executor.Advance(std::chrono::seconds(5));
  const auto answer = Create(R"({"spec":{"pool":"office"}})");
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->content, Json::parse(R"({"spec":{"pool":"office"},"status":{"queued":true}})"));
  EXPECT_EQ(answer->cells.size(), action_.type().columns.size());
  cluster_.executor.Advance(std::chrono::seconds(5));
  EXPECT_EQ(Allocated(), 0);
}

TEST_F(PoolRecalculationTest, AnUnknownPoolIsNotFound) {
  for (const bool dry_run : {false, true}) {
    const auto answer = Create(R"({"spec":{"pool":"nobody"}})", dry_run);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, 404);
    EXPECT_EQ(answer.error().message, "subnetpools.plexaubnet.io \"nobody\" not found");
  }
}

TEST_F(PoolRecalculationTest, APoolMustBeNamed) {
  for (const char* body : {"{}", R"({"spec":{}})", R"({"spec":{"pool":""}})"}) {
    const auto answer = Create(body);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, 422);
    ASSERT_EQ(answer.error().details.causes.size(), 1);
    EXPECT_EQ(answer.error().details.causes[0].field, "spec.pool");
  }
}

TEST_F(PoolRecalculationTest, WhoCannotSaysSo) {
  cluster_.desk.Open(nullptr);
  const auto answer = Create(R"({"spec":{"pool":"office"}})");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, 503);
  EXPECT_EQ(answer.error().details.retry_after_seconds, 1);
}

}  // namespace
}  // namespace berth::apis
