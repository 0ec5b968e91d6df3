#include "server/aliyun_account.h"

#include <gtest/gtest.h>

#include <memory>

#include "async/test_executor.h"
#include "cloud/aliyun/test_cloud.h"
#include "cloud/simulator/aliyun/cloud.h"
#include "cloud/simulator/transport.h"

namespace berth::server {
namespace {

using namespace std::chrono_literals;
using cloud::aliyun::Credential;
using cloud::aliyun::FixedCredentials;
using cloud::aliyun::Pending;

class AliyunAccountTest : public testing::TestWithParam<const char*> {
 protected:
  AliyunAccountTest() {
    cloud_.keys().Add({.id = "the-id", .secret = "the-secret", .caller = "berth"});
    cloud_.Settle(executor_.WallNow());
    cloud_.vpc().CreateVSwitch({.id = "vsw-a", .cidr = "10.0.0.0/24"});
    cloud_.ecs().CreateInstance({.id = "i-1", .vswitch_id = "vsw-a"});
    cloud_.eflo().CreateInstance({.id = "e01-1", .vswitch_id = "vsw-a"});
  }
  template <typename T>
  T Run(async::Task<T> task) {
    const Pending<T> call(std::move(task));
    executor_.Advance(1min);
    return call.value();
  }

  async::TestExecutor executor_;
  cloud::simulator::Cloud cloud_{{}};
  cloud::simulator::Latency fates_{executor_, 10ms, 50ms};
  cloud::simulator::Network network_{cloud_, executor_, fates_};
  cloud::aliyun::TestObserver observer_;
  AliyunAccount account_{
      executor_, std::make_unique<cloud::simulator::Transport>(network_, executor_),
      std::make_unique<FixedCredentials>(Credential{"the-id", "the-secret", ""}), &observer_,
      systems::AliyunOptions{.region = "cn-hangzhou", .signature = GetParam()}};
};

TEST_P(AliyunAccountTest, NetworkInterfacesOfBothProductsAreReached) {
  const auto here = Run(account_.eflo_enis().Here());
  ASSERT_TRUE(here) << here.error().message;
  cloud::Enis& ecs = account_.ecs_enis().In(here->account);
  cloud::Enis& eflo = account_.eflo_enis().In(here->account);
  EXPECT_EQ(Run(ecs.OfInstance("i-1"))->size(), 1u);
  const auto made = Run(eflo.Create({.vswitch_id = "vsw-a",
                                     .security_group_ids = {"sg-1"},
                                     .instance_id = "e01-1",
                                     .zone_id = "cn-hangzhou-a"},
                                    {}));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(Run(eflo.OfInstance("e01-1"))->size(), 1u);
  EXPECT_EQ(Run(eflo.DescribeVSwitches({"vsw-a"}))->size(), 1u);
  EXPECT_EQ(observer_.calls.back().action, "DescribeVSwitches");
}

INSTANTIATE_TEST_SUITE_P(Signatures, AliyunAccountTest, testing::Values("acs3", "v1"));

}  // namespace
}  // namespace berth::server
