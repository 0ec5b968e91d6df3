#include "cloud/azure/arm_client.h"

#include <gtest/gtest.h>

#include <memory>

#include "async/test_executor.h"
#include "cloud/test_transport.h"
#include "log/format.h"

namespace berth::cloud::azure {
namespace {

using namespace std::chrono_literals;
using PendingJson = Pending<Result<Json>>;

constexpr const char* kPoll = "https://arm/operations/1?api-version=v";

class TestTokens : public Tokens {
 public:
  async::Task<Result<std::string>> Get() override { co_return now; }
  void Refused(const std::string& token) override {
    refused.push_back(token);
    if (!next.empty()) now = next;
  }

  Result<std::string> now = "the-token";
  std::string next;
  std::vector<std::string> refused;
};

class ArmClientTest : public testing::Test {
 protected:
  ArmCall Put() {
    return {.action = "PutThing",
            .method = "PUT",
            .target = "/things/a",
            .resource = "a",
            .body = "{}",
            .headers = {{"if-none-match", "*"}}};
  }
  ArmCall Post() {
    return {.action = "UpdateThings", .method = "POST", .target = "/things", .body = "{}"};
  }
  void Accept(int status, std::string body = "",
              std::vector<http::Header> headers = {{"azure-asyncoperation", kPoll}}) {
    transport_.last().Answer(status, std::move(body), std::move(headers));
  }
  // Answers the polls that come until the given time has passed.
  void PollFor(async::Duration time, const std::string& body) {
    const auto end = executor_.Now() + time;
    while (executor_.Now() < end) {
      const std::size_t before = transport_.size();
      executor_.Advance(100ms);
      if (transport_.size() > before) transport_.last().Answer(200, body);
    }
  }
  const std::string& url() const { return transport_.last().request.url; }

  async::TestExecutor executor_;
  ScriptedTransport transport_;
  TestTokens tokens_;
  TestObserver observer_;
  ArmClient client_{
      executor_, transport_, tokens_, &observer_, {.endpoint = "https://arm", .api_version = "v"}};
};

TEST_F(ArmClientTest, ACallHasTheTokenAndTheVersion) {
  const PendingJson call(client_.Get({.action = "GetThing", .target = "/things/a"}));
  EXPECT_EQ(url(), "https://arm/things/a?api-version=v");
  EXPECT_EQ(transport_.last().header("authorization"), "Bearer the-token");
  transport_.last().Answer(200, R"({"name":"a"})", {{"x-ms-request-id", "r-1"}});
  ASSERT_TRUE(call.ended());
  EXPECT_TRUE(call.value());
  ASSERT_EQ(observer_.calls.size(), 1u);
  EXPECT_EQ(observer_.calls[0].code, "OK");
  EXPECT_EQ(observer_.calls[0].request_id, "r-1");
}

TEST_F(ArmClientTest, AnErrorBeginsWithActionResourceAndCodeAndEndsWithTheRequestId) {
  const PendingJson call(client_.Write(Put()));
  Accept(400, R"({"error":{"code":"QuotaExceeded","message":"no more"}})",
         {{"x-ms-request-id", "r-7"}});
  EXPECT_EQ(call.value().error().message, "PutThing a: QuotaExceeded: no more (request ID r-7)");
  EXPECT_EQ(call.value().error().reason, "QuotaExceeded");
}

TEST_F(ArmClientTest, APutIsFollowedToItsEndAndReadAnew) {
  const PendingJson call(client_.Write(Put()));
  EXPECT_EQ(transport_.last().header("if-none-match"), "*");
  Accept(201, R"({"properties":{"provisioningState":"Updating"}})",
         {{"azure-asyncoperation", kPoll}, {"retry-after", "3"}});
  executor_.Advance(2900ms);
  EXPECT_EQ(transport_.size(), 1u);  // Retry-After is heeded
  executor_.Advance(100ms);
  EXPECT_EQ(url(), kPoll);
  transport_.last().Answer(200, R"({"status":"InProgress"})");
  PollFor(3s, R"({"status":"Succeeded"})");
  EXPECT_EQ(url(), "https://arm/things/a?api-version=v");
  EXPECT_EQ(transport_.last().request.method, "GET");
}

TEST_F(ArmClientTest, APutThatIsDoneAtOnceIsNotReadAgain) {
  const PendingJson call(client_.Write(Put()));
  Accept(201, R"({"name":"a","properties":{"provisioningState":"Succeeded"}})", {});
  ASSERT_TRUE(call.ended());
  EXPECT_EQ(transport_.size(), 1u);
}

TEST_F(ArmClientTest, AnOperationThatFailsIsAnErrorOfItsCode) {
  const PendingJson call(client_.Write(Put()));
  Accept(201);
  PollFor(2s, R"({"status":"Failed","error":{"code":"QuotaExceeded","message":"m"}})");
  ASSERT_TRUE(call.ended());
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kTerminal);
  EXPECT_EQ(call.value().error().reason, "QuotaExceeded");
  EXPECT_EQ(observer_.calls.back().action, "PollOperation");
  EXPECT_EQ(observer_.calls.back().code, "QuotaExceeded");
  EXPECT_EQ(observer_.calls.back().resource, "a");
}

TEST_F(ArmClientTest, AnOperationThatIsSupersededMayBeTriedAgain) {
  const PendingJson call(client_.Write(Put()));
  Accept(201);
  PollFor(2s, R"({"status":"Canceled",
      "error":{"code":"CanceledAndSupersededDueToAnotherOperation","message":"m"}})");
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kRetry);
}

