#include "cloud/aliyun/key_accounts.h"

#include <gtest/gtest.h>

#include <memory>

#include "async/test_executor.h"
#include "cloud/aliyun/test_cloud.h"
#include "cloud/aliyun/vpc_client.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

using namespace std::chrono_literals;

class KeyAccountsTest : public testing::Test {
 protected:
  using Asked = Pending<Result<std::string>>;
  using Located = Pending<Result<Place>>;

  std::unique_ptr<Asked> Ask(const std::string& key) {
    return std::make_unique<Asked>(accounts_.Of({key, "secret", ""}));
  }
  void Answer(const std::string& account) {
    transport_.last().Answer(200, Format(R"({{"AccountId":"{}","RequestId":"R-1"}})", account));
  }
  void Refuse(const std::string& code) {
    transport_.last().Answer(403, Format(R"({{"Code":"{}","Message":"No."}})", code));
  }

  async::TestExecutor executor_;
  ScriptedTransport transport_;
  TestObserver observer_;
  TestCredentials credentials_;
  KeyAccounts accounts_{
      executor_, transport_, &observer_, {.endpoint = "https://sts.example.com", .region = "r"}};
  ApiClient api_{executor_,
                 transport_,
                 credentials_,
                 nullptr,
                 {.endpoint = "https://vpc.example.com",
                  .version = std::string(kVpcVersion),
                  .region = "cn-hangzhou"}};
  VpcClients vpcs_{api_, credentials_, accounts_, "cn-hangzhou"};
};

TEST_F(KeyAccountsTest, AKeyIsAskedAboutOnceHoweverManyWait) {
  const auto one = Ask("key-a");
  const auto two = Ask("key-a");
  ASSERT_EQ(transport_.size(), 1);
  EXPECT_EQ(transport_.last().header("x-acs-action"), "GetCallerIdentity");
  EXPECT_EQ(transport_.last().header("x-acs-version"), "2015-04-01");
  Answer("42");
  EXPECT_EQ(one->value().value(), "42");
  EXPECT_EQ(two->value().value(), "42");
  EXPECT_EQ(Ask("key-a")->value().value(), "42");
  EXPECT_EQ(transport_.size(), 1);
  EXPECT_FALSE(Ask("key-b")->ended());
  EXPECT_EQ(transport_.size(), 2);
}

TEST_F(KeyAccountsTest, AFailureStandsForAPauseThenTheKeyIsAskedAboutAgain) {
  const auto first = Ask("key-a");
  Refuse("InvalidAccessKeyId.NotFound");
  EXPECT_EQ(first->value().error().reason, "InvalidAccessKeyId.NotFound");
  EXPECT_EQ(Ask("key-a")->value().error().reason, "InvalidAccessKeyId.NotFound");
  EXPECT_EQ(transport_.size(), 1);
  executor_.Advance(KeyAccounts::kPause);
  const auto second = Ask("key-a");
  Answer("42");
  EXPECT_EQ(second->value().value(), "42");
}

TEST_F(KeyAccountsTest, KeysWithoutEndDoNotFillTheMemory) {
  for (std::size_t i = 0; i < 3 * KeyAccounts::kMostKeys; ++i) {
    const auto asked = Ask(Format("key-{}", i));
    Answer("42");
    ASSERT_TRUE(asked->ended());
  }
  const auto before = transport_.size();
  EXPECT_TRUE(Ask(Format("key-{}", 3 * KeyAccounts::kMostKeys - 1))->ended());
  EXPECT_EQ(transport_.size(), before);
  EXPECT_FALSE(Ask("key-0")->ended());
}

TEST_F(KeyAccountsTest, HereIsTheAccountOfTheKeyOfTheMoment) {
  const Located first(vpcs_.Here());
  Answer("42");
  EXPECT_EQ(first.value().value(), (Place{"cn-hangzhou", "42"}));
  credentials_.now = Credential{"another", "secret", ""};
  const Located second(vpcs_.Here());
  Answer("43");
  EXPECT_EQ(second.value().value(), (Place{"cn-hangzhou", "43"}));
}

TEST_F(KeyAccountsTest, AKeyThatStsRefusesIsReadAgain) {
  const Located here(vpcs_.Here());
  Refuse("InvalidAccessKeyId.NotFound");
  EXPECT_EQ(here.value().error().error_class, ErrorClass::kRetry);
  EXPECT_EQ(credentials_.refused.size(), 1);
}

TEST_F(KeyAccountsTest, ACallOfAnAccountIsNotSentWithAnotherAccountsKey) {
  const Pending<Result<void>> call(vpcs_.In("42").ReleaseEip("eip-1", {}));
  Answer("43");
  ASSERT_TRUE(call.ended());
  EXPECT_EQ(call.value().error().reason, kNotSent);
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kRetry);
  EXPECT_EQ(transport_.size(), 1);
}

TEST_F(KeyAccountsTest, ARotatedKeyOfTheSameAccountGoesOn) {
  const Located here(vpcs_.Here());
  Answer("42");
  credentials_.now = Credential{"rotated", "secret", ""};
  const Pending<Result<void>> call(vpcs_.In("42").ReleaseEip("eip-1", {}));
  Answer("42");
  EXPECT_EQ(transport_.last().header("x-acs-action"), "ReleaseEipAddress");
  transport_.last().Answer(200, R"({"RequestId":"R-2"})");
  EXPECT_TRUE(call.value());
}

}  // namespace
}  // namespace berth::cloud::aliyun
