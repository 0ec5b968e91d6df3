#include "reconcile/difftracker/engine.h"

#include "log/format.h"
#include "reconcile/difftracker/engine_fixture_test.h"

namespace berth::difftracker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const Placement kPodA{"10.0.0.1", "10.1.0.1"};
const Placement kPodB{"10.0.0.1", "10.1.0.2"};
const Placement kPodC{"10.0.0.2", "10.1.0.3"};

class EngineTest : public EngineFixture {};

TEST_F(EngineTest, EndpointsOfAServiceThatIsBeingCreatedAreAppliedOnceItIs) {
  SetSlice("s1", "a", {kPodA, kPodB, kPodC});
  SetService("a");
  const Operation create = TakeOne();
  EXPECT_EQ(create.kind, OperationKind::kCreate);
  EXPECT_EQ(engine_.Find("a")->buffered, 3u);
  EXPECT_EQ(engine_.TakeLocationWork(now_), std::nullopt);
  Complete(create, gateway_.Run(create, 2));
  EXPECT_EQ(RunAll(), 1);
  EXPECT_EQ(StateOf("a"), State::kCreated);
  EXPECT_EQ(engine_.Find("a")->synced, 3u);
  EXPECT_EQ(engine_.Find("a")->buffered, 0u);
  EXPECT_EQ(gateway_.locations.size(), 2u);
}

TEST_F(EngineTest, AnEndpointThatMovesBetweenSlicesStays) {
  SetService("a");
  SetSlice("s1", "a", {kPodA, kPodB});
  RunFor(10s);
  SetSlice("s2", "a", {kPodA});
  SetSlice("s1", "a", {kPodB});
  EXPECT_EQ(engine_.Find("a")->desired, 2u);
  SetSlice("s1", "a", {kPodA});  // in either order
  engine_.RemoveSlice("s2", now_);
  SetSlice("s1", "a", {kPodA, kPodB});
  const int syncs = syncs_;
  RunFor(10s);
  EXPECT_EQ(syncs_, syncs) << "nothing changed in the end";
  EXPECT_EQ(gateway_.locations["10.0.0.1"].size(), 2u);
}

TEST_F(EngineTest, APodThatIsGoneWhileItsEgressIsCreatedLeavesNothing) {
  engine_.SetPod("p1", "egress-a", {kPodA}, now_);
  engine_.SetPod("p2", "egress-a", {kPodB}, now_);
  const Operation create = TakeOne();
  engine_.RemovePod("p1", now_);
  EXPECT_THAT(engine_.TakeDrainedPods(), ElementsAre("p1"));
  Complete(create, gateway_.Run(create, 2));
  RunFor(10s);
  EXPECT_THAT(gateway_.locations["10.0.0.1"], testing::SizeIs(1));
  EXPECT_EQ(engine_.Find("egress-a")->pods, 1u);
}

TEST_F(EngineTest, BuffersHaveNoMoreThanLiveObjectsHoweverOftenTheyChange) {
  SetService("a");
  Complete(TakeOne(), Failure(ErrorClass::kTerminal, "QuotaExceeded", 400));
  for (int i = 0; i < 10'000; ++i) {
    SetSlice("s1", "a", {{"10.0.0.1", Format("10.1.{}.{}", i / 250, i % 250)}});
    engine_.SetPod("p", "egress-a", {{"10.0.0.9", Format("10.2.{}.{}", i / 250, i % 250)}}, now_);
  }
  EXPECT_EQ(engine_.Find("a")->buffered, 1u);
  EXPECT_EQ(engine_.Find("egress-a")->buffered, 1u);
  EXPECT_EQ(engine_.totals().buffered, 2u);
  EXPECT_THAT(engine_.TakeDrainedPods(), IsEmpty());
}

TEST_F(EngineTest, TheLastPodDeletesItsEgressAndIsHeldUntilThen) {
  engine_.SetPod("p1", "egress-a", {kPodA}, now_);
  engine_.SetPod("p2", "egress-a", {kPodC}, now_);
  RunFor(10s);
  engine_.RemovePod("p1", now_);
  RunFor(2s);
  EXPECT_THAT(engine_.TakeDrainedPods(), ElementsAre("p1"));
  engine_.RemovePod("p2", now_);
  EXPECT_EQ(StateOf("egress-a"), State::kDeletionPending);
  EXPECT_TRUE(engine_.HoldsPod("p2"));
  while (engine_.Tracks("egress-a")) {
    EXPECT_TRUE(engine_.HoldsPod("p2"));
    RunFor(1s);
  }
  EXPECT_FALSE(engine_.HoldsPod("p2"));
  EXPECT_THAT(engine_.TakeDrainedPods(), ElementsAre("p2"));
  EXPECT_THAT(gateway_.resources, IsEmpty());
  EXPECT_THAT(gateway_.locations, IsEmpty());
}

