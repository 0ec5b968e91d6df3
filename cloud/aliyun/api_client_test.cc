#include "cloud/aliyun/api_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>

#include "async/test_executor.h"
#include "cloud/aliyun/test_cloud.h"
#include "http/temp_folder_test.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kThrottle = R"({"Code":"Throttling.User","Message":"Too fast."})";

class ApiClientTest : public testing::Test {
 protected:
  using Call = Pending<Result<Json>>;

  void Make(ApiOptions options = {}) {
    options.endpoint = "https://vpc.cn-hangzhou.aliyuncs.com";
    options.version = "2016-04-28";
    options.region = "cn-hangzhou";
    api_ = std::make_unique<ApiClient>(executor_, transport_, credentials_, &observer_, options);
  }
  void SetUp() override { Make(); }

  std::unique_ptr<Call> Begin(const std::string& action, Parameters parameters = {}) {
    return std::make_unique<Call>(api_->Call(action, std::move(parameters)));
  }

  async::TestExecutor executor_;
  ScriptedTransport transport_;
  TestCredentials credentials_;
  TestObserver observer_;
  std::unique_ptr<ApiClient> api_;
};

TEST_F(ApiClientTest, ACallIsSignedAndItsAnswerGiven) {
  credentials_.now->security_token = "sts/token+";
  const auto call = Begin("AllocateEipAddress", {{"Name", "a b"}, {"ClientToken", "t-1"}});
  ASSERT_EQ(transport_.size(), 1);
  const auto& sent = transport_.last();
  EXPECT_EQ(sent.request.method, "POST");
  EXPECT_EQ(sent.request.body, "");
  EXPECT_EQ(sent.request.timeout, 10s);
  EXPECT_EQ(sent.request.url,
            "https://vpc.cn-hangzhou.aliyuncs.com/"
            "?ClientToken=t-1&Name=a%20b&RegionId=cn-hangzhou");
  EXPECT_EQ(sent.header("host"), "vpc.cn-hangzhou.aliyuncs.com");
  EXPECT_EQ(sent.header("x-acs-action"), "AllocateEipAddress");
  EXPECT_EQ(sent.header("x-acs-version"), "2016-04-28");
  EXPECT_EQ(sent.header("x-acs-date"), "2026-01-02T03:04:05Z");
  EXPECT_EQ(sent.header("x-acs-content-sha256"), Sha256(""));
  EXPECT_EQ(sent.header("x-acs-security-token"), "sts/token+");
  EXPECT_EQ(sent.header("x-acs-signature-nonce").size(), 32);
  EXPECT_EQ(sent.header("authorization"), ExpectedAuthorization(sent, *credentials_.now));

  EXPECT_FALSE(call->ended());
  sent.Answer(200, R"({"AllocationId":"eip-1"})");
  ASSERT_TRUE(call->ended());
  EXPECT_EQ(call->value()->at("AllocationId"), "eip-1");
}

TEST_F(ApiClientTest, TheOlderSignatureIsAnOption) {
  Make({.signature = SignatureVersion::kV1});
  credentials_.now->security_token = "sts/token+";
  const auto call = Begin("ReleaseEipAddress", {{"AllocationId", "eip-1"}});
  const auto& sent = transport_.last();
  Parameters query = sent.query();
  const std::string signature = query.extract("Signature").mapped();
  EXPECT_EQ(signature, SignatureV1("POST", query, "the-secret"));
  EXPECT_EQ(query.extract("SignatureNonce").mapped().size(), 32);
  EXPECT_EQ(query, (Parameters{{"AccessKeyId", "the-id"},
                               {"Action", "ReleaseEipAddress"},
                               {"AllocationId", "eip-1"},
                               {"Format", "JSON"},
                               {"RegionId", "cn-hangzhou"},
                               {"SecurityToken", "sts/token+"},
                               {"SignatureMethod", "HMAC-SHA1"},
                               {"SignatureVersion", "1.0"},
                               {"Timestamp", "2026-01-02T03:04:05Z"},
                               {"Version", "2016-04-28"}}));
  EXPECT_EQ(sent.header("authorization"), "");
}

