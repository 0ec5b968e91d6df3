// The clients against the simulated cloud, which was written from the cloud's documents and not
// from them: what one says the other must understand.

#include <gtest/gtest.h>

#include <memory>

#include "async/test_executor.h"
#include "cloud/aliyun/role_credentials.h"
#include "cloud/aliyun/test_cloud.h"
#include "cloud/aliyun/vpc_client.h"
#include "cloud/simulator/aliyun/cloud.h"
#include "cloud/simulator/transport.h"
#include "http/temp_folder_test.h"

namespace berth::cloud::aliyun {
namespace {

using namespace std::chrono_literals;

class WireTest : public testing::TestWithParam<SignatureVersion> {
 protected:
  void SetUp() override {
    cloud_.keys().Add({.id = "the-id", .secret = "the-secret", .caller = "berth"});
    Use(credentials_);
  }
  void Use(Credentials& credentials) {
    api_ = std::make_unique<ApiClient>(executor_, transport_, credentials, &observer_,
                                       ApiOptions{.endpoint = VpcEndpoint("cn-hangzhou", false),
                                                  .version = std::string(kVpcVersion),
                                                  .region = "cn-hangzhou",
                                                  .signature = GetParam()});
    vpc_ = std::make_unique<VpcClient>(*api_);
  }
  template <typename T>
  T Run(async::Task<T> task) {
    const Pending<T> call(std::move(task));
    executor_.Advance(1min);
    return call.value();
  }
  Eip Only(const std::string& id) {
    const auto eips = Run(vpc_->DescribeEips({id, "eip-unheard-of"}));
    EXPECT_TRUE(eips) << eips.error().message;
    EXPECT_EQ(eips->size(), 1);
    return eips && eips->size() == 1 ? eips->front() : Eip();
  }

  async::TestExecutor executor_;
  simulator::Cloud cloud_{{}};
  simulator::Latency fates_{executor_, 10ms, 50ms};
  simulator::Network network_{cloud_, executor_, fates_};
  simulator::Transport transport_{network_, executor_};
  TestCredentials credentials_;
  TestObserver observer_;
  std::unique_ptr<ApiClient> api_;
  std::unique_ptr<VpcClient> vpc_;
};

TEST_P(WireTest, AnAddressLivesItsLife) {
  const EipRequest request{.client_token = "t-1", .bandwidth = "5", .name = "web & more"};
  const auto made = Run(vpc_->AllocateEip(request, {}));
  ASSERT_TRUE(made) << made.error().message;
  const std::string id = made->allocation_id;
  EXPECT_EQ(Run(vpc_->AllocateEip(request, {}))->allocation_id, id);  // the token's

  ASSERT_TRUE(Run(vpc_->TagEips({id}, {{"owner", "u-1"}, {"other", "x y"}}, {})));
  ASSERT_TRUE(Run(vpc_->UntagEips({id}, {"other"}, {})));
  ASSERT_TRUE(Run(vpc_->ModifyEip(id, {.bandwidth = "7", .description = "größer"}, {})));
  ASSERT_TRUE(Run(vpc_->MoveEip(id, "rg-2", {})));
  const std::string package = cloud_.vpc().CreatePackage(200);
  ASSERT_TRUE(Run(vpc_->JoinPackage(id, package, "t-2", {})));

  const Eip eip = Only(id);
  EXPECT_EQ(eip.address, made->address);
  EXPECT_EQ(eip.status, "Available");
  EXPECT_EQ(eip.name, "web & more");
  EXPECT_EQ(eip.description, "größer");
  EXPECT_EQ(eip.bandwidth, "7");
  EXPECT_EQ(eip.bandwidth_package_id, package);
  EXPECT_EQ(eip.bandwidth_package_bandwidth, "200");
  EXPECT_EQ(eip.resource_group_id, "rg-2");
  EXPECT_EQ(eip.tags, (Tags{{"owner", "u-1"}}));
  EXPECT_EQ(Run(vpc_->EipsTagged("owner", "u-1"))->size(), 1);
  EXPECT_EQ(Run(vpc_->EipsTagged("owner", "u-2"))->size(), 0);

  ASSERT_TRUE(Run(vpc_->LeavePackage(id, package, "t-3", {})));
  EXPECT_EQ(Run(vpc_->LeavePackage(id, package, "t-4", {})).error().error_class,
            ErrorClass::kNotFound);
  ASSERT_TRUE(Run(vpc_->ReleaseEip(id, {})));
  EXPECT_EQ(Run(vpc_->ReleaseEip(id, {})).error().error_class, ErrorClass::kNotFound);
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
  for (const CallRecord& call : observer_.calls) EXPECT_NE(call.request_id, "") << call.action;
}

TEST_P(WireTest, ManyComePageByPage) {
  for (int i = 0; i < 250; ++i) cloud_.vpc().CreateEip({.tags = {{"owner", "u-1"}}});
  const auto eips = Run(vpc_->EipsTagged("owner", "u-1"));
  ASSERT_TRUE(eips) << eips.error().message;
  EXPECT_EQ(eips->size(), 250);
}

TEST_P(WireTest, ARevokedKeyIsRefused) {
  cloud_.keys().Revoke("the-id");
  EXPECT_EQ(Run(vpc_->EipsTagged("k", "v")).error().error_class, ErrorClass::kRetry);
  EXPECT_EQ(credentials_.refused.size(), 1);
  credentials_.now->secret = "wrong";
  cloud_.keys().Add({.id = "the-id", .secret = "the-secret", .caller = "berth"});
  EXPECT_EQ(Run(vpc_->EipsTagged("k", "v")).error().reason, "SignatureDoesNotMatch");
  EXPECT_EQ(credentials_.refused.size(), 2);
}

TEST_P(WireTest, ARolesKeysAreTakenAndRenewed) {
  const TempFolder folder;
  RoleCredentials role(executor_, transport_, &observer_,
                       {.role_arn = "acs:ram::1:role/berth",
                        .provider_arn = "acs:ram::1:oidc-provider/ack",
                        .token_file = folder.Write("token", "jwt-1"),
                        .endpoint = StsEndpoint("cn-hangzhou", false)});
  cloud_.sts().Trust("jwt-1", "acs:ram::1:role/berth");
  Use(role);
  for (int hour = 0; hour < 3; ++hour) {
    const auto eips = Run(vpc_->EipsTagged("k", "v"));
    EXPECT_TRUE(eips) << eips.error().message;
    executor_.Advance(1h);
  }
  cloud_.sts().Revoke("jwt-1");
  EXPECT_EQ(Run(vpc_->EipsTagged("k", "v")).error().error_class, ErrorClass::kRetry);
}

INSTANTIATE_TEST_SUITE_P(Signatures, WireTest,
                         testing::Values(SignatureVersion::kAcs3, SignatureVersion::kV1));

}  // namespace
}  // namespace berth::cloud::aliyun
