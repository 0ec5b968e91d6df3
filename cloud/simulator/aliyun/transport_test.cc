#include "cloud/simulator/transport.h"
#include "cloud/simulator/aliyun/cloud.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

#include "async/test_executor.h"
#include "cloud/simulator/aliyun/test_caller.h"
#include "log/format.h"

namespace berth::cloud::simulator {
namespace {

using namespace std::chrono_literals;

struct Told : Fates {
  Fate Draw(const http::Request&) override { return fate; }
  Fate fate{.there = 10ms, .back = 10ms};
};

struct TransportTest : testing::Test {
  async::TestExecutor executor;
  Cloud cloud{{}};
  TestCaller caller{cloud};
  Told fates;
  Network network{cloud, executor, fates};
  Transport transport{network, executor};
  std::optional<Result<http::Response>> outcome;

  async::Handle Allocate() {
    caller.now = executor.WallNow();
    http::Request request =
        TestCaller::Signed(caller.Unsigned("AllocateEipAddress", {{"RegionId", "cn-hangzhou"}}));
    request.timeout = 1s;
    return transport.Send(std::move(request), [this](Result<http::Response> result) {
      EXPECT_FALSE(outcome) << "told twice";
      outcome = std::move(result);
    });
  }
  std::size_t Made() const { return cloud.vpc().Eips().size(); }
};

TEST_F(TransportTest, AnAnswerTakesBothWays) {
  const auto handle = Allocate();
  executor.Advance(9ms);
  EXPECT_EQ(Made(), 0);
  executor.Advance(1ms);
  EXPECT_EQ(Made(), 1);
  executor.Advance(9ms);
  EXPECT_FALSE(outcome);
  executor.Advance(1ms);
  ASSERT_TRUE(outcome && *outcome);
  EXPECT_EQ((*outcome)->code, 200);
  executor.Advance(10s);  // and it is told once
  EXPECT_EQ(executor.pending(), 0);
}

TEST_F(TransportTest, NothingIsToldBeforeSendReturns) {
  for (const Fate& fate : {Fate{}, Fate{.sent = false}}) {
    outcome.reset();
    fates.fate = fate;
    const auto handle = Allocate();
    EXPECT_FALSE(outcome);
    executor.RunUntilIdle();
    EXPECT_TRUE(outcome);
  }
}

TEST_F(TransportTest, WithoutAConnectionNothingIsDone) {
  fates.fate.sent = false;
  const auto handle = Allocate();
  executor.Advance(10ms);
  ASSERT_TRUE(outcome && !*outcome);
  EXPECT_EQ(outcome->error().error_class, ErrorClass::kRetry);
  executor.Advance(10s);
  EXPECT_EQ(Made(), 0);
}

TEST_F(TransportTest, WhatIsLostOnTheWayIsAmbiguous) {
  fates.fate.arrives = false;
  const auto handle = Allocate();
  executor.Advance(999ms);
  EXPECT_FALSE(outcome);
  executor.Advance(1ms);
  ASSERT_TRUE(outcome && !*outcome);
  EXPECT_EQ(outcome->error().error_class, ErrorClass::kAmbiguous);
  EXPECT_EQ(Made(), 0);
}

TEST_F(TransportTest, ALostAnswerIsAmbiguous) {
  fates.fate.answered = false;
  const auto handle = Allocate();
  executor.Advance(1s);
  ASSERT_TRUE(outcome && !*outcome);
  EXPECT_EQ(outcome->error().error_class, ErrorClass::kAmbiguous);
  EXPECT_EQ(Made(), 1);
}

TEST_F(TransportTest, ARefusedCallMayHaveBeenCarriedOut) {
  cloud.faults().Set({{.action = "AllocateEipAddress",
                       .kind = Fault::Kind::kCarriedOut,
                       .code = "ReserveIpFail"}});
  const auto handle = Allocate();
  executor.Advance(1s);
  ASSERT_TRUE(outcome && *outcome);
  EXPECT_EQ((*outcome)->code, 400);
  EXPECT_TRUE((*outcome)->body.contains("ReserveIpFail"));
  EXPECT_EQ(Made(), 1);
}

TEST_F(TransportTest, ASlowRequestIsCarriedOutAfterItsCallerGaveUp) {
  fates.fate.there = 5s;
  fates.fate.outlives_caller = false;  // says nothing about one who waited
  {
    const auto handle = Allocate();
    executor.Advance(1s);
    ASSERT_TRUE(outcome && !*outcome);
    EXPECT_EQ(outcome->error().error_class, ErrorClass::kAmbiguous);
    EXPECT_EQ(Made(), 0);
  }
  executor.Advance(4s);
  EXPECT_EQ(Made(), 1);
}

TEST_F(TransportTest, AnAnswerThatIsTooLateIsNone) {
  fates.fate.back = 990ms;  // on the deadline
  const auto handle = Allocate();
  executor.Advance(1s);
  ASSERT_TRUE(outcome && !*outcome);
  EXPECT_EQ(outcome->error().error_class, ErrorClass::kAmbiguous);
  EXPECT_EQ(Made(), 1);
}

TEST_F(TransportTest, ATroubledCloudMayHaveActedOrNot) {
  const auto refused = [&](Refusal refusal, bool carried_out) {
    outcome.reset();
    fates.fate.refusal = std::move(refusal);
    fates.fate.carried_out = carried_out;
    const auto handle = Allocate();
    executor.Advance(20ms);
    const auto body = Json::parse(outcome.value()->body);
    return Format("{} {} {}", outcome.value()->code, body["Code"].as<std::string>(), Made());
  };
  EXPECT_EQ(refused(Unavailable(), false), "503 ServiceUnavailable 0");
  EXPECT_EQ(refused(Throttled(), false), "400 Throttling.User 0");
  EXPECT_EQ(refused(InternalError(), true), "500 InternalError 1");
}

TEST_F(TransportTest, WhoLetsGoIsNotToldAndMayHaveActed) {
  for (const bool goes_on : {false, true}) {
    fates.fate.outlives_caller = goes_on;
    {
      const auto handle = Allocate();
    }
    executor.Advance(10s);
    EXPECT_FALSE(outcome);
    EXPECT_EQ(Made(), goes_on ? 1 : 0);
  }
  fates.fate.outlives_caller = false;
  fates.fate.there = 5s;  // would arrive after the deadline
  {
    const auto handle = Allocate();
  }
  executor.Advance(10s);
  EXPECT_EQ(Made(), 1);
  fates.fate.there = 10ms;
  auto handle = Allocate();
  executor.Advance(10ms);  // it has arrived; the answer is on its way
  handle = {};
  executor.Advance(10s);
  EXPECT_FALSE(outcome);
  EXPECT_EQ(Made(), 2);
}

TEST_F(TransportTest, WhatHasLeftGoesOnWithoutItsCaller) {
  {
    async::TestExecutor crashed;
    Transport other(network, crashed);
    http::Request request =
        TestCaller::Signed(caller.Unsigned("AllocateEipAddress", {{"RegionId", "cn-hangzhou"}}));
    const auto handle = other.Send(std::move(request), [](auto) { FAIL(); });
  }
  executor.Advance(10ms);
  EXPECT_EQ(Made(), 1);
}

TEST_F(TransportTest, LatencyStaysInItsRange) {
  Latency latency(executor, 5ms, 8ms);
  for (int i = 0; i < 100; ++i) {
    const Fate fate = latency.Draw({});
    for (const auto way : {fate.there, fate.back}) {
      EXPECT_GE(way, 5ms);
      EXPECT_LT(way, 8ms);
    }
  }
}

}  // namespace
}  // namespace berth::cloud::simulator
