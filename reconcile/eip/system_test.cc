#include "log/format.h"
#include "reconcile/eip/system_fixture_test.h"

namespace berth::eip {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST_F(EipSystemTest, ANewObjectGetsAnAddressAsItsSpecSays) {
  Create("web", R"("bandwidth":"20","name":"front","tags":{"team":"web"})");
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), HasSubstr("True Created"));
  EXPECT_EQ(Status("web", "origin"), "Created");
  EXPECT_EQ(Get("web")["spec"]["allocationID"], Get("web")["status"]["allocationID"]);
  ASSERT_TRUE(Address("web"));
  EXPECT_EQ(Address("web")->address, Status("web", "eipAddress"));
  EXPECT_EQ(Address("web")->bandwidth, "20");
  EXPECT_EQ(Address("web")->name, "front");
  EXPECT_EQ(Address("web")->tags.at("team"), "web");
  EXPECT_EQ(Address("web")->tags.at(std::string(kOwnerTag)),
            Get("web")["metadata"]["uid"].as<std::string>());
  EXPECT_THAT(EventReasons(), Contains("Created"));
}

TEST_F(EipSystemTest, AResyncAsksForFiftyAddressesAtOnce) {
  for (int i = 0; i < 120; ++i) Create(Format("e{}", i), "");
  executor_.Advance(4min);
  ASSERT_THAT(Ready("e119"), HasSubstr("True"));
  const auto calls = Calls("DescribeEipAddresses");
  executor_.Advance(5min);
  EXPECT_LE(Calls("DescribeEipAddresses"), calls + 3);
  EXPECT_GT(Calls("DescribeEipAddresses"), calls);
  EXPECT_EQ(Calls("AllocateEipAddress"), 120u);
}

TEST_F(EipSystemTest, AnAddressGoesWithItsObject) {
  Create("web", "");
  executor_.Advance(30s);
  ASSERT_TRUE(Address("web"));
  Delete("web");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
  EXPECT_THAT(EventReasons(), Contains("Released"));
}

// It is not in the cloud's lists yet, and released all the same.
TEST_F(EipSystemTest, AnAddressThatIsNotSeenYetIsNotLeaked) {
  Create("web", "");
  executor_.Advance(1s);
  ASSERT_EQ(cloud_.vpc().Eips().size(), 1u);
  Delete("web");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("web"));
  cloud_.vpc().Settle(executor_.WallNow());
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

TEST_F(EipSystemTest, ATagThatIsNoLongerWantedIsTakenOff) {
  Create("web", R"("tags":{"team":"web","stage":"x"})");
  executor_.Advance(30s);
  Merge("web", R"({"spec":{"tags":{"stage":null}}})");
  executor_.Advance(30s);
  EXPECT_TRUE(Address("web")->tags.contains("team"));
  EXPECT_FALSE(Address("web")->tags.contains("stage"));
}

TEST_F(EipSystemTest, ANewBandwidthIsSet) {
  Create("web", R"("bandwidth":"20")");
  executor_.Advance(30s);
  Merge("web", R"({"spec":{"bandwidth":"50"}})");
  executor_.Advance(10s);
  EXPECT_EQ(Address("web")->bandwidth, "50");
  EXPECT_EQ(Status("web", "bandwidth"), "50");
  EXPECT_THAT(Ready("web"), HasSubstr("True Updated"));
}

