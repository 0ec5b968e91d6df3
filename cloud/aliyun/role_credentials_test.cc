#include "cloud/aliyun/role_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "async/test_executor.h"
#include "cloud/aliyun/request.h"
#include "cloud/aliyun/test_cloud.h"
#include "http/temp_folder_test.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::cloud::aliyun {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class RoleCredentialsTest : public testing::Test {
 protected:
  using Call = Pending<Result<Credential>>;

  std::unique_ptr<Call> Get() { return std::make_unique<Call>(credentials_.Get()); }
  // Answers with the n-th key, which lives for so long.
  void Give(int n, async::Duration life = 1h) {
    transport_.last().Answer(
        200, Format(R"({{"RequestId":"R-{0}","Credentials":{{"AccessKeyId":"STS.{0}",
             "AccessKeySecret":"secret-{0}","SecurityToken":"token-{0}","Expiration":"{1}"}}}})",
                    n, FormatTime(executor_.WallNow() + life)));
  }
  static Credential Key(int n) {
    return {Format("STS.{}", n), Format("secret-{}", n), Format("token-{}", n)};
  }
  void GiveFirst() {
    const auto call = Get();
    Give(1);
    ASSERT_EQ(call->value(), Key(1));
  }

  TempFolder folder_;
  async::TestExecutor executor_;
  ScriptedTransport transport_;
  TestObserver observer_;
  RoleCredentials credentials_{executor_,
                               transport_,
                               &observer_,
                               {.role_arn = "acs:ram::1:role/berth",
                                .provider_arn = "acs:ram::1:oidc-provider/ack",
                                .token_file = folder_.Write("token", "jwt-1\n"),
                                .endpoint = StsEndpoint("cn-hangzhou", true)}};
};

TEST_F(RoleCredentialsTest, ATokenIsExchangedForKeysWithoutASignature) {
  const auto call = Get();
  ASSERT_EQ(transport_.size(), 1);
  const auto& sent = transport_.last();
  EXPECT_EQ(sent.request.method, "POST");
  EXPECT_TRUE(sent.request.url.starts_with("https://sts-vpc.cn-hangzhou.aliyuncs.com/?"));
  Parameters query = sent.query();
  EXPECT_EQ(query.extract("SignatureNonce").mapped().size(), 32);
  EXPECT_EQ(query, (Parameters{{"Action", "AssumeRoleWithOIDC"},
                               {"Format", "JSON"},
                               {"Timestamp", "2026-01-02T03:04:05Z"},
                               {"Version", "2015-04-01"}}));
  EXPECT_EQ(ParseQuery(sent.request.body),
            (Parameters{{"DurationSeconds", "3600"},
                        {"OIDCProviderArn", "acs:ram::1:oidc-provider/ack"},
                        {"OIDCToken", "jwt-1"},
                        {"RoleArn", "acs:ram::1:role/berth"},
                        {"RoleSessionName", "berth"}}));
  EXPECT_EQ(sent.header("content-type"), "application/x-www-form-urlencoded");
  EXPECT_EQ(sent.header("authorization"), "");
  Give(1);
  EXPECT_EQ(call->value(), Key(1));
  ASSERT_EQ(observer_.calls.size(), 1);
  EXPECT_EQ(observer_.calls[0].action, "AssumeRoleWithOIDC");
  EXPECT_EQ(observer_.calls[0].code, "OK");
  EXPECT_EQ(observer_.calls[0].request_id, "R-1");
}

TEST_F(RoleCredentialsTest, OneRenewalServesAllWhoWait) {
  const auto first = Get();
  auto second = Get();
  const auto third = Get();
  second.reset();
  EXPECT_EQ(transport_.size(), 1);
  Give(1);
  EXPECT_EQ(first->value(), Key(1));
  EXPECT_EQ(third->value(), Key(1));
  EXPECT_EQ(Get()->value(), Key(1));
  EXPECT_EQ(transport_.size(), 1);
}

TEST_F(RoleCredentialsTest, TheRenewalGoesOnWhenTheOneWhoBeganItGivesUp) {
  auto first = Get();
  const auto second = Get();
  first.reset();
  EXPECT_FALSE(transport_.last().abandoned);
  Give(1);
  EXPECT_EQ(second->value(), Key(1));
}

TEST_F(RoleCredentialsTest, KeysAreRenewedBeforeTheyExpireAndUsedMeanwhile) {
  GiveFirst();
  executor_.Advance(50min - 1s);
  EXPECT_EQ(Get()->value(), Key(1));
  EXPECT_EQ(transport_.size(), 1);
  executor_.Advance(1s);
  folder_.Write("token", "jwt-2");
  EXPECT_EQ(Get()->value(), Key(1));  // without a wait
  ASSERT_EQ(transport_.size(), 2);
  EXPECT_EQ(ParseQuery(transport_.last().request.body)["OIDCToken"], "jwt-2");
  EXPECT_EQ(Get()->value(), Key(1));
  EXPECT_EQ(transport_.size(), 2);
  Give(2);
  EXPECT_EQ(Get()->value(), Key(2));
}

TEST_F(RoleCredentialsTest, AKeyThatIsAboutToExpireIsNotGivenOut) {
  GiveFirst();
  executor_.Advance(59min);
  const auto call = Get();
  EXPECT_FALSE(call->ended());
  Give(2);
  EXPECT_EQ(call->value(), Key(2));
}