TEST_F(ArmClientTest, ALostPollIsAmbiguous) {
  const PendingJson call(client_.Write(Post()));
  Accept(202);
  for (int i = 0; i < 5; ++i) {
    ASSERT_FALSE(call.ended());
    executor_.Advance(10s);
    transport_.last().Fail(ErrorClass::kRetry);
  }
  ASSERT_TRUE(call.ended());
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kAmbiguous);
}

TEST_F(ArmClientTest, AnOperationThatAzureForgotIsAmbiguous) {
  const PendingJson call(client_.Write(Post()));
  Accept(202);
  executor_.Advance(1s);
  transport_.last().Answer(404, R"({"error":{"code":"NotFound"}})");
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kAmbiguous);
}

TEST_F(ArmClientTest, AFewFailedPollsAreForgiven) {
  const PendingJson call(client_.Write(Post()));
  Accept(202);
  for (int i = 0; i < 4; ++i) {
    executor_.Advance(10s);
    transport_.last().Answer(503, "{}");
  }
  executor_.Advance(10s);
  transport_.last().Answer(200, R"({"status":"Succeeded"})");
  ASSERT_TRUE(call.ended());
  EXPECT_TRUE(call.value());
}

TEST_F(ArmClientTest, AnOperationWithoutAnEndIsAmbiguous) {
  const PendingJson call(client_.Write(Post()));
  Accept(202);
  PollFor(11min, R"({"status":"InProgress"})");
  ASSERT_TRUE(call.ended());
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kAmbiguous);
}

TEST_F(ArmClientTest, ALongRetryAfterDoesNotOutlastTheOperation) {
  const PendingJson call(client_.Write(Put()));
  Accept(201, "", {{"azure-asyncoperation", kPoll}, {"retry-after", "3600"}});
  executor_.Advance(9min);
  EXPECT_FALSE(call.ended());
  PollFor(2min, R"({"status":"InProgress"})");
  ASSERT_TRUE(call.ended());
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kAmbiguous);
}

TEST_F(ArmClientTest, AnOperationCanBeFollowedAtItsLocation) {
  const PendingJson call(client_.Write(Post()));
  Accept(202, "", {{"location", "https://arm/results/1"}});
  executor_.Advance(1s);
  transport_.last().Answer(202, "");
  EXPECT_FALSE(call.ended());
  executor_.Advance(2s);
  transport_.last().Answer(204, "");
  ASSERT_TRUE(call.ended());
  EXPECT_TRUE(call.value());
}

TEST_F(ArmClientTest, APostAnswered200IsDoneDespiteItsHeaders) {
  const PendingJson done(client_.Write(Post()));
  Accept(200, "{}");
  ASSERT_TRUE(done.ended());
  EXPECT_TRUE(done.value());
  const PendingJson failed(client_.Write(Post()));
  Accept(200, R"({"error":{"code":"DuplicateLocationsInRequest","message":"m"}})");
  ASSERT_TRUE(failed.ended());
  EXPECT_EQ(failed.value().error().reason, "DuplicateLocationsInRequest");
}

TEST_F(ArmClientTest, AWriteWithoutAnAnswerIsAmbiguousAndAReadIsNot) {
  const PendingJson write(client_.Write(Put()));
  transport_.last().Fail(ErrorClass::kAmbiguous);
  EXPECT_EQ(write.value().error().error_class, ErrorClass::kAmbiguous);
  const PendingJson read(client_.Get({.action = "GetThing", .target = "/a"}));
  transport_.last().Fail(ErrorClass::kRetry);
  EXPECT_EQ(read.value().error().error_class, ErrorClass::kRetry);
}

TEST_F(ArmClientTest, AThrottleHoldsUpItsKindForAsLongAsAzureAsks) {
  const PendingJson first(client_.Write(Put()));
  Accept(429, R"({"error":{"code":"TooManyRequests"}})", {{"retry-after", "120"}});
  EXPECT_EQ(first.value().error().error_class, ErrorClass::kThrottled);
  EXPECT_GE(first.value().error().retry_after, 120s);
  const PendingJson second(client_.Write(Put()));
  executor_.Advance(59s);
  EXPECT_EQ(transport_.size(), 1u);
  const PendingJson read(client_.Get({.action = "GetThing", .target = "/a"}));
  EXPECT_EQ(transport_.size(), 2u);  // another kind
  executor_.Advance(1s);             // its patience is over
  ASSERT_TRUE(second.ended());
  EXPECT_EQ(second.value().error().reason, kNotSent);
  EXPECT_GE(second.value().error().retry_after, 59s);
}