TEST_F(ApiClientTest, EveryTryHasItsOwnNonceAndDate) {
  std::set<std::string> nonces;
  std::set<std::string> dates;
  for (int i = 0; i < 20; ++i) {
    const auto call = Begin("ReleaseEipAddress");
    nonces.insert(transport_.last().header("x-acs-signature-nonce"));
    dates.insert(transport_.last().header("x-acs-date"));
    executor_.Advance(1s);
  }
  EXPECT_EQ(nonces.size(), 20);
  EXPECT_EQ(dates.size(), 20);
}

TEST_F(ApiClientTest, AWriteWithoutAnAnswerIsAmbiguousAReadIsNot) {
  const auto outcome = [this](const std::string& action) {
    const auto call = Begin(action);
    transport_.last().Fail(ErrorClass::kAmbiguous);
    return call->value().error().error_class;
  };
  EXPECT_EQ(outcome("AllocateEipAddress"), ErrorClass::kAmbiguous);
  EXPECT_EQ(outcome("DescribeEipAddresses"), ErrorClass::kRetry);
  EXPECT_EQ(outcome("ListTagResources"), ErrorClass::kRetry);
}

TEST_F(ApiClientTest, CallsPastTheLimitOfTheirActionWaitInOrder) {
  Make({.calls_per_minute = 60, .limits = {{"AllocateEipAddress", 21}}});
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 3; ++i) {
    calls.push_back(Begin("AllocateEipAddress", {{"Name", std::to_string(i)}}));
  }
  EXPECT_EQ(transport_.size(), 1);
  calls.push_back(Begin("ReleaseEipAddress"));  // has a line of its own
  EXPECT_EQ(transport_.size(), 2);
  executor_.Advance(3s);
  EXPECT_EQ(transport_.last().query()["Name"], "1");
  EXPECT_EQ(transport_.last().header("x-acs-date"), "2026-01-02T03:04:08Z");
  executor_.Advance(3s);
  EXPECT_EQ(transport_.last().query()["Name"], "2");
}

TEST_F(ApiClientTest, AThrottleHoldsTheActionUpAndSaysForHowLong) {
  Make({.calls_per_minute = 605});
  const auto first = Begin("AllocateEipAddress");
  executor_.Advance(50ms);
  transport_.last().Answer(400, kThrottle);
  EXPECT_EQ(first->value().error().error_class, ErrorClass::kThrottled);
  EXPECT_EQ(first->value().error().reason, "Throttling.User");
  EXPECT_EQ(first->value().error().retry_after, 1100ms);

  const auto second = Begin("AllocateEipAddress");
  const auto third = Begin("AllocateEipAddress");
  const auto other = Begin("ReleaseEipAddress");
  EXPECT_EQ(transport_.size(), 2);
  executor_.Advance(1099ms);
  EXPECT_EQ(transport_.size(), 2);
  executor_.Advance(1ms);
  EXPECT_EQ(transport_.size(), 3);  // one of the two
  executor_.Advance(100ms);
  EXPECT_EQ(transport_.size(), 4);
}

// A cloud that takes 60 a minute where we think it takes 600: most of what is sent must be taken.
TEST_F(ApiClientTest, AStormIsNotAnsweredByAStorm) {
  std::vector<std::unique_ptr<Call>> calls;
  int taken = 0;
  async::TokenBucket cloud(1s, 5);
  std::size_t answered = 0;
  for (int i = 0; i < 500; ++i) calls.push_back(Begin("AllocateEipAddress"));
  for (int tick = 0; tick < 6000; ++tick) {
    for (; answered < transport_.size(); ++answered) {
      const bool takes = cloud.Take(executor_.Now());
      taken += takes ? 1 : 0;
      transport_.at(answered).Answer(takes ? 200 : 400, takes ? "{}" : kThrottle);
    }
    executor_.Advance(10ms);
  }
  const int refused = static_cast<int>(transport_.size()) - taken;
  EXPECT_GT(taken, 20);
  EXPECT_LT(refused, taken) << refused << " of " << transport_.size();
}

