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

TEST_F(EniSystemTest, OfTwoNodesWithOneInstanceTheOlderHasIt) {
  CreateNode("worker-1", "i-1", R"("minPoolSize":2,"maxPoolSize":5)");
  CreatePod("a", "worker-1");
  executor_.Advance(1min);
  const auto bindings = Bindings("worker-1");
  ASSERT_THAT(bindings, SizeIs(1));
  CreateNode("rival", "i-1", R"("minPoolSize":0,"maxPoolSize":0)");
  executor_.Advance(10min);
  EXPECT_THAT(Condition("rival"), AllOf(StartsWith("False InstanceTaken"), HasSubstr("worker-1")));
  Delete("rival");
  executor_.Advance(2min);
  EXPECT_FALSE(Exists("rival"));
  EXPECT_EQ(Bindings("worker-1"), bindings);
  EXPECT_THAT(Own(), Each(Pair(testing::_, "InUse")));
}

TEST_F(EniSystemTest, NothingIsMadeForAnInstanceThatTheAccountDoesNotHave) {
  CreateNode("worker-1", "i-gone", R"("minPoolSize":2,"maxPoolSize":5)");
  executor_.Advance(1h);
  EXPECT_THAT(Condition("worker-1"),
              AllOf(StartsWith("False InstanceNotFound"), HasSubstr("i-gone")));
  EXPECT_EQ(script_.calls["CreateNetworkInterface"], 0);
  EXPECT_LT(script_.calls["DescribeNetworkInterfaces"], 200);
}

TEST_F(EniSystemTest, FlawAStatusThatCannotBeWrittenStrandsNoEni) {
  script_.on_call = [this](const std::string& action, auto&) {
    if (action != "CreateNetworkInterface" || transport_.refuses) return;
    transport_.refuses = [](const kube::Request& request) {
      return request.path.contains("/nodes/worker-1/status");
    };
  };
  CreateNode("worker-1", "i-1", R"("minPoolSize":2,"maxPoolSize":5)");
  executor_.Advance(2min);
  ASSERT_THAT(Own(), SizeIs(1));
  EXPECT_THAT(Nics("worker-1"), IsEmpty());
  transport_.refuses = [](const kube::Request&) { return false; };
  executor_.Advance(1min);
  EXPECT_THAT(Nics("worker-1"), SizeIs(1));
  EXPECT_THAT(Own(), AllOf(SizeIs(1), Each(Pair(testing::_, "InUse"))));
}

TEST_F(EniSystemTest, FlawANodeThatIsAddedAgainUnderItsNameGetsAddresses) {
  for (int i = 0; i < 3; ++i) {
    CreateNode("worker-1", "i-1", R"("minPoolSize":2,"maxPoolSize":5)");
    executor_.Advance(i * 4s);
    Delete("worker-1");
    executor_.Advance(2min);
    ASSERT_FALSE(Exists("worker-1")) << i;
  }
  CreateNode("worker-1", "i-1", R"("minPoolSize":2,"maxPoolSize":5)");
  executor_.Advance(1min);
  EXPECT_THAT(Condition("worker-1"), StartsWith("True Ready"));
  EXPECT_THAT(Own(), SizeIs(1));
}

TEST_F(EniSystemTest, FlawAReconcileDoesNotWaitForTheCloud) {
  CreateNode("worker-1", "i-1", R"("minPoolSize":2,"maxPoolSize":5)");
  CreateNode("worker-2", "i-2", R"("minPoolSize":2,"maxPoolSize":5)");
  executor_.Advance(1min);
  // A create without an answer, for as long as a call may take.
  script_.on_call = [](const std::string& action, auto& fate) {
    if (action == "AssignPrivateIpAddresses") fate.answered = false;
  };
  for (const char* pod : {"a", "b", "c"}) CreatePod(pod, "worker-1");
  executor_.Advance(2s);
  EXPECT_THAT(Bindings("worker-1"), SizeIs(2)) << "idle addresses are bound at once";
  DeletePod("a");
  executor_.Advance(1s);
  EXPECT_THAT(Bindings("worker-1"), SizeIs(2)) << "and that of a pod that is gone goes to another";
  EXPECT_FALSE(Bindings("worker-1").contains("default/a"));
}

TEST_F(EniSystemTest, ANewLeaderKeepsBindingsAndAsksForNothingThatIsKnown) {
  CreateNode("worker-1", "i-1", R"("minPoolSize":2,"maxPoolSize":5)");
  for (const char* pod : {"a", "b"}) CreatePod(pod, "worker-1");
  executor_.Advance(2min);
  const auto bindings = Bindings("worker-1");
  ASSERT_THAT(bindings, SizeIs(2));
  const std::string version = Get("worker-1")["metadata"]["resourceVersion"].as_string();
  script_.calls.clear();
  Boot();
  executor_.Advance(1min);
  EXPECT_EQ(Bindings("worker-1"), bindings);
  EXPECT_EQ(Get("worker-1")["metadata"]["resourceVersion"].as_string(), version);
  EXPECT_EQ(script_.calls["CreateNetworkInterface"] + script_.calls["AttachNetworkInterface"], 0);
}

}  // namespace
}  // namespace berth::eni