TEST_F(RoleCredentialsTest, AFailedRenewalIsTriedAgainAfterAPause) {
  GiveFirst();
  executor_.Advance(55min);
  EXPECT_EQ(Get()->value(), Key(1));
  transport_.last().Answer(503, "{}");
  EXPECT_EQ(Get()->value(), Key(1));  // still good
  EXPECT_EQ(transport_.size(), 2);
  executor_.Advance(RoleCredentials::kPause - 1ms);
  EXPECT_EQ(Get()->value(), Key(1));
  EXPECT_EQ(transport_.size(), 2);
  executor_.Advance(1ms);
  EXPECT_EQ(Get()->value(), Key(1));
  EXPECT_EQ(transport_.size(), 3);
}

TEST_F(RoleCredentialsTest, WithoutAKeyAFailureIsToldToAllAndStandsForAPause) {
  const auto first = Get();
  const auto second = Get();
  transport_.last().Answer(
      400,
      R"({"Code":"AuthenticationFail.OIDCToken.Expired","Message":"Too old.","RequestId":"R-1"})");
  for (const auto* call : {&first, &second}) {
    ASSERT_TRUE((*call)->ended());
    EXPECT_EQ((*call)->value().error().error_class, ErrorClass::kRetry);
    EXPECT_EQ((*call)->value().error().reason, "AuthenticationFail.OIDCToken.Expired");
    EXPECT_THAT((*call)->value().error().message,
                HasSubstr("AuthenticationFail.OIDCToken.Expired Too old. (request ID R-1)"));
  }
  EXPECT_FALSE(Get()->value());
  EXPECT_EQ(transport_.size(), 1);
  executor_.Advance(RoleCredentials::kPause);
  const auto third = Get();
  EXPECT_EQ(transport_.size(), 2);
  Give(1);
  EXPECT_EQ(third->value(), Key(1));
}

TEST_F(RoleCredentialsTest, AThrottledRenewalIsThrottled) {
  const auto call = Get();
  transport_.last().Answer(400, R"({"Code":"Throttling.User"})");
  EXPECT_EQ(call->value().error().error_class, ErrorClass::kThrottled);
}

TEST_F(RoleCredentialsTest, ARefusedKeyIsReplacedAtOnce) {
  GiveFirst();
  executor_.Advance(1min);
  credentials_.Refused(Key(1));
  const auto call = Get();
  ASSERT_EQ(transport_.size(), 2);
  Give(2);
  EXPECT_EQ(call->value(), Key(2));
  credentials_.Refused(Key(1));  // was in flight: no news
  EXPECT_EQ(Get()->value(), Key(2));
  EXPECT_EQ(transport_.size(), 2);
}

TEST_F(RoleCredentialsTest, KeysThatAreRefusedAsSoonAsTheyComeDoNotMakeAStorm) {
  GiveFirst();
  credentials_.Refused(Key(1));
  const auto call = Get();
  EXPECT_EQ(transport_.size(), 1);
  ASSERT_TRUE(call->ended());
  EXPECT_THAT(call->value().error().message, HasSubstr("refused"));
}

TEST_F(RoleCredentialsTest, AnAnswerWithoutAGoodKeyIsAFailure) {
  for (const std::string& body :
       {std::string("{}"), std::string(R"({"Credentials":[]})"),
        std::string(R"({"Credentials":{"AccessKeyId":"a","AccessKeySecret":"b",
                       "SecurityToken":"c","Expiration":"tomorrow"}})"),
        std::string(R"({"Credentials":{"AccessKeyId":"a","AccessKeySecret":"b",
                       "SecurityToken":"c","Expiration":"2026-01-02T03:05:00Z"}})"),
        std::string(R"({"Credentials":{"AccessKeyId":"a","AccessKeySecret":"b",
                       "Expiration":"2036-01-02T03:05:00Z"}})"),
        std::string(R"({"Credentials":{"AccessKeyId":"a","AccessKeySecret":"b\nc",
                       "SecurityToken":"c","Expiration":"2036-01-02T03:05:00Z"}})")}) {
    const auto call = Get();
    transport_.last().Answer(200, body);
    ASSERT_FALSE(call->value()) << body;
    EXPECT_EQ(call->value().error().error_class, ErrorClass::kRetry);
    executor_.Advance(RoleCredentials::kPause);
  }
}

TEST_F(RoleCredentialsTest, WithoutATokenNothingIsSent) {
  std::filesystem::remove(folder_.path() / "token");
  const auto call = Get();
  EXPECT_EQ(transport_.size(), 0);
  EXPECT_EQ(call->value().error().error_class, ErrorClass::kRetry);
  EXPECT_THAT(call->value().error().message, HasSubstr((folder_.path() / "token").string()));
}

TEST_F(RoleCredentialsTest, NoSecretStandsInAnErrorARecordOrALog) {
  testing::internal::CaptureStderr();
  const auto failed = Get();
  transport_.last().Answer(400, R"({"Code":"Odd","Message":"what is jwt-1?"})");
  std::string seen = failed->value().error().message;
  executor_.Advance(RoleCredentials::kPause);
  GiveFirst();
  seen += testing::internal::GetCapturedStderr();
  for (const CallRecord& call : observer_.calls) seen += call.message + call.code;
  EXPECT_THAT(seen, HasSubstr("what is ***?"));
  for (const auto* secret : {"jwt-1", "STS.1", "secret-1", "token-1"}) {
    EXPECT_THAT(seen, Not(HasSubstr(secret)));
  }
  EXPECT_THAT(transport_.last().request.url, Not(HasSubstr("jwt")));
}

}  // namespace
}  // namespace berth::cloud::aliyun