// Named by the tag that Berth put there: whose it is does not get lost with the status.
TEST_F(EipSystemTest, AnAddressIsStillItsOwnWhenTheStatusIsLost) {
  Create("web", R"("bandwidth":"20","tags":{"team":"web"})");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  WipeStatus("web");
  executor_.Advance(30s);
  EXPECT_EQ(Status("web", "allocationID"), id);
  EXPECT_EQ(Status("web", "origin"), "Created");
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  // Also without the ID in spec, and whatever spec says meanwhile.
  Merge("web", R"({"spec":{"allocationID":null,"bandwidth":"30"}})");
  WipeStatus("web");
  executor_.Advance(30s);
  EXPECT_EQ(Status("web", "allocationID"), id);
  EXPECT_EQ(Calls("AllocateEipAddress"), 1u);
  // And when the next thing is its end.
  WipeStatus("web");
  Delete("web");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

TEST_F(EipSystemTest, AnAddressIsNotForgottenForAnotherThatSpecNamesWhenTheStatusIsLost) {
  const std::string other = cloud_.vpc().CreateEip({});
  Create("web", R"("bandwidth":"20")");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  Merge("web", Format(R"({{"spec":{{"allocationID":"{}"}}}})", other));
  WipeStatus("web");
  executor_.Advance(30s);
  EXPECT_EQ(Status("web", "allocationID"), id);
  EXPECT_THAT(Ready("web"), HasSubstr("spec.allocationID was changed"));
  Delete("web");
  executor_.Advance(30s);
  EXPECT_FALSE(cloud_.vpc().Find(id));
  EXPECT_TRUE(cloud_.vpc().Find(other));
}

TEST_F(EipSystemTest, AnAddressThatIsNeverReleasedIsNotWhenTheStatusIsLostBeforeTheEnd) {
  Create("web", R"("bandwidth":"20","releaseStrategy":"Never")");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action == "DescribeEipAddresses") fate.answered = false;
  };
  WipeStatus("web");
  Merge("web", R"({"spec":{"allocationID":null}})");
  executor_.Advance(20s);
  Delete("web");
  script_.on_call = nullptr;
  executor_.Advance(60s);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(cloud_.vpc().Find(id));
}

// Restored, an object has another uid: its address may be that of another cluster now.
TEST_F(EipSystemTest, ARestoredObjectsAddressIsImportedUntilItIsAdopted) {
  const std::string kept = cloud_.vpc().CreateEip({.tags = {{std::string(kOwnerTag), "u-old"}}});
  const std::string adopted = cloud_.vpc().CreateEip({.tags = {{std::string(kOwnerTag), "u-two"}}});
  Create("kept", Format(R"("allocationID":"{}","releaseStrategy":"OnDelete")", kept));
  Create("adopted", Format(R"("allocationID":"{}")", adopted));
  Annotate("adopted", kOnForeignAnnotation, "adopt");
  executor_.Advance(30s);
  EXPECT_THAT(Ready("kept"), HasSubstr("True"));
  EXPECT_EQ(Status("kept", "origin"), "Imported");
  EXPECT_EQ(Status("adopted", "origin"), "Created");
  EXPECT_EQ(Address("adopted")->tags.at(std::string(kOwnerTag)), Uid("adopted"));
  Delete("kept");
  Delete("adopted");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("kept"));
  EXPECT_FALSE(Exists("adopted"));
  EXPECT_TRUE(cloud_.vpc().Find(kept)) << "by its tag it is another's";
  EXPECT_FALSE(cloud_.vpc().Find(adopted));
}

TEST_F(EipSystemTest, AnAddressThatAnotherObjectNamesIsNotReleased) {
  const std::string id = cloud_.vpc().CreateEip({});
  Create("first", Format(R"("allocationID":"{}","releaseStrategy":"OnDelete")", id));
  executor_.Advance(10s);
  Create("second", Format(R"("allocationID":"{}")", id));
  executor_.Advance(10s);
  Delete("first");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("first"));
  EXPECT_TRUE(cloud_.vpc().Find(id));
  EXPECT_THAT(Ready("second"), HasSubstr("True"));
}

TEST_F(EipSystemTest, WhatWasReleasedByOthersIsToldSo) {
  Create("web", "");
  executor_.Advance(30s);
  cloud_.vpc().DeleteEip(Status("web", "allocationID"));
  Delete("web");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("web"));
  EXPECT_THAT(EventReasons(), Contains("AlreadyReleased"));
  EXPECT_THAT(EventReasons(), Not(Contains("Released")));
}

