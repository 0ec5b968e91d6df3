// Faults at inconvenient moments: answers, writes, keys and users that cross each other.
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

constexpr const char* kPool = R"("minPoolSize":2,"maxPoolSize":5)";

class EniFaultsTest : public EniSystemTest {
 protected:
  std::size_t AddressesInStatus(const std::string& name) {
    std::size_t count = 0;
    const Json object = Get(name);
    for (const auto& nic : object["status"]["networkInterfaces"].object_range())
      count += nic.value()["ipv4"].size();
    return count;
  }
  std::size_t AddressesInCloud() {
    std::size_t count = 0;
    for (const auto& [id, status] : Own()) count += ecs().Find(id)->ipv4.size();
    return count;
  }
};

TEST_F(EniFaultsTest, AnAnswerThatComesWhileTheStatusIsWrittenIsNotLost) {
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  bool slow = false;
  script_.on_call = [&](const std::string& action, auto& fate) {
    if (action != "AssignPrivateIpAddresses") return;
    fate.back = 5s;
    slow = true;
  };
  transport_.holds_up = [&](const kube::Request& request) {
    return slow && request.path.contains("/nodes/worker-1/status") ? 4s : 0s;
  };
  for (const char* pod : {"a", "b"}) CreatePod(pod, "worker-1");
  executor_.Advance(3s);
  ASSERT_TRUE(slow);
  CreatePod("c", "worker-1");  // its condition is being written when the addresses come
  executor_.Advance(1min);
  transport_.holds_up = {};
  executor_.Advance(1min);
  EXPECT_THAT(Bindings("worker-1"), SizeIs(3));
  EXPECT_EQ(AddressesInStatus("worker-1"), AddressesInCloud());
}

TEST_F(EniFaultsTest, ReadyIsFalseWhileAnEniThatPodsUseCannotBeAttachedAgain) {
  CreateNode("worker-1", "i-1", kPool);
  CreatePod("a", "worker-1");
  executor_.Advance(1min);
  ASSERT_THAT(Condition("worker-1"), StartsWith("True Ready"));
  const auto bindings = Bindings("worker-1");
  script_.on_call = [](const std::string& action, auto& fate) {
    if (action != "AttachNetworkInterface") return;
    fate.refusal = cloud::simulator::Refusal{403, "InvalidOperation.EniServiceManaged", "No."};
    fate.carried_out = false;
  };
  const std::string eni = Own().begin()->first;
  ecs().SetStatus(eni, "Available");
  ForceSync("worker-1");
  executor_.Advance(2min);
  EXPECT_EQ(Bindings("worker-1"), bindings);
  EXPECT_THAT(Nics("worker-1"), testing::Contains(Pair(eni, "Attaching")));
  EXPECT_THAT(Condition("worker-1"), AllOf(StartsWith("False AttachFailed"), HasSubstr(eni),
                                           HasSubstr("InvalidOperation.EniServiceManaged")));
  script_.on_call = {};
  executor_.Advance(2min);
  EXPECT_THAT(Condition("worker-1"), StartsWith("True Ready"));
  EXPECT_EQ(Bindings("worker-1"), bindings);
}

TEST_F(EniFaultsTest, AnAttemptWithTheKeyOfAnotherAccountIsGivenUpAndItsEniCollected) {
  script_.on_call = [](const std::string& action, auto& fate) {
    if (action == "CreateNetworkInterface") fate.answered = false;
  };
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(5s);
  ASSERT_THAT(Own(), SizeIs(1));
  ASSERT_THAT(Get("worker-1")["status"]["attempts"], SizeIs(1));
  script_.on_call = {};
  account_.ChangeKey("LTAI-other", "6543210987654321");
  Boot();
  executor_.Advance(10min);
  EXPECT_THAT(Get("worker-1")["status"]["attempts"], IsEmpty());
  EXPECT_THAT(Condition("worker-1"), StartsWith("False InsufficientIP"));
  account_.credentials.now =
      cloud::aliyun::Credential{cloud::TestAccount::kKeyId, cloud::TestAccount::kSecret, ""};
  executor_.Advance(15min);
  EXPECT_THAT(Condition("worker-1"), StartsWith("True Ready"));
  EXPECT_THAT(Own(), AllOf(SizeIs(1), Each(Pair(testing::_, "InUse"))));
}

