#include <map>

#include "reconcile/eni/task_runner_fixture_test.h"

namespace berth::eni {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(TaskRunnerTest, AnEniLivesFromItsAttachToItsDeletion) {
  AddInstance("i-1");
  const std::string eni = Make();
  Submit(eni);
  EXPECT_EQ(Get(eni).state, State::kPending);
  executor_.Advance(1s);
  EXPECT_EQ(Get(eni).state, State::kRunning);
  EXPECT_LT(RunToEnd(eni), 12s);
  EXPECT_EQ(Get(eni).state, State::kCompleted);
  EXPECT_EQ(Get(eni).result->instance_id, "i-1");
  EXPECT_THAT(Get(eni).result->ipv4, SizeIs(2));
  EXPECT_EQ(Calls("AttachNetworkInterface"), 1u);
  Submit(eni, Operation::kDetach);
  RunToEnd(eni);
  EXPECT_EQ(StatusOf(eni), "Available");
  Submit(eni, Operation::kDelete);
  RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kCompleted);
  EXPECT_EQ(StatusOf(eni), "gone");
  EXPECT_THAT(ended_, ElementsAre("1", "1", "1"));
}

TEST_F(TaskRunnerTest, FlawAnEniThatIsAttachedAlreadyIsNotAttachedAgain) {
  AddInstance("i-1");
  const std::string eni = Make();
  Submit(eni);
  RunToEnd(eni);
  MakeRunner();
  Submit(eni);
  RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kCompleted);
  EXPECT_EQ(Calls("AttachNetworkInterface"), 1u);
}

TEST_F(TaskRunnerTest, FlawANodeHasFiveAttachesAtOnceAndNoMore) {
  AddInstance("i-1");
  std::vector<std::string> enis;
  for (int i = 0; i < 12; ++i) enis.push_back(Make());
  for (const std::string& eni : enis) Submit(eni);
  std::ptrdiff_t most = 0;
  for (int i = 0; i < 1000 && ended_.size() < 12; ++i) {
    executor_.Advance(100ms);
    most = std::max(most, std::ranges::count(enis, "Attaching", [&](const std::string& eni) {
                      return StatusOf(eni);
                    }));
  }
  EXPECT_EQ(most, 5);
  EXPECT_THAT(ended_, SizeIs(12));
}

