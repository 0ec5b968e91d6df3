#include "handlers/admission/webhooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "async/test_executor.h"
#include "handlers/admission/ipam.h"

// Reviews that do not come over HTTP; for those that do see server/serve_admission_test.cc.
namespace berth::admission {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kValidate = "/validate/plexaubnet.io/subnetpools";

constexpr const char* kReview = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
  "request":{"uid":"u","kind":{"group":"plexaubnet.io","version":"v1alpha1","kind":"SubnetPool"},
  "resource":{"group":"plexaubnet.io","version":"v1alpha1","resource":"subnetpools"},
  "name":"p","namespace":"default","operation":"CREATE","userInfo":{"username":"u"},
  "object":{"apiVersion":"plexaubnet.io/v1alpha1","kind":"SubnetPool","metadata":{"name":"p"},
  "spec":{"cidr":"10.0.0.0/16"}},"oldObject":null,"dryRun":false}})";

class WebhooksTest : public testing::Test {
 protected:
  WebhooksTest() { RegisterIpam(webhooks_, desk_); }

  std::expected<std::string, kube::Status> Review(const std::string& path,
                                                  const std::string& review) {
    std::expected<std::string, kube::Status> answered;
    webhooks_.Review(path, review, executor_, [&](auto answer) { answered = std::move(answer); });
    executor_.RunUntilIdle();
    return answered;
  }

  async::TestExecutor executor_;
  ipam::Desk desk_{executor_};
  prometheus::Registry registry_;
  Webhooks webhooks_{registry_};
};

TEST_F(WebhooksTest, AReviewIsAnsweredWithAReview) {
  const auto answer = Review(kValidate, kReview);
  ASSERT_TRUE(answer);
  EXPECT_THAT(*answer, HasSubstr(R"("allowed":true)"));
}

TEST_F(WebhooksTest, WhatIsNoReviewIsRefused) {
  EXPECT_EQ(Review(kValidate, "{}").error().code, 400);
  EXPECT_EQ(Review("/validate/plexaubnet.io/nothings", kReview).error().code, 404);
}

TEST_F(WebhooksTest, RulesSayWhatIsRegistered) {
  const auto rules = webhooks_.Rules();
  ASSERT_EQ(rules.size(), 6);
  EXPECT_EQ(rules[0].path, "/mutate/plexaubnet.io/subnetclaims");
  EXPECT_EQ(rules[0].phase, Phase::kMutate);
  EXPECT_THAT(rules[0].operations, ElementsAre(Operation::kCreate));
  const auto& pools = rules[4];
  EXPECT_EQ(pools.path, kValidate);
  EXPECT_EQ(pools.phase, Phase::kValidate);
  EXPECT_EQ(pools.group, "plexaubnet.io");
  EXPECT_EQ(pools.resource, "subnetpools");
  EXPECT_THAT(pools.operations,
              ElementsAre(Operation::kCreate, Operation::kUpdate, Operation::kDelete));
  EXPECT_EQ(rules[5].resource, "subnets");
  EXPECT_THAT(rules[5].operations, ElementsAre(Operation::kCreate, Operation::kUpdate));
}

}  // namespace
}  // namespace berth::admission