TEST_F(EngineTest, APodOfTwoFamiliesIsHeldUntilBothAreGone) {
  engine_.SetPod("p", "egress-a", {kPodA, {"fd00::1", "fd00:1::1"}}, now_);
  engine_.SetPod("q", "egress-a", {{"fd00::1", "fd00:1::2"}}, now_);
  RunFor(10s);
  gateway_.refused = {"fd00:1::1"};  // its removal
  engine_.RemovePod("p", now_);
  RunFor(10s);
  EXPECT_FALSE(gateway_.locations.contains("10.0.0.1"));
  EXPECT_TRUE(engine_.HoldsPod("p"));
  gateway_.refused.clear();
  RunFor(6min);
  EXPECT_FALSE(engine_.HoldsPod("p"));
}

TEST_F(EngineTest, APodThatIsLiveAgainAtItsAddressLetsTheOldOneGo) {
  engine_.SetPod("old", "egress-a", {kPodA}, now_);
  RunFor(10s);
  engine_.SetPod("new", "egress-a", {kPodA}, now_);
  engine_.RemovePod("old", now_);
  EXPECT_THAT(engine_.TakeDrainedPods(), ElementsAre("old"));
}

TEST_F(EngineTest, AnEgressGetsAFamilyWithItsFirstPodAndLosesItAfterTheLastOneDrained) {
  engine_.SetPod("p4", "egress-a", {kPodA}, now_);
  RunFor(10s);
  engine_.SetPod("p6", "egress-a", {{"fd00::1", "fd00:1::1"}}, now_);
  Operation update = TakeOne();
  EXPECT_EQ(update.kind, OperationKind::kUpdate);
  EXPECT_TRUE(update.ipv4 && update.ipv6);
  Complete(update, {});
  RunFor(10s);
  engine_.RemovePod("p6", now_);
  EXPECT_THAT(engine_.TakeOperations(now_), IsEmpty()) << "its address is still there";
  now_ += 2s;
  const auto work = engine_.TakeLocationWork(now_);
  ASSERT_TRUE(work && !work->read);
  engine_.Synced(work->generation, gateway_.Update(work->updates), now_);
  update = TakeOne();
  EXPECT_TRUE(update.ipv4 && !update.ipv6);
}

TEST_F(EngineTest, AnEgressThatIsNamedAsAServiceIsRefused) {
  const std::string uid = "0a6c0bd4-5c3a-4b13-8b55-0a1e0f9a2f10";
  SetService(uid);
  EXPECT_FALSE(engine_.SetPod("p", uid, {kPodA}, now_));
  EXPECT_EQ(engine_.Find(uid)->pods, 0u);
  EXPECT_FALSE(engine_.SetPod("p", "default-natgw", {kPodA}, now_));
  EXPECT_FALSE(engine_.SetPod("p", "Upper", {kPodA}, now_));
  SetService("not-a-uid");
  EXPECT_FALSE(engine_.SetPod("p", "not-a-uid", {kPodA}, now_));
}

TEST_F(EngineTest, TenOperationsRunAtOnce) {
  for (int i = 0; i < 25; ++i) SetService(Format("a{}", i));
  auto operations = engine_.TakeOperations(now_);
  EXPECT_EQ(operations.size(), 10u);
  EXPECT_EQ(engine_.Find("a20")->blocked_by, "operation slot");
  EXPECT_THAT(engine_.TakeOperations(now_), IsEmpty());
  Complete(operations[3], {});
  operations = engine_.TakeOperations(now_);
  ASSERT_EQ(operations.size(), 1u);
  EXPECT_EQ(operations[0].id.service, "a10");
}

TEST_F(EngineTest, AServiceWithoutAnyTryIsForgottenAtOnce) {
  for (int i = 0; i < 11; ++i) SetService(Format("a{}", i));
  engine_.TakeOperations(now_);
  ASSERT_EQ(StateOf("a10"), State::kNotStarted);
  engine_.RemoveService("a10", now_);
  EXPECT_FALSE(engine_.Tracks("a10"));
}

