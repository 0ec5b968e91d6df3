#include "reconcile/eni/task_queue.h"

#include <gmock/gmock.h>

#include <fstream>
#include <iterator>

#include "log/format.h"

namespace berth::eni {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class TaskQueueTest : public testing::Test {
 protected:
  static cloud::Eni Eni(const std::string& id, const std::string& status,
                        const std::string& instance = "") {
    cloud::Eni eni;
    eni.id = id;
    eni.status = status;
    eni.instance_id = instance;
    return eni;
  }
  TaskId Submit(const std::string& eni, Operation operation = Operation::kAttach,
                const std::string& node = "n1") {
    return {eni, queue_.Submit({.eni = eni,
                                .operation = operation,
                                .node = node,
                                .instance = "i-" + node,
                                .born = born_},
                               now_)};
  }
  // The next look, which must be at one ENI; whether the request is sent.
  bool LookAt(const TaskId& id, const std::string& status, const std::string& instance = "") {
    const cloud::Eni eni = Eni(id.eni, status, instance);
    return Look(id, status.empty() ? nullptr : &eni);
  }
  bool Look(const TaskId& id, const cloud::Eni* eni) {
    const auto due = queue_.next_look();
    EXPECT_TRUE(due);
    now_ = std::max(now_, due.value_or(now_));
    looks_ = queue_.TakeLooks(now_, 1000);
    EXPECT_THAT(looks_, SizeIs(1));
    EXPECT_THAT(looks_.front().tasks, ElementsAre(id));
    return queue_.Seen(id, eni, now_);
  }
  void Accept(const TaskId& id) { queue_.Answered(id, {}, now_); }
  void Refuse(const TaskId& id, ErrorClass error_class, std::chrono::milliseconds after = 0ms) {
    queue_.Answered(
        id,
        std::unexpected(Error{
            .error_class = error_class, .message = "the cloud says no", .retry_after = after}),
        now_);
  }
  State StateOf(const TaskId& id) const { return queue_.Find(id.eni)->state; }