TEST_F(EniFaultsTest, AnAttachWithdrawnWhileTheStatusIsWrittenIsNotSubmittedAgain) {
  script_.on_call = [](const std::string& action, auto& fate) {
    if (action != "AttachNetworkInterface") return;
    fate.refusal = cloud::simulator::Throttled();
    fate.carried_out = false;
  };
  CreateNode("worker-1", "i-1", R"("minPoolSize":1,"maxPoolSize":1)");
  for (int i = 0; i < 200 && Nics("worker-1").empty(); ++i) executor_.Advance(100ms);
  const std::string eni = Nics("worker-1").begin()->first;
  transport_.holds_up = [](const kube::Request& request) {
    return request.path.contains("/nodes/worker-1/status") ? 2s : 0s;
  };
  CreatePod("a", "worker-1");
  executor_.Advance(1s);
  ASSERT_EQ(system_->tasks()->Withdraw(eni), Withdrawal::kWithdrawn);
  for (int i = 0; i < 80; ++i) {
    executor_.Advance(250ms);
    const Task* task = system_->tasks()->queue().Find(eni);
    EXPECT_FALSE(task && task->operation == Operation::kAttach) << i;
  }
  transport_.holds_up = {};
  EXPECT_THAT(Own(), testing::Not(testing::Contains(Pair(eni, testing::_)))) << "it is given up";
}

TEST_F(EniFaultsTest, AnEniThatPodsUseIsAttachedThoughAUserWithdrawsThat) {
  CreateNode("worker-1", "i-1", kPool);
  CreatePod("a", "worker-1");
  executor_.Advance(1min);
  const std::string eni = Own().begin()->first;
  script_.on_call = [](const std::string& action, auto& fate) {
    if (action != "AttachNetworkInterface") return;
    fate.refusal = cloud::simulator::Throttled();
    fate.carried_out = false;
  };
  ecs().SetStatus(eni, "Available");
  ForceSync("worker-1");
  executor_.Advance(20s);
  EXPECT_EQ(system_->tasks()->Withdraw(eni), Withdrawal::kNeeded);
  script_.on_call = {};
  executor_.Advance(2min);
  EXPECT_THAT(Nics("worker-1"), testing::Contains(Pair(eni, "InUse")));
}

// Each pass that could not be written would have doubled the pause.
TEST_F(EniFaultsTest, AFailedAttachIsCountedOnceHoweverOftenItsStatusIsWritten) {
  script_.on_call = [this](const std::string& action, auto& fate) {
    if (action != "AttachNetworkInterface") return;
    fate.refusal =
        cloud::simulator::Refusal{400, "InvalidOperation.AvailabilityZoneMismatch", "No."};
    fate.carried_out = false;
    transport_.refuses = [](const kube::Request& request) {
      return request.path.contains("/nodes/worker-1/status");
    };
  };
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(2min);
  transport_.refuses = {};
  script_.on_call = {};
  executor_.Advance(2min);
  EXPECT_THAT(Condition("worker-1"), StartsWith("True Ready"));
}

TEST_F(EniFaultsTest, FlawTheEndOfATaskIsKeptUntilTheStatusHasIt) {
  CreateNode("worker-1", "i-1", kPool);
  for (int i = 0; i < 200 && Nics("worker-1").empty(); ++i) executor_.Advance(100ms);
  ASSERT_THAT(Nics("worker-1"), Each(Pair(testing::_, "Attaching")));
  transport_.refuses = [](const kube::Request& request) {
    return request.path.contains("/nodes/worker-1/status");
  };
  executor_.Advance(1min);
  ASSERT_THAT(Own(), Each(Pair(testing::_, "InUse")));
  EXPECT_EQ(system_->tasks()->queue().size(), 1u) << "its end is not written down";
  script_.calls.clear();
  transport_.refuses = {};
  executor_.Advance(30s);
  EXPECT_THAT(Nics("worker-1"), AllOf(SizeIs(1), Each(Pair(testing::_, "InUse"))));
  EXPECT_EQ(system_->tasks()->queue().size(), 0u);
  EXPECT_EQ(script_.calls["AttachNetworkInterface"], 0);
}