TEST_F(TaskRunnerTest, FlawManyWaitingEnisShareTheirLooks) {
  constexpr int kNodes = 120;
  std::vector<std::string> enis;
  for (int i = 0; i < kNodes; ++i) {
    AddInstance(Format("i-{}", i));
    for (int j = 0; j < 2; ++j) enis.push_back(Make(false));
  }
  executor_.Advance(2s);
  std::map<std::int64_t, std::size_t> looks;  // by tick
  script_.on_call = [&](const std::string& action, auto& /*fate*/) {
    if (action == "DescribeNetworkInterfaces")
      ++looks[executor_.Now().time_since_epoch() / TaskRunner::kTick];
  };
  Break({{.action = "AttachNetworkInterface", .kind = Fault::Kind::kSticks, .count = 1'000}});
  for (std::size_t i = 0; i < enis.size(); ++i)
    Submit(enis[i], Operation::kAttach, std::to_string(i / 2));
  std::size_t waits = 0;
  for (int i = 0; i < 1000; ++i) {
    executor_.Advance(100ms);
    if (runner_->calls() > 0) continue;
    // One timer, and no coroutine, for all that wait.
    EXPECT_EQ(executor_.pending(), 1u);
    ++waits;
  }
  EXPECT_GT(waits, 300u);
  for (const auto& [tick, count] : looks) EXPECT_LE(count, (enis.size() + 99) / 100) << tick;
  EXPECT_EQ(runner_->queue().counts()[static_cast<std::size_t>(State::kRunning)], enis.size());
}

TEST_F(TaskRunnerTest, LooksAndRequestsUnderWayAreBounded) {
  for (int i = 0; i < 200; ++i) {
    AddInstance(Format("i-{}", i));
    for (int j = 0; j < 6; ++j)
      Submit(Format("eni-none-{}-{}", i, j), Operation::kDelete, std::to_string(i));
  }
  std::vector<std::string> enis;
  for (int i = 0; i < 100; ++i) enis.push_back(Make(false));
  for (int i = 0; i < 100; ++i) Submit(enis[i], Operation::kAttach, std::to_string(i));
  std::size_t most = 0;
  for (int i = 0; i < 100'000 && ended_.size() < 1'300; ++i) {
    executor_.Advance(5ms);
    most = std::max(most, runner_->calls());
  }
  EXPECT_THAT(ended_, SizeIs(1'300));
  EXPECT_LE(most, 8u + 16u);
}

class SlowTurnsTest : public TaskRunnerTest {
 protected:
  SlowTurnsTest()
      : TaskRunnerTest({.attaching = 1s},
                       {.calls_per_minute = 6'000, .limits = {{"AttachNetworkInterface", 2}}}) {}
};

TEST_F(SlowTurnsTest, FlawACancelledTaskIsNotSentWhenItsTurnComes) {
  AddInstance("i-1");
  std::vector<std::string> enis;
  for (int i = 0; i < 4; ++i) enis.push_back(Make());
  for (const std::string& eni : enis) Submit(eni);
  executor_.Advance(2s);
  ASSERT_EQ(Calls("AttachNetworkInterface"), 1u);
  runner_->CancelNode("1");
  executor_.Advance(5min);
  EXPECT_EQ(Calls("AttachNetworkInterface"), 1u);
  EXPECT_EQ(runner_->queue().size(), 0u);
  EXPECT_EQ(runner_->calls(), 0u);
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(SlowTurnsTest, AUserWithdrawsAnAttachAndItsNodeIsTold) {
  AddInstance("i-1");
  const std::string eni = Make();
  unreachable_ = {""};
  Submit(eni);
  executor_.Advance(1s);
  EXPECT_EQ(runner_->Withdraw(eni), Withdrawal::kWithdrawn);
  EXPECT_THAT(ended_, ElementsAre("1"));
  EXPECT_TRUE(runner_->queue().IsWithdrawn(eni));
  unreachable_.clear();
  executor_.Advance(5min);
  EXPECT_EQ(Calls("AttachNetworkInterface"), 0u);
}

TEST_F(TaskRunnerTest, TasksOfAnotherAccountWaitForItsKey) {
  const std::string account = "1000000000000001";
  account_.ChangeKey("LTAI-one", account);
  auto& ecs = cloud_.ecs(account, cloud::TestAccount::kRegion);
  cloud_.Settle(executor_.WallNow());
  cloud_.vpc(account, cloud::TestAccount::kRegion)
      .CreateVSwitch({.id = "vsw-a", .cidr = "10.0.0.0/24"});
  ASSERT_TRUE(ecs.CreateInstance({.id = "i-1", .vswitch_id = "vsw-a"}));
  const std::string eni = Make();
  account_.ChangeKey("LTAI-two", "2000000000000002");
  runner_->Submit({.eni = eni, .node = "1", .instance = "i-1", .account = account});
  executor_.Advance(5min);
  EXPECT_EQ(Get(eni).state, State::kPending) << "in the other account there is no such ENI";
  EXPECT_THAT(Get(eni).error, testing::HasSubstr("2000000000000002"));
  account_.ChangeKey("LTAI-one", account);
  RunToEnd(eni);
  EXPECT_EQ(Get(eni).state, State::kCompleted);
}

TEST_F(TaskRunnerTest, EachBackendIsAskedForItsOwn) {
  AddInstance("i-1");
  const std::string eni = Make();
  runner_->Submit({.eni = eni, .node = "1", .instance = "i-1", .backend = Backend::kEflo});
  RunToEnd(eni);
  EXPECT_THAT(asked_of_, ElementsAre(Backend::kEflo));
}

TEST_F(TaskRunnerTest, FlawTheEndOfTheRunnerIsNotTheEndOfItsTasks) {
  AddInstance("i-1", 1'000);
  for (auto life = 0ms; life < 12s; life += 130ms) {
    SCOPED_TRACE(life.count());
    const std::string eni = Make();
    const auto attaches = Calls("AttachNetworkInterface");
    ended_.clear();
    Submit(eni);
    executor_.Advance(life);
    const bool ended = Get(eni).ended();
    runner_.reset();
    EXPECT_EQ(ended_.size(), ended ? 1u : 0u);
    executor_.Advance(1s);
    EXPECT_EQ(ended_.size(), ended ? 1u : 0u);
    EXPECT_EQ(executor_.pending(), 0u);
    MakeRunner();
    Submit(eni);
    RunToEnd(eni);
    EXPECT_EQ(Get(eni).state, State::kCompleted) << Get(eni).error;
    EXPECT_EQ(Calls("AttachNetworkInterface"), attaches + 1);
    runner_->Cancel(eni);
  }
}

}  // namespace
}  // namespace berth::eni
