#include "cloud/aliyun/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace berth::cloud::aliyun {
namespace {

using testing::HasSubstr;
using testing::Not;

Answer Read(int code, std::string body, bool writes = true) {
  return ReadAnswer(http::Response{code, {}, std::move(body)}, writes, {"hush", "token"});
}

TEST(AnswerTest, AGoodOneIsItsJson) {
  const Answer answer = Read(200, R"({"AllocationId":"eip-1","RequestId":"R-1"})");
  ASSERT_TRUE(answer.outcome);
  EXPECT_EQ(Text(*answer.outcome, "AllocationId"), "eip-1");
  EXPECT_EQ(answer.request_id, "R-1");
}

TEST(AnswerTest, AnErrorHasTheCloudsCodeClassAndWords) {
  const Answer answer =
      Read(400, R"({"Code":"Throttling.User","Message":"Too fast.","RequestId":"R-2"})");
  ASSERT_FALSE(answer.outcome);
  EXPECT_EQ(answer.outcome.error().error_class, ErrorClass::kThrottled);
  EXPECT_EQ(answer.outcome.error().reason, "Throttling.User");
  EXPECT_EQ(answer.outcome.error().message, "Too fast. (request ID R-2)");
  EXPECT_EQ(answer.outcome.error().code, 400);
  EXPECT_EQ(answer.request_id, "R-2");
}

TEST(AnswerTest, AnErrorOfEfloIsANumber) {
  const Answer gone = Read(200, R"({"Code":1011,"Message":"Gone.","RequestId":"R-3"})");
  ASSERT_FALSE(gone.outcome);
  EXPECT_EQ(gone.outcome.error().error_class, ErrorClass::kNotFound);
  EXPECT_EQ(gone.outcome.error().reason, "1011");
  EXPECT_EQ(gone.outcome.error().message, "Gone. (request ID R-3)");
  EXPECT_TRUE(Read(200, R"({"Code":0,"Message":"success"})").outcome);
  EXPECT_TRUE(Read(200, R"({"Code":"OK"})").outcome);
}

TEST(AnswerTest, AnErrorWithoutWordsHasItsCode) {
  EXPECT_EQ(Read(403, R"({"Code":"Forbidden.RAM"})").outcome.error().message, "Forbidden.RAM");
}

TEST(AnswerTest, RetryAfterIsRead) {
  const auto after = [](std::string value) {
    const http::Response response{
        503, {{"retry-after", std::move(value)}}, R"({"Code":"ServiceUnavailable"})"};
    return ReadAnswer(response, true, {}).outcome.error().retry_after;
  };
  EXPECT_EQ(after("7"), std::chrono::seconds(7));
  EXPECT_EQ(after("-7"), std::chrono::seconds(0));
  EXPECT_EQ(after("99999999999"), std::chrono::seconds(0));
  EXPECT_EQ(after("86400"), std::chrono::hours(1));
  EXPECT_EQ(after("Fri, 02 Jan 2026 03:04:05 GMT"), std::chrono::seconds(0));
}

TEST(AnswerTest, WhatCannotBeReadIsNoAnswer) {
  const std::string huge = "{\"Name\":\"" + std::string(kMaxAnswer, 'x') + "\"}";
  const std::string deep = "{\"a\":" + std::string(100'000, '[');
  for (const std::string& body :
       {std::string(), std::string("<html>"), std::string("[]"), std::string("{\"a\":1"),
        std::string("\"text\""), std::string("{\"a\":\"\xff\"}"), huge, deep}) {
    for (const int code : {200, 500, 502}) {
      const auto write = Read(code, body).outcome;
      const auto read = Read(code, body, false).outcome;
      ASSERT_FALSE(write) << body.substr(0, 20);
      ASSERT_FALSE(read) << body.substr(0, 20);
      EXPECT_EQ(write.error().error_class, ErrorClass::kAmbiguous);
      EXPECT_EQ(read.error().error_class, ErrorClass::kRetry);
      EXPECT_EQ(write.error().code, code);
      EXPECT_EQ(write.error().reason, "");
      EXPECT_LT(write.error().message.size(), 100);
    }
  }
}

TEST(AnswerTest, AStatusWithoutACodeStillSaysThatNothingWasDone) {
  EXPECT_EQ(Read(403, "<html>").outcome.error().error_class, ErrorClass::kRetry);
  EXPECT_EQ(Read(301, "").outcome.error().error_class, ErrorClass::kRetry);
  EXPECT_EQ(Read(404, R"({"Code":{}})").outcome.error().error_class, ErrorClass::kRetry);
  EXPECT_EQ(Read(429, "slow down").outcome.error().error_class, ErrorClass::kThrottled);
}

TEST(AnswerTest, WithoutAnAnswerAWriteIsAmbiguousOnlyWhenItWasSent) {
  const auto lost = [](ErrorClass error_class, bool writes) {
    const Error error{.error_class = error_class, .message = "reset, said hush"};
    return ReadAnswer(std::unexpected(error), writes, {"hush"}).outcome.error();
  };
  EXPECT_EQ(lost(ErrorClass::kAmbiguous, true).error_class, ErrorClass::kAmbiguous);
  EXPECT_EQ(lost(ErrorClass::kAmbiguous, false).error_class, ErrorClass::kRetry);
  EXPECT_EQ(lost(ErrorClass::kRetry, true).error_class, ErrorClass::kRetry);
  EXPECT_EQ(lost(ErrorClass::kRetry, true).message, "reset, said ***");
  // As http::Client classes a TLS failure: certificates are renewed.
  EXPECT_EQ(lost(ErrorClass::kTerminal, true).error_class, ErrorClass::kRetry);
}

TEST(AnswerTest, NoSecretIsRepeated) {
  const auto message =
      Read(403, R"({"Code":"Odd","Message":"hush hush token, hu"})").outcome.error().message;
  EXPECT_EQ(message, "*** *** ***, hu");
  const auto signed_text = Read(400, R"({"Code":"SignatureDoesNotMatch","Message":
          "Not matched. server string to sign is:POST&%2F&SecurityToken%3Dtok%252Ben"})")
                               .outcome.error()
                               .message;
  EXPECT_THAT(signed_text, HasSubstr("Not matched."));
  EXPECT_THAT(signed_text, Not(HasSubstr("tok")));
}

TEST(AnswerTest, NoSecretIsRepeatedInACodeOrARequestId) {
  const auto refused = Read(403, R"({"Code":"hush","RequestId":"a token"})");
  EXPECT_EQ(refused.outcome.error().reason, "***");
  EXPECT_EQ(refused.outcome.error().message, "*** (request ID a ***)");
  EXPECT_EQ(refused.request_id, "a ***");
  const auto good = Read(200, R"({"RequestId":"a token"})");
  EXPECT_EQ(good.outcome->to_string(), R"({"RequestId":"a ***"})");
}

TEST(AnswerTest, ASecretOfBlotsEndsToo) {
  const http::Response response{400, {}, R"({"Code":"Odd","Message":"a*b"})"};
  EXPECT_EQ(ReadAnswer(response, true, {"*", ""}).outcome.error().message, "a***b");
}

TEST(AnswerTest, MessagesAreBoundedAndUtf8) {
  const std::string body = R"({"Code":"Odd","Message":")" + std::string(100'000, 'm') + R"("})";
  EXPECT_EQ(Read(400, body).outcome.error().message.size(), kMaxMessage);
}

TEST(AnswerTest, TextIsWhateverTheCloudTookItFor) {
  const Json json = Json::parse(R"({"s":"5","n":5,"b":true,"o":{},"a":[1],"z":null})");
  EXPECT_EQ(Text(json, "s"), "5");
  EXPECT_EQ(Text(json, "n"), "5");
  EXPECT_EQ(Text(json, "b"), "true");
  for (const auto* none : {"o", "a", "z", "absent"}) EXPECT_EQ(Text(json, none), "") << none;
  EXPECT_EQ(Text(Json::parse("[]"), "s"), "");
}

}  // namespace
}  // namespace berth::cloud::aliyun
