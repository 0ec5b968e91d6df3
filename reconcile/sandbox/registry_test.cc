#include "reconcile/sandbox/registry.h"

#include <gmock/gmock.h>

#include "log/format.h"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class RegistryTest : public testing::Test {
 protected:
  static AgentFacts Agent(const std::string& uid, int capacity = 2,
                          std::vector<std::string> images = {}) {
    return {.pod_uid = uid,
            .pod = "pod-" + uid,
            .ns = "ns",
            .pool = "pool",
            .node = "node",
            .ip = "10.0.0.1",
            .capacity = capacity,
            .open = true,
            .images = std::move(images)};
  }
  static SlotRequest Request(std::vector<int> ports = {}, const std::string& image = "nginx") {
    return {.ns = "ns", .pool = "pool", .image = image, .ports = std::move(ports)};
  }
  std::string Allocate(const std::string& uid, const SlotRequest& request = Request()) {
    const auto placed = registry_.Allocate(uid, request);
    return placed ? placed->agent->pod_uid : std::string(ToString(placed.error()));
  }
  std::string Reserve(const std::string& id, const std::string& name = "") {
    const auto made = registry_.Reserve(id, Request(), name, "hash", now_);
    return made ? made->id : std::string(ToString(made.error()));
  }
  Binding Bind(const std::string& id, const std::string& uid, const std::string& pod = "a") {
    return registry_.Bind(id, uid, pod, Request(), now_ + 15s, now_);
  }
  SlotCounts Counts() const { return registry_.CountsOf("ns", "pool"); }

  Registry registry_;
  async::WallTime now_{std::chrono::seconds(1'767'323'045)};
};

TEST_F(RegistryTest, TheAgentWithTheFewestSlotsTakenIsChosen) {
  registry_.PutAgent(Agent("a"));
  registry_.PutAgent(Agent("b"));
  const std::string first = Allocate("s1");
  EXPECT_NE(Allocate("s2"), first);
}

TEST_F(RegistryTest, AnAgentWithTheImageGoesBeforeAnEmptierOne) {
  registry_.PutAgent(Agent("a", 3, {"nginx"}));
  registry_.PutAgent(Agent("b", 3));
  EXPECT_EQ(Allocate("s1"), "a");
  EXPECT_EQ(Allocate("s2"), "a");
  EXPECT_EQ(Allocate("s3", Request({}, "redis")), "b");
}

TEST_F(RegistryTest, AFullPoolHasNoCapacityAndAnEmptyOneNoAgents) {
  EXPECT_EQ(Allocate("s1"), "NoAgents");
  registry_.PutAgent(Agent("a", 1));
  EXPECT_EQ(Allocate("s1"), "a");
  EXPECT_EQ(Allocate("s2"), "NoCapacity");
}

TEST_F(RegistryTest, SandboxesWithTheSamePortAreOnDifferentAgents) {
  registry_.PutAgent(Agent("a"));
  registry_.PutAgent(Agent("b"));
  const std::string first = Allocate("s1", Request({80}));
  const std::string second = Allocate("s2", Request({80, 81}));
  EXPECT_NE(first, second);
  EXPECT_EQ(Allocate("s3", Request({80})), "PortConflict");
  EXPECT_EQ(Allocate("s4", Request({82})).size(), 1u);
}

// Flaw: fast-sandbox took a capacity of 0 for no limit.
TEST_F(RegistryTest, AnAgentWithoutCapacityTakesNothing) {
  registry_.PutAgent(Agent("a", 0));
  EXPECT_EQ(Allocate("s1"), "NoCapacity");
}

// Flaw: fast-sandbox counted slots, and a second release made the counter wrong or negative.
TEST_F(RegistryTest, ReleasingTwiceIsReleasingOnce) {
  registry_.PutAgent(Agent("a", 2));
  Allocate("s1");
  Allocate("s2");
  EXPECT_TRUE(registry_.Release("s1"));
  EXPECT_FALSE(registry_.Release("s1"));
  EXPECT_EQ(Counts().bound, 1u);
  EXPECT_EQ(Allocate("s3"), "a");
  EXPECT_EQ(Allocate("s4"), "NoCapacity");
}

// Flaw: fast-sandbox knew agents by their pods' names, whatever their namespace.
TEST_F(RegistryTest, AgentsOfTheSameNameInTwoNamespacesAreTwo) {
  AgentFacts other = Agent("b");
  other.ns = "other";
  other.pod = "pod-a";
  registry_.PutAgent(Agent("a", 1));
  registry_.PutAgent(other);
  EXPECT_EQ(Allocate("s1"), "a");
  EXPECT_EQ(Allocate("s2"), "NoCapacity");
}

// Flaw: fast-sandbox picked the best agent, which was filled meanwhile, and failed.
TEST_F(RegistryTest, AnotherAgentIsTakenWhenTheBestOneIsFull) {
  registry_.PutAgent(Agent("a", 1, {"nginx"}));
  registry_.PutAgent(Agent("b", 1));
  EXPECT_EQ(Allocate("s1"), "a");
  EXPECT_EQ(Allocate("s2"), "b");
}

TEST_F(RegistryTest, AHolderHasOneSlot) {
  registry_.PutAgent(Agent("a"));
  EXPECT_EQ(Allocate("s1"), "a");
  EXPECT_EQ(Allocate("s1"), "a");
  EXPECT_EQ(Counts().bound, 1u);
}

TEST_F(RegistryTest, TheSameObjectGetsTheSameReservation) {
  registry_.PutAgent(Agent("a"));
  EXPECT_EQ(Reserve("r1", "web"), "r1");
  EXPECT_EQ(Reserve("r2", "web"), "r1");
  EXPECT_EQ(Reserve("r3"), "r3");
  EXPECT_EQ(Reserve("r4"), "NoCapacity");
  EXPECT_EQ(Counts().reserved, 2u);
}

TEST_F(RegistryTest, AReservationEndsWithItsTime) {
  registry_.PutAgent(Agent("a", 1));
  Reserve("r1", "web");
  EXPECT_EQ(registry_.NextExpiry(), now_ + 15s);
  EXPECT_THAT(registry_.Expire(now_ + 14s), IsEmpty());
  EXPECT_THAT(registry_.Expire(now_ + 15s), ElementsAre("r1"));
  EXPECT_EQ(Counts().reserved, 0u);
  EXPECT_EQ(Reserve("r2", "web"), "r2");
}

TEST_F(RegistryTest, AReservationIsBoundOnce) {
  registry_.PutAgent(Agent("a"));
  Reserve("r1", "web");
  EXPECT_EQ(Bind("r1", "s1"), Binding::kBound);
  EXPECT_EQ(Bind("r1", "s1"), Binding::kHeld);
  EXPECT_EQ(Bind("r1", "s2"), Binding::kConsumed);
  EXPECT_EQ(Counts().bound, 1u);
  EXPECT_EQ(Counts().reserved, 0u);
  registry_.Release("s1");
  EXPECT_EQ(Bind("r1", "s1"), Binding::kConsumed);
}

TEST_F(RegistryTest, AReservationOfTheLeaderBeforeBindsIfItsAgentCanTakeIt) {
  registry_.PutAgent(Agent("a", 1));
  EXPECT_EQ(Bind("r1", "s1"), Binding::kBound);
  EXPECT_EQ(Bind("r2", "s2"), Binding::kLapsed);
  EXPECT_EQ(Bind("r3", "s3", "gone"), Binding::kLapsed);
}

TEST_F(RegistryTest, ASandboxThatHoldsASlotGivesTheReservationBack) {
  registry_.PutAgent(Agent("a"));
  Allocate("s1");
  Reserve("r1", "web");
  EXPECT_EQ(Bind("r1", "s1"), Binding::kHeld);
  EXPECT_EQ(Counts(), (SlotCounts{.agents = 1, .capacity = 2, .bound = 1, .free = 1}));
}

TEST_F(RegistryTest, ADrainingSlotIsTaken) {
  registry_.PutAgent(Agent("a", 1));
  Allocate("s1");
  registry_.Drain("s1");
  registry_.Drain("s1");
  EXPECT_EQ(Allocate("s2"), "NoCapacity");
  EXPECT_EQ(Counts().draining, 1u);
  registry_.Release("s1");
  EXPECT_EQ(Allocate("s2"), "a");
}

TEST_F(RegistryTest, SlotsEndWithThePodsUid) {
  registry_.PutAgent(Agent("a"));
  Allocate("s1");
  Reserve("r1", "web");
  AgentFacts closed = Agent("a");
  closed.open = false;
  registry_.PutAgent(closed);
  EXPECT_EQ(Counts().bound, 1u);
  EXPECT_THAT(registry_.RemoveAgent("a"), UnorderedElementsAre("r1", "s1"));
  EXPECT_THAT(registry_.RemoveAgent("a"), IsEmpty());
  EXPECT_EQ(registry_.Remembered(), 0u);
}

TEST_F(RegistryTest, OnlyAnIdleAgentIsCordonedAndThenItTakesNothing) {
  registry_.PutAgent(Agent("a"));
  Allocate("s1");
  EXPECT_FALSE(registry_.Cordon("a"));
  registry_.Release("s1");
  EXPECT_TRUE(registry_.Cordon("a"));
  EXPECT_EQ(Allocate("s2"), "NoAgents");
  EXPECT_EQ(Reserve("r1"), "NoAgents");
  registry_.Uncordon("a");
  EXPECT_EQ(Allocate("s2"), "a");
}

TEST_F(RegistryTest, WhatIsRestoredMayOverfillAnAgentAndThenItTakesNothing) {
  registry_.PutAgent(Agent("a", 1));
  EXPECT_TRUE(registry_.Restore("s1", "a", {80}, SlotState::kBound));
  EXPECT_TRUE(registry_.Restore("s2", "a", {80}, SlotState::kDraining));
  EXPECT_FALSE(registry_.Restore("s3", "gone", {}, SlotState::kBound));
  registry_.Release("s1");
  EXPECT_EQ(Allocate("s4"), "NoCapacity");
  registry_.Release("s2");
  EXPECT_EQ(Allocate("s4", Request({80})), "a");
}

TEST_F(RegistryTest, AReservationIsBoundedPerPool) {
  registry_.PutAgent(Agent("a", 1'000'000));
  for (std::size_t i = 0; i < Registry::kMostReservationsOfPool; ++i) {
    ASSERT_EQ(Reserve(Format("r{}", i)), Format("r{}", i));
  }
  EXPECT_EQ(Reserve("more"), "TooManyReservations");
}

TEST_F(RegistryTest, PoolsInWhichASlotHasBecomeFreeAreTold) {
  registry_.PutAgent(Agent("a", 1));
  registry_.TakeFreedPools();
  Allocate("s1");
  EXPECT_THAT(registry_.TakeFreedPools(), IsEmpty());
  registry_.Release("s1");
  EXPECT_THAT(registry_.TakeFreedPools(), ElementsAre("ns/pool"));
}

}  // namespace
}  // namespace berth::sandbox