TEST_F(EngineTest, TheLeftoversOfAnEarlierTryAreDeletedWhenTheServiceIsGone) {
  SetService("a");
  const Operation create = TakeOne();
  Complete(create, gateway_.Run(create, 1));
  EXPECT_THAT(gateway_.resources, ElementsAre("a"));
  engine_.RemoveService("a", now_);
  EXPECT_TRUE(engine_.Tracks("a"));
  RunFor(10s);
  EXPECT_FALSE(engine_.Tracks("a"));
  EXPECT_THAT(gateway_.resources, IsEmpty());
}

TEST_F(EngineTest, ADeletionWhoseStepFailsIsRepeatedNotPassedOver) {
  SetService("a");
  RunFor(1s);
  engine_.RemoveService("a", now_);
  now_ += 2s;
  const auto read = engine_.TakeLocationWork(now_);
  ASSERT_TRUE(read && read->read);
  engine_.Read(read->generation, gateway_.Read(), now_);
  for (int i = 0; i < 12; ++i) {
    const auto wake = engine_.next_wake(now_);
    ASSERT_TRUE(wake.has_value());
    now_ = *wake;
    const auto operations = engine_.TakeOperations(now_);
    if (operations.empty()) continue;
    EXPECT_EQ(operations[0].kind, OperationKind::kDelete);
    Complete(operations[0], gateway_.Run(operations[0], 1));
    EXPECT_TRUE(engine_.Tracks("a")) << "the cloud still has a part of it";
  }
  RunFor(10min);
  EXPECT_FALSE(engine_.Tracks("a"));
  EXPECT_THAT(gateway_.resources, IsEmpty());
}

TEST_F(EngineTest, ThreeFastRetriesThenFiveMinutes) {
  SetService("a");
  std::vector<async::Duration> pauses;
  for (int i = 0; i < 5; ++i) {
    Complete(TakeOne(), Failure(ErrorClass::kRetry, "InternalServerError", 500));
    const auto next = engine_.Find("a")->next_retry;
    ASSERT_TRUE(next.has_value());
    pauses.push_back(*next - now_);
    now_ = *next;
  }
  EXPECT_THAT(pauses, ElementsAre(1s, 2s, 4s, 5min, 1s));
  const auto notices = engine_.TakeNotices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_EQ(notices[0].kind, Notice::Kind::kParked);
  RunAll();
  ASSERT_EQ(StateOf("a"), State::kCreated);
  EXPECT_EQ(engine_.TakeNotices().at(0).kind, Notice::Kind::kRecovered);
}

TEST_F(EngineTest, ASpecThatBerthRejectsWaitsForAnotherOne) {
  SetService("a", 1);
  Complete(TakeOne(), Failure(ErrorClass::kTerminal, "UnsupportedSessionAffinity"));
  EXPECT_EQ(engine_.Find("a")->hold, Hold::kRejected);
  now_ += 1h;
  EXPECT_THAT(engine_.TakeOperations(now_), IsEmpty());
  SetService("a", 1);
  EXPECT_THAT(engine_.TakeOperations(now_), IsEmpty());
  SetService("a", 2);
  EXPECT_EQ(TakeOne().kind, OperationKind::kCreate);
}

TEST_F(EngineTest, ASpecThatTheCloudRejectsIsTriedAgainAfterFiveMinutes) {
  SetService("a", 1);
  Complete(TakeOne(), Failure(ErrorClass::kTerminal, "InvalidRequest", 400));
  EXPECT_EQ(engine_.Find("a")->hold, Hold::kRejected);
  EXPECT_EQ(engine_.Find("a")->next_retry, now_ + 5min);
  now_ += 4min;
  EXPECT_THAT(engine_.TakeOperations(now_), IsEmpty());
  now_ += 1min;
  EXPECT_EQ(TakeOne().kind, OperationKind::kCreate);
}

TEST_F(EngineTest, ARejectedUpdateLeavesTheServiceServing) {
  SetService("a", 1);
  RunFor(1s);
  SetService("a", 2);
  Complete(TakeOne(), Failure(ErrorClass::kTerminal, "InvalidRequest", 422));
  EXPECT_EQ(StateOf("a"), State::kCreated);
  SetSlice("s", "a", {kPodA});
  RunFor(2s);
  EXPECT_EQ(engine_.Find("a")->synced, 1u);
}

