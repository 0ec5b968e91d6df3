#include "reconcile/eni/system_fixture_test.h"

namespace berth::eni {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(EniSystemTest, PodsOfANodeGetAddresses) {
  CreateNode("worker-1", "i-1", R"("minPoolSize":2,"maxPoolSize":5)");
  for (const char* pod : {"a", "b", "c"}) CreatePod(pod, "worker-1");
  executor_.Advance(1min);
  EXPECT_THAT(Condition("worker-1"), StartsWith("True Ready"));
  EXPECT_THAT(Bindings("worker-1"), SizeIs(3));
  EXPECT_THAT(Nics("worker-1"), AllOf(SizeIs(1), Each(Pair(testing::_, "InUse"))));
  EXPECT_THAT(Own(), AllOf(SizeIs(1), Each(Pair(testing::_, "InUse"))));
  EXPECT_TRUE(Get("worker-1")["status"]["attempts"].empty());
}

TEST_F(EniSystemTest, ADeletedNodeTakesItsEnisWithIt) {
  CreateNode("worker-1", "i-1", R"("minPoolSize":12,"maxPoolSize":20)");
  CreatePod("a", "worker-1");
  executor_.Advance(1min);
  ASSERT_THAT(Own(), SizeIs(2));
  Delete("worker-1");
  executor_.Advance(3s);
  EXPECT_THAT(Condition("worker-1"), StartsWith("False Deleting"));
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("worker-1"));
  EXPECT_THAT(Own(), IsEmpty());
  executor_.Advance(30min);
  EXPECT_EQ(system_->Remembered(), 0u);
}

TEST_F(EniSystemTest, ACreateWithoutAnAnswerIsRepeatedAndMakesOneEni) {
  script_.on_call = [lost = 2](const std::string& action, auto& fate) mutable {
    if (action == "CreateNetworkInterface" && lost-- > 0) fate.answered = false;
  };
  CreateNode("worker-1", "i-1", R"("minPoolSize":2,"maxPoolSize":5)");
  executor_.Advance(3min);
  EXPECT_THAT(Condition("worker-1"), StartsWith("True Ready"));
  EXPECT_THAT(Own(), SizeIs(1));
}

TEST_F(EniSystemTest, ALeaderThatCrashesAfterACreateLeavesNoEniBehind) {
  for (int at = 0; at < 40; ++at) {
    const std::string name = Format("worker-{}", at);
    CreateNode(name, "i-1", R"("minPoolSize":2,"maxPoolSize":5)");
    executor_.Advance(at * 200ms);
    Boot();
    executor_.Advance(2min);
    EXPECT_THAT(Condition(name), StartsWith("True Ready")) << at;
    EXPECT_THAT(Own(), SizeIs(1)) << at;
    Delete(name);
    executor_.Advance(2min);
    EXPECT_FALSE(Exists(name)) << at;
    ASSERT_THAT(Own(), IsEmpty()) << at;
  }
}

// It knows no vSwitch before it has asked for them, and no pod waits.
TEST_F(EniSystemTest, ANewLeaderFillsThePoolUpToItsMinimum) {
  CreateNode("worker-1", "i-1", R"("minPoolSize":2,"maxPoolSize":20)");
  executor_.Advance(1min);
  ASSERT_THAT(Own(), SizeIs(1));
  Boot();
  Merge("worker-1", R"({"spec":{"pool":{"minPoolSize":12}}})");
  executor_.Advance(1min);
  EXPECT_THAT(Nics("worker-1"), AllOf(SizeIs(2), Each(Pair(testing::_, "InUse"))));
}

TEST_F(EniSystemTest, AKeyOfAnotherAccountIsWaitedForAndNothingIsLost) {
  CreateNode("worker-1", "i-1", R"("minPoolSize":2,"maxPoolSize":5)");
  executor_.Advance(1min);
  account_.ChangeKey("LTAI-other", "6543210987654321");
  CreatePod("a", "worker-1");
  for (const char* pod : {"b", "c", "d", "e", "f", "g", "h", "i", "j", "k"})
    CreatePod(pod, "worker-1");
  executor_.Advance(5min);
  EXPECT_THAT(Condition("worker-1"),
              AllOf(StartsWith("False WrongAccount"), HasSubstr("6543210987654321")));
  EXPECT_THAT(Nics("worker-1"), SizeIs(1));
  Delete("worker-1");
  executor_.Advance(5min);
  EXPECT_TRUE(Exists("worker-1"));
  account_.credentials.now =
      cloud::aliyun::Credential{cloud::TestAccount::kKeyId, cloud::TestAccount::kSecret, ""};
  executor_.Advance(10min);
  EXPECT_FALSE(Exists("worker-1"));
  EXPECT_THAT(Own(), IsEmpty());
}

TEST_F(EniSystemTest, AnEniThatNoNodeNamesIsCollected) {
  CreateNode("worker-1", "i-1", R"("minPoolSize":2,"maxPoolSize":5)");
  executor_.Advance(1min);
  ASSERT_THAT(Own(), SizeIs(1));
  Delete("worker-1");
  Merge("worker-1", R"({"metadata":{"finalizers":[]}})");
  ASSERT_FALSE(Exists("worker-1"));
  ecs().SetStatus(Own().begin()->first, "Available");
  executor_.Advance(8min);
  EXPECT_THAT(Own(), SizeIs(1)) << "it may be only late";
  executor_.Advance(8min);
  EXPECT_THAT(Own(), IsEmpty());
}

}  // namespace
}  // namespace berth::eni
