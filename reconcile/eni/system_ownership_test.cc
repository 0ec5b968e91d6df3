// Owners of ENIs, and for how long: Nodes that share or change their instance, other clusters,
// tags of users, a key of another region.
#include "reconcile/eni/system_fixture_test.h"

namespace berth::eni {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kPool = R"("minPoolSize":2,"maxPoolSize":5)";

class EniOwnershipTest : public EniSystemTest {
 protected:
  // As by force, or a backup: nobody asks the finalizer.
  void Remove(const std::string& name) {
    Delete(name);
    Merge(name, R"({"metadata":{"finalizers":[]}})");
    ASSERT_FALSE(Exists(name));
  }
  void Tag(const std::string& eni, const std::string& key, const std::string& value) {
    cloud::Tags tags = ecs().Find(eni)->tags;
    tags[key] = value;
    ecs().SetTags(eni, tags);
  }
  Json NicOf(const std::string& name, const std::string& eni) {
    return Get(name)["status"]["networkInterfaces"].get_value_or<Json>(eni, Json::Object());
  }
  bool IsUnschedulable(const std::string& name, const std::string& eni) {
    return NicOf(name, eni).get_value_or<bool>("unschedulable", false);
  }
  // The instance of the ENI that has the address.
  std::string InstanceOf(const std::string& address) {
    for (const auto& [id, status] : Own()) {
      for (const auto& ip : ecs().Find(id)->ipv4) {
        if (ip.address == address) return ecs().Find(id)->instance_id;
      }
    }
    return "";
  }
};

TEST_F(EniOwnershipTest, ANodeThatDoesNotHaveItsInstanceTakesNoEniOfItAlong) {
  CreateNode("worker-1", "i-1", kPool);
  CreatePod("a", "worker-1");
  executor_.Advance(1min);
  Remove("worker-1");
  CreateNode("worker-1", "i-1", kPool);  // it takes over the ENI, which names the Node before
  executor_.Advance(1min);
  ASSERT_THAT(Bindings("worker-1"), SizeIs(1));
  CreateNode("copy", "i-1", kPool);
  executor_.Advance(1min);
  ASSERT_THAT(Condition("copy"), StartsWith("False InstanceTaken"));
  Delete("copy");
  executor_.Advance(5min);
  EXPECT_FALSE(Exists("copy"));
  EXPECT_THAT(Own(), AllOf(SizeIs(1), Each(Pair(testing::_, "InUse"))));
  EXPECT_EQ(script_.calls["DetachNetworkInterface"], 0);
}

TEST_F(EniOwnershipTest, AnEniOfAnotherClusterIsShownAndLeftAlone) {
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  const std::string eni = Own().begin()->first;
  Remove("worker-1");
  Tag(eni, std::string(kClusterTag), "another");
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  EXPECT_TRUE(IsUnschedulable("worker-1", eni));
  EXPECT_THAT(Own(), SizeIs(2)) << "the Node has one of its own";
  Delete("worker-1");
  executor_.Advance(5min);
  EXPECT_FALSE(Exists("worker-1"));
  EXPECT_THAT(Own(), AllOf(SizeIs(1), Contains(Pair(eni, "InUse"))));
}

TEST_F(EniOwnershipTest, AnEniThatIsExcludedWhileItIsDetachedIsNotDeleted) {
  CreateNode("worker-1", "i-1", R"("minPoolSize":12,"maxPoolSize":12)");
  executor_.Advance(1min);
  ASSERT_THAT(Own(), SizeIs(2));
  Merge("worker-1", R"({"spec":{"pool":{"minPoolSize":2,"maxPoolSize":2}}})");
  std::string going;
  for (int i = 0; i < 600 && going.empty(); ++i) {
    executor_.Advance(100ms);
    for (const auto& [id, status] : Own()) {
      if (status == "Detaching") going = id;
    }
  }
  ASSERT_FALSE(going.empty());
  Tag(going, std::string(kExcludedTag), "true");
  executor_.Advance(30min);
  EXPECT_THAT(Own(), Contains(Pair(going, "Available"))) << "the collector leaves it alone, too";
  EXPECT_EQ(script_.calls["DeleteNetworkInterface"], 0);
  EXPECT_THAT(Nics("worker-1"), Not(Contains(Pair(going, testing::_))));
}

TEST_F(EniOwnershipTest, AnExcludedEniStaysWhenItsNodeIsDeleted) {
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  const std::string eni = Own().begin()->first;
  Tag(eni, std::string(kExcludedTag), "true");
  Delete("worker-1");
  executor_.Advance(5min);
  EXPECT_FALSE(Exists("worker-1"));
  EXPECT_THAT(Own(), Contains(Pair(eni, "InUse")));
}

TEST_F(EniOwnershipTest, ANodeWithAnotherInstanceBindsNoAddressOfTheEarlierOne) {
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  ASSERT_THAT(Own(), SizeIs(1));
  Merge("worker-1", R"({"spec":{"nodeMetadata":{"instanceID":"i-2"}}})");
  CreatePod("a", "worker-1");
  for (int i = 0; i < 1200; ++i) {
    executor_.Advance(100ms);
    for (const auto& [pod, address] : Bindings("worker-1")) ASSERT_EQ(InstanceOf(address), "i-2");
  }
  EXPECT_THAT(Bindings("worker-1"), SizeIs(1));
  EXPECT_THAT(Condition("worker-1"), StartsWith("True Ready"));
  // No pod has an address of the one that is left on the instance of before.
  for (const auto& [id, status] : Own()) EXPECT_EQ(ecs().Find(id)->instance_id, "i-2");
}

TEST_F(EniOwnershipTest, ANewLeaderBindsNoAddressOfAnEarlierInstanceEither) {
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  system_.reset();
  Merge("worker-1", R"({"spec":{"nodeMetadata":{"instanceID":"i-2"}}})");
  CreatePod("a", "worker-1");
  Boot();
  for (int i = 0; i < 1200; ++i) {
    executor_.Advance(100ms);
    for (const auto& [pod, address] : Bindings("worker-1")) ASSERT_EQ(InstanceOf(address), "i-2");
  }
  EXPECT_THAT(Bindings("worker-1"), SizeIs(1));
}

TEST_F(EniOwnershipTest, ThePodsOfAnEarlierInstanceKeepTheirEni) {
  CreateNode("worker-1", "i-1", kPool);
  CreatePod("a", "worker-1");
  executor_.Advance(1min);
  const auto bindings = Bindings("worker-1");
  Merge("worker-1", R"({"spec":{"nodeMetadata":{"instanceID":"i-2"}}})");
  executor_.Advance(2min);
  EXPECT_EQ(Bindings("worker-1"), bindings);
  EXPECT_THAT(Own(), Each(Pair(testing::_, "InUse")));
  Merge("worker-1", R"({"spec":{"nodeMetadata":{"instanceID":"i-1"}}})");
  executor_.Advance(2min);
  EXPECT_EQ(Bindings("worker-1"), bindings);
  EXPECT_THAT(Condition("worker-1"), StartsWith("True Ready"));
}

TEST_F(EniOwnershipTest, AnAttachThatWaitsGoesToTheInstanceOfTheSpec) {
  std::vector<std::string> attached_to;
  script_.on_call = [](const std::string& action, auto& fate) {
    if (action != "AttachNetworkInterface") return;
    fate.refusal = cloud::simulator::Throttled();
    fate.carried_out = false;
  };
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(20s);
  ASSERT_THAT(Own(), SizeIs(1));
  const std::string eni = Own().begin()->first;
  Merge("worker-1", R"({"spec":{"nodeMetadata":{"instanceID":"i-2"}}})");
  script_.on_call = {};
  for (int i = 0; i < 1200; ++i) {
    executor_.Advance(100ms);
    Own();
    if (const auto* found = ecs().Find(eni)) {
      ASSERT_NE(found->instance_id, "i-1");
    }
  }
  EXPECT_THAT(Condition("worker-1"), StartsWith("True Ready"));
}

TEST_F(EniOwnershipTest, ABlockListTakesEffectAtOnce) {
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  const std::string eni = Own().begin()->first;
  Tag(eni, "blocked", "yes");
  Merge("worker-1", R"({"spec":{"eni":{"tagBlockList":[{"key":"blocked","value":"yes"}]}}})");
  executor_.Advance(10s);
  EXPECT_TRUE(IsUnschedulable("worker-1", eni));
}

TEST_F(EniOwnershipTest, AnEniOfOthersOnALingjunNodeIsShownAndLeftAlone) {
  auto& eflo = account_.cloud.eflo();
  eflo.CreateInstance({.id = "e01-1", .vswitch_id = "vsw-1"});
  const auto made = eflo.Do({.action = "CreateElasticNetworkInterface",
                             .caller = "others",
                             .account = cloud::simulator::kDefaultAccount,
                             .parameters = {{"RegionId", "cn-hangzhou"},
                                            {"NodeId", "e01-1"},
                                            {"ZoneId", "cn-hangzhou-h"},
                                            {"VSwitchId", "vsw-1"},
                                            {"SecurityGroupId", "sg-others"}},
                             .now = executor_.WallNow()});
  ASSERT_TRUE(made);
  const std::string theirs = (*made)["Content"]["ElasticNetworkInterfaceId"].as_string();
  executor_.Advance(1min);
  CreateNode("lingjun", "e01-1", R"("minPoolSize":0,"maxPoolSize":0)");
  Merge("lingjun", R"({"metadata":{"labels":{"alibabacloud.com/lingjun-worker":"true"}}})");
  CreatePod("a", "lingjun");
  executor_.Advance(3min);
  EXPECT_THAT(Bindings("lingjun"), SizeIs(1));
  EXPECT_TRUE(IsUnschedulable("lingjun", theirs));
  EXPECT_THAT(Nics("lingjun"), SizeIs(2)) << "it has one of its own, too";
  DeletePod("a");
  executor_.Advance(10min);
  Delete("lingjun");
  executor_.Advance(10min);
  EXPECT_FALSE(Exists("lingjun"));
  ASSERT_TRUE(eflo.Find(theirs));
  EXPECT_EQ(eflo.Find(theirs)->status, "InUse");
}

TEST_F(EniOwnershipTest, AnInternalErrorOfACreateMayHaveMadeAnEni) {
  script_.on_call = [](const std::string& action, auto& fate) {
    if (action == "CreateNetworkInterface") fate.refusal = cloud::simulator::InternalError();
  };
  CreateNode("worker-1", "i-1", kPool);
  for (int i = 0; i < 600 && Own().empty(); ++i) executor_.Advance(10ms);
  ASSERT_THAT(Own(), SizeIs(1));
  executor_.Advance(100ms);
  Delete("worker-1");
  for (int i = 0; i < 3000 && Exists("worker-1"); ++i) executor_.Advance(100ms);
  EXPECT_FALSE(Exists("worker-1"));
  EXPECT_THAT(Own(), IsEmpty());
}

// In its region the cloud knows none of these ENIs: they would count as deleted.
TEST_F(EniOwnershipTest, TheTasksOfANodeOfAnotherRegionWait) {
  CreateNode("worker-1", "i-1", R"("minPoolSize":12,"maxPoolSize":12)");
  executor_.Advance(1min);
  ASSERT_THAT(Own(), SizeIs(2));
  script_.on_call = [](const std::string& action, auto& fate) {
    if (action != "DetachNetworkInterface") return;
    fate.refusal = cloud::simulator::Throttled();
    fate.carried_out = false;
  };
  Merge("worker-1", R"({"spec":{"pool":{"minPoolSize":2,"maxPoolSize":2}}})");
  executor_.Advance(20s);
  ASSERT_THAT(Nics("worker-1"), Contains(Pair(testing::_, "Deleting")));
  Merge("worker-1", R"({"spec":{"nodeMetadata":{"regionID":"cn-beijing"}}})");
  executor_.Advance(20s);
  script_.on_call = {};
  for (int i = 0; i < 2; ++i) {
    executor_.Advance(10min);
    EXPECT_THAT(Condition("worker-1"), StartsWith("False WrongRegion"));
    EXPECT_THAT(Own(), AllOf(SizeIs(2), Each(Pair(testing::_, "InUse"))));
    EXPECT_EQ(system_->tasks()->queue().size(), 0u);
    Boot();
  }
  Merge("worker-1", R"({"spec":{"nodeMetadata":{"regionID":"cn-hangzhou"}}})");
  executor_.Advance(5min);
  EXPECT_THAT(Own(), SizeIs(1));
}

TEST_F(EniOwnershipTest, ACreateThatIsRefusedHoldsUpNeitherTheOtherEnisNorACorrectedSpec) {
  CreateNode("worker-1", "i-1", R"("minPoolSize":0,"maxPoolSize":0)");
  for (int i = 0; i < 10; ++i) CreatePod(Format("p{}", i), "worker-1");
  executor_.Advance(1min);
  ASSERT_THAT(Bindings("worker-1"), SizeIs(10));
  bool refuses = true;
  script_.on_call = [&](const std::string& action, auto& fate) {
    if (action != "CreateNetworkInterface" || !refuses) return;
    fate.refusal = cloud::simulator::Refusal{400, "InvalidSecurityGroupId.NotFound", "No."};
    fate.carried_out = false;
  };
  CreatePod("late", "worker-1");
  executor_.Advance(3min);
  ASSERT_THAT(Get("worker-1")["status"]["attempts"], SizeIs(1));
  for (int i = 0; i < 5; ++i) DeletePod(Format("p{}", i));
  executor_.Advance(5min);
  EXPECT_GT(script_.calls["UnassignPrivateIpAddresses"], 0);
  for (int i = 0; i < 9; ++i) CreatePod(Format("q{}", i), "worker-1");
  executor_.Advance(2min);
  Merge("worker-1", R"({"spec":{"eni":{"securityGroupIDs":["sg-2"]}}})");
  refuses = false;
  executor_.Advance(5min);
  EXPECT_THAT(Condition("worker-1"), StartsWith("True Ready"));
  int corrected = 0;
  for (const auto& [id, status] : Own())
    corrected += ecs().Find(id)->security_group_ids == std::vector<std::string>{"sg-2"};
  EXPECT_EQ(corrected, 1);
}

TEST_F(EniOwnershipTest, SyncedIsFalseWhileEverySyncIsRefused) {
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  ASSERT_THAT(Condition("worker-1", "Synced"), StartsWith("True"));
  script_.on_call = [](const std::string& action, auto& fate) {
    if (action != "DescribeNetworkInterfaces") return;
    fate.refusal = cloud::simulator::Refusal{403, "Forbidden.RAM", "No."};
    fate.carried_out = false;
  };
  ForceSync("worker-1");
  executor_.Advance(1min);
  EXPECT_THAT(Condition("worker-1", "Synced"), StartsWith("False SyncDue"));
  script_.on_call = {};
  executor_.Advance(5min);
  EXPECT_THAT(Condition("worker-1", "Synced"), StartsWith("True"));
}

TEST_F(EniOwnershipTest, ATimeThatOthersWriteDoesNotEndTheSyncs) {
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  Send(kube::Method::kPatch, Path("worker-1") + "/status",
       R"({"status":{"nextSyncOpenAPITime":"2096-01-01T00:00:00Z"}})",
       "application/merge-patch+json");
  executor_.Advance(5min);
  EXPECT_FALSE(Get("worker-1")["status"]["nextSyncOpenAPITime"].as_string().starts_with("2096"));
}

TEST_F(EniOwnershipTest, AnEniOfAReplacedInstanceThatARestoredStatusNamesIsCollected) {
  CreateNode("worker-1", "i-1", kPool);
  executor_.Advance(1min);
  const std::string eni = Own().begin()->first;
  Remove("worker-1");
  ecs().SetStatus(eni, "Available");
  CreateNode("worker-1", "i-2", kPool);
  executor_.Advance(1min);
  Send(kube::Method::kPatch, Path("worker-1") + "/status",
       Format(R"({{"status":{{"networkInterfaces":{{"{}":{{"id":"{}","status":"Attaching",)"
              R"("networkInterfaceType":"Secondary"}}}}}}}})",
              eni, eni),
       "application/merge-patch+json");
  for (int i = 0; i < 120; ++i) {
    executor_.Advance(10s);
    Own();
    if (const auto* found = ecs().Find(eni)) {
      ASSERT_EQ(found->instance_id, "");
    }
  }
  EXPECT_THAT(Own(), Not(Contains(Pair(eni, testing::_))));
  EXPECT_THAT(Nics("worker-1"), Not(Contains(Pair(eni, testing::_))));
}

}  // namespace
}  // namespace berth::eni