  async::TimePoint now_{1000s};
  async::TimePoint born_{};  // long ago
  std::vector<std::string> ended_;
  std::vector<TaskQueue::Look> looks_;
  TaskQueue queue_{{.random = [] { return 0.0; },
                    .on_ended = [this](const Task& task) { ended_.push_back(task.node); }}};
};

TEST_F(TaskQueueTest, AnEniIsLookedAtBeforeItsAttachIsSent) {
  const TaskId id = Submit("eni-1");
  EXPECT_EQ(queue_.next_look(), now_);
  EXPECT_TRUE(LookAt(id, "Available"));
  Accept(id);
  EXPECT_EQ(StateOf(id), State::kRunning);
  EXPECT_EQ(queue_.next_look(), now_ + 3s);
  EXPECT_FALSE(LookAt(id, "Attaching"));
  EXPECT_FALSE(LookAt(id, "InUse", "i-n1"));
  EXPECT_EQ(StateOf(id), State::kCompleted);
  EXPECT_EQ(queue_.Find("eni-1")->result->instance_id, "i-n1");
  EXPECT_THAT(ended_, ElementsAre("n1"));
  queue_.Noted(id, now_);
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(TaskQueueTest, FlawAnEniThatIsInUseHereIsNotAttachedAgain) {
  const TaskId id = Submit("eni-1");
  EXPECT_FALSE(LookAt(id, "InUse", "i-n1"));
  EXPECT_EQ(StateOf(id), State::kCompleted);
  EXPECT_EQ(queue_.Find("eni-1")->attempt, 0);
}

TEST_F(TaskQueueTest, AnEniThatIsInUseElsewhereIsLeftAlone) {
  for (const auto operation : {Operation::kAttach, Operation::kDetach, Operation::kDelete}) {
    const TaskId id = Submit("eni-1", operation);
    EXPECT_FALSE(LookAt(id, "InUse", "i-other"));
    EXPECT_EQ(StateOf(id), State::kFailed);
    EXPECT_THAT(queue_.Find("eni-1")->error, HasSubstr("i-other"));
  }
}

TEST_F(TaskQueueTest, FlawACancelledTaskHasNoStateAndSendsNothing) {
  const TaskId id = Submit("eni-1");
  queue_.TakeLooks(now_, 1000);
  queue_.Cancel("eni-1", now_);
  const cloud::Eni eni = Eni("eni-1", "Available");
  EXPECT_FALSE(queue_.Seen(id, &eni, now_));
  EXPECT_FALSE(queue_.IsWanted(id));
  EXPECT_EQ(queue_.Find("eni-1"), nullptr);
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(TaskQueueTest, FlawTheAnswerOfAnEarlierTaskIsNotTakenForTheLaterOnes) {
  const TaskId first = Submit("eni-1");
  EXPECT_TRUE(LookAt(first, "Available"));
  queue_.CancelNode("n1", now_);
  const TaskId second = Submit("eni-1");
  EXPECT_NE(first.generation, second.generation);
  Accept(first);
  EXPECT_EQ(StateOf(second), State::kPending);
  EXPECT_EQ(queue_.Find("eni-1")->attempt, 0);
}

TEST_F(TaskQueueTest, ATaskThatHasNotEndedIsNotReplaced) {
  const TaskId first = Submit("eni-1");
  EXPECT_EQ(Submit("eni-1", Operation::kDelete), first);
  LookAt(first, "InUse", "i-n1");
  EXPECT_NE(Submit("eni-1", Operation::kDetach), first);
}

TEST_F(TaskQueueTest, FlawAThrottledAttachHasItsTurnAgain) {
  const TaskId id = Submit("eni-1");
  EXPECT_TRUE(LookAt(id, "Available"));
  Refuse(id, ErrorClass::kThrottled, 20s);
  EXPECT_EQ(StateOf(id), State::kPending);
  EXPECT_EQ(queue_.next_look(), now_ + 20s);
  EXPECT_TRUE(LookAt(id, "Available"));
}

TEST_F(TaskQueueTest, FlawPollingGoesOnUntilTheDeadlineAndALookComesBeforeTimeout) {
  const TaskId id = Submit("eni-1");
  EXPECT_TRUE(LookAt(id, "Available"));
  Accept(id);
  const auto accepted = now_;
  while (StateOf(id) == State::kRunning) LookAt(id, "Attaching");
  EXPECT_EQ(StateOf(id), State::kTimeout);
  EXPECT_EQ(now_, accepted + 2min);
  const TaskId again = Submit("eni-2");
  EXPECT_TRUE(LookAt(again, "Available"));
  Accept(again);
  const auto second = now_;
  while (now_ < second + 2min && queue_.next_look() != second + 2min) LookAt(again, "Attaching");
  EXPECT_FALSE(LookAt(again, "InUse", "i-n1"));
  EXPECT_EQ(StateOf(again), State::kCompleted);
}

TEST_F(TaskQueueTest, FlawAnEniThatTheCloudGaveUpIsAttachedThriceAndThenFails) {
  const TaskId id = Submit("eni-1");
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(LookAt(id, "Available")) << i;
    Accept(id);
    EXPECT_FALSE(LookAt(id, "Attaching"));
  }
  EXPECT_FALSE(LookAt(id, "Available"));
  EXPECT_EQ(StateOf(id), State::kFailed);
  EXPECT_THAT(queue_.Find("eni-1")->error, HasSubstr("3 attaches"));
}

TEST_F(TaskQueueTest, AnEniThatIsStillAvailableRightAfterItsAttachIsPolled) {
  const TaskId id = Submit("eni-1");
  EXPECT_TRUE(LookAt(id, "Available"));
  Accept(id);
  EXPECT_FALSE(LookAt(id, "Available"));  // after 3 s
  now_ += 10s;
  EXPECT_TRUE(LookAt(id, "Available"));
}

TEST_F(TaskQueueTest, FlawAnEniThatIsNotListedIsAskedForAloneBeforeItsTaskEnds) {
  born_ = now_ - 30s;
  const TaskId young = Submit("eni-1");
  EXPECT_FALSE(LookAt(young, ""));
  EXPECT_EQ(StateOf(young), State::kPending);
  now_ += 30s;
  EXPECT_FALSE(LookAt(young, ""));
  EXPECT_EQ(StateOf(young), State::kPending);
  EXPECT_FALSE(LookAt(young, ""));
  EXPECT_TRUE(looks_.front().alone);
  EXPECT_EQ(StateOf(young), State::kFailed);
  const TaskId gone = Submit("eni-2", Operation::kDelete);
  EXPECT_FALSE(LookAt(gone, ""));
  EXPECT_FALSE(LookAt(gone, ""));
  EXPECT_EQ(StateOf(gone), State::kCompleted);
}

TEST_F(TaskQueueTest, ATerminalCodeFailsAnAttachAndAsksForADetachAgainLater) {
  const TaskId attach = Submit("eni-1");
  EXPECT_TRUE(LookAt(attach, "Available"));
  Refuse(attach, ErrorClass::kTerminal);
  EXPECT_EQ(StateOf(attach), State::kFailed);
  EXPECT_EQ(queue_.Find("eni-1")->error, "the cloud says no");
  const TaskId detach = Submit("eni-2", Operation::kDetach);
  EXPECT_TRUE(LookAt(detach, "InUse", "i-n1"));
  Refuse(detach, ErrorClass::kTerminal);
  EXPECT_FALSE(queue_.Find("eni-2")->ended());
  EXPECT_EQ(queue_.next_look(), now_ + 2min);
}

TEST_F(TaskQueueTest, AYoungEniThatIsNotListedAfterItsAcceptedDeletionIsGone) {
  born_ = now_ - 10s;
  const TaskId id = Submit("eni-1", Operation::kDelete);
  EXPECT_FALSE(LookAt(id, ""));
  EXPECT_EQ(StateOf(id), State::kPending) << "it may be too young to be listed";
  EXPECT_TRUE(LookAt(id, "Available"));
  Accept(id);
  EXPECT_FALSE(LookAt(id, ""));
  EXPECT_FALSE(LookAt(id, ""));
  EXPECT_TRUE(looks_.front().alone);
  EXPECT_EQ(StateOf(id), State::kCompleted);
  EXPECT_LT(now_ - born_, 60s);
}

TEST_F(TaskQueueTest, ADeletionThatIsStuckIsAskedForEveryTwoMinutes) {
  const TaskId id = Submit("eni-1", Operation::kDelete);
  EXPECT_TRUE(LookAt(id, "Available"));
  Accept(id);
  const auto asked = now_;
  bool again = false;
  while (!again) again = LookAt(id, "Deleting");
  EXPECT_GE(now_, asked + 2min);
  Accept(id);
  EXPECT_FALSE(LookAt(id, ""));
  EXPECT_FALSE(LookAt(id, ""));
  EXPECT_EQ(StateOf(id), State::kCompleted);
}

TEST_F(TaskQueueTest, FlawANodeHasFiveAttachesAtOnce) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 7; ++i) ids.push_back(Submit(Format("eni-{}", i)));
  queue_.TakeLooks(now_, 1000);
  int sent = 0;
  for (const TaskId& id : ids) {
    const cloud::Eni eni = Eni(id.eni, "Available");
    if (queue_.Seen(id, &eni, now_)) ++sent, Accept(id);
  }
  EXPECT_EQ(sent, 5);
  EXPECT_EQ(queue_.TakeLooks(now_, 1000).size(), 0u);
  const cloud::Eni used = Eni("eni-0", "InUse", "i-n1");
  now_ += 3s;
  queue_.TakeLooks(now_, 1000);
  queue_.Seen(ids[0], &used, now_);
  const auto looks = queue_.TakeLooks(now_, 1000);
  ASSERT_THAT(looks, SizeIs(1));
  EXPECT_THAT(looks.front().tasks, ElementsAre(ids[5]));
  const cloud::Eni next = Eni("eni-5", "Available");
  EXPECT_TRUE(queue_.Seen(ids[5], &next, now_));
}

