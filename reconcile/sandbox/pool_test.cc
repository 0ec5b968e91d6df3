#include "reconcile/sandbox/system_fixture_test.h"

#include "reconcile/sandbox/agent_pod.h"
#include "reconcile/sandbox/scaling.h"

namespace berth::sandbox {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SandboxPoolTest : public SandboxTest {
 protected:
  Json Status() { return Get(PathOf("sandboxpools", "pool"))["status"]; }
  void TearDown() override { EXPECT_THAT(agents_.broken, IsEmpty()); }
};

TEST_F(SandboxPoolTest, HasPodsAsFastSandboxMakesThem) {
  CreatePool("pool", 1, 7);
  const Json pod = Get(PodPath(Pods()[0]));
  EXPECT_TRUE(pod["metadata"]["name"].as_string().starts_with("pool-agent-"));
  EXPECT_EQ(pod["metadata"]["labels"]["app"], "sandbox-agent");
  EXPECT_EQ(pod["metadata"]["labels"]["fast-sandbox.io/pool"], "pool");
  EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["controller"], true);
  const Json& agent = pod["spec"]["containers"][0];
  EXPECT_EQ(agent["securityContext"]["privileged"], true);
  std::vector<std::string> env;
  for (const Json& each : agent["env"].array_range()) env.push_back(each["name"].as_string());
  EXPECT_THAT(env, ElementsAre("NODE_NAME", "POD_NAME", "POD_IP", "POD_UID", "NAMESPACE",
                               "CPU_LIMIT", "MEMORY_LIMIT", "AGENT_CAPACITY", "RUNTIME_TYPE",
                               "RUNTIME_SOCKET", "INFRA_DIR_IN_POD"));
  EXPECT_EQ(agent["env"][7]["value"], "7");
  EXPECT_EQ(pod["spec"]["initContainers"][0]["name"], "infra-init");
}

TEST_F(SandboxPoolTest, GrowsWithItsSandboxesUpToItsLimit) {
  CreatePool("pool", 1, 2, "");
  Merge(PathOf("sandboxpools", "pool"), R"({"spec":{"capacity":{"poolMax":2}}})");
  for (const char* name : {"a", "b", "c", "d", "e"}) CreateSandbox(name);
  Advance(10s);
  EXPECT_THAT(Pods(), SizeIs(2));
  EXPECT_EQ(Counts().bound, 4u);
  EXPECT_EQ(Status()["busyAgents"], 2);
  EXPECT_EQ(Status()["readyPods"], 2);
}

// Flaw 20: busy pods were deleted.
TEST_F(SandboxPoolTest, ShrinksByIdlePodsOnly) {
  CreatePool("pool", 0, 1, "");
  Merge(PathOf("sandboxpools", "pool"), R"({"spec":{"capacity":{"poolMax":0}}})");
  for (const char* name : {"a", "b", "c"}) CreateSandbox(name);
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(WaitFor(name, "Running"));
  ASSERT_THAT(Pods(), SizeIs(3));
  const std::string pod_a = Pod("a");
  Delete("b");
  Delete("c");
  EXPECT_TRUE(Until([&] { return Pods() == std::vector{pod_a}; }));
  Advance(1min);
  EXPECT_EQ(Phase("a"), "Running");
}

// Flaw 21: Expired and Failed sandboxes counted as demand.
TEST_F(SandboxPoolTest, SandboxesThatDoNotRunNeedNoPods) {
  CreatePool("pool", 0, 1, "");
  Merge(PathOf("sandboxpools", "pool"), R"({"spec":{"capacity":{"poolMax":0}}})");
  CreateSandbox("a");
  ASSERT_TRUE(WaitFor("a", "Running"));
  agents_.Exit(Pod("a"), Read("a").status.sandbox_id);
  ASSERT_TRUE(WaitFor("a", "Failed"));
  EXPECT_TRUE(Until([&] { return Pods().empty(); }));
}

TEST_F(SandboxPoolTest, KeepsFreeSlotsForNewSandboxes) {
  CreatePool("pool", 0, 2, R"(,"bufferMin":3)");
  Merge(PathOf("sandboxpools", "pool"), R"({"spec":{"capacity":{"poolMax":0}}})");
  EXPECT_TRUE(Until([&] { return Pods().size() == 2; }));
  Advance(5s);
  EXPECT_EQ(Status()["freeSlots"], 4);
  EXPECT_EQ(Condition("pool", "Ready", "sandboxpools"), "True Ready");
}

TEST_F(SandboxPoolTest, ACreateWhoseAnswerIsLostMakesNoPodTooMany) {
  int lost = 0;
  transport_.fault = [&](const kube::Request& request) {
    const bool is_pod =
        request.method == kube::Method::kPost && request.path.ends_with("/namespaces/default/pods");
    return is_pod && lost++ == 0 ? WatchedApi::Fault::kAnswerLost : WatchedApi::Fault::kNone;
  };
  CreatePool("pool", 3);
  Advance(1min);
  EXPECT_THAT(Pods(), SizeIs(3));
}

