#include "log/format.h"
#include "reconcile/difftracker/engine.h"
#include "reconcile/difftracker/engine_fixture_test.h"

// An engine that starts on what an earlier process has left.
namespace berth::difftracker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const Placement kPodA{"10.0.0.1", "10.1.0.1"};
const Placement kPodB{"10.0.0.1", "10.1.0.2"};

class EngineStartTest : public EngineFixture {
 protected:
  EngineStartTest() {
    gateway_.registered = gateway_.resources = {"a", "egress-a"};
    gateway_.locations = {{"10.0.0.1", {{"10.1.0.1", {"a"}}, {"10.1.0.2", {"egress-a"}}}}};
  }
  void Start() { next_.Start(gateway_.List(), gateway_.Read(), now_); }

  Engine next_{TestOptions()};
};

TEST_F(EngineStartTest, NothingIsWrittenOrReadWhenAllIsAsDesired) {
  next_.SetSlice("s", "a", {kPodA}, now_);
  next_.SetPod("p", "egress-a", {kPodB}, now_);
  next_.SetService("a", "default/a", 7, now_);
  EXPECT_THAT(next_.TakeOperations(now_), IsEmpty());
  EXPECT_EQ(next_.next_wake(now_), std::nullopt);
  Start();
  EXPECT_EQ(RunAll(next_), 0);
  EXPECT_EQ(operations_, 0);
  EXPECT_EQ(next_.Find("a")->state, State::kCreated);
  EXPECT_EQ(next_.Find("egress-a")->synced, 1u);
  EXPECT_GT(*next_.next_wake(now_), now_ + 9min);
}

TEST_F(EngineStartTest, ServicesThatAreGoneAreDrainedAndDeleted) {
  Start();
  EXPECT_EQ(next_.Find("a")->state, State::kDeletionPending);
  EXPECT_TRUE(next_.TakeOperations(now_).empty());
  for (int i = 0; i < 5; ++i, now_ += 1s) RunAll(next_);
  EXPECT_THAT(gateway_.resources, IsEmpty());
  EXPECT_THAT(gateway_.locations, IsEmpty());
}

TEST_F(EngineStartTest, AnOrphanThatNoLocationNamesNeedsNoSecondRead) {
  gateway_.locations.clear();
  Start();
  const auto operations = next_.TakeOperations(now_);
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_TRUE(operations[0].orphan);
  EXPECT_EQ(next_.TakeLocationWork(now_), std::nullopt);
}

TEST_F(EngineStartTest, AHalfMadeServiceIsCompletedOrDeleted) {
  gateway_.registered.clear();
  gateway_.locations.clear();
  next_.SetService("a", "default/a", 7, now_);
  Start();
  const auto operations = next_.TakeOperations(now_);
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(operations[0].kind, OperationKind::kCreate);
  EXPECT_EQ(operations[1].kind, OperationKind::kDelete);
  next_.RemoveService("a", now_);
  next_.Completed(operations[0].id, Failure(ErrorClass::kRetry), now_);
  EXPECT_TRUE(next_.Tracks("a")) << "its leftovers are deleted";
}

TEST_F(EngineStartTest, AServiceThatIsNotAsItsSpecIsUpdatedWhileItServes) {
  next_.SetService("a", "default/a", 7, now_);
  next_.SetSlice("s", "a", {kPodA}, now_);
  auto list = gateway_.List();
  list[0].in_sync = false;
  next_.Start(list, gateway_.Read(), now_);
  const auto operations = next_.TakeOperations(now_);
  ASSERT_EQ(operations.size(), 1u);
  EXPECT_EQ(operations[0].kind, OperationKind::kUpdate);
  EXPECT_EQ(next_.Find("a")->synced, 1u);
}

TEST_F(EngineStartTest, APodThatDiedWhileNobodyRanIsHeldUntilItsAddressIsGone) {
  next_.SetPod("p", "egress-a", {{"10.0.0.1", "10.1.0.9"}}, now_);
  next_.DrainPod("dead", "egress-a", {kPodB}, now_);
  next_.DrainPod("unlabelled", "", {kPodB}, now_);
  next_.DrainPod("long-dead", "egress-a", {{"10.0.0.1", "10.1.0.77"}}, now_);
  EXPECT_TRUE(next_.HoldsPod("long-dead")) << "nothing is known before the start";
  Start();
  EXPECT_THAT(next_.TakeDrainedPods(), ElementsAre("long-dead"));
  EXPECT_TRUE(next_.HoldsPod("dead"));
  EXPECT_TRUE(next_.HoldsPod("unlabelled"));
  RunAll(next_);
  EXPECT_THAT(next_.TakeDrainedPods(), testing::UnorderedElementsAre("dead", "unlabelled"));
  EXPECT_FALSE(next_.HoldsPod("dead"));
}

TEST_F(EngineStartTest, ADeadPodWithAnotherLabelThanBeforeIsHeldWhileTheOldEgressShowsIt) {
  next_.SetPod("p", "egress-a", {{"10.0.0.1", "10.1.0.9"}}, now_);
  next_.DrainPod("dead", "egress-b", {kPodB}, now_);
  Start();
  EXPECT_TRUE(next_.HoldsPod("dead"));
  RunAll(next_);
  EXPECT_FALSE(next_.HoldsPod("dead"));
}

TEST_F(EngineStartTest, TheLastPodOfAnEgressThatDiedMeanwhileIsHeldUntilTheEgressIsDeleted) {
  next_.DrainPod("dead", "egress-a", {{"10.0.0.1", "10.1.0.9"}}, now_);
  Start();
  EXPECT_TRUE(next_.HoldsPod("dead"));
  for (int i = 0; i < 5; ++i, now_ += 1s) RunAll(next_);
  EXPECT_THAT(next_.TakeDrainedPods(), ElementsAre("dead"));
}

TEST_F(EngineStartTest, APodThatWasRemovedBeforeTheStartIsHeldIfTheCloudShowsIt) {
  next_.SetPod("p", "egress-a", {kPodB}, now_);
  next_.SetPod("q", "egress-a", {{"10.0.0.1", "10.1.0.9"}}, now_);
  next_.RemovePod("p", now_);
  Start();
  EXPECT_TRUE(next_.HoldsPod("p"));
  RunAll(next_);
  EXPECT_FALSE(next_.HoldsPod("p"));
}

TEST_F(EngineStartTest, AServiceOfBothTypesIsKnownByItsName) {
  const std::string uid = "0a6c0bd4-5c3a-4b13-8b55-0a1e0f9a2f10";
  next_.Start({{.name = uid, .type = cloud::ServiceType::kInboundOutbound, .registered = true},
               {.name = "e", .type = cloud::ServiceType::kInboundOutbound, .registered = true}},
              {}, now_);
  EXPECT_EQ(next_.Find(uid)->direction, Direction::kInbound);
  EXPECT_EQ(next_.Find("e")->direction, Direction::kOutbound);
}

}  // namespace
}  // namespace berth::difftracker