TEST_F(EipSystemTest, WhatIsKeptByOthersIsToldToBeDeleted) {
  Create("web", "");
  Merge("web", R"({"metadata":{"finalizers":["example.com/other"]}})");
  executor_.Advance(30s);
  Delete("web");
  executor_.Advance(30s);
  ASSERT_TRUE(Exists("web"));
  EXPECT_THAT(Ready("web"), HasSubstr("False Deleted"));
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

TEST_F(EipSystemTest, WhatOthersChangeAndCannotBeSetBackIsToldAsDrift) {
  const std::string id = cloud_.vpc().CreateEip({.isp = "BGP_PRO"});
  Create("web", Format(R"("allocationID":"{}","isp":"BGP")", id));
  executor_.Advance(10s);
  EXPECT_THAT(Ready("web"), HasSubstr("True Drifted isp is BGP_PRO"));
  EXPECT_THAT(EventReasons(), Contains("ReconcileFailed"));
}

// A bad minute of the cloud's is not written into every object.
TEST_F(EipSystemTest, AStormOfThrottlesWritesNothingIntoWhatIsReady) {
  for (int i = 0; i < 20; ++i) Create(Format("e{}", i), "");
  executor_.Advance(2min);
  ASSERT_THAT(Ready("e19"), HasSubstr("True"));
  const int patches = transport_.patches;
  executor_.Advance(2min + 50s);  // to shortly before a resync
  script_.on_call = [](const std::string&, cloud::simulator::Fate& fate) {
    fate.refusal = cloud::simulator::Throttled();
    fate.carried_out = false;
  };
  executor_.Advance(40s);
  script_.on_call = nullptr;
  executor_.Advance(4min);
  EXPECT_EQ(transport_.patches, patches);
  EXPECT_THAT(EventReasons(), Not(Contains("Throttled")));
}

TEST_F(EipSystemTest, WhoWaitsForAnAddressIsToldOfThrottlesOnceAMinute) {
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "AllocateEipAddress") return;
    fate.refusal = cloud::simulator::Throttled();
    fate.carried_out = false;
  };
  Create("web", "");
  executor_.Advance(10s);
  EXPECT_THAT(Ready("web"), HasSubstr("False Throttled"));
  EXPECT_THAT(EventReasons(), Contains("Throttled"));
  const int patches = transport_.patches;
  executor_.Advance(5min);
  EXPECT_LE(transport_.patches, patches + 5);
  script_.on_call = nullptr;
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), HasSubstr("True Created"));
}

TEST_F(EipSystemTest, WhatTheApiServerDoesNotTakeIsNotBlamedOnTheCloud) {
  Create("web", "");
  int refused = 0;
  transport_.refuses = [&](const kube::Request& request) {
    return request.body.contains("\"origin\"") && ++refused < 5;
  };
  executor_.Advance(1min);
  EXPECT_EQ(refused, 5);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_THAT(Told(), Not(HasSubstr("etcd is unwell")));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

// Whoever waits asks less and less often, and none is forgotten.
TEST_F(EipSystemTest, ThoseWhoWaitForTheCloudAskLessAndLessOften) {
  for (int i = 0; i < 60; ++i) Create(Format("e{}", i), "");
  executor_.Advance(3min);
  for (int i = 0; i < 60; ++i) {
    cloud_.vpc().Edit(Status(Format("e{}", i), "allocationID")).status = "Unassociating";
    Delete(Format("e{}", i));
  }
  executor_.Advance(2min);
  const auto calls = Calls("DescribeEipAddresses");
  executor_.Advance(4min);
  EXPECT_LE(Calls("DescribeEipAddresses"), calls + 8 * 10) << "every half minute, many at once";
  EXPECT_THAT(Ready("e7"), HasSubstr("False Deleting"));
  for (const auto& eip : cloud_.vpc().Eips()) {
    cloud_.vpc().Edit(eip.allocation_id).status = "Available";
  }
  executor_.Advance(2min);
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

// Nothing of it is the spec's fault, and it heals by itself.
TEST_F(EipSystemTest, AMissingPermissionOrQuotaIsNotBlamedOnTheSpec) {
  cloud_.vpc().SetQuota(0);
  Create("web", "");
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), HasSubstr("False SyncFailed"));
  EXPECT_THAT(Ready("web"), HasSubstr("quota"));
  cloud_.vpc().SetQuota(10);
  executor_.Advance(5min);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  script_.on_call = [](const std::string&, cloud::simulator::Fate& fate) {
    fate.refusal = {403, "Forbidden.RAM", "User not authorized to operate on the resource."};
    fate.carried_out = false;
  };
  Create("other", "");
  executor_.Advance(10s);
  EXPECT_THAT(Ready("other"), HasSubstr("False SyncFailed"));
  executor_.Advance(4min);
  script_.on_call = nullptr;
  executor_.Advance(70s);
  EXPECT_THAT(Ready("other"), HasSubstr("True")) << "asked again every minute";
  cloud_.keys().Revoke(account_.kKeyId);
  Create("third", "");
  executor_.Advance(30s);
  EXPECT_THAT(Ready("third"), HasSubstr("False SyncFailed"));
  account_.GiveKey();
  executor_.Advance(1min);
  EXPECT_THAT(Ready("third"), HasSubstr("True"));
}