TEST_F(TaskQueueTest, FlawManyEnisAreLookedAtInOneCall) {
  for (int i = 0; i < 250; ++i) Submit(Format("eni-{}", i), Operation::kAttach, Format("n{}", i));
  const auto looks = queue_.TakeLooks(now_, 1000);
  ASSERT_THAT(looks, SizeIs(3));
  EXPECT_THAT(looks[0].tasks, SizeIs(100));
  EXPECT_THAT(looks[2].tasks, SizeIs(50));
  EXPECT_THAT(queue_.TakeLooks(now_, 1000), IsEmpty());
}

TEST_F(TaskQueueTest, ALookThatFailedIsRepeated) {
  const TaskId id = Submit("eni-1");
  queue_.TakeLooks(now_, 1000);
  queue_.NotSeen(id, {.error_class = ErrorClass::kThrottled, .message = "slow", .retry_after = 30s},
                 now_);
  EXPECT_EQ(queue_.next_look(), now_ + 30s);
  EXPECT_EQ(queue_.Find("eni-1")->error, "slow");
}

TEST_F(TaskQueueTest, FlawACancelledAttachMakesRoomForTheNextOneInLine) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(Submit(Format("eni-{}", i)));
  queue_.TakeLooks(now_, 1000);
  for (const TaskId& id : ids) {
    const cloud::Eni eni = Eni(id.eni, "Available");
    if (queue_.Seen(id, &eni, now_)) Accept(id);
  }
  EXPECT_EQ(queue_.Find("eni-5")->reason, reason::kNodeBusy);
  EXPECT_EQ(queue_.Find("eni-5")->next_look_at, std::nullopt);
  now_ += 1h;
  queue_.Cancel("eni-2", now_);
  EXPECT_EQ(queue_.Find("eni-5")->next_look_at, now_) << "its look is an hour old";
}