TEST_F(EngineTest, AQuotaAndAMissingRightAreTriedAgainAfterFiveMinutes) {
  SetService("a");
  Complete(TakeOne(), Failure(ErrorClass::kTerminal, "PublicIPCountLimitReached", 400));
  EXPECT_TRUE(engine_.Find("a")->quota);
  EXPECT_EQ(engine_.Find("a")->next_retry, now_ + 5min);
  now_ += 5min;
  Complete(TakeOne(), Failure(ErrorClass::kTerminal, "AuthorizationFailed", 403));
  EXPECT_EQ(engine_.Find("a")->next_retry, now_ + 5min);
}

TEST_F(EngineTest, AThrottledOperationWaitsAsLongAsTheCloudSays) {
  SetService("a");
  auto error = Failure(ErrorClass::kThrottled, "TooManyRequests", 429);
  error.error().retry_after = 17s;
  for (int i = 0; i < 6; ++i) {
    Complete(TakeOne(), error);
    EXPECT_EQ(engine_.Find("a")->next_retry, now_ + 17s) << "and is not parked";
    now_ += 17s;
  }
}

TEST_F(EngineTest, AnAnswerToAnEarlierOperationDoesNothing) {
  SetService("a");
  const Operation first = TakeOne();
  Complete(first, Failure(ErrorClass::kRetry));
  now_ += 1s;
  const Operation second = TakeOne();
  Complete(first, {});
  EXPECT_EQ(StateOf("a"), State::kCreationInProgress);
  Complete(second, {});
  EXPECT_EQ(StateOf("a"), State::kCreated);
  Complete(second, Failure(ErrorClass::kRetry));
  EXPECT_EQ(StateOf("a"), State::kCreated);
}

TEST_F(EngineTest, AServiceThatIsWantedAgainBeforeItIsDeletedIsRevived) {
  SetService("a");
  SetSlice("s", "a", {kPodA});
  RunFor(5s);
  engine_.RemoveService("a", now_);
  SetService("a");
  EXPECT_EQ(StateOf("a"), State::kCreated);
  const int operations = operations_;
  RunFor(5s);
  EXPECT_EQ(operations_, operations);
  EXPECT_TRUE(gateway_.Names("a"));
}

TEST_F(EngineTest, AServiceThatIsWantedAgainWhileItIsDeletedIsMadeAnew) {
  SetService("a");
  RunFor(5s);
  engine_.RemoveService("a", now_);
  now_ += 2s;
  const auto read = engine_.TakeLocationWork(now_);
  engine_.Read(read->generation, gateway_.Read(), now_);
  const Operation deletion = TakeOne();
  SetService("a");
  EXPECT_TRUE(engine_.IsWanted(deletion.id));
  Complete(deletion, gateway_.Run(deletion, 2));
  EXPECT_EQ(StateOf("a"), State::kNotStarted);
  RunAll();
  EXPECT_EQ(StateOf("a"), State::kCreated);
}

TEST_F(EngineTest, ChangesAreToldOnceAndOnlyOfWhatChanged) {
  SetService("a");
  SetService("b");
  EXPECT_EQ(engine_.TakeServiceChanges().size(), 2u);
  EXPECT_THAT(engine_.TakeServiceChanges(), IsEmpty());
  SetSlice("s", "b", {kPodA});
  auto changes = engine_.TakeServiceChanges();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].name, "b");
  RunFor(5s);
  engine_.TakeServiceChanges();
  EXPECT_EQ(engine_.TakeLocationChanges().size(), 1u);
  engine_.RemoveService("b", now_);
  RunFor(5s);
  changes = engine_.TakeServiceChanges();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_FALSE(changes[0].view.has_value());
  const auto locations = engine_.TakeLocationChanges();
  ASSERT_EQ(locations.size(), 1u);
  EXPECT_FALSE(locations[0].view.has_value());
  SetService("c");
  for (int i = 0; i < 12; ++i) SetService(Format("d{}", i));
  engine_.TakeOperations(now_);
  engine_.RemoveService("d11", now_);
  EXPECT_EQ(engine_.TakeServiceChanges().size(), 12u) << "d11 came and went";
}

}  // namespace
}  // namespace berth::difftracker