// A request without an answer may still be on its way when the next one is refused.
TEST_F(EipSystemTest, ARefusalDoesNotEndAnAttemptThatMayHaveSucceeded) {
  int calls = 0;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate& fate) {
    if (action == "AllocateEipAddress" && ++calls == 1) fate.there = 14s;  // after the time-out
  };
  Create("web", "");
  executor_.Advance(5s);
  cloud_.vpc().SetQuota(0);
  executor_.Advance(8s);
  EXPECT_THAT(Ready("web"), HasSubstr("SyncFailed"));
  EXPECT_EQ(calls, 2);
  cloud_.vpc().SetQuota(10);
  executor_.Advance(6min);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

// That it was refused may be written later than anybody waits for it.
TEST_F(EipSystemTest, AnAttemptThatWasRefusedIsNotSentAgain) {
  cloud_.vpc().SetQuota(0);
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action == "AllocateEipAddress") fate.back = 300ms;
  };
  bool delayed = false;
  transport_.delays = [&](const kube::Request& request) -> async::Duration {
    if (!request.body.contains(R"("attempt":null)") || delayed) return 0s;
    delayed = true;
    cloud_.vpc().SetQuota(10);
    return 200ms;
  };
  Create("web", "");
  executor_.Advance(10min);
  EXPECT_TRUE(delayed);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

