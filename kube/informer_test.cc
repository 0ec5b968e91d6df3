#include "kube/informer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/test_executor.h"
#include "kube/scripted_transport.h"
#include "log/format.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct Thing {
  std::string version;
  std::string colour;

  static Result<Thing> From(JsonView object) {
    const auto colour = object["spec"]["colour"].String();
    if (!colour) return Terminal("spec.colour is not a string");
    return Thing{std::string(object["metadata"]["resourceVersion"].StringOr("")),
                 std::string(*colour)};
  }
};

std::string Object(const std::string& name, int version, const std::string& colour) {
  return Format(
      R"({{"metadata":{{"namespace":"ns","name":"{}","resourceVersion":"{}"}},"spec":{{"colour":"{}"}}}})",
      name, version, colour);
}

std::string Event(const char* type, const std::string& name, int version,
                  const std::string& colour = "red") {
  return Format("{{\"type\":\"{}\",\"object\":{}}}\n", type, Object(name, version, colour));
}

std::string Bookmark(int version, bool initial_end = false) {
  return Format(R"({{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"{}"{}}}}}}})"
                "\n",
                version,
                initial_end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "");
}

constexpr const char* kGone =
    R"({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}})"
    "\n";

class InformerTest : public testing::Test {
 protected:
  InformerTest() {
    by_colour_ = informer_.AddIndex([](const Thing& thing) { return std::vector{thing.colour}; });
    informer_.AddHandler(Recorder(log_));
  }

  static Informer<Thing>::Handler Recorder(std::vector<std::string>& log) {
    return {
        .on_add = [&log](const std::string& key,
                         const Thing& now) { log.push_back("+" + key + "@" + now.version); },
        .on_update =
            [&log](const std::string& key, const Thing& before, const Thing& now) {
              log.push_back(key + "@" + before.version + ">" + now.version);
            },
        .on_delete = [&log](const std::string& key,
                            const Thing& last) { log.push_back("-" + key + "@" + last.version); }};
  }

  // Starts, and has the state a@1, b@2 at version 10.
  void Sync() {
    informer_.Start();
    transport_.last().Lines(Event("ADDED", "a", 1) + Event("ADDED", "b", 2) + Bookmark(10, true));
    ASSERT_TRUE(informer_.HasSynced());
    log_.clear();
  }

  // Lets any back-off pass.
  void Wait() { executor_.Advance(2min); }

  std::vector<std::string> In(const std::string& colour) {
    std::vector<std::string> keys;
    informer_.ForEachIn(by_colour_, colour,
                        [&](const std::string& key, const Thing&) { keys.push_back(key); });
    return keys;
  }

  async::TestExecutor executor_;
  ScriptedTransport transport_;
  std::vector<std::string> log_;
  Informer<Thing> informer_{executor_, transport_, {.path = "/apis/g/v1/things", .page = 2}};
  std::size_t by_colour_ = 0;
};

TEST_F(InformerTest, TheStateIsStreamedAndThenFollowedOnTheSameWatch) {
  informer_.Start();
  EXPECT_THAT(transport_.last().request.path, HasSubstr("sendInitialEvents=true"));
  EXPECT_THAT(transport_.last().request.path, HasSubstr("allowWatchBookmarks=true"));
  transport_.last().Lines(Event("ADDED", "b", 9) + Event("ADDED", "a", 3));
  EXPECT_FALSE(informer_.HasSynced());
  transport_.last().Lines(Bookmark(10, true));
  EXPECT_TRUE(informer_.HasSynced());
  transport_.last().Lines(Event("MODIFIED", "a", 11) + Event("DELETED", "b", 12));
  EXPECT_THAT(log_, ElementsAre("+ns/b@9", "+ns/a@3", "ns/a@3>11", "-ns/b@12"));
  EXPECT_EQ(informer_.Get("ns/a")->version, "11");
  EXPECT_EQ(informer_.Get("ns/b"), nullptr);
  EXPECT_EQ(transport_.size(), 1u);
}

TEST_F(InformerTest, AServerThatRefusesToStreamIsListedPageByPage) {
  informer_.Start();
  transport_.last().Fail({ErrorClass::kTerminal, "Invalid", "no", 422});
  executor_.RunUntilIdle();
  EXPECT_THAT(transport_.last().request.path, HasSubstr("limit=2"));
  transport_.last().Answer(200,
                           R"({"metadata":{"resourceVersion":"7","continue":"a+b/c="},"items":[)" +
                               Object("a", 1, "red") + "," + Object("b", 2, "red") + "]}");
  EXPECT_THAT(transport_.last().request.path, HasSubstr("continue=a%2Bb%2Fc%3D"));
  EXPECT_FALSE(informer_.HasSynced());
  transport_.last().Answer(
      200, R"({"metadata":{"resourceVersion":"7"},"items":[)" + Object("c", 3, "red") + "]}");
  EXPECT_TRUE(informer_.HasSynced());
  EXPECT_EQ(informer_.size(), 3u);
  EXPECT_THAT(transport_.last().request.path, HasSubstr("watch=true"));
  EXPECT_THAT(transport_.last().request.path, HasSubstr("resourceVersion=7"));
}

