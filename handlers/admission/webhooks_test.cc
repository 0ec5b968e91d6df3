#include "handlers/admission/webhooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "handlers/admission/subnetpool.h"

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
  WebhooksTest() { RegisterSubnetPool(webhooks_); }

  std::expected<std::string, kube::Status> Review(const std::string& path,
                                                  const std::string& review) {
    std::expected<std::string, kube::Status> answered;
    webhooks_.Review(path, review, [&](auto answer) { answered = std::move(answer); });
    return answered;
  }

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
  ASSERT_EQ(rules.size(), 2);
  EXPECT_EQ(rules[0].path, "/mutate/plexaubnet.io/subnetpools");
  EXPECT_EQ(rules[0].phase, Phase::kMutate);
  EXPECT_THAT(rules[0].operations, ElementsAre(Operation::kCreate));
  EXPECT_EQ(rules[1].path, kValidate);
  EXPECT_EQ(rules[1].phase, Phase::kValidate);
  EXPECT_EQ(rules[1].group, "plexaubnet.io");
  EXPECT_EQ(rules[1].resource, "subnetpools");
  EXPECT_THAT(rules[1].operations, ElementsAre(Operation::kCreate, Operation::kUpdate));
}

}  // namespace
}  // namespace berth::admission
