#include "reconcile/sandbox/system_fixture_test.h"

// Annotations, takeovers and crashes: one assignment for a sandbox, whatever happens.
namespace berth::sandbox {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class SandboxAllocationTest : public SandboxTest {
 protected:
  static std::string Annotated(const std::string& text) {
    return Format(R"(,"annotations":{{"sandbox.fast.io/allocation":{}}})", Json(text).to_string());
  }
  void TearDown() override { EXPECT_THAT(agents_.broken, IsEmpty()); }
};

// Flaw 4: whoever wrote an annotation chose the agent.
TEST_F(SandboxAllocationTest, AForgedAnnotationChangesNothing) {
  CreatePool("pool", 1, 1);
  const std::string genuine = Stamp("a");
  Json forged = Json::parse(genuine);
  forged["assignedPod"] = "elsewhere";
  CreateSandbox("b", "pool", "", Annotated(forged.to_string()));
  Advance(3s);
  EXPECT_EQ(Phase("b"), "Pending");  // the slot is a's
  EXPECT_FALSE(Read("b").allocation);
  EXPECT_THAT(Events(), Contains("ForgedAllocation"));
  EXPECT_TRUE(WaitFor("b", "Running", 20s));  // once the reservation is over
}

TEST_F(SandboxAllocationTest, ACorruptAnnotationIsRemovedAndTheSandboxAssigned) {
  CreatePool("pool", 1);
  for (const char* text : {"", "{", R"({"assignedPod":"x"})"}) {
    CreateSandbox("a", "pool", "", Annotated(text));
    EXPECT_TRUE(WaitFor("a", "Running")) << text;
    EXPECT_FALSE(Read("a").allocation);
    EXPECT_EQ(Read("a").status.attempt, 1);
    Delete("a");
    ASSERT_TRUE(Until([&] { return !Exists(SandboxPath("a")); }));
  }
  EXPECT_THAT(Events(), Contains("CorruptAllocation"));
}

// Flaw 2: Fast's object was lost, and its slot with it.
TEST_F(SandboxAllocationTest, AReservationWhoseObjectNeverComesEndsWithItsTime) {
  CreatePool("pool", 1, 1);
  ASSERT_NE(Stamp("a"), "");
  EXPECT_EQ(Counts().reserved, 1u);
  EXPECT_EQ(Stamp("b"), "");
  Advance(16s);
  EXPECT_EQ(Counts().reserved, 0u);
  EXPECT_EQ(Counts().free, 1u);
}

TEST_F(SandboxAllocationTest, AReviewThatIsSentTwiceReservesOnce) {
  CreatePool("pool", 1, 2);
  EXPECT_EQ(Stamp("a"), Stamp("a"));
  EXPECT_EQ(Counts().reserved, 1u);
}

TEST_F(SandboxAllocationTest, AReservationThatIsWithdrawnIsFree) {
  CreatePool("pool", 1, 1);
  system_->Withdraw(Stamp("a"));
  EXPECT_EQ(Counts().reserved, 0u);
}

TEST_F(SandboxAllocationTest, AnObjectThatComesLateIsAssignedAnew) {
  CreatePool("pool", 1, 1);
  const std::string stamp = Stamp("a");
  Advance(16s);
  CreateSandbox("b");
  ASSERT_TRUE(WaitFor("b", "Running"));
  CreateSandbox("a", "pool", "", Annotated(stamp));
  Advance(2s);
  EXPECT_EQ(Condition("a"), "False NoCapacity");
  EXPECT_FALSE(Read("a").allocation);
  Delete("b");
  EXPECT_TRUE(WaitFor("a", "Running"));
}

TEST_F(SandboxAllocationTest, AnAnnotationThatWasCopiedBindsOneSandbox) {
  CreatePool("pool", 1, 2);
  const std::string stamp = Stamp("a");
  CreateSandbox("a", "pool", "", Annotated(stamp));
  ASSERT_TRUE(WaitFor("a", "Running"));
  CreateSandbox("b", "pool", "", Annotated(stamp));
  ASSERT_TRUE(WaitFor("b", "Running"));
  EXPECT_NE(Read("a").status.allocation_id, Read("b").status.allocation_id);
  EXPECT_THAT(Events(), Contains("ForgedAllocation"));
}

// Flaw 27 of v2: an annotation without a status let the finalizer go without the agent.
TEST_F(SandboxAllocationTest, ASandboxThatIsDeletedBeforeItIsBoundGivesItsReservationBack) {
  CreatePool("pool", 1, 1);
  transport_.fault = [](const kube::Request& request) {
    return request.path.contains("/sandboxes/a/status") ? WatchedApi::Fault::kRefused
                                                        : WatchedApi::Fault::kNone;
  };
  CreateStamped("a");
  Advance(2s);
  Delete("a");
  EXPECT_TRUE(Until([&] { return !Exists(SandboxPath("a")); }));
  EXPECT_TRUE(Until([&] { return Counts().free == 1; }));
  EXPECT_EQ(agents_.creates, 0);
}

TEST_F(SandboxAllocationTest, AStatusWhoseAnswerIsLostIsNotWrittenTwice) {
  CreatePool("pool", 2);
  int lost = 0;
  transport_.fault = [&](const kube::Request& request) {
    const bool is_status = request.path.contains("/sandboxes/a/status");
    return is_status && lost++ < 2 ? WatchedApi::Fault::kAnswerLost : WatchedApi::Fault::kNone;
  };
  CreateStamped("a");
  ASSERT_TRUE(WaitFor("a", "Running"));
  EXPECT_EQ(Read("a").status.attempt, 1);
  EXPECT_THAT(agents_.Running(), SizeIs(1));
}

// The annotation's removal failed, and the sandbox was reset: it must not be believed again.
TEST_F(SandboxAllocationTest, AnAnnotationThatCouldNotBeRemovedBindsNothingLater) {
  CreatePool("pool", 2);
  bool refuses = true;
  transport_.fault = [&](const kube::Request& request) {
    const bool is_annotation =
        request.path.contains("/sandboxes/a") && !request.path.contains("/status");
    return refuses && is_annotation ? WatchedApi::Fault::kRefused : WatchedApi::Fault::kNone;
  };
  CreateStamped("a");
  ASSERT_TRUE(WaitFor("a", "Bound"));
  EXPECT_TRUE(Read("a").allocation);
  const std::string pod = Pod("a");
  refuses = false;
  ASSERT_TRUE(WaitFor("a", "Running"));
  EXPECT_EQ(Pod("a"), pod);
  EXPECT_EQ(Read("a").status.attempt, 1);
  EXPECT_FALSE(Read("a").allocation);
}

// Crash after every write on the way to Running and back, and a new leader each time.
TEST_F(SandboxAllocationTest, ACrashAfterAnyWriteLeavesOneAttempt) {
  CreatePool("pool", 2, 2);
  for (int crash_after = 1; crash_after <= 6; ++crash_after) {
    const std::string name = Format("s{}", crash_after);
    CreateStamped(name);
    int writes = 0;
    bool over = false;
    transport_.fault = [&](const kube::Request& request) {
      if (!request.path.contains("/sandboxes/" + name) || over) return WatchedApi::Fault::kNone;
      return ++writes >= crash_after ? WatchedApi::Fault::kRefused : WatchedApi::Fault::kNone;
    };
    Advance(2s);
    over = true;
    Boot();
    ASSERT_TRUE(WaitFor(name, "Running")) << crash_after;
    EXPECT_EQ(Read(name).status.attempt, 1) << crash_after;
    EXPECT_EQ(Counts().bound, 1u);
    EXPECT_THAT(agents_.Running(), SizeIs(1));
    writes = 0;
    over = false;
    Delete(name);
    Advance(2s);
    over = true;
    Boot();
    ASSERT_TRUE(Until([&] { return !Exists(SandboxPath(name)); })) << crash_after;
    EXPECT_THAT(agents_.Running(), IsEmpty());
    EXPECT_EQ(Counts().bound + Counts().draining, 0u);
    transport_.fault = [](const kube::Request&) { return WatchedApi::Fault::kNone; };
  }
}

TEST_F(SandboxAllocationTest, ANewLeaderHasTheSlotsOfTheOneBeforeButForReservations) {
  CreatePool("pool", 2, 3);
  CreateStamped("a");
  CreateSandbox("b", "pool", R"(,"exposedPorts":[80])");
  CreateSandbox("c", "pool", R"(,"exposedPorts":[80])");
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(WaitFor(name, "Running"));
  agents_.stop_time = 10min;
  Delete("b");
  Advance(3s);
  const SlotCounts before = Counts();
  Stamp("d");
  Boot();
  Advance(3s);
  EXPECT_EQ(Counts(), before);
  EXPECT_EQ(Stamp("e", "pool", R"(,"exposedPorts":[80])"), "");  // both agents have it
}

TEST_F(SandboxAllocationTest, AReservationOfTheLeaderBeforeIsBoundByTheNextOne) {
  CreatePool("pool", 2, 1);
  const std::string stamp = Stamp("a");
  Crash();
  CreateSandbox("a", "pool", "", R"(,"finalizers":["sandbox.fast.io/cleanup"])" + Annotated(stamp));
  Advance(100ms);
  leadership_ = nullptr;
  // The lease runs out before the stamp does not: the next leader assigns it anew, or binds it.
  Boot();
  ASSERT_TRUE(WaitFor("a", "Running"));
  EXPECT_EQ(Read("a").status.attempt, 1);
  EXPECT_FALSE(Read("a").allocation);
}

// Flaw 22: a sandbox of another namespace, or of none, was given this one's agents.
TEST_F(SandboxAllocationTest, APoolServesItsOwnNamespace) {
  CreatePool("pool", 1);
  CreateSandbox("a", "pool", "", "", "other");
  Advance(5s);
  const Json object = Get(PathOf("sandboxes", "a", "other"));
  EXPECT_EQ(object["status"]["phase"], "Pending");
  EXPECT_EQ(object["status"]["conditions"][0]["reason"], "PoolNotFound");
  CreatePool("pool", 1, 5, "", "other");
  EXPECT_TRUE(Until(
      [&] { return Get(PathOf("sandboxes", "a", "other"))["status"]["phase"] == "Running"; }));
}

// fast-sandbox's e2e test of port mutual exclusion.
TEST_F(SandboxAllocationTest, SandboxesWithTheSamePortAreOnDifferentPods) {
  CreatePool("pool", 2);
  for (const char* name : {"a", "b", "c"}) CreateSandbox(name, "pool", R"(,"exposedPorts":[8080])");
  Advance(5s);
  std::vector<std::string> running;
  for (const char* name : {"a", "b", "c"}) {
    if (Phase(name) == "Running") running.emplace_back(name);
    if (Phase(name) == "Pending") {
      EXPECT_EQ(Condition(name), "False PortConflict");
    }
  }
  ASSERT_THAT(running, SizeIs(2));
  EXPECT_NE(Pod(running[0]), Pod(running[1]));
  Delete(running[0]);
  EXPECT_TRUE(Until([&] {
    return std::ranges::count_if(std::vector<std::string>{"a", "b", "c"}, [&](const auto& name) {
             return name != running[0] && Phase(name) == "Running";
           }) == 2;
  }));
}

TEST_F(SandboxAllocationTest, ABurstOfSandboxesIsAssignedWithExactAccounting) {
  CreatePool("pool", 6, 10);
  for (int i = 0; i < 80; ++i) CreateSandbox(Format("s{}", i));
  Advance(10s);
  EXPECT_EQ(Counts().bound, 60u);
  EXPECT_EQ(Counts().free, 0u);
  EXPECT_THAT(agents_.Running(), SizeIs(60));
  for (int i = 0; i < 40; ++i) Delete(Format("s{}", i));
  Advance(30s);
  EXPECT_EQ(Counts().bound, 40u);
  EXPECT_THAT(agents_.Running(), SizeIs(40));
}

}  // namespace
}  // namespace berth::sandbox
