#include <map>
#include <random>

#include "reconcile/eni/task_runner_fixture_test.h"

namespace berth::eni {
namespace {

TEST_F(TaskRunnerTest, AnAttachWhoseAnswerIsLostIsFoundByALook) {
  AddInstance("i-1");
  const std::string eni = Make();
  Break({{.action = "AttachNetworkInterface", .kind = Fault::Kind::kLostAnswer}});
  Submit(eni);
  RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kCompleted);
  EXPECT_EQ(Calls("AttachNetworkInterface"), 1u);
}

TEST_F(TaskRunnerTest, FlawAThrottledAttachHasItsTurnAgain) {
  AddInstance("i-1");
  const std::string eni = Make();
  Break({{.action = "AttachNetworkInterface", .code = "Throttling.User", .count = 4}});
  Submit(eni);
  executor_.Advance(1s);
  EXPECT_EQ(Get(eni).state, State::kPending);
  EXPECT_EQ(Get(eni).reason, "Throttling.User");
  EXPECT_NE(Get(eni).request_id, "");
  RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kCompleted);
}

TEST_F(TaskRunnerTest, FlawATerminalRefusalFailsAnAttach) {
  AddInstance("i-1", 1);
  const std::string eni = Make();
  Submit(eni);
  RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kFailed);
  EXPECT_EQ(Get(eni).reason, "EniPerInstanceLimitExceeded");
  EXPECT_NE(Get(eni).request_id, "");
}

TEST_F(TaskRunnerTest, FlawAnAttachThatTheCloudGivesUpIsRepeatedTwice) {
  AddInstance("i-1");
  const std::string eni = Make();
  Break({{.action = "AttachNetworkInterface", .kind = Fault::Kind::kFallsBack, .count = 2}});
  Submit(eni);
  RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kCompleted);
  EXPECT_EQ(Get(eni).attempt, 3);
  const std::string other = Make();
  Break({{.action = "AttachNetworkInterface", .kind = Fault::Kind::kFallsBack, .count = 9}});
  Submit(other);
  RunToEnd(other);
  EXPECT_EQ(Get(other).state, State::kFailed);
  EXPECT_EQ(Get(other).reason, reason::kGivenUp);
  EXPECT_EQ(Calls("AttachNetworkInterface"), 6u);
}

TEST_F(TaskRunnerTest, AnAttachThatSticksTimesOut) {
  AddInstance("i-1");
  const std::string eni = Make();
  Break({{.action = "AttachNetworkInterface", .kind = Fault::Kind::kSticks}});
  Submit(eni);
  const auto took = RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kTimeout);
  EXPECT_GE(took, 2min);
  EXPECT_LT(took, 2min + 2s);
}

TEST_F(TaskRunnerTest, AStuckDetachIsAskedForAgain) {
  AddInstance("i-1");
  const std::string eni = Make();
  Submit(eni);
  RunToEnd(eni);
  Break({{.action = "DetachNetworkInterface", .kind = Fault::Kind::kSticks}});
  Submit(eni, Operation::kDetach);
  executor_.Advance(5min);
  EXPECT_EQ(Get(eni).state, State::kRunning);
  EXPECT_GE(Calls("DetachNetworkInterface"), 2u);
  EXPECT_LE(Calls("DetachNetworkInterface"), 4u);
  cloud_.ecs().SetStatus(eni, "InUse");
  RunToEnd(eni);
  EXPECT_EQ(StatusOf(eni), "Available");
}

TEST_F(TaskRunnerTest, ADetachFromAnInstanceThatIsGoneIsDone) {
  AddInstance("i-1");
  const std::string eni = Make();
  Submit(eni);
  RunToEnd(eni);
  cloud_.ecs().DeleteInstance("i-1");
  Submit(eni, Operation::kDetach);
  RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kCompleted);
}

class LateListsTest : public TaskRunnerTest {
 protected:
  LateListsTest() : TaskRunnerTest({.until_visible = 40s, .attaching = 4s}) {}
};

TEST_F(LateListsTest, FlawAnEniThatIsNotListedYetIsAttachedOnceItIs) {
  AddInstance("i-1");
  const auto born = executor_.Now();
  const std::string eni = Make(false);
  Submit(eni, Operation::kAttach, "1", born);
  executor_.Advance(30s);
  EXPECT_EQ(Get(eni).state, State::kPending);
  EXPECT_EQ(Get(eni).cloud_status, "");
  RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kCompleted);
}