TEST_F(InformerTest, ACutWatchGoesOnFromTheLastVersionSeenBookmarksIncluded) {
  Sync();
  transport_.last().Lines(Event("MODIFIED", "a", 11) + Bookmark(20));
  transport_.last().Fail({ErrorClass::kRetry, {}, "cut"});
  Wait();
  EXPECT_THAT(transport_.last().request.path, HasSubstr("resourceVersion=20"));
  EXPECT_THAT(transport_.last().request.path, Not(HasSubstr("sendInitialEvents")));
  transport_.last().Lines(Event("ADDED", "c", 21));
  EXPECT_THAT(log_, ElementsAre("ns/a@1>11", "+ns/c@21"));
}

TEST_F(InformerTest, WhatWasDeletedWhileTheVersionExpiredIsToldAsDeleted) {
  Sync();
  transport_.last().Lines(kGone);
  Wait();
  EXPECT_THAT(transport_.last().request.path, HasSubstr("sendInitialEvents=true"));
  EXPECT_NE(informer_.Get("ns/b"), nullptr) << "the old state stands until the new one is whole";
  transport_.last().Lines(Event("ADDED", "a", 1) + Event("ADDED", "c", 30) + Bookmark(31, true));
  EXPECT_THAT(log_, ElementsAre("+ns/c@30", "-ns/b@2"));  // a has not changed: nobody is told
  EXPECT_EQ(informer_.Get("ns/b"), nullptr);
}

TEST_F(InformerTest, RefreshAsksForAStateThatIsNotOlder) {
  Sync();
  EXPECT_TRUE(informer_.fresh());
  int whole = 0;
  informer_.AddHandler({.on_add = [](const std::string&, const Thing&) {},
                        .on_update = [](const std::string&, const Thing&, const Thing&) {},
                        .on_delete = [](const std::string&, const Thing&) {},
                        .on_whole = [&] { ++whole; }});
  informer_.Refresh();
  EXPECT_FALSE(informer_.fresh());
  executor_.RunUntilIdle();  // at once, not after a back-off
  EXPECT_THAT(transport_.last().request.path, HasSubstr("sendInitialEvents=true"));
  EXPECT_TRUE(transport_.at(0).abandoned);
  EXPECT_TRUE(informer_.HasSynced()) << "the old state stands";
  transport_.last().Lines(Event("ADDED", "a", 15));
  EXPECT_FALSE(informer_.fresh());
  transport_.last().Lines(Bookmark(20, true));
  EXPECT_TRUE(informer_.fresh());
  EXPECT_EQ(whole, 1);
  EXPECT_THAT(log_, ElementsAre("ns/a@1>15", "-ns/b@2"));
}

TEST_F(InformerTest, RefreshDuringTheFirstStateBeginsItAnew) {
  informer_.Start();
  transport_.last().Lines(Event("ADDED", "a", 1));
  informer_.Refresh();
  executor_.RunUntilIdle();
  ASSERT_EQ(transport_.size(), 2u);
  transport_.last().Lines(Event("ADDED", "b", 2) + Bookmark(10, true));
  EXPECT_TRUE(informer_.fresh());
  EXPECT_EQ(informer_.Get("ns/a"), nullptr);
}

TEST_F(InformerTest, AnAnswerOf410IsLikeAnErrorInTheStream) {
  Sync();
  transport_.last().End();
  Wait();
  transport_.last().Fail({ErrorClass::kRetry, "Expired", "too old", 410});
  Wait();
  EXPECT_THAT(transport_.last().request.path, HasSubstr("sendInitialEvents=true"));
}

TEST_F(InformerTest, AStateThatWasCutShortDeletesNothing) {
  Sync();
  transport_.last().Lines(kGone);
  Wait();
  transport_.last().Lines(Event("ADDED", "a", 1));
  transport_.last().Fail({ErrorClass::kRetry, {}, "cut"});
  Wait();
  EXPECT_NE(informer_.Get("ns/b"), nullptr);
  transport_.last().Lines(Event("ADDED", "b", 2) + Bookmark(40, true));
  EXPECT_THAT(log_, ElementsAre("-ns/a@1"));
}

TEST_F(InformerTest, RepeatedAndOldEventsAreDropped) {
  Sync();
  const std::string added = Event("ADDED", "c", 11);
  transport_.last().Lines(added + added + Event("DELETED", "c", 12) + added +
                          Event("MODIFIED", "a", 10));
  EXPECT_THAT(log_, ElementsAre("+ns/c@11", "-ns/c@12"));
}