TEST_F(ApiClientTest, ACallThatHasNoTurnIsNotSent) {
  Make({.calls_per_minute = 10, .patience = 5s});
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 2; ++i) calls.push_back(Begin("AllocateEipAddress"));
  executor_.Advance(5s);
  const Call& late = *calls.back();
  ASSERT_TRUE(late.ended());
  EXPECT_EQ(late.value().error().error_class, ErrorClass::kThrottled);
  EXPECT_EQ(late.value().error().reason, "NotSent");
  EXPECT_GT(late.value().error().retry_after, 0s);
  EXPECT_EQ(transport_.size(), 1);
  ASSERT_EQ(observer_.calls.size(), 1);
  EXPECT_EQ(observer_.calls[0].code, "NotSent");
  EXPECT_EQ(observer_.calls[0].waited, 5s);
  EXPECT_FALSE(observer_.calls[0].throttled);
}

TEST_F(ApiClientTest, WithoutAKeyNothingIsSent) {
  credentials_.now = std::unexpected(
      Error{ErrorClass::kRetry, "InvalidParameter.OIDCToken", "there is no key", 400});
  const auto call = Begin("AllocateEipAddress");
  EXPECT_EQ(transport_.size(), 0);
  EXPECT_EQ(call->value().error().error_class, ErrorClass::kRetry);
  EXPECT_EQ(call->value().error().message, "there is no key");
  EXPECT_EQ(call->value().error().reason, "NotSent");
  EXPECT_EQ(observer_.calls.at(0).code, "NotSent");
  EXPECT_EQ(observer_.calls.at(0).http_code, 0);
}

TEST_F(ApiClientTest, AKeyThatChangesMidFlightIsReportedAndTheNextTryHasTheNewOne) {
  const Credential old = *credentials_.now;
  const auto first = Begin("ReleaseEipAddress");
  credentials_.now = Credential{"new-id", "new-secret", ""};
  const auto second = Begin("ReleaseEipAddress");
  EXPECT_EQ(transport_.at(0).header("authorization"), ExpectedAuthorization(transport_.at(0), old));
  EXPECT_EQ(transport_.at(1).header("authorization"),
            ExpectedAuthorization(transport_.at(1), *credentials_.now));
  transport_.at(0).Answer(404, R"({"Code":"InvalidAccessKeyId.NotFound","Message":"the-id?"})");
  EXPECT_EQ(first->value().error().error_class, ErrorClass::kRetry);
  EXPECT_EQ(credentials_.refused, std::vector{old});
  transport_.at(1).Answer(200, "{}");
  EXPECT_TRUE(second->value());
  EXPECT_EQ(credentials_.refused.size(), 1);
}

TEST_F(ApiClientTest, ASecretThatIsChangedTakesEffectWithTheFirstRefusal) {
  const TempFolder folder;
  folder.Write("accessKeyID", "id-1");
  folder.Write("accessKeySecret", "secret-1");
  FolderCredentials credentials(executor_, folder.path());
  ApiClient api(executor_, transport_, credentials, nullptr, {.endpoint = "https://vpc.test"});
  const Call first(api.Call("ReleaseEipAddress", {}));
  folder.Write("accessKeyID", "id-2");
  folder.Write("accessKeySecret", "secret-2");
  transport_.last().Answer(403, R"({"Code":"InvalidAccessKeyId.Inactive"})");
  ASSERT_TRUE(first.ended());
  const Call second(api.Call("ReleaseEipAddress", {}));
  EXPECT_EQ(transport_.last().header("authorization"),
            ExpectedAuthorization(transport_.last(), {"id-2", "secret-2", ""}));
}

TEST_F(ApiClientTest, AnotherErrorIsNoRefusalOfTheKey) {
  const auto call = Begin("ReleaseEipAddress");
  transport_.last().Answer(403, R"({"Code":"Forbidden.RAM","Message":"No."})");
  EXPECT_TRUE(credentials_.refused.empty());
}