TEST_F(EniFaultsTest, FlawANewLeaderCountsTheAddressesOfEnisThatAreBeingAttached) {
  CreateNode("worker-1", "i-1", R"("minPoolSize":8,"maxPoolSize":8)");
  for (int i = 0; i < 200 && Nics("worker-1").empty(); ++i) executor_.Advance(100ms);
  ASSERT_THAT(Nics("worker-1"), Each(Pair(testing::_, "Attaching")));
  Boot();
  executor_.Advance(3min);
  EXPECT_THAT(Own(), SizeIs(1));
  EXPECT_EQ(AddressesInCloud(), 8u);
}

TEST_F(EniFaultsTest, FlawARefusalBacksOffAndTheSameRefusalIsNoNews) {
  script_.on_call = [](const std::string& action, auto& fate) {
    if (action != "CreateNetworkInterface") return;
    fate.refusal = cloud::simulator::Refusal{403, "SecurityGroupInstanceLimitExceed", "No."};
    fate.carried_out = false;
  };
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(10min);
  EXPECT_THAT(Condition("worker-1"), AllOf(StartsWith("False CloudRefused"),
                                           HasSubstr("SecurityGroupInstanceLimitExceed")));
  script_.calls.clear();
  executor_.Advance(30min);
  EXPECT_LE(script_.calls["CreateNetworkInterface"], 16) << "every two minutes";
  EXPECT_GE(script_.calls["CreateNetworkInterface"], 10);
}

TEST_F(EniFaultsTest, FlawTasksThatEndTogetherAllReachTheStatus) {
  for (int i = 0; i < 60; ++i) {
    ecs().CreateInstance({.id = Format("i-many-{}", i), .vswitch_id = "vsw-1"});
    CreateNode(Format("many-{}", i), Format("i-many-{}", i), kPool);
  }
  executor_.Advance(2min);
  for (int i = 0; i < 60; ++i)
    EXPECT_THAT(Nics(Format("many-{}", i)), AllOf(SizeIs(1), Each(Pair(testing::_, "InUse")))) << i;
  EXPECT_EQ(system_->tasks()->queue().size(), 0u);
}

// A list without the instance, which came once, is not believed for twelve hours.
TEST_F(EniFaultsTest, AnInstanceThatAListLackedOnceIsLookedForAgain) {
  script_.on_call = [lost = 1](const std::string& action, auto& fate) mutable {
    if (action == "DescribeNetworkInterfaces" && lost-- > 0) fate.empty_list = true;
  };
  CreateNode("worker-1", "i-1", R"("minPoolSize":0,"maxPoolSize":5)");
  executor_.Advance(10s);
  EXPECT_THAT(Condition("worker-1"), StartsWith("False InstanceNotFound"));
  executor_.Advance(10min);
  EXPECT_THAT(Condition("worker-1"), StartsWith("True Ready"));
}

// The job that failed is not wanted any more: nothing else would show that the cloud is well.
TEST_F(EniFaultsTest, AFailureIsToldNoLongerThanTheCloudFails) {
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  script_.on_call = [](const std::string& action, auto& fate) {
    if (action != "AssignPrivateIpAddresses") return;
    fate.refusal = cloud::simulator::Refusal{403, "Forbidden.RAM", "No."};
    fate.carried_out = false;
  };
  for (const char* pod : {"a", "b"}) CreatePod(pod, "worker-1");
  executor_.Advance(1min);
  EXPECT_THAT(Condition("worker-1"), StartsWith("False CloudRefused"));
  for (const char* pod : {"a", "b"}) DeletePod(pod);
  executor_.Advance(10min);
  EXPECT_THAT(Condition("worker-1"), StartsWith("True Ready"));
}

TEST_F(EniFaultsTest, ADeletedNodeWhoseAccountIsRemovedFromItsStatusFindsItAgain) {
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  Delete("worker-1");
  executor_.Advance(1s);
  ASSERT_TRUE(Exists("worker-1"));
  Send(kube::Method::kPatch, Path("worker-1") + "/status", R"({"status":{"account":null}})",
       "application/merge-patch+json");
  executor_.Advance(5min);
  EXPECT_FALSE(Exists("worker-1"));
  EXPECT_THAT(Own(), IsEmpty());
}

