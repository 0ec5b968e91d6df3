#include "reconcile/sandbox/system_fixture_test.h"

// The life of sandboxes: flaws of fast-sandbox that Berth does not have, each named after the
// behaviour that holds.
namespace berth::sandbox {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr const char* kAutoRecreate =
    R"(,"failurePolicy":"AutoRecreate","recoveryTimeoutSeconds":20)";

class SandboxLifecycleTest : public SandboxTest {
 protected:
  void Run(const std::string& name, const std::string& spec = "") {
    CreateSandbox(name, "pool", spec);
    ASSERT_TRUE(WaitFor(name, "Running")) << Condition(name);
  }
  void Reset(const std::string& name, const std::string& when) {
    Merge(SandboxPath(name), Format(R"({{"spec":{{"resetRevision":"{}"}}}})", when));
  }
  std::string After(async::Duration time) {
    return kube::Timestamp(std::chrono::duration_cast<std::chrono::seconds>(
                               (executor_.WallNow() + time).time_since_epoch())
                               .count());
  }
  void TearDown() override { EXPECT_THAT(agents_.broken, IsEmpty()); }
};

// Flaw 1: the annotation stayed, and a reset bound the sandbox to the pod it was bound to before.
TEST_F(SandboxLifecycleTest, AResetDoesNotBindToThePodOfTheFirstAnnotation) {
  CreatePool("pool", 2);
  CreateStamped("a");
  ASSERT_TRUE(WaitFor("a", "Running"));
  EXPECT_FALSE(Read("a").allocation);
  const std::string first = Pod("a");
  DeletePod(first);
  ASSERT_TRUE(WaitFor("a", "Lost"));
  Reset("a", "2026-02-01T00:00:00Z");
  ASSERT_TRUE(WaitFor("a", "Running"));
  EXPECT_NE(Pod("a"), first);
  EXPECT_EQ(Read("a").status.attempt, 2);
}

// Flaw 3: a sandbox moved to Bound by its annotation was never created on its agent.
TEST_F(SandboxLifecycleTest, AStampedSandboxIsCreatedOnItsAgent) {
  CreatePool("pool", 1);
  const std::string uid = CreateStamped("a");
  ASSERT_TRUE(WaitFor("a", "Running"));
  EXPECT_THAT(agents_.Running(), ElementsAre(uid + "-1"));
  EXPECT_THAT(Events(), testing::IsSupersetOf({"Assigned", "Started"}));
}

// Flaw 25: fast-sandbox's controller did not send claimUid; flaw 23: it dropped valueFrom.
TEST_F(SandboxLifecycleTest, TheAgentIsToldWhatToRunAndForWhom) {
  CreatePool("pool", 1);
  const std::string uid = CreateSandbox(
      "a", "pool",
      R"(,"command":["sh"],"args":["-c","x"],"workingDir":"/w","envs":[{"name":"A","value":"1"}])");
  ASSERT_TRUE(WaitFor("a", "Running"));
  const auto& request = agents_.agents[Pod("a")].requests.at(uid + "-1");
  EXPECT_EQ(request.claim_uid, uid);
  EXPECT_EQ(request.claim_name, "a");
  EXPECT_EQ(request.attempt, 1);
  EXPECT_THAT(request.command, ElementsAre("sh"));
  EXPECT_THAT(request.args, ElementsAre("-c", "x"));
  EXPECT_EQ(request.working_dir, "/w");
  EXPECT_THAT(request.env, ElementsAre(testing::Pair("A", "1")));
}

// Flaw 8: 15 s of silence made fast-sandbox forget an agent and what ran there.
TEST_F(SandboxLifecycleTest, ASilentAgentKeepsItsSandboxes) {
  CreatePool("pool", 1, 1);
  Run("a", kAutoRecreate);
  agents_.agents[Pod("a")].hung = true;
  EXPECT_TRUE(Until([&] { return Condition("a") == "Unknown AgentUnreachable"; }));
  Advance(3min);
  EXPECT_EQ(Phase("a"), "Running");
  EXPECT_EQ(Read("a").status.attempt, 1);
  EXPECT_EQ(Counts().bound, 1u);
  agents_.agents[Pod("a")].hung = false;
  EXPECT_TRUE(Until([&] { return Condition("a") == "True Running"; }));
}

// Flaw 9: agents were asked one after the other, and one that hung made all of them stale.
TEST_F(SandboxLifecycleTest, AnAgentThatHangsDoesNotMakeOthersStale) {
  CreatePool("pool", 3);
  const auto pods = Pods();
  agents_.agents[pods[0]].hung = true;
  agents_.agents[pods[1]].hung = true;
  Advance(30s);
  CreateSandbox("a");
  EXPECT_TRUE(WaitFor("a", "Running", 5s));
  EXPECT_EQ(Pod("a"), pods[2]);
}

// Flaw 10: a Lost sandbox was rescheduled whatever its policy.
TEST_F(SandboxLifecycleTest, ALostSandboxWaitsForAResetWhenItsPolicyIsManual) {
  CreatePool("pool", 2);
  Run("a");
  DeletePod(Pod("a"));
  ASSERT_TRUE(WaitFor("a", "Lost"));
  EXPECT_EQ(Condition("a"), "False AgentLost");
  Advance(5min);
  EXPECT_EQ(Phase("a"), "Lost");
  EXPECT_THAT(Events(), Contains("AgentLost"));
}

// Flaw 11: recoveryTimeoutSeconds was not used.
TEST_F(SandboxLifecycleTest, ALostSandboxIsRecreatedAfterItsRecoveryTimeout) {
  CreatePool("pool", 2);
  Run("a", kAutoRecreate);
  const std::string first = Pod("a");
  DeletePod(first);
  ASSERT_TRUE(WaitFor("a", "Lost"));
  Advance(18s);
  EXPECT_EQ(Phase("a"), "Lost");
  EXPECT_TRUE(WaitFor("a", "Running", 5s));
  EXPECT_NE(Pod("a"), first);
  EXPECT_EQ(Read("a").status.attempt, 2);
  EXPECT_FALSE(Read("a").status.lost_at);
  EXPECT_THAT(Events(), Contains("Recreated"));
}

// Flaw 12: a sandbox deleted while it was Failed or Lost was not deleted on its agent.
TEST_F(SandboxLifecycleTest, ASandboxWhoseCreateHadNoAnswerIsDeletedOnItsAgent) {
  CreatePool("pool", 1);
  agents_.create_fault = [](const auto&) {
    return TestAgents::Fault{{ErrorClass::kAmbiguous, "CreateFailed", "create: 500"}, true};
  };
  const std::string uid = CreateSandbox("a");
  ASSERT_TRUE(WaitFor("a", "Running"));
  Delete("a");
  EXPECT_TRUE(Until([&] { return !Exists(SandboxPath("a")); }));
  EXPECT_THAT(agents_.Running(), IsEmpty());
}

// Flaw 12, 13: the finalizer, and the slot, stayed only as long as it took to ask the agent.
TEST_F(SandboxLifecycleTest, TheFinalizerAndTheSlotStayUntilTheAgentHasConfirmed) {
  CreatePool("pool", 1, 1);
  Run("a");
  agents_.stop_time = 20s;
  Delete("a");
  Advance(15s);
  EXPECT_EQ(Phase("a"), "Terminating");
  EXPECT_EQ(Counts().draining, 1u);
  CreateSandbox("b");
  Advance(2s);
  EXPECT_EQ(Phase("b"), "Pending");
  EXPECT_EQ(Condition("b"), "False NoCapacity");
  EXPECT_TRUE(WaitFor("b", "Running", 20s));
  EXPECT_FALSE(Exists(SandboxPath("a")));
}

TEST_F(SandboxLifecycleTest, ASandboxIsNotForgottenWhileItsAgentIsSilent) {
  CreatePool("pool", 1);
  Run("a");
  const std::string pod = Pod("a");
  agents_.agents[pod].hung = true;
  Advance(20s);
  Delete("a");
  Advance(2min);
  EXPECT_EQ(Phase("a"), "Terminating");
  agents_.agents[pod].hung = false;
  EXPECT_TRUE(Until([&] { return !Exists(SandboxPath("a")); }));
  EXPECT_THAT(agents_.Running(), IsEmpty());
}

TEST_F(SandboxLifecycleTest, ASandboxGoesWithItsPod) {
  CreatePool("pool", 1);
  Run("a");
  agents_.agents[Pod("a")].hung = true;
  Advance(20s);
  Delete("a");
  Advance(5s);
  DeletePod(Pod("a"));
  EXPECT_TRUE(Until([&] { return !Exists(SandboxPath("a")); }));
}

// Flaw 13: an expired sandbox's slot was free before its container was gone.
TEST_F(SandboxLifecycleTest, AnExpiredSandboxKeepsItsObjectAndGivesItsSlotBackOnceItIsGone) {
  CreatePool("pool", 1, 1);
  CreateSandbox("a", "pool", Format(R"(,"expireTime":"{}","exposedPorts":[80])", After(30s)));
  ASSERT_TRUE(WaitFor("a", "Running"));
  agents_.stop_time = 10s;
  Advance(35s);
  EXPECT_EQ(Phase("a"), "Running");
  EXPECT_EQ(Condition("a"), "False Expiring");
  EXPECT_EQ(Counts().draining, 1u);
  ASSERT_TRUE(WaitFor("a", "Expired"));
  const SandboxStatus status = Read("a").status;
  EXPECT_EQ(status.assigned_pod + status.assigned_pod_uid + status.sandbox_id, "");
  EXPECT_THAT(status.endpoints, IsEmpty());
  EXPECT_EQ(Counts().draining, 0u);
  EXPECT_THAT(agents_.Running(), IsEmpty());
  EXPECT_THAT(Events(), Contains("Expired"));
}

TEST_F(SandboxLifecycleTest, AnExpiredSandboxIsRevivedByAResetWithALaterTime) {
  CreatePool("pool", 1);
  CreateSandbox("a", "pool", Format(R"(,"expireTime":"{}")", After(10s)));
  ASSERT_TRUE(WaitFor("a", "Expired"));
  Reset("a", "2026-02-01T00:00:00Z");
  Advance(5s);
  EXPECT_EQ(Phase("a"), "Expired");
  Merge(SandboxPath("a"), Format(R"({{"spec":{{"expireTime":"{}"}}}})", After(1h)));
  EXPECT_TRUE(WaitFor("a", "Running"));
  EXPECT_EQ(Read("a").status.accepted_reset_text, "2026-02-01T00:00:00Z");
}

// Flaw 15: in the last 30 s before its expiry a sandbox was not looked at.
TEST_F(SandboxLifecycleTest, ASandboxThatIsAboutToExpireIsStillReconciled) {
  CreatePool("pool", 1);
  const std::string uid = CreateSandbox("a", "pool", Format(R"(,"expireTime":"{}")", After(20s)));
  ASSERT_TRUE(WaitFor("a", "Running", 5s));
  agents_.Exit(Pod("a"), uid + "-1");
  EXPECT_TRUE(WaitFor("a", "Failed", 5s));
}

// Flaw 14: the same ID was created again while it was terminating, which succeeded, and then
// nothing ran.
TEST_F(SandboxLifecycleTest, AResetOnTheSameAgentStartsAnotherAttempt) {
  CreatePool("pool", 1, 1);
  CreateSandbox("a");
  ASSERT_TRUE(WaitFor("a", "Running"));
  const std::string uid = Read("a").id.uid;
  Reset("a", "2026-02-01T00:00:00Z");
  ASSERT_TRUE(Until([&] { return Read("a").status.attempt == 2; }));
  ASSERT_TRUE(WaitFor("a", "Running"));
  EXPECT_THAT(agents_.Running(), ElementsAre(uid + "-2"));
  EXPECT_THAT(Events(), Contains("Reset"));
  Advance(1min);
  EXPECT_EQ(Read("a").status.attempt, 2);
}

// A time with nanoseconds is accepted as it was written: no reset follows from it again.
TEST_F(SandboxLifecycleTest, AResetIsCarriedOutOnce) {
  CreatePool("pool", 1);
  CreateSandbox("a", "pool", R"(,"resetRevision":"2026-02-01T00:00:00.123456789Z")");
  ASSERT_TRUE(WaitFor("a", "Running"));
  Advance(1min);
  EXPECT_EQ(Read("a").status.attempt, 1);
  EXPECT_EQ(Read("a").status.accepted_reset_text, "2026-02-01T00:00:00.123456789Z");
}

// Flaw 19: an exit was never seen.
TEST_F(SandboxLifecycleTest, AContainerThatExitsMakesItsSandboxFailed) {
  CreatePool("pool", 1, 1);
  Run("a");
  agents_.Exit(Pod("a"), Read("a").status.sandbox_id);
  ASSERT_TRUE(WaitFor("a", "Failed", 5s));
  EXPECT_EQ(Condition("a"), "False Exited");
  EXPECT_TRUE(Until([&] { return Counts().free == 1; }));
  EXPECT_EQ(Read("a").status.assigned_pod_uid, "");
  EXPECT_EQ(Phase("a"), "Failed");
  EXPECT_THAT(Events(), Contains("Exited"));
}

// Flaw 19: the list of an agent that has restarted was believed.
TEST_F(SandboxLifecycleTest, AnUnlistedSandboxOfARestartedAgentIsLostAndNotStartedTwice) {
  CreatePool("pool", 2);
  Run("a");
  RestartAgent(Pod("a"));
  ASSERT_TRUE(WaitFor("a", "Lost", 10s));
  EXPECT_EQ(Counts().bound, 1u);
  Advance(2min);
  EXPECT_EQ(Phase("a"), "Lost");
  EXPECT_THAT(agents_.Running(), SizeIs(1));
}

TEST_F(SandboxLifecycleTest, ARestartThatShowsInThePodLaterIsNotTakenForAnExit) {
  CreatePool("pool", 2);
  Run("a");
  const std::string pod = Pod("a");
  agents_.Restart(pod);
  Advance(4s);
  EXPECT_EQ(Phase("a"), "Running");
  RestartAgent(pod);
  EXPECT_TRUE(WaitFor("a", "Lost", 10s));
}

TEST_F(SandboxLifecycleTest, ARestartedAgentGetsNothingNewAndItsPodGoesOnceAllOfItCanBeRecreated) {
  CreatePool("pool", 2);
  Run("a", kAutoRecreate);
  const std::string pod = Pod("a");
  const std::string other = Pods()[0] == pod ? Pods()[1] : Pods()[0];
  Run("b");
  Run("c");
  std::vector<std::string> mates;
  for (const char* name : {"b", "c"}) {
    if (Pod(name) == pod) mates.emplace_back(name);
  }
  ASSERT_THAT(mates, SizeIs(1));
  RestartAgent(pod);
  ASSERT_TRUE(WaitFor("a", "Lost"));
  Run("d");
  EXPECT_EQ(Pod("d"), other);
  EXPECT_THAT(Pods(), Contains(pod));  // the other sandbox on it is Manual
  Delete(mates[0]);
  EXPECT_TRUE(Until([&] { return !Exists(PodPath(pod)); }));
  EXPECT_TRUE(Until([&] { return !Exists(SandboxPath(mates[0])); }));
  EXPECT_TRUE(WaitFor("a", "Running"));
  EXPECT_NE(Pod("a"), pod);
}

TEST_F(SandboxLifecycleTest, ARestartFromBeforeASandboxWasAssignedHasLostNothing) {
  CreatePool("pool", 1);
  const std::string pod = Pods()[0];
  RestartAgent(pod);
  Advance(15s);
  Run("a", kAutoRecreate);
  Boot();
  Advance(1min);
  EXPECT_THAT(Pods(), ElementsAre(pod));
  EXPECT_EQ(Read("a").status.attempt, 1);
  Run("b");  // it takes new ones
}

TEST_F(SandboxLifecycleTest, ARestartWhileNobodyLedIsNotTakenForAnExit) {
  CreatePool("pool", 1);
  Run("a");
  const std::string pod = Pod("a");
  Advance(1min);
  Crash();
  RestartAgent(pod);
  Boot();
  EXPECT_TRUE(WaitFor("a", "Lost"));
  EXPECT_THAT(agents_.Running(), SizeIs(1));
}

// A restart after which all is listed again, as by an agent that looks at its containers.
TEST_F(SandboxLifecycleTest, ALostSandboxThatIsListedAgainRuns) {
  CreatePool("pool", 1);
  Run("a");
  const std::string pod = Pod("a");
  const auto list = agents_.agents[pod].list;
  RestartAgent(pod);
  ASSERT_TRUE(WaitFor("a", "Lost"));
  agents_.agents[pod].list = list;
  EXPECT_TRUE(WaitFor("a", "Running"));
  EXPECT_EQ(Read("a").status.attempt, 1);
  EXPECT_FALSE(Read("a").status.lost_at);
  Run("b");
}

TEST_F(SandboxLifecycleTest, ASandboxOfFastSandboxKeepsItsAgent) {
  CreatePool("pool", 1, 1);
  const std::string pod = Pods()[0];
  Crash();
  const std::string uid = CreateSandbox("a");
  agents_.agents[pod].list[uid] = {.sandbox_id = uid,
                                   .claim_uid = {},
                                   .phase = cloud::AgentPhase::kRunning,
                                   .created_at = std::nullopt};
  Merge(SandboxPath("a") + "/status",
        Format(R"({{"status":{{"phase":"Running","assignedPod":"{}","sandboxID":"{}"}}}})", pod,
               uid));
  Boot();
  Advance(2min);
  EXPECT_EQ(Phase("a"), "Running");
  EXPECT_EQ(Read("a").status.sandbox_id, uid);
  EXPECT_EQ(agents_.creates + agents_.deletes, 0);
  EXPECT_EQ(Counts().bound, 1u);
  Delete("a");
  EXPECT_TRUE(Until([&] { return !Exists(SandboxPath("a")); }));
  EXPECT_THAT(agents_.agents[pod].list, IsEmpty());
}

// Flaw 18: nothing kept an agent from taking more than it can.
TEST_F(SandboxLifecycleTest, AnAgentThatIsFullInTruthRefusesAndTheSandboxGoesElsewhere) {
  CreatePool("pool", 2, 1);
  const auto pods = Pods();
  for (const std::string& pod : pods) agents_.agents[pod].capacity = 1;
  int refused = 0;
  agents_.create_fault = [&](const auto&) -> std::optional<TestAgents::Fault> {
    if (refused++ > 0) return std::nullopt;
    return TestAgents::Fault{{ErrorClass::kConflict, "CapacityRejected", "create: full", 409}};
  };
  CreateSandbox("a");
  ASSERT_TRUE(WaitFor("a", "Running"));
  EXPECT_EQ(Read("a").status.attempt, 2);
}

// Flaw 18: a client that hung up after 5 s cancelled slow image pulls for ever.
TEST_F(SandboxLifecycleTest, ASlowImagePullIsWaitedFor) {
  CreatePool("pool", 1);
  agents_.create_time = 29s;
  CreateSandbox("a");
  EXPECT_TRUE(WaitFor("a", "Running", 40s));
  EXPECT_EQ(agents_.creates, 1);
}

TEST_F(SandboxLifecycleTest, AFailedCreateIsTriedAgainOnTheSameAgentAndThenTold) {
  CreatePool("pool", 2);
  agents_.create_fault = [](const auto&) {
    return TestAgents::Fault{{ErrorClass::kAmbiguous, "CreateFailed", "create: no such image"}};
  };
  CreateSandbox("a");
  ASSERT_TRUE(WaitFor("a", "Failed", 3min));
  EXPECT_EQ(agents_.creates, 5);
  EXPECT_EQ(Read("a").status.attempt, 1);
  EXPECT_EQ(Condition("a"), "False CreateFailed");
  EXPECT_EQ(Counts().bound + Counts().draining, 0u);
}

// fast-sandbox v2's TestAmbiguousFailureNeverReassigns.
TEST_F(SandboxLifecycleTest, ASandboxWhoseCreateHadNoAnswerIsNeverAssignedElsewhere) {
  CreatePool("pool", 2);
  CreateSandbox("a");
  ASSERT_TRUE(WaitFor("a", "Running"));
  const std::string first = Pod("a");
  CreateSandbox("b");
  ASSERT_TRUE(Until([&] { return !Pod("b").empty(); }));
  const std::string pod = Pod("b");
  agents_.agents[pod].hung = true;
  Advance(3min);
  EXPECT_EQ(Pod("b"), pod);
  EXPECT_EQ(Read("b").status.attempt, 1);
}

// fast-sandbox v2's TestReplacementPodWithSameNameCannotClaimOldAssignment.
TEST_F(SandboxLifecycleTest, APodOfTheSameNameIsAnotherAgent) {
  CreatePool("pool", 1);
  Run("a");
  const std::string pod = Pod("a");
  Json copy = Get(PodPath(pod));
  for (const char* member : {"uid", "resourceVersion", "creationTimestamp", "generateName"})
    copy["metadata"].erase(member);
  copy.erase("status");
  copy["spec"].erase("nodeName");
  DeletePod(pod);
  ASSERT_EQ(Send(kube::Method::kPost, PodPath(), copy.to_string()).code, 201);
  EXPECT_TRUE(WaitFor("a", "Lost"));
}

// Flaw 16: words of agents that nobody knows were written into the status.
TEST_F(SandboxLifecycleTest, AnUnknownWordOfAnAgentIsNoPhase) {
  CreatePool("pool", 1);
  Run("a");
  agents_.agents[Pod("a")].list.at(Read("a").status.sandbox_id).phase = cloud::AgentPhase::kUnknown;
  Advance(10s);
  EXPECT_EQ(Phase("a"), "Running");
}

// Flaw 26: a container without an object was killed when it was 10 s old.
TEST_F(SandboxLifecycleTest, AnOrphanIsDeletedAfterTheApiServerHasNotHadItTwice) {
  CreatePool("pool", 1);
  const std::string pod = Pods()[0];
  agents_.agents[pod].list["stray-uid-1"] = {.sandbox_id = "stray-uid-1",
                                             .claim_uid = {},
                                             .phase = cloud::AgentPhase::kRunning,
                                             .created_at = std::nullopt};
  Advance(10s);
  EXPECT_EQ(Counts().draining, 1u);
  Advance(18s);
  EXPECT_TRUE(agents_.agents[pod].list.contains("stray-uid-1"));
  EXPECT_TRUE(Until([&] { return agents_.agents[pod].list.empty(); }, 60s));
  EXPECT_TRUE(Until([&] { return Counts().draining == 0; }));
}

TEST_F(SandboxLifecycleTest, AContainerOfASandboxIsNoOrphan) {
  CreatePool("pool", 1);
  Run("a");
  Advance(5min);
  EXPECT_EQ(agents_.deletes, 0);
  EXPECT_EQ(Phase("a"), "Running");
}

// A finalizer that a user takes off leaves a container that takes a slot until it is gone.
TEST_F(SandboxLifecycleTest, TheContainerOfAnObjectThatWasForcedAwayIsAnOrphan) {
  CreatePool("pool", 1, 1);
  Run("a");
  agents_.agents[Pod("a")].hung = true;
  Advance(15s);
  const std::string pod = Pod("a");
  Delete("a");
  Merge(SandboxPath("a"), R"({"metadata":{"finalizers":[]}})");
  agents_.agents[pod].hung = false;
  Advance(10s);
  EXPECT_EQ(Counts().draining, 1u);
  EXPECT_TRUE(Until([&] { return agents_.Running().empty(); }, 2min));
  EXPECT_TRUE(Until([&] { return Counts().free == 1; }));
}

TEST_F(SandboxLifecycleTest, AFinalizerThatAUserTakesOffIsPutBack) {
  CreatePool("pool", 1);
  Run("a");
  Merge(SandboxPath("a"), R"({"metadata":{"finalizers":[]}})");
  Advance(1s);
  EXPECT_TRUE(Read("a").id.finalizer);
}

TEST_F(SandboxLifecycleTest, NothingIsRememberedOfWhatIsGone) {
  CreatePool("pool", 1);
  Run("a");
  Delete("a");
  ASSERT_TRUE(Until([&] { return !Exists(SandboxPath("a")); }));
  Send(kube::Method::kDelete, PathOf("sandboxpools", "pool"));
  Advance(5min);
  EXPECT_EQ(system_->Remembered(), 0u);
}

}  // namespace
}  // namespace berth::sandbox