TEST_F(ApiClientTest, TheObserverIsToldOfEveryCall) {
  Make({.calls_per_minute = 65});
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 6; ++i) calls.push_back(Begin("ReleaseEipAddress"));
  executor_.Advance(1s);
  ASSERT_EQ(transport_.size(), 6);
  transport_.at(5).Answer(200, R"({"RequestId":"R-5"})");
  executor_.Advance(20ms);
  transport_.at(0).Answer(400, R"({"Code":"Throttling","Message":"No.","RequestId":"R-0"})");
  transport_.at(1).Fail(ErrorClass::kAmbiguous, "reset");
  transport_.at(2).Answer(502, "<html>");
  executor_.Advance(8980ms);
  transport_.at(3).Fail(ErrorClass::kAmbiguous, "too late");
  calls[4].reset();
  EXPECT_TRUE(transport_.at(4).abandoned);

  ASSERT_EQ(observer_.calls.size(), 5);
  const CallRecord& good = observer_.calls[0];
  EXPECT_EQ(good.action, "ReleaseEipAddress");
  EXPECT_EQ(good.at, executor_.WallNow() - 9s);
  EXPECT_EQ(good.waited, 1s);
  EXPECT_EQ(good.latency, 0s);
  EXPECT_EQ(good.http_code, 200);
  EXPECT_EQ(good.code, "OK");
  EXPECT_EQ(good.request_id, "R-5");
  const CallRecord& throttled = observer_.calls[1];
  EXPECT_EQ(throttled.waited, 0s);
  EXPECT_EQ(throttled.latency, 1020ms);
  EXPECT_EQ(throttled.http_code, 400);
  EXPECT_EQ(throttled.code, "Throttling");
  EXPECT_EQ(throttled.message, "No. (request ID R-0)");
  EXPECT_EQ(throttled.request_id, "R-0");
  EXPECT_TRUE(throttled.throttled);
  EXPECT_EQ(observer_.calls[2].code, "Network");
  EXPECT_EQ(observer_.calls[2].http_code, 0);
  EXPECT_FALSE(observer_.calls[2].throttled);
  EXPECT_EQ(observer_.calls[3].code, "Unreadable");
  EXPECT_EQ(observer_.calls[3].http_code, 502);
  EXPECT_EQ(observer_.calls[4].code, "Timeout");
}

TEST_F(ApiClientTest, ARecordSaysWhatTheCallWasAbout) {
  const auto about = [this](const std::string& action, Parameters parameters,
                            const std::string& answer = "{}") {
    const auto call = Begin(action, std::move(parameters));
    transport_.last().Answer(200, answer);
    return observer_.calls.back().resource;
  };
  EXPECT_EQ(about("ReleaseEipAddress", {{"AllocationId", "eip-1"}}), "eip-1");
  EXPECT_EQ(about("DescribeEipAddresses", {{"AllocationId", "eip-1,eip-2,eip-3"}}),
            "eip-1 and 2 more");
  EXPECT_EQ(about("AddCommonBandwidthPackageIp",
                  {{"BandwidthPackageId", "cbwp-1"}, {"ClientToken", "t"}, {"IpInstanceId", "e"}}),
            "e");
  EXPECT_EQ(about("TagResources", {{"ResourceId.1", "eip-1"}, {"Tag.1.Value", "v"}}), "eip-1");
  EXPECT_EQ(about("AllocateEipAddress", {{"ClientToken", "t-1"}, {"Tag.1.Value", "v"}}), "t-1");
  EXPECT_EQ(about("AllocateEipAddress", {{"ClientToken", "t-1"}}, R"({"AllocationId":"eip-9"})"),
            "eip-9");
  EXPECT_EQ(about("DescribeRegions", {}), "");
  EXPECT_LE(about("ReleaseEipAddress", {{"AllocationId", std::string(5000, 'x')}}).size(), 128u);
}

TEST_F(ApiClientTest, NoKeyStandsInAnErrorARecordOrALog) {
  credentials_.now = Credential{"LTAI-the-id", "very-secret", "sts-token"};
  testing::internal::CaptureStderr();
  std::string seen;
  for (const auto* code : {"SignatureDoesNotMatch", "InvalidSecurityToken.Expired", "Odd"}) {
    const auto call = Begin("ReleaseEipAddress");
    transport_.last().Answer(
        400, Format(R"({{"Code":"{}","Message":"LTAI-the-id very-secret sts-token"}})", code));
    seen += call->value().error().message;
  }
  const auto lost = Begin("ReleaseEipAddress");
  transport_.last().Fail(ErrorClass::kAmbiguous, transport_.last().header("authorization"));
  seen += lost->value().error().message + testing::internal::GetCapturedStderr();
  for (const CallRecord& call : observer_.calls) seen += call.message + call.code;
  for (const auto* secret : {"LTAI-the-id", "very-secret", "sts-token"}) {
    EXPECT_THAT(seen, Not(HasSubstr(secret)));
  }
  EXPECT_THAT(seen, HasSubstr("***"));
}

}  // namespace
}  // namespace berth::cloud::aliyun