TEST_F(EniFaultsTest, TheVSwitchesOfNodesThatAreGoneAreForgotten) {
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  EXPECT_GT(system_->Remembered(), 1u);
  Delete("worker-1");
  executor_.Advance(30min);
  EXPECT_EQ(system_->Remembered(), 0u);
}

// An ENI that EFLO could not make can be deleted, but not detached.
TEST_F(EniFaultsTest, AnEniOfALingjunNodeThatCouldNotBeMadeIsDeletedAndAnotherOneMade) {
  account_.cloud.eflo().CreateInstance({.id = "e01-1", .vswitch_id = "vsw-1"});
  account_.cloud.faults().Set({{.action = "CreateElasticNetworkInterface",
                                .kind = cloud::simulator::Fault::Kind::kFallsBack,
                                .code = {}}});
  CreateNode("lingjun", "e01-1", kPool);
  Merge("lingjun", R"({"metadata":{"labels":{"alibabacloud.com/lingjun-worker":"true"}}})");
  CreatePod("a", "lingjun");
  executor_.Advance(10min);
  EXPECT_THAT(Condition("lingjun"), StartsWith("True Ready"));
  EXPECT_THAT(Bindings("lingjun"), SizeIs(1));
  EXPECT_THAT(Nics("lingjun"), AllOf(SizeIs(1), Each(Pair(StartsWith("leni-"), "InUse"))));
  Delete("lingjun");
  executor_.Advance(10min);
  EXPECT_FALSE(Exists("lingjun"));
  for (const auto& [id, record] : account_.cloud.eflo().enis())
    EXPECT_EQ(record.eni.type, "Primary") << id;
}

// The refusal leads to a sync, which succeeds and shows nothing new.
TEST_F(EniFaultsTest, ACreateBeyondAQuotaThatNoListExplainsBacksOff) {
  script_.on_call = [](const std::string& action, auto& fate) {
    if (action != "CreateNetworkInterface") return;
    fate.refusal = cloud::simulator::Refusal{403, "EniPerInstanceLimitExceeded", "No."};
    fate.carried_out = false;
  };
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(10min);
  EXPECT_THAT(Condition("worker-1"),
              AllOf(StartsWith("False CloudRefused"), HasSubstr("EniPerInstanceLimitExceeded")));
  script_.calls.clear();
  executor_.Advance(30min);
  EXPECT_LE(script_.calls["CreateNetworkInterface"], 16) << "every two minutes";
}

TEST_F(EniFaultsTest, AnEniOfOthersThatCouldNotBeMadeIsNotLookedAtWithoutEnd) {
  auto& eflo = account_.cloud.eflo();
  eflo.CreateInstance({.id = "e01-1", .vswitch_id = "vsw-1"});
  account_.cloud.faults().Set({{.action = "CreateElasticNetworkInterface",
                                .kind = cloud::simulator::Fault::Kind::kFallsBack,
                                .code = {}}});
  ASSERT_TRUE(eflo.Do({.action = "CreateElasticNetworkInterface",
                       .caller = "others",
                       .account = cloud::simulator::kDefaultAccount,
                       .parameters = {{"RegionId", "cn-hangzhou"},
                                      {"NodeId", "e01-1"},
                                      {"ZoneId", "cn-hangzhou-h"},
                                      {"VSwitchId", "vsw-1"},
                                      {"SecurityGroupId", "sg-others"}},
                       .now = executor_.WallNow()}));
  executor_.Advance(1min);
  CreateNode("lingjun", "e01-1", kPool);
  Merge("lingjun", R"({"metadata":{"labels":{"alibabacloud.com/lingjun-worker":"true"}}})");
  executor_.Advance(5min);
  script_.calls.clear();
  executor_.Advance(10min);
  EXPECT_LE(script_.calls["ListElasticNetworkInterfaces"], 12) << "the collector's";
}

}  // namespace
}  // namespace berth::eni
