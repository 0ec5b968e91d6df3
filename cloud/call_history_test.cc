#include "cloud/call_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

namespace berth::cloud {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

CallRecord Good(std::string action, async::Duration latency = 40ms) {
  return {.action = std::move(action),
          .latency = latency,
          .http_code = 200,
          .code = "OK",
          .request_id = "r-1"};
}

CallRecord Bad(std::string action, std::string code, std::string message = "no") {
  return {.action = std::move(action),
          .latency = 10ms,
          .http_code = 400,
          .code = std::move(code),
          .message = std::move(message),
          .request_id = "r-2"};
}

std::vector<std::string> Names(const std::vector<const ActionHistory*>& actions) {
  std::vector<std::string> names;
  for (const ActionHistory* action : actions) names.push_back(action->action);
  return names;
}

TEST(CallHistory, CountsByActionAndCode) {
  CallHistory history;
  history.Called(Good("AllocateEipAddress"));
  history.Called(Good("AllocateEipAddress"));
  history.Called(Bad("AllocateEipAddress", "QuotaExceeded.Eip", "too many"));
  CallRecord throttled = Bad("AllocateEipAddress", "Throttling.User");
  throttled.throttled = true;
  history.Called(throttled);
  history.Called(Good("TagResources"));
  const ActionHistory& allocate = *history.Find("AllocateEipAddress");
  EXPECT_EQ(allocate.calls, 4u);
  EXPECT_EQ(allocate.errors, 2u);
  EXPECT_EQ(allocate.throttled, 1u);
  EXPECT_THAT(allocate.codes,
              ElementsAre(Pair("OK", 2), Pair("QuotaExceeded.Eip", 1), Pair("Throttling.User", 1)));
  EXPECT_EQ(allocate.last_error->code, "Throttling.User");
  EXPECT_EQ(history.Find("TagResources")->errors, 0u);
  EXPECT_EQ(history.Find("ReleaseEipAddress"), nullptr);
}

TEST(CallHistory, TheLatestCallsAreKeptAndTheLastErrorLonger) {
  CallHistory history;
  history.Called(Bad("AllocateEipAddress", "QuotaExceeded.Eip"));
  for (int i = 0; i < 30; ++i) history.Called(Good("AllocateEipAddress", i * 1ms));
  const ActionHistory& allocate = *history.Find("AllocateEipAddress");
  ASSERT_EQ(allocate.recent.size(), CallHistory::kRecent);
  EXPECT_EQ(allocate.recent.front().latency, 10ms);
  EXPECT_EQ(allocate.recent.back().latency, 29ms);
  EXPECT_EQ(allocate.last_error->code, "QuotaExceeded.Eip");
}

TEST(CallHistory, LatencyIsTheMedianOfWhatWasSent) {
  CallHistory history;
  for (const auto latency : {5000ms, 20ms, 30ms}) history.Called(Good("TagResources", latency));
  for (int i = 0; i < 4; ++i) {
    history.Called({.action = "TagResources", .waited = 1min, .code = "NotSent"});
  }
  EXPECT_EQ(history.Find("TagResources")->Latency(), 30ms);
  history.Called({.action = "ReleaseEipAddress", .waited = 1min, .code = "NotSent"});
  EXPECT_EQ(history.Find("ReleaseEipAddress")->Latency(), 0ms);
}

TEST(CallHistory, WhatWasCalledIsToldOnce) {
  CallHistory history;
  EXPECT_THAT(Names(history.TakeDirty()), ElementsAre());
  history.Called(Good("TagResources"));
  history.Called(Good("AllocateEipAddress"));
  history.Called(Good("TagResources"));
  EXPECT_THAT(Names(history.TakeDirty()), ElementsAre("AllocateEipAddress", "TagResources"));
  EXPECT_THAT(Names(history.TakeDirty()), ElementsAre());
  history.Called(Good("TagResources"));
  EXPECT_THAT(Names(history.TakeDirty()), ElementsAre("TagResources"));
}

TEST(CallHistory, EverythingIsBounded) {
  prometheus::Registry registry;
  CallHistory history(&registry);
  for (int i = 0; i < 200; ++i) {
    history.Called(Bad("Action" + std::to_string(i), "OK"));
    history.Called(Bad("Action0", "Code" + std::to_string(i), std::string(10'000, 'x')));
  }
  EXPECT_EQ(history.TakeDirty().size(), CallHistory::kMostActions);
  EXPECT_EQ(history.Find(CallHistory::kOther)->calls, 200u - (CallHistory::kMostActions - 1));
  const ActionHistory& first = *history.Find("Action0");
  EXPECT_EQ(first.codes.size(), CallHistory::kMostCodes);
  EXPECT_EQ(first.codes.at("Other"), 201u - (CallHistory::kMostCodes - 1));
  EXPECT_EQ(first.last_error->message.size(), 1024u);
  for (const auto& family : registry.Collect()) {
    const auto most = CallHistory::kMostActions - 1 + CallHistory::kMostCodes;
    EXPECT_LE(family.metric.size(), most) << family.name;
  }
}

TEST(CallHistory, Metrics) {
  prometheus::Registry registry;
  CallHistory history(&registry);
  CallRecord throttled = Bad("TagResources", "Throttling.User");
  throttled.throttled = true;
  throttled.waited = 300ms;
  history.Called(throttled);
  history.Called(Good("TagResources"));
  history.Called({.action = "TagResources", .waited = 1min, .code = "NotSent"});
  const std::string text = prometheus::TextSerializer().Serialize(registry.Collect());
  for (const char* line :
       {"berth_cloud_calls_total{action=\"TagResources\",code=\"OK\"} 1\n",
        "berth_cloud_calls_total{action=\"TagResources\",code=\"Throttling.User\"} 1\n",
        "berth_cloud_calls_total{action=\"TagResources\",code=\"NotSent\"} 1\n",
        "berth_cloud_throttled_total{action=\"TagResources\"} 1\n",
        "berth_cloud_call_duration_seconds_count{action=\"TagResources\"} 2\n",
        "berth_cloud_turn_wait_seconds_count{action=\"TagResources\"} 3\n",
        "berth_cloud_turn_wait_seconds_sum{action=\"TagResources\"} 60.3\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("r-2")));
}

}  // namespace
}  // namespace berth::cloud
