#include "reconcile/sandbox/system_fixture_test.h"

namespace berth::sandbox {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TEST_F(SandboxTest, ASandboxIsAssignedStartedAndDeleted) {
  CreatePool("pool", 2);
  ASSERT_THAT(Pods(), SizeIs(2));
  const std::string uid = CreateSandbox("a", "pool", R"(,"exposedPorts":[8080])");
  ASSERT_TRUE(WaitFor("a", "Running"));
  const Sandbox sandbox = Read("a");
  EXPECT_THAT(Pods(), Contains(sandbox.status.assigned_pod));
  EXPECT_EQ(sandbox.status.attempt, 1);
  EXPECT_EQ(sandbox.status.sandbox_id, uid + "-1");
  EXPECT_THAT(sandbox.status.endpoints, ElementsAre(testing::EndsWith(":8080")));
  EXPECT_TRUE(sandbox.id.finalizer);
  EXPECT_EQ(Condition("a"), "True Running");
  EXPECT_EQ(Condition("a", "Assigned"), "True Assigned");
  EXPECT_THAT(agents_.Running(), ElementsAre(uid + "-1"));
  EXPECT_EQ(Counts().bound, 1u);
  Delete("a");
  EXPECT_TRUE(Until([&] { return !Exists(SandboxPath("a")); }));
  EXPECT_THAT(agents_.Running(), IsEmpty());
  EXPECT_EQ(Counts().bound + Counts().draining, 0u);
  EXPECT_THAT(agents_.broken, IsEmpty());
}

TEST_F(SandboxTest, AStampedSandboxRunsAfterFourWrites) {
  CreatePool("pool", 1);
  Advance(5s);
  transport_.writes.clear();
  ASSERT_NE(Stamp("a"), "");
  EXPECT_EQ(Counts().reserved, 1u);
  CreateStamped("a");
  ASSERT_TRUE(WaitFor("a", "Running"));
  EXPECT_EQ(std::ranges::count_if(
                transport_.writes,
                [](const std::string& write) { return write.contains("/sandboxes/a"); }),
            3);  // beside the create
  EXPECT_FALSE(Read("a").allocation);
  EXPECT_THAT(Read("a").status.allocation_id, testing::StartsWith("r-"));
  EXPECT_EQ(Counts().reserved, 0u);
  EXPECT_EQ(Counts().bound, 1u);
}

}  // namespace
}  // namespace berth::sandbox
