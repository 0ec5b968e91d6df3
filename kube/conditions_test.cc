#include "kube/conditions.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

const async::WallTime kNow = async::WallTime(1'767'323'045s);  // 2026-01-02T03:04:05Z

const Condition kReady{.type = "Ready",
                       .status = ConditionStatus::kTrue,
                       .reason = "Bound",
                       .message = "all is well",
                       .observed_generation = 3};

TEST(SetCondition, AddsOneThatIsNotThere) {
  Json conditions;
  EXPECT_TRUE(SetCondition(conditions, kReady, kNow));
  EXPECT_EQ(conditions, Json::parse(R"([{
      "type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z",
      "reason": "Bound", "message": "all is well", "observedGeneration": 3}])"));
}

TEST(SetCondition, NothingNewIsNothingToWrite) {
  Json conditions;
  SetCondition(conditions, kReady, kNow);
  const Json before = conditions;
  EXPECT_FALSE(SetCondition(conditions, kReady, kNow + 1h));
  EXPECT_EQ(conditions, before);
}

TEST(SetCondition, TheTimeIsThatOfTheLastChangeOfStatus) {
  Json conditions;
  SetCondition(conditions, kReady, kNow);
  Condition other = kReady;
  other.reason = "Rebound";
  EXPECT_TRUE(SetCondition(conditions, other, kNow + 1h));
  other.message = "all is well again";
  EXPECT_TRUE(SetCondition(conditions, other, kNow + 1h));
  other.observed_generation = 4;
  EXPECT_TRUE(SetCondition(conditions, other, kNow + 1h));
  EXPECT_EQ(conditions[0]["lastTransitionTime"], "2026-01-02T03:04:05Z");
  other.status = ConditionStatus::kFalse;
  EXPECT_TRUE(SetCondition(conditions, other, kNow + 1h));
  EXPECT_EQ(conditions[0]["lastTransitionTime"], "2026-01-02T04:04:05Z");
  EXPECT_EQ(conditions[0]["status"], "False");
  EXPECT_EQ(conditions[0]["reason"], "Rebound");
  EXPECT_EQ(conditions[0]["observedGeneration"], 4);
}

TEST(SetCondition, LeavesOthersAndWhatItDoesNotKnow) {
  Json conditions = Json::parse(R"([{"type":"Synced","status":"True"},
                                    {"type":"Ready","status":"False","theirs":1}])");
  EXPECT_TRUE(SetCondition(conditions, kReady, kNow));
  ASSERT_EQ(conditions.size(), 2U);
  EXPECT_EQ(conditions[0], Json::parse(R"({"type":"Synced","status":"True"})"));
  EXPECT_EQ(conditions[1]["status"], "True");
  EXPECT_EQ(conditions[1]["theirs"], 1);
}

TEST(SetCondition, KnowsThreeStatesAndNoGeneration) {
  Json conditions;
  SetCondition(conditions, {.type = "A", .status = ConditionStatus::kUnknown, .reason = "R"}, kNow);
  EXPECT_EQ(conditions[0]["status"], "Unknown");
  EXPECT_EQ(conditions[0]["message"], "");
  EXPECT_FALSE(conditions[0].contains("observedGeneration"));
}

TEST(SetCondition, CutsAMessageThatIsTooLong) {
  Json conditions;
  Condition condition = kReady;
  condition.message = std::string(40'000, 'x');
  EXPECT_TRUE(SetCondition(conditions, condition, kNow));
  EXPECT_EQ(conditions[0]["message"].as<std::string>().size(), 32'768U);
  EXPECT_FALSE(SetCondition(conditions, condition, kNow));
}

}  // namespace
}  // namespace berth::kube
