#include "kube/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "json/json.h"
#include "log/log.h"

namespace berth::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::SizeIs;
using namespace std::chrono_literals;

const ObjectReference kPool{"plexaubnet.io/v1alpha1", "SubnetPool", "shop", "office",
                            "7d9c8f6a-3a51-4a0e-9c1b-0d6c5f2e8b11"};

// Answers every request with what the test says, in a turn of its own.
class FakeTransport : public Transport {
 public:
  explicit FakeTransport(async::Executor& executor) : executor_(executor) {}

  async::Handle Send(Request request, Done done) override {
    requests.push_back(std::move(request));
    return executor_.RunAfter(latency, [this, done] {
      if (errors.empty()) return done(Response{.code = 200});
      const Error error = errors.front();
      errors.erase(errors.begin());
      done(std::unexpected(error));
    });
  }
  async::Handle Watch(Request, Stream) override { return {}; }

  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const Request& request : requests) {
      lines.push_back((request.method == Method::kPost ? "POST " : "PATCH ") + request.path);
    }
    return lines;
  }

  std::vector<Request> requests;
  std::vector<Error> errors;  // the next answers; success after them
  async::Duration latency{};

 private:
  async::Executor& executor_;
};

class EventsTest : public testing::Test {
 protected:
  EventsTest() { log::SetLevel("error"); }

  void Record(const std::string& note = "10.20.3.0/24 is reserved",
              const ObjectReference& object = kPool) {
    recorder_.Record(object, EventType::kNormal, "BlockReserved", "Reserve", note);
  }
  Json Body(std::size_t index) const { return Json::parse(transport_.requests.at(index).body); }

  async::TestExecutor executor_;
  FakeTransport transport_{executor_};
  EventRecorder recorder_{executor_, transport_, {"berth.dev/ipam", "berth-5d8f-x2x7"}};
};

// The API server's judgement on these very bytes is in e2e/events.bats.
TEST_F(EventsTest, AnEventAndItsRepetitionAreWhatTheApiServerWasShown) {
  const auto golden = [](const std::string& name) {
    std::ifstream file(BERTH_SOURCE_DIR "/kube/testdata/events/" + name);
    std::stringstream text;
    text << file.rdbuf();
    return Json::parse(text.str());
  };
  Record("10.20.3.0/24 is reserved for node-1");
  executor_.Advance(5min);
  Record("10.20.3.0/24 is reserved for node-1");
  executor_.RunUntilIdle();
  ASSERT_THAT(transport_.Lines(),
              ElementsAre("POST /apis/events.k8s.io/v1/namespaces/shop/events",
                          MatchesRegex("PATCH /apis/events.k8s.io/v1/namespaces/shop/events/"
                                       "office\\.[0-9a-f]{16}")));
  EXPECT_EQ(Body(0), golden("create.json"));
  EXPECT_EQ(Body(1), golden("patch.json"));
  EXPECT_EQ(transport_.requests[1].content_type, "application/merge-patch+json");
}

TEST_F(EventsTest, RecordNeverCallsTheServerItself) {
  Record();
  EXPECT_THAT(transport_.requests, SizeIs(0));
  executor_.RunUntilIdle();
  EXPECT_THAT(transport_.requests, SizeIs(1));
  EXPECT_EQ(executor_.pending(), 0U);
}

TEST_F(EventsTest, RepetitionsAreWrittenOnceAMinuteWithTheLastCount) {
  for (int i = 0; i < 300; ++i) {
    Record();
    executor_.Advance(1s);
  }
  executor_.Advance(1h);
  ASSERT_THAT(transport_.requests, SizeIs(6));
  EXPECT_EQ(Body(1)["series"]["count"], 60);
  EXPECT_EQ(Body(5)["series"]["count"], 300);
  EXPECT_EQ(Body(5)["series"]["lastObservedTime"], "2026-01-02T03:09:04.000000Z");
  EXPECT_EQ(recorder_.stats().created, 1U);
  EXPECT_EQ(recorder_.stats().updated, 5U);
}

TEST_F(EventsTest, WhatHappensAgainDuringACallIsWrittenLater) {
  transport_.latency = 5s;
  Record();
  executor_.Advance(1s);
  Record();
  executor_.Advance(10min);
  ASSERT_THAT(transport_.requests, SizeIs(2));
  EXPECT_EQ(Body(1)["series"]["count"], 2);
}

TEST_F(EventsTest, WhateverDiffersIsAnotherEvent) {
  ObjectReference other = kPool;
  other.uid = "another";
  Record();
  Record("10.20.4.0/24 is reserved");
  Record("10.20.3.0/24 is reserved", other);
  recorder_.Record(kPool, EventType::kWarning, "BlockReserved", "Reserve",
                   "10.20.3.0/24 is reserved");
  recorder_.Record(kPool, EventType::kNormal, "BlockFreed", "Reserve", "10.20.3.0/24 is reserved");
  recorder_.Record(kPool, EventType::kNormal, "BlockReserved", "Release",
                   "10.20.3.0/24 is reserved");
  executor_.RunUntilIdle();
  EXPECT_EQ(recorder_.stats().created, 6U);
  EXPECT_EQ(Body(3)["type"], "Warning");
}