// Somebody has changed the status while an attempt was under way.
TEST_F(EipSystemTest, ATokenThatWasUsedForAnotherRequestIsToldAndNothingIsAllocated) {
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action == "AllocateEipAddress") fate.answered = false;
  };
  Create("web", R"("bandwidth":"20",)" + TwentyTags());
  executor_.Advance(5s);
  ASSERT_EQ(cloud_.vpc().Eips().size(), 1u);
  Merge("web", R"({"spec":{"bandwidth":"30"}})");
  WipeStatus("web");
  script_.on_call = nullptr;
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), HasSubstr("False SyncFailed the token"));
  EXPECT_THAT(EventReasons(), Contains("CreateFailed"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

// An object that is deleted before anybody knew its address releases it, whatever spec says.
TEST_F(EipSystemTest, AnAddressThatNobodyKnewGoesWithItsObject) {
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action == "AllocateEipAddress") fate.answered = false;
  };
  Create("web", R"("releaseStrategy":"Never")");
  executor_.Advance(5s);
  ASSERT_EQ(cloud_.vpc().Eips().size(), 1u);
  Delete("web");
  executor_.Advance(5s);
  script_.on_call = nullptr;
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

TEST_F(EipSystemTest, ATagIsRenamedWhereThereIsNoRoomForBoth) {
  std::string tags;
  for (int i = 0; i < 19; ++i) tags += Format(R"({}"tag{}":"x")", i == 0 ? "" : ",", i);
  Create("web", R"("tags":{)" + tags + "}");
  executor_.Advance(30s);
  ASSERT_EQ(Address("web")->tags.size(), kMostTags);
  Merge("web", R"({"spec":{"tags":{"tag3":null,"another":"x"}}})");
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_TRUE(Address("web")->tags.contains("another"));
  EXPECT_FALSE(Address("web")->tags.contains("tag3"));
  EXPECT_EQ(Address("web")->tags.at(std::string(kOwnerTag)), Uid("web"));
}

class LateEipSystemTest : public EipSystemTest {
 protected:
  LateEipSystemTest() : EipSystemTest(15min) {}
};

// An EIP missing from a list is not gone: nobody gets a second address meanwhile.
TEST_F(LateEipSystemTest, AnAddressThatTheCloudHidesIsNotReplaced) {
  Create("web", "");
  Annotate("web", kOnLostAnnotation, "reallocate");
  executor_.Advance(12min);
  EXPECT_THAT(Ready("web"), HasSubstr("False SyncFailed"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
  executor_.Advance(8min);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

TEST_F(EipSystemTest, AfterARefusalALostAddressIsStillReplaced) {
  Create("web", "");
  executor_.Advance(30s);
  cloud_.vpc().DeleteEip(Status("web", "allocationID"));
  Annotate("web", kOnLostAnnotation, "reallocate");
  cloud_.vpc().SetQuota(0);
  executor_.Advance(10min);
  EXPECT_THAT(Ready("web"), HasSubstr("False SyncFailed"));
  cloud_.vpc().SetQuota(10);
  executor_.Advance(10min);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_EQ(Get("web")["spec"]["allocationID"], Get("web")["status"]["allocationID"]);
}

TEST_F(EipSystemTest, AnAddressThatWasTakenOutOfItsPackageIsPutBack) {
  const std::string package = cloud_.vpc().CreatePackage(100);
  Create("web", Format(R"("bandwidthPackageID":"{}")", package));
  executor_.Advance(30s);
  ASSERT_EQ(Address("web")->bandwidth_package_id, package);
  cloud::Eip& eip = cloud_.vpc().Edit(Status("web", "allocationID"));
  eip.bandwidth_package_id.clear();
  eip.bandwidth_package_status.clear();
  executor_.Advance(6min);
  EXPECT_EQ(Address("web")->bandwidth_package_id, package);
}

TEST_F(EipSystemTest, ATagIsWrittenDownBeforeItIsPutOnTheAddress) {
  transport_.refuses = [](const kube::Request& request) {
    return request.body.contains("as spec says");
  };
  Create("web", R"("tags":{"team":"web"})");
  executor_.Advance(30s);
  ASSERT_TRUE(Address("web")->tags.contains("team"));
  Merge("web", R"({"spec":{"tags":null}})");
  transport_.refuses = nullptr;
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_FALSE(Address("web")->tags.contains("team"));
}

TEST_F(EipSystemTest, ATagThatIsGoneFromSpecBeforeItsNewValueIsSetIsTakenOff) {
  Create("web", R"("tags":{"team":"web"})");
  executor_.Advance(30s);
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action == "TagResources") fate.arrives = false;
  };
  Merge("web", R"({"spec":{"tags":{"team":"mail"}}})");
  executor_.Advance(30s);
  ASSERT_EQ(Address("web")->tags.at("team"), "web");
  Merge("web", R"({"spec":{"tags":null}})");
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_FALSE(Address("web")->tags.contains("team"));
}

TEST_F(EipSystemTest, ATagThatOthersChangedAndIsGoneFromSpecIsLeftAlone) {
  Create("web", R"("tags":{"team":"web"})");
  executor_.Advance(30s);
  cloud_.vpc().Edit(Status("web", "allocationID")).tags["team"] = "others";
  Merge("web", R"({"spec":{"tags":null}})");
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_EQ(Address("web")->tags.at("team"), "others");
}

TEST_F(EipSystemTest, ATagThatIsGoneFromSpecIsWrittenDownAsGone) {
  Create("web", R"("tags":{"team":"web","stage":"x"})");
  executor_.Advance(30s);
  Merge("web", R"({"spec":{"tags":{"stage":null}}})");
  executor_.Advance(30s);
  EXPECT_FALSE(Get("web")["status"]["tags"].contains("stage"));
  const std::string version = Version("web");
  executor_.Advance(11min);
  EXPECT_EQ(Version("web"), version);
}

}  // namespace
}  // namespace berth::eip