TEST_F(ArmClientTest, ARefusedTokenIsReplacedOnce) {
  tokens_.next = "another";
  const PendingJson call(client_.Write(Put()));
  Accept(401, R"({"error":{"code":"ExpiredAuthenticationToken","message":"the-token"}})");
  EXPECT_FALSE(call.ended());
  EXPECT_EQ(tokens_.refused, std::vector<std::string>{"the-token"});
  EXPECT_EQ(transport_.last().header("authorization"), "Bearer another");
  Accept(401, R"({"error":{"code":"InvalidAuthenticationToken","message":"m"}})");
  ASSERT_TRUE(call.ended());
  EXPECT_EQ(call.value().error().code, 401);
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kTerminal);
}

TEST_F(ArmClientTest, WithoutATokenNothingIsSent) {
  tokens_.now = std::unexpected(Error{.error_class = ErrorClass::kTerminal, .code = 401});
  const PendingJson call(client_.Write(Put()));
  ASSERT_TRUE(call.ended());
  EXPECT_EQ(call.value().error().reason, kNotSent);
  EXPECT_EQ(call.value().error().code, 401);
  EXPECT_EQ(transport_.size(), 0u);
  EXPECT_EQ(observer_.calls.back().code, "NotSent");
}

async::Task<bool> Never() { co_return false; }

TEST_F(ArmClientTest, ACallNoLongerWantedIsNotSent) {
  ArmCall call = Put();
  call.wanted = Never;
  const PendingJson write(client_.Write(std::move(call)));
  ASSERT_TRUE(write.ended());
  EXPECT_EQ(write.value().error().error_class, ErrorClass::kConflict);
  EXPECT_EQ(transport_.size(), 0u);
}

TEST_F(ArmClientTest, ATokenIsNotSentToAnotherHost) {
  const PendingJson write(client_.Write(Post()));
  Accept(202, "", {{"azure-asyncoperation", "https://arm.evil/operations/1"}});
  EXPECT_EQ(write.value().error().error_class, ErrorClass::kAmbiguous);
  const Pending<Result<std::vector<Json>>> list(
      client_.List({.action = "ListThings", .target = "/things"}));
  transport_.last().Answer(200, R"({"value":[],"nextLink":"https://evil/things?page=2"})");
  ASSERT_TRUE(list.ended());
  EXPECT_FALSE(list.value());
  EXPECT_EQ(transport_.size(), 2u);
}

TEST_F(ArmClientTest, AllPagesAreRead) {
  const Pending<Result<std::vector<Json>>> list(
      client_.List({.action = "ListThings", .target = "/things"}));
  transport_.last().Answer(200, R"({"value":[1,2],"nextLink":"https://arm/things?page=2"})");
  EXPECT_EQ(url(), "https://arm/things?page=2");
  transport_.last().Answer(200, R"({"value":[3]})");
  ASSERT_TRUE(list.ended());
  EXPECT_EQ(list.value()->size(), 3u);
}

TEST_F(ArmClientTest, PagesThatLeadInACircleAreAnError) {
  const Pending<Result<std::vector<Json>>> list(
      client_.List({.action = "ListThings", .target = "/things"}));
  for (int i = 0; i < 2 && !list.ended(); ++i) {
    transport_.last().Answer(200, R"({"value":[],"nextLink":"https://arm/things?page=2"})");
  }
  ASSERT_TRUE(list.ended());
  EXPECT_EQ(list.value().error().error_class, ErrorClass::kRetry);
}

TEST_F(ArmClientTest, AListWithoutAListIsAnError) {
  const Pending<Result<std::vector<Json>>> list(
      client_.List({.action = "ListThings", .target = "/things"}));
  transport_.last().Answer(200, "{}");
  EXPECT_FALSE(list.value());
}

TEST_F(ArmClientTest, ATaskMayBeDestroyedWhereverItWaits) {
  for (int steps = 0; steps < 4; ++steps) {
    auto call = std::make_unique<PendingJson>(client_.Write(Put()));
    if (steps > 0) Accept(201);
    if (steps > 1) executor_.Advance(1s);
    if (steps > 2) transport_.last().Answer(200, R"({"status":"Succeeded"})");
    call.reset();
    executor_.Advance(1min);
  }
}

TEST_F(ArmClientTest, WritesAndDeletesTogetherStayWithinTheWindowOfMicrosoftNetwork) {
  std::vector<std::unique_ptr<PendingJson>> calls;
  for (int i = 0; i < 1'500; ++i) {
    ArmCall call = Put();
    if (i % 2 == 1) call.method = "DELETE";
    calls.push_back(std::make_unique<PendingJson>(client_.Write(std::move(call))));
  }
  EXPECT_EQ(transport_.size(), 380u);  // both bursts
  executor_.Advance(59s);
  EXPECT_EQ(transport_.size(), 1'000u);
}

}  // namespace
}  // namespace berth::cloud::azure