TEST_F(InformerTest, FailuresInARowWaitLongerAndASuccessEndsTheRow) {
  Sync();
  auto wait = [&] {
    const auto watches = transport_.size();
    transport_.last().Fail({ErrorClass::kRetry, {}, "refused"});
    const auto began = executor_.Now();
    while (transport_.size() == watches) executor_.Advance(100ms);
    return executor_.Now() - began;
  };
  const auto first = wait();
  EXPECT_GE(first, 800ms);
  EXPECT_LE(first, 1700ms);
  for (int i = 0; i < 10; ++i) wait();
  const auto later = wait();
  EXPECT_GE(later, 30s);
  EXPECT_LE(later, 61s);
  transport_.last().Lines(Event("MODIFIED", "a", 50));
  EXPECT_LE(wait(), 1700ms);
}

TEST_F(InformerTest, TheServersRetryAfterIsWaitedFor) {
  Sync();
  transport_.last().Fail({ErrorClass::kThrottled, {}, "busy", 429, 45s});
  executor_.Advance(44s);
  EXPECT_EQ(transport_.size(), 1u);
  executor_.Advance(2s);
  EXPECT_EQ(transport_.size(), 2u);
}

TEST_F(InformerTest, AServerThatEndsEveryWatchAtOnceIsNotAskedInALoop) {
  Sync();
  for (int i = 0; i < 5; ++i) {
    const auto watches = transport_.size();
    transport_.last().End();
    executor_.Advance(700ms);
    ASSERT_EQ(transport_.size(), watches);
    while (transport_.size() == watches) executor_.Advance(100ms);
  }
}

TEST_F(InformerTest, AnObjectThatIsNotUnderstoodStaysAsItWasKnown) {
  Sync();
  transport_.last().Lines(
      R"({"type":"MODIFIED","object":{"metadata":{"namespace":"ns","name":"a","resourceVersion":"11"},"spec":{"colour":7}}})"
      "\n" +
      Event("MODIFIED", "b", 12));
  EXPECT_EQ(informer_.Get("ns/a")->version, "1");
  EXPECT_EQ(informer_.refused(), 1u);
  EXPECT_THAT(log_, ElementsAre("ns/b@2>12"));
}

TEST_F(InformerTest, IndexesFollowEveryChange) {
  Sync();
  EXPECT_THAT(In("red"), ElementsAre("ns/a", "ns/b"));
  transport_.last().Lines(Event("MODIFIED", "a", 11, "blue") + Event("ADDED", "c", 12, "blue"));
  EXPECT_THAT(In("red"), ElementsAre("ns/b"));
  EXPECT_THAT(In("blue"), ElementsAre("ns/a", "ns/c"));
  EXPECT_EQ(informer_.CountIn(by_colour_, "blue"), 2u);
  transport_.last().Lines(Event("DELETED", "b", 13, "green") + Event("DELETED", "a", 14, "blue"));
  EXPECT_THAT(In("red"), ElementsAre());
  EXPECT_THAT(In("green"), ElementsAre());
  EXPECT_THAT(In("blue"), ElementsAre("ns/c"));
}

TEST_F(InformerTest, AHandlerThatComesLateIsToldWhatIsThere) {
  Sync();
  std::vector<std::string> late;
  informer_.AddHandler(Recorder(late));
  EXPECT_THAT(late, testing::UnorderedElementsAre("+ns/a@1", "+ns/b@2"));
  late.clear();
  transport_.last().Lines(Event("MODIFIED", "a", 11));
  EXPECT_THAT(late, ElementsAre("ns/a@1>11"));
  EXPECT_THAT(log_, ElementsAre("ns/a@1>11"));
}

TEST_F(InformerTest, GarbageInTheStreamEndsItAndNothingIsLost) {
  Sync();
  transport_.last().Lines("{\"type\":\n" + Event("ADDED", "c", 11));
  Wait();
  EXPECT_TRUE(transport_.at(0).abandoned);
  EXPECT_THAT(log_, ElementsAre());
  EXPECT_THAT(transport_.last().request.path, HasSubstr("resourceVersion=10"));
  transport_.last().Lines(Event("ADDED", "c", 11));
  EXPECT_THAT(log_, ElementsAre("+ns/c@11"));
}

TEST_F(InformerTest, DestroyingItEndsItsWatch) {
  {
    Informer<Thing> other(executor_, transport_, {.path = "/api/v1/others"});
    other.Start();
    EXPECT_FALSE(transport_.last().abandoned);
  }
  EXPECT_TRUE(transport_.last().abandoned);
}

}  // namespace
}  // namespace berth::kube