TEST_F(SandboxPoolTest, OnlyPodsThatThePoolControlsAreAgents) {
  CreatePool("pool", 1, 1);
  Json copy = Get(PodPath(Pods()[0]));
  for (const char* member : {"uid", "resourceVersion", "creationTimestamp", "generateName"})
    copy["metadata"].erase(member);
  copy["metadata"]["name"] = "impostor";
  copy["metadata"].erase("ownerReferences");
  copy.erase("status");
  copy["spec"].erase("nodeName");
  ASSERT_EQ(Send(kube::Method::kPost, PodPath(), copy.to_string()).code, 201);
  Advance(10s);
  EXPECT_EQ(Counts().agents, 1u);
}

// A pod whose labels or owner a user takes off is not gone: what runs there must not run twice.
TEST_F(SandboxPoolTest, APodThatLosesItsOwnerIsNotGone) {
  CreatePool("pool", 2);
  CreateSandbox("a", "pool", R"(,"failurePolicy":"AutoRecreate","recoveryTimeoutSeconds":1)");
  ASSERT_TRUE(WaitFor("a", "Running"));
  Merge(PodPath(Pod("a")), R"({"metadata":{"ownerReferences":null,"labels":null}})");
  Advance(2min);
  EXPECT_EQ(Read("a").status.attempt, 1);
  EXPECT_THAT(agents_.Running(), SizeIs(1));
}

TEST_F(SandboxPoolTest, StatusIsNotWrittenWhenNothingHasChanged) {
  CreatePool("pool", 2);
  CreateSandbox("a");
  ASSERT_TRUE(WaitFor("a", "Running"));
  Advance(10s);
  transport_.writes.clear();
  Advance(20min);
  EXPECT_THAT(transport_.writes, IsEmpty());
}

Pool MakePool(int min, int max, int slots, int buffer_min = 0, int buffer_max = 0) {
  return {.pool_min = min,
          .pool_max = max,
          .buffer_min = buffer_min,
          .buffer_max = buffer_max,
          .slots_per_pod = slots};
}

std::vector<PoolPod> MakePods(const std::vector<std::size_t>& taken, int capacity) {
  std::vector<PoolPod> pods;
  pods.reserve(taken.size());
  for (const std::size_t slots : taken) {
    const std::string uid = Format("u{}", pods.size());
    pods.push_back(
        {.pod_uid = uid, .name = uid, .open = true, .slots = slots, .capacity = capacity});
  }
  return pods;
}

TEST(SandboxScalingTest, DesiredPodsAreWhatTheDemandNeedsWithinLimits) {
  EXPECT_EQ(DesiredPods(MakePool(0, 0, 5), {}), 0u);
  EXPECT_EQ(DesiredPods(MakePool(0, 0, 5), {.active = 5, .pending = 1}), 2u);
  EXPECT_EQ(DesiredPods(MakePool(0, 0, 5, 5), {.active = 1}), 2u);
  EXPECT_EQ(DesiredPods(MakePool(3, 0, 5), {.active = 1}), 3u);
  EXPECT_EQ(DesiredPods(MakePool(0, 2, 5), {.active = 50}), 2u);
}

TEST(SandboxScalingTest, PodsThatAreExpectedAreNotCreatedAgain) {
  EXPECT_EQ(Scale(MakePool(3, 0, 5), {}, MakePods({0}, 5), 1).create, 1u);
}

TEST(SandboxScalingTest, PodsThatGetNothingNewAreReplacedWithinTheLimit) {
  auto pods = MakePods({1, 0}, 5);
  pods[0].usable = false;
  EXPECT_EQ(Scale(MakePool(2, 0, 5), {}, pods, 0).create, 1u);
  EXPECT_EQ(Scale(MakePool(2, 2, 5), {}, pods, 0).create, 0u);
}

// Flaw 21: bufferMax was ignored.
TEST(SandboxScalingTest, FreeSlotsUpToBufferMaxStay) {
  const Demand demand{.active = 1};
  EXPECT_THAT(Scale(MakePool(0, 0, 5, 0, 10), demand, MakePods({1, 0, 0}, 5), 0).remove, SizeIs(1));
  EXPECT_THAT(Scale(MakePool(0, 0, 5), demand, MakePods({1, 0, 0}, 5), 0).remove, SizeIs(2));
  EXPECT_THAT(Scale(MakePool(0, 0, 5, 0, 14), demand, MakePods({1, 0, 0}, 5), 0).remove, IsEmpty());
}

}  // namespace
}  // namespace berth::sandbox
