#include "cloud/azure/answer.h"

#include <gtest/gtest.h>

#include "cloud/azure/error_table.h"
#include "cloud/service_gateway.h"
#include "log/format.h"

namespace berth::cloud::azure {
namespace {

Error ErrorOf(int status, const std::string& code, bool writes = true) {
  const http::Response response{
      .code = status,
      .headers = {{"x-ms-request-id", "r-1"}},
      .body = Format(R"({{"error":{{"code":"{}","message":"because"}}}})", code)};
  const ArmAnswer answer = ReadArmAnswer(response, writes, {"token"});
  return answer.answer.outcome ? Error{} : answer.answer.outcome.error();
}

TEST(AzureAnswerTest, TheErrorClassesOfTheInterface) {
  struct Row {
    int status;
    const char* code;
    ErrorClass error_class;
  };
  for (const Row& row : {
           Row{429, "TooManyRequests", ErrorClass::kThrottled},
           Row{429, "SubscriptionRequestsThrottled", ErrorClass::kThrottled},
           Row{400, "QuotaExceeded", ErrorClass::kTerminal},
           Row{400, "PublicIPCountLimitReached", ErrorClass::kTerminal},
           Row{400, "MAXPUBLICIPCOUNTLIMITREACHED", ErrorClass::kTerminal},
           Row{409, "QuotaExceeded", ErrorClass::kTerminal},
           Row{401, "InvalidAuthenticationToken", ErrorClass::kTerminal},
           Row{403, "AuthorizationFailed", ErrorClass::kTerminal},
           Row{400, "RulesUseSameBackendPortProtocolAndPool", ErrorClass::kTerminal},
           Row{400, "InvalidRequestFormat", ErrorClass::kTerminal},
           Row{422, "UnprocessableEntity", ErrorClass::kTerminal},
           Row{500, "InternalServerError", ErrorClass::kRetry},
           Row{503, "ServiceUnavailable", ErrorClass::kRetry},
           Row{504, "GatewayTimeout", ErrorClass::kAmbiguous},
           Row{409, "Conflict", ErrorClass::kRetry},
           Row{400, "CanceledAndSupersededDueToAnotherOperation", ErrorClass::kRetry},
           Row{400, "ReferencedResourceNotProvisioned", ErrorClass::kRetry},
           Row{400, "PublicIPAddressCannotBeDeleted", ErrorClass::kRetry},
           Row{400, "InUseLoadBalancerCannotBeDeleted", ErrorClass::kRetry},
           Row{400, "ServiceWithOverlayMappingsCannotBeDeleted", ErrorClass::kTerminal},
           Row{404, "ResourceNotFound", ErrorClass::kNotFound},
           Row{412, "PreconditionFailed", ErrorClass::kConflict},
       }) {
    EXPECT_EQ(ErrorOf(row.status, row.code).error_class, row.error_class) << row.code;
  }
  EXPECT_EQ(ErrorOf(504, "GatewayTimeout", false).error_class, ErrorClass::kRetry);
}

TEST(AzureAnswerTest, QuotasIdentityAndMappingsAreToldApart) {
  EXPECT_TRUE(IsQuota(ErrorOf(400, "QuotaExceeded")));
  EXPECT_TRUE(IsQuota(ErrorOf(400, "publicipcountlimitreached")));
  EXPECT_FALSE(IsQuota(ErrorOf(400, "InvalidRequestFormat")));
  EXPECT_TRUE(IsForbidden(ErrorOf(401, "InvalidAuthenticationToken")));
  EXPECT_TRUE(IsForbidden(ErrorOf(403, "AuthorizationFailed")));
  EXPECT_FALSE(IsForbidden(ErrorOf(400, "QuotaExceeded")));
  EXPECT_TRUE(HasMappings(ErrorOf(400, "ServiceWithOverlayMappingsCannotBeDeleted")));
  EXPECT_FALSE(HasMappings(ErrorOf(400, "PublicIPAddressCannotBeDeleted")));
}

TEST(AzureAnswerTest, AFailedOperationIsAnAnswerOf200) {
  const auto failed = [](const char* code) {
    const http::Response response{
        .code = 200,
        .headers = {},
        .body = Format(R"({{"status":"Failed","error":{{"code":"{}","message":"m"}}}})", code)};
    return ReadArmAnswer(response, false, {}).answer.outcome.error();
  };
  EXPECT_EQ(failed("QuotaExceeded").error_class, ErrorClass::kTerminal);
  EXPECT_TRUE(IsQuota(failed("QuotaExceeded")));
  EXPECT_EQ(failed("Whatever").error_class, ErrorClass::kRetry);
  EXPECT_TRUE(IsForbidden(failed("LinkedAuthorizationFailed")));
  EXPECT_EQ(failed("LinkedAuthorizationFailed").error_class, ErrorClass::kTerminal);
}

TEST(AzureAnswerTest, APostAnswered200WithAnErrorCodeHasFailed) {
  const http::Response response{
      .code = 200, .headers = {}, .body = R"({"error":{"code":"QuotaExceeded"}})"};
  EXPECT_FALSE(ReadArmAnswer(response, true, {}).answer.outcome);
}

TEST(AzureAnswerTest, StatesOfOperations) {
  const auto state = [](int status, const char* body) {
    return StateOf(
        ReadArmAnswer(http::Response{.code = status, .headers = {}, .body = body}, false, {}));
  };
  EXPECT_EQ(state(200, R"({"status":"InProgress"})"), OperationState::kUnderWay);
  EXPECT_EQ(state(200, R"({"status":"Succeeded"})"), OperationState::kSucceeded);
  EXPECT_EQ(state(200, R"({"status":"Canceled"})"), OperationState::kFailed);
  EXPECT_EQ(state(202, ""), OperationState::kUnderWay);
  EXPECT_EQ(state(204, ""), OperationState::kSucceeded);
  EXPECT_EQ(state(200, R"({"properties":{"provisioningState":"Updating"}})"),
            OperationState::kUnderWay);
  EXPECT_EQ(state(200, R"({"properties":{"provisioningState":"Succeeded"}})"),
            OperationState::kSucceeded);
}

TEST(AzureAnswerTest, AnswersOfStrangersAreNoAnswers) {
  const auto read = [](int status, std::string body, bool writes) {
    return ReadArmAnswer(http::Response{.code = status, .headers = {}, .body = std::move(body)},
                         writes, {})
        .answer.outcome.error()
        .error_class;
  };
  EXPECT_EQ(read(200, "<html>", true), ErrorClass::kAmbiguous);
  EXPECT_EQ(read(200, "<html>", false), ErrorClass::kRetry);
  EXPECT_EQ(read(502, "bad gateway", true), ErrorClass::kAmbiguous);
  EXPECT_EQ(read(404, "<html>", true), ErrorClass::kRetry);
  EXPECT_EQ(read(429, "", true), ErrorClass::kThrottled);
}

TEST(AzureAnswerTest, NoSecretIsTold) {
  const http::Response response{
      .code = 400,
      .headers = {{"x-ms-request-id", "the-token"}},
      .body = R"({"error":{"code":"the-token","message":"you sent the-token"}})"};
  const ArmAnswer answer = ReadArmAnswer(response, true, {"the-token"});
  const Error& error = answer.answer.outcome.error();
  EXPECT_FALSE(error.message.contains("the-token"));
  EXPECT_FALSE(error.reason.contains("the-token"));
  EXPECT_FALSE(answer.answer.request_id.contains("the-token"));
}

}  // namespace
}  // namespace berth::cloud::azure