TEST_F(TaskQueueTest, FewRequestsAreUnderWayAndTheOthersWaitForTheirTurn) {
  std::vector<TaskId> ids;
  for (int i = 0; i < 18; ++i)
    ids.push_back(Submit(Format("eni-{}", 10 + i), Operation::kDetach, Format("n{}", i)));
  queue_.TakeLooks(now_, 1000);
  std::vector<TaskId> sent;
  for (const TaskId& id : ids) {
    const cloud::Eni eni = Eni(id.eni, "InUse", queue_.Find(id.eni)->instance);
    if (queue_.Seen(id, &eni, now_)) sent.push_back(id);
  }
  EXPECT_THAT(sent, SizeIs(16));
  EXPECT_EQ(queue_.Find("eni-26")->reason, reason::kNoTurn);
  // The request of a cancelled task is under way until it is answered.
  queue_.Cancel(sent[0].eni, now_);
  EXPECT_THAT(queue_.TakeLooks(now_, 1000), IsEmpty());
  Accept(sent[0]);
  auto looks = queue_.TakeLooks(now_, 1000);
  ASSERT_THAT(looks, SizeIs(1));
  EXPECT_THAT(looks.front().tasks, ElementsAre(ids[16]));
  // A look that fails gives the turn to the next.
  queue_.NotSeen(ids[16], {.error_class = ErrorClass::kRetry, .message = "lost"}, now_);
  looks = queue_.TakeLooks(now_, 1000);
  ASSERT_THAT(looks, SizeIs(1));
  EXPECT_THAT(looks.front().tasks, ElementsAre(ids[17]));
}

TEST_F(TaskQueueTest, AnErrorIsKeptWithItsCodeAndRequestId) {
  const TaskId id = Submit("eni-1");
  EXPECT_TRUE(LookAt(id, "Available"));
  queue_.Answered(
      id,
      std::unexpected(Error{ErrorClass::kTerminal, "EniPerInstanceLimitExceeded",
                            "AttachNetworkInterface: EniPerInstanceLimitExceeded: too many "
                            "(of 4) (request ID 7D-A1)"}),
      now_);
  EXPECT_EQ(queue_.Find("eni-1")->reason, "EniPerInstanceLimitExceeded");
  EXPECT_EQ(queue_.Find("eni-1")->request_id, "7D-A1");
  EXPECT_THAT(queue_.Find("eni-1")->error, HasSubstr("too many"));
}

TEST_F(TaskQueueTest, ATaskIsShownForTenMinutesAfterItsEndWasNoted) {
  const TaskId id = Submit("eni-1");
  LookAt(id, "InUse", "i-n1");
  now_ += 1h;
  queue_.Expire(now_);
  EXPECT_NE(queue_.Find("eni-1"), nullptr) << "its end is not noted yet";
  queue_.Noted(id, now_);
  EXPECT_EQ(queue_.Find("eni-1"), nullptr);
  EXPECT_THAT(queue_.OfNode("n1"), IsEmpty());
  auto changes = queue_.TakeChanges();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].task->state, State::kCompleted);
  now_ += 10min - 1s;
  queue_.Expire(now_);
  EXPECT_THAT(queue_.TakeChanges(), IsEmpty());
  now_ += 1s;
  queue_.Expire(now_);
  changes = queue_.TakeChanges();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].task, nullptr);
}