TEST_F(EventsTest, AfterTheWindowItIsANewEvent) {
  Record();
  executor_.Advance(EventRecorder::kWindow);
  Record();
  executor_.Advance(EventRecorder::kWindow + 1s);
  Record();
  executor_.RunUntilIdle();
  EXPECT_EQ(recorder_.stats().created, 2U);
  EXPECT_EQ(recorder_.stats().updated, 1U);
  EXPECT_NE(Body(0)["metadata"]["name"], Body(2)["metadata"]["name"]);
}

TEST_F(EventsTest, AnObjectHasABurstAndThenOneEventEachInterval) {
  for (int i = 0; i < 40; ++i) Record("note " + std::to_string(i));
  ObjectReference other = kPool;
  other.uid = "another";
  Record("10.20.3.0/24 is reserved", other);
  executor_.RunUntilIdle();
  EXPECT_EQ(recorder_.stats().created, 25U + 1U);
  EXPECT_EQ(recorder_.stats().dropped, 15U);
  Record("note 0");  // known already: counts
  executor_.Advance(EventRecorder::kInterval);
  EXPECT_EQ(recorder_.stats().updated, 1U);
  Record("one more");
  Record("and another");
  executor_.RunUntilIdle();
  EXPECT_EQ(recorder_.stats().created, 25U + 1U + 1U);
}

TEST_F(EventsTest, OnlySoManyWait) {
  for (std::size_t i = 0; i < EventRecorder::kMaxWaiting + 7; ++i) {
    ObjectReference object = kPool;
    object.uid = std::to_string(i);
    Record("10.20.3.0/24 is reserved", object);
  }
  EXPECT_EQ(recorder_.stats().dropped, 7U);
  executor_.RunUntilIdle();
  EXPECT_EQ(recorder_.stats().created, EventRecorder::kMaxWaiting);
}

TEST_F(EventsTest, ANoteIsCutBetweenCharactersAndIsUtf8) {
  Record(std::string(1023, 'x') + "\u00fc");
  Record("\xff");
  executor_.RunUntilIdle();
  EXPECT_EQ(Body(0)["note"], std::string(1023, 'x'));
  EXPECT_EQ(Body(1)["note"], "\uFFFD");
}

TEST_F(EventsTest, AClusterWideObjectsEventIsInDefault) {
  Record("", {"v1", "Node", "", "node-1", "u"});
  executor_.RunUntilIdle();
  EXPECT_EQ(transport_.requests[0].path, "/apis/events.k8s.io/v1/namespaces/default/events");
  EXPECT_EQ(Body(0)["metadata"]["namespace"], "default");
  EXPECT_FALSE(Body(0)["regarding"].contains("namespace"));
}

TEST_F(EventsTest, AnObjectWhoseNameIsNoneForAnEventHasEventsToo) {
  const auto name = [&](const std::string& object) {
    Record("", {"v1", "Thing", "shop", object, object});
    executor_.RunUntilIdle();
    return Body(transport_.requests.size() - 1)["metadata"]["name"].as<std::string>();
  };
  EXPECT_THAT(name("a.b--c-1"), MatchesRegex("a\\.b--c-1\\.[0-9a-f]{16}"));
  for (const std::string bad :
       {"system:node", "Upper", "a..b", "a.-b", "a-.b", "-a", "a-", ".a", "a."}) {
    EXPECT_THAT(name(bad), MatchesRegex("event\\.[0-9a-f]{16}")) << bad;
  }
  EXPECT_THAT(name(std::string(236, 'x')), SizeIs(253));
  EXPECT_THAT(name(std::string(237, 'x')), MatchesRegex("event\\.[0-9a-f]{16}"));
}

TEST_F(EventsTest, AnEventThatIsGoneIsMadeAnew) {
  Record();
  executor_.Advance(2min);
  transport_.errors = {{.error_class = ErrorClass::kNotFound}};
  Record();
  executor_.RunUntilIdle();
  ASSERT_THAT(transport_.Lines(),
              ElementsAre(HasSubstr("POST"), HasSubstr("PATCH"), HasSubstr("POST")));
  EXPECT_EQ(Body(2)["series"]["count"], 2);
}

TEST_F(EventsTest, InANamespaceThatIsGoneItIsDropped) {
  transport_.errors = {{.error_class = ErrorClass::kNotFound}};
  Record();
  executor_.Advance(1h);
  EXPECT_THAT(transport_.requests, SizeIs(1));
  EXPECT_EQ(recorder_.stats().dropped, 1U);
}

TEST_F(EventsTest, BothGoneItIsDropped) {
  Record();
  executor_.Advance(2min);
  transport_.errors = {2, {.error_class = ErrorClass::kNotFound}};
  Record();
  executor_.Advance(1h);
  EXPECT_THAT(transport_.Lines(),
              ElementsAre(HasSubstr("POST"), HasSubstr("PATCH"), HasSubstr("POST")));
  EXPECT_EQ(recorder_.stats().dropped, 1U);
}

