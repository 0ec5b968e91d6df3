#include "reconcile/sandbox/objects.h"

#include <gmock/gmock.h>

namespace berth::sandbox {
namespace {

template <typename T>
T Parse(const char* text) {
  kube::JsonDocument document;
  return *T::From(*document.Parse(text));
}

TEST(SandboxObjectsTest, AnAgentIdIsAUidAndAnAttempt) {
  EXPECT_EQ(AgentIdOf("a-b", 12), "a-b-12");
  EXPECT_EQ(ParseAgentId("a-b-12"), std::pair(std::string("a-b"), std::int64_t{12}));
  for (const char* text : {"", "-1", "a", "a-", "a-0", "a-x", "a-1x", "a--1x"})
    EXPECT_FALSE(ParseAgentId(text)) << text;
}

TEST(SandboxObjectsTest, TheSpecHashIsOfWhatRunsAndWhere) {
  SandboxSpec spec{.image = "nginx", .pool = "pool"};
  const std::string hash = SpecHashOf(spec);
  SandboxSpec same = spec;
  same.recovery_seconds = 5;
  same.expires = async::WallTime();
  EXPECT_EQ(SpecHashOf(same), hash);
  SandboxSpec other = spec;
  other.ports = {80};
  EXPECT_NE(SpecHashOf(other), hash);
  SandboxSpec command = spec;
  command.command = {"ab"};
  SandboxSpec args = spec;
  args.command = {"a", "b"};
  EXPECT_NE(SpecHashOf(command), SpecHashOf(args));
}

// Objects of fast-sandbox have phases that Berth does not write.
TEST(SandboxObjectsTest, AnUnknownPhaseFollowsTheAssignment) {
  EXPECT_EQ(Parse<Sandbox>(R"({"status":{"phase":"Creating"}})").status.phase, Phase::kPending);
  EXPECT_EQ(Parse<Sandbox>(R"({"status":{"phase":"Creating","assignedPodUID":"u"}})").status.phase,
            Phase::kBound);
}

TEST(SandboxObjectsTest, APodIsAnAgentOfThePoolThatControlsIt) {
  const auto pod = Parse<Pod>(
      R"({"metadata":{"name":"x","uid":"u","ownerReferences":[{"apiVersion":)"
      R"("sandbox.fast.io/v1alpha1","kind":"SandboxPool","name":"p","uid":"pu",)"
      R"("controller":true}]},"spec":{"containers":[{"name":"agent","env":[{"name":)"
      R"("AGENT_CAPACITY","value":"7"}]}]},"status":{"phase":"Running","podIP":"10.0.0.1",)"
      R"("conditions":[{"type":"Ready","status":"True"}],)"
      R"("containerStatuses":[{"name":"agent","restartCount":2}]}})");
  EXPECT_EQ(pod.pool, "p");
  EXPECT_EQ(pod.pool_uid, "pu");
  EXPECT_EQ(pod.capacity, 7);
  EXPECT_EQ(pod.restarts, 2);
  EXPECT_TRUE(pod.ready);
  EXPECT_EQ(
      Parse<Pod>(R"({"metadata":{"ownerReferences":[{"apiVersion":"sandbox.fast.io/v1alpha1",)"
                 R"("kind":"SandboxPool","name":"p","uid":"pu"}]}})")
          .pool,
      "");
}

}  // namespace
}  // namespace berth::sandbox