TEST_F(TaskQueueTest, ALaterTaskOfTheEniIsShownInPlaceOfTheEndedOne) {
  const TaskId id = Submit("eni-1");
  LookAt(id, "InUse", "i-n1");
  queue_.Noted(id, now_);
  EXPECT_FALSE(queue_.TakeChanges().front().replaced);
  Submit("eni-1", Operation::kDetach);
  now_ += 10min;
  queue_.Expire(now_);
  const auto changes = queue_.TakeChanges();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].task->operation, Operation::kDetach);
  EXPECT_TRUE(changes[0].replaced);
}

TEST_F(TaskQueueTest, AnEniThatIsBoundAtItsCreateIsPolledAndNotAttached) {
  born_ = now_ - 2s;
  const TaskId id = {"leni-1", queue_.Submit({.eni = "leni-1",
                                              .node = "n1",
                                              .instance = "i-n1",
                                              .backend = Backend::kEflo,
                                              .born = born_},
                                             now_)};
  EXPECT_EQ(StateOf(id), State::kRunning);
  EXPECT_EQ(queue_.next_look(), born_ + 18s);
  EXPECT_EQ(queue_.Find("leni-1")->deadline, born_ + 5min);
  EXPECT_FALSE(LookAt(id, "Available"));
  EXPECT_FALSE(LookAt(id, "Available"));
  EXPECT_FALSE(LookAt(id, "Executing"));
  EXPECT_TRUE(LookAt(id, "Available")) << "the cloud gave it up";
  Accept(id);
  EXPECT_FALSE(LookAt(id, "InUse", "i-n1"));
  EXPECT_EQ(StateOf(id), State::kCompleted);
}

TEST_F(TaskQueueTest, AnOldEniThatCouldHaveBeenBoundAtItsCreateIsAttached) {
  const TaskId id = Submit("leni-1");
  EXPECT_TRUE(LookAt(id, "Available"));
}

TEST_F(TaskQueueTest, AnAttachThatAnotherProcessAskedForHasADeadline) {
  const TaskId id = Submit("eni-1");
  const auto submitted = now_;
  EXPECT_FALSE(LookAt(id, "Attaching"));
  EXPECT_EQ(StateOf(id), State::kRunning);
  while (!queue_.Find("eni-1")->ended()) LookAt(id, "Attaching");
  EXPECT_EQ(StateOf(id), State::kTimeout);
  EXPECT_EQ(now_, submitted + 2min);
  // Given up by the cloud, it is attached like any other.
  const TaskId other = Submit("eni-2");
  EXPECT_FALSE(LookAt(other, "Attaching"));
  EXPECT_TRUE(LookAt(other, "Available"));
  EXPECT_EQ(StateOf(other), State::kPending);
  EXPECT_EQ(queue_.Find("eni-2")->deadline, std::nullopt);
}

TEST_F(TaskQueueTest, AWrongStateOfTheEniIsLookedAtAgainLessAndLessOften) {
  const TaskId id = Submit("eni-1");
  async::Duration last{};
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(LookAt(id, "Available"));
    Refuse(id, ErrorClass::kConflict);
    EXPECT_EQ(StateOf(id), State::kPending);
    EXPECT_GE(*queue_.next_look() - now_, std::max(last, async::Duration(3s)));
    last = *queue_.next_look() - now_;
  }
  EXPECT_GT(last, 10s);
}

TEST_F(TaskQueueTest, LooksAreByAccountAndBackendAndNoMoreThanAskedFor) {
  const auto submit = [&](const std::string& eni, const std::string& account, Backend backend) {
    queue_.Submit({.eni = eni, .node = eni, .account = account, .backend = backend}, now_);
  };
  submit("eni-1", "a", Backend::kEcs);
  submit("eni-2", "b", Backend::kEcs);
  submit("eni-3", "a", Backend::kEflo);
  submit("eni-4", "a", Backend::kEcs);
  auto looks = queue_.TakeLooks(now_, 2);
  ASSERT_THAT(looks, SizeIs(2));
  EXPECT_EQ(looks[0].account, "a");
  EXPECT_THAT(looks[0].tasks, SizeIs(1));
  EXPECT_EQ(looks[1].account, "b");
  looks = queue_.TakeLooks(now_, 2);
  ASSERT_THAT(looks, SizeIs(2));
  EXPECT_EQ(looks[0].backend, Backend::kEflo);
  EXPECT_EQ(looks[1].tasks.front().eni, "eni-4");
}