TEST_F(EventsTest, ARefusedEventIsDroppedAndTheNextOneTried) {
  transport_.errors = {{.error_class = ErrorClass::kTerminal, .reason = "Forbidden"}};
  Record();
  executor_.Advance(1min);
  EXPECT_EQ(recorder_.stats().dropped, 1U);
  Record();
  executor_.RunUntilIdle();
  EXPECT_EQ(recorder_.stats().created, 1U);
}

TEST_F(EventsTest, WhoIsRefusedAlwaysAsksNoMoreThanTheBurst) {
  transport_.errors = {100, {.error_class = ErrorClass::kTerminal, .reason = "Forbidden"}};
  for (int i = 0; i < 100; ++i) {
    Record();
    executor_.Advance(1s);
  }
  EXPECT_THAT(transport_.requests, SizeIs(EventRecorder::kBurst));
}

TEST_F(EventsTest, AServerOutOfReachIsTriedForTwoMinutes) {
  transport_.errors = {100, {.error_class = ErrorClass::kRetry}};
  Record();
  executor_.Advance(2min);
  EXPECT_EQ(recorder_.stats().dropped, 0U);
  executor_.Advance(1h);
  EXPECT_EQ(recorder_.stats().dropped, 1U);
  EXPECT_THAT(transport_.requests, SizeIs(EventRecorder::kMaxTries));
}

TEST_F(EventsTest, EveryWriteHasAllItsTries) {
  for (int i = 0; i < 3; ++i) {
    transport_.errors = {EventRecorder::kMaxTries - 1, {.error_class = ErrorClass::kRetry}};
    Record();
    executor_.Advance(5min);
  }
  EXPECT_EQ(recorder_.stats().created, 1U);
  EXPECT_EQ(recorder_.stats().updated, 2U);
}

TEST_F(EventsTest, AServerThatAsksForTimeGetsIt) {
  transport_.errors = {{.error_class = ErrorClass::kThrottled, .retry_after = 30s}};
  Record();
  executor_.Advance(30s - 1ms);
  EXPECT_THAT(transport_.requests, SizeIs(1));
  executor_.Advance(1ms);
  EXPECT_EQ(recorder_.stats().created, 1U);
}

TEST_F(EventsTest, AServerThatAsksForADayGetsAMinute) {
  transport_.errors = {{.error_class = ErrorClass::kThrottled, .retry_after = 24h}};
  Record();
  executor_.Advance(1min);
  EXPECT_EQ(recorder_.stats().created, 1U);
}

TEST_F(EventsTest, WhatWasWrittenThoughTheAnswerGotLostIsWritten) {
  transport_.errors = {{.error_class = ErrorClass::kAmbiguous},
                       {.error_class = ErrorClass::kTerminal, .reason = "AlreadyExists"}};
  Record();
  executor_.Advance(5s);
  EXPECT_EQ(recorder_.stats().created, 1U);
  Record();
  executor_.Advance(1min);
  EXPECT_EQ(recorder_.stats().updated, 1U);
}

TEST_F(EventsTest, CanEndAtAnyTime) {
  {
    EventRecorder recorder(executor_, transport_, {"c", "i"});
    recorder.Record(kPool, EventType::kNormal, "A", "B", "waits");
  }
  {
    EventRecorder recorder(executor_, transport_, {"c", "i"});
    recorder.Record(kPool, EventType::kNormal, "A", "B", "is being written");
    executor_.Advance(0s);
    recorder.Record(kPool, EventType::kNormal, "A", "B", "waits for its minute");
  }
  executor_.Advance(1h);
}

TEST_F(EventsTest, TellsMetricsWhatBecameOfThem) {
  prometheus::Registry registry;
  EventRecorder recorder(executor_, transport_, {"berth.dev/ipam", "i", &registry});
  for (int i = 0; i < 26; ++i) {
    recorder.Record(kPool, EventType::kNormal, "A", "B", std::to_string(i));
  }
  executor_.RunUntilIdle();
  const std::string text = prometheus::TextSerializer().Serialize(registry.Collect());
  const std::string name = "berth_events_total{controller=\"berth.dev/ipam\",result=";
  EXPECT_THAT(text, HasSubstr(name + "\"created\"} 25\n"));
  EXPECT_THAT(text, HasSubstr(name + "\"dropped\"} 1\n"));
}

TEST(LruMap, ForgetsWhatWasNotUsedForLongest) {
  LruMap<int> map(2);
  map.Put("a", 1);
  map.Put("b", 2);
  EXPECT_EQ(*map.Find("a"), 1);
  map.Put("c", 3);
  EXPECT_EQ(map.Find("b"), nullptr);
  EXPECT_EQ(*map.Find("a"), 1);
  EXPECT_EQ(*map.Find("c"), 3);
  map.Put("c", 4);
  EXPECT_EQ(map.size(), 2U);
  EXPECT_EQ(*map.Find("c"), 4);
  map.Erase("c");
  EXPECT_EQ(map.Find("c"), nullptr);
}

}  // namespace
}  // namespace berth::kube