TEST_F(LateListsTest, AnOldEniThatAListLeavesOutIsAskedForAlone) {
  AddInstance("i-1");
  const std::string eni = Make();
  executor_.Advance(2min);
  int lists = 0;
  script_.on_call = [&](const std::string& action, auto& fate) {
    fate.empty_list = action == "DescribeNetworkInterfaces" && ++lists == 1;
  };
  Submit(eni, Operation::kAttach, "1");
  RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kCompleted);
}

TEST_F(TaskRunnerTest, LooksWaitWhileTheAccountCannotBeReached) {
  AddInstance("i-1");
  const std::string eni = Make();
  unreachable_ = {""};
  Submit(eni);
  executor_.Advance(10min);
  EXPECT_EQ(Get(eni).state, State::kPending);
  EXPECT_EQ(Get(eni).reason, reason::kUnreachable);
  unreachable_.clear();
  RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kCompleted);
}

TEST_F(TaskRunnerTest, AnAttachIsNotTimedOutByAnAccountThatCannotBeReached) {
  AddInstance("i-1");
  const std::string eni = Make();
  Submit(eni);
  executor_.Advance(1s);
  ASSERT_EQ(Get(eni).state, State::kRunning);
  unreachable_ = {""};
  executor_.Advance(10min);
  EXPECT_EQ(Get(eni).state, State::kRunning);
  unreachable_.clear();
  RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kCompleted);
}

// A cloud in trouble, a leader that comes and goes, users that cancel: when all that is over, every
// ENI is where it is to be.
class Trouble : public TaskRunnerTest {
 protected:
  void TestBody() override {}

 public:
  void Run(std::uint64_t seed) {
    std::mt19937_64 dice(seed);
    const auto chance = [&](double part) {
      return std::uniform_real_distribution<>(0, 1)(dice) < part;
    };
    bool calm = false;
    script_.on_call = [&](const std::string& action, cloud::simulator::Fate& fate) {
      if (calm) return;
      fate.sent = !chance(0.05);
      fate.arrives = !chance(0.05);
      fate.answered = !chance(0.1);
      if (chance(0.1)) fate.refusal = cloud::simulator::Unavailable();
      if (fate.refusal) fate.carried_out = chance(0.5);
      if (chance(0.05) && action.starts_with("Describe")) fate.empty_list = true;
      if (chance(0.1)) fate.there += std::chrono::seconds(dice() % 15);
    };
    std::map<std::string, std::string> enis;  // to their nodes
    for (int i = 0; i < 3; ++i) AddInstance(Format("i-{}", i));
    calm = true;
    for (int i = 0; i < 20; ++i) enis.emplace(Make(), std::to_string(i % 3));
    calm = false;
    for (int turn = 0; turn < 120; ++turn) {
      if (chance(0.05)) MakeRunner();
      for (const auto& [eni, node] : enis) {
        if (chance(0.3)) Submit(eni, chance(0.7) ? Operation::kAttach : Operation::kDetach, node);
        if (chance(0.02)) runner_->Cancel(eni);
        if (const Task* task = runner_->queue().Find(eni); task && task->ended() && chance(0.5))
          runner_->Noted(task->id());
      }
      executor_.Advance(std::chrono::milliseconds(dice() % 3'000));
    }
    calm = true;
    executor_.Advance(1min);
    for (const auto& [eni, node] : enis) {
      runner_->Cancel(eni);
      Submit(eni, Operation::kAttach, node);
    }
    for (const auto& [eni, node] : enis) {
      RunToEnd(eni);
      EXPECT_EQ(Get(eni).state, State::kCompleted) << Get(eni).error;
      EXPECT_EQ(StatusOf(eni), "InUse");
      EXPECT_EQ(cloud_.ecs().Find(eni)->instance_id, "i-" + node);
    }
    executor_.Advance(1min);
    EXPECT_EQ(runner_->calls(), 0u);
  }
};

TEST(TaskRunner, EveryEniIsInPlaceOnceTheTroubleIsOver) {
  for (std::uint64_t seed = 1; seed <= 30 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(Format("seed {}", seed));
    Trouble().Run(seed);
  }
}

}  // namespace
}  // namespace berth::eni