TEST_F(TaskQueueTest, AUserWithdrawsAnAttachThatWasNotSent) {
  const TaskId id = Submit("eni-1");
  EXPECT_EQ(queue_.Withdraw("eni-1", now_), Withdrawal::kWithdrawn);
  EXPECT_TRUE(queue_.IsWithdrawn("eni-1"));
  EXPECT_FALSE(queue_.IsWanted(id));
  EXPECT_THAT(ended_, IsEmpty());
  EXPECT_EQ(queue_.Withdraw("eni-1", now_), Withdrawal::kNoTask);
  Submit("eni-1", Operation::kDelete);
  EXPECT_FALSE(queue_.IsWithdrawn("eni-1"));
}

TEST_F(TaskQueueTest, AUserIsToldWhatCannotBeWithdrawn) {
  const TaskId attach = Submit("eni-1");
  EXPECT_TRUE(LookAt(attach, "Available"));
  EXPECT_EQ(queue_.Withdraw("eni-1", now_), Withdrawal::kAccepted) << "it may be on the wire";
  Accept(attach);
  EXPECT_EQ(queue_.Withdraw("eni-1", now_), Withdrawal::kAccepted);
  LookAt(attach, "InUse", "i-n1");
  EXPECT_EQ(queue_.Withdraw("eni-1", now_), Withdrawal::kUnrecorded);
  queue_.Noted(attach, now_);
  EXPECT_EQ(queue_.Withdraw("eni-1", now_), Withdrawal::kWithdrawn);
  EXPECT_FALSE(queue_.IsWithdrawn("eni-1"));
  Submit("eni-1", Operation::kDetach);
  EXPECT_EQ(queue_.Withdraw("eni-1", now_), Withdrawal::kReleasing);
}

TEST_F(TaskQueueTest, AnAttachThatHadNoAnswerOrThatPodsNeedIsNotWithdrawn) {
  const TaskId unsure = Submit("eni-1");
  EXPECT_TRUE(LookAt(unsure, "Available"));
  queue_.Answered(unsure,
                  std::unexpected(Error{.error_class = ErrorClass::kAmbiguous, .message = "lost"}),
                  now_);
  EXPECT_EQ(queue_.Withdraw("eni-1", now_), Withdrawal::kAccepted) << "it may have been sent";
  queue_.Submit({.eni = "eni-2", .node = "n1", .instance = "i-n1", .has_pods = true}, now_);
  EXPECT_EQ(queue_.Withdraw("eni-2", now_), Withdrawal::kNeeded);
}

TEST(EndedTasks, AreBoundedInNumber) {
  EndedTasks tasks(10min, 2);
  const async::TimePoint now{};
  for (const char* eni : {"eni-1", "eni-2"}) tasks.Add({{.eni = eni}}, now);
  EXPECT_THAT(tasks.Add({{.eni = "eni-3"}}, now), ElementsAre("eni-1"));
  EXPECT_EQ(tasks.size(), 2u);
  // A task that was replaced takes a place, too, but its ENI stays.
  EXPECT_THAT(tasks.Add({{.eni = "eni-3"}, 2}, now), ElementsAre("eni-2"));
  EXPECT_THAT(tasks.Add({{.eni = "eni-4"}}, now), IsEmpty());
  EXPECT_THAT(tasks.Expire(now + 10min), ElementsAre("eni-3", "eni-4"));
}

TEST(Decisions, EveryCellIsInTheTable) {
  const std::string table = DecisionTable();
  EXPECT_THAT(table, HasSubstr("| Attach | InUse here | Completed | Completed | Completed | "
                               "Completed |"));
  EXPECT_EQ(std::ranges::count(table, '\n'), 2 + 3 * kSights);
}

TEST(Decisions, TheDocumentHasTheTable) {
  std::ifstream file(BERTH_SOURCE_DIR "/docs/eni-tasks.md");
  const std::string document(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(document, HasSubstr(DecisionTable()));
}

TEST(Decisions, AnAttachIsAskedForOnlyWhereTheCloudShowsAvailable) {
  for (int i = 0; i < kSights; ++i) {
    for (const bool asked : {false, true}) {
      for (const bool over : {false, true}) {
        const auto sight = static_cast<Sight>(i);
        if (Decide(Operation::kAttach, sight, asked, over) == Step::kAsk) {
          EXPECT_EQ(sight, Sight::kAvailable);
        }
        EXPECT_NE(Decide(Operation::kDelete, Sight::kInUseHere, asked, over), Step::kAsk);
      }
    }
  }
}

}  // namespace
}  // namespace berth::eni
