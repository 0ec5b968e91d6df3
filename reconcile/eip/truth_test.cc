// A status says what is so.
#include "reconcile/eip/system_fixture_test.h"

namespace berth::eip {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class EipTruthTest : public EipSystemTest {
 protected:
  void CreateReady() {
    Create("web", "");
    executor_.Advance(30s);
    ASSERT_THAT(Ready("web"), StartsWith("True"));
  }
  void BreakKey() { cloud_.keys().Revoke(cloud::TestAccount::kKeyId); }
  std::vector<std::string> EventNotes() {
    const Json list = Json::parse(Send(kube::Method::kGet, "/apis/events.k8s.io/v1/events").body);
    std::vector<std::string> notes;
    for (const Json& event : list["items"].array_range()) {
      notes.push_back(event["note"].as<std::string>());
    }
    return notes;
  }
  std::string MessageOf(const std::string& type) {
    const Json object = Get("web");
    for (const Json& condition : object["status"]["conditions"].array_range()) {
      if (condition["type"] == type) return condition["message"].as<std::string>();
    }
    return "none";
  }
};

TEST_F(EipTruthTest, AChangeThatCannotBeFollowedIsToldAtOnce) {
  CreateReady();
  BreakKey();
  Merge("web", R"({"spec":{"bandwidth":"20"}})");
  executor_.Advance(5s);
  EXPECT_THAT(Ready("web"), AllOf(StartsWith("False SyncFailed"), HasSubstr("access key")));
}

TEST_F(EipTruthTest, ADeletionThatCannotBeFollowedIsToldAtOnce) {
  CreateReady();
  BreakKey();
  Delete("web");
  executor_.Advance(5s);
  EXPECT_THAT(Ready("web"), AllOf(StartsWith("False Deleting"), HasSubstr("access key")));
}

TEST_F(EipTruthTest, LastSyncTimeIsWhenTheCloudAnswered) {
  CreateReady();
  const std::string before = Status("web", "lastSyncTime");
  BreakKey();
  Merge("web", R"({"spec":{"bandwidth":"20"}})");
  executor_.Advance(10min);
  ASSERT_THAT(Ready("web"), StartsWith("False"));
  EXPECT_EQ(Status("web", "lastSyncTime"), before);
  account_.GiveKey();
  executor_.Advance(1min);
  EXPECT_NE(Status("web", "lastSyncTime"), before);
}

TEST_F(EipTruthTest, ALostAddressIsNotShown) {
  CreateReady();
  ASSERT_NE(Status("web", "eipAddress"), "");
  cloud_.vpc().DeleteEip(Status("web", "allocationID"));
  executor_.Advance(10min);
  EXPECT_THAT(Ready("web"), AllOf(StartsWith("False Lost"), HasSubstr(kOnLostAnnotation)));
  EXPECT_EQ(Status("web", "status"), "Lost");
  EXPECT_EQ(Status("web", "eipAddress"), "");
  EXPECT_NE(Status("web", "allocationID"), "");
}

TEST_F(EipTruthTest, AnEmptyListWritesNothingIntoWhatIsReady) {
  for (int i = 0; i < 60; ++i) Create(Format("e{}", i), "");
  executor_.Advance(4min);
  for (int i = 0; i < 60; ++i) ASSERT_THAT(Ready(Format("e{}", i)), StartsWith("True"));
  const int patches = transport_.patches;
  int lists = 0;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate& fate) {
    if (action == "DescribeEipAddresses" && lists++ < 3) fate.empty_list = true;
  };
  executor_.Advance(3min);
  EXPECT_GT(lists, 3) << "looked at again soon";
  EXPECT_EQ(transport_.patches, patches);
}

// The Ready condition says which spec it is about; the other record of it was taken away.
TEST_F(EipTruthTest, AnEmptyListWritesNothingIntoWhatIsReadyByItsCondition) {
  CreateReady();
  const auto edited =
      Send(kube::Method::kPatch, Path("web") + "/status",
           R"({"status":{"observedGeneration":null}})", "application/merge-patch+json");
  ASSERT_EQ(edited.code, 200) << edited.body;
  script_.on_call = [left = 1](const std::string& action, cloud::simulator::Fate& fate) mutable {
    if (action == "DescribeEipAddresses" && left-- > 0) fate.empty_list = true;
  };
  const std::string version = Version("web");
  for (int i = 0; i < 360; ++i) {
    executor_.Advance(1s);
    ASSERT_THAT(Ready("web"), StartsWith("True"));
  }
  EXPECT_NE(Version("web"), version) << "status.observedGeneration is written again";
}

TEST_F(EipTruthTest, AMissingAddressIsToldWhenItLasts) {
  CreateReady();
  executor_.Advance(4min);
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action == "DescribeEipAddresses") fate.empty_list = true;
  };
  for (int i = 0; i < 300; ++i) {
    executor_.Advance(1s);
    const std::string ready = Ready("web");
    ASSERT_THAT(ready, AnyOf(StartsWith("True"), StartsWith("False Lost")));
    EXPECT_THAT(ready, Not(HasSubstr("new EIP")));
  }
  EXPECT_THAT(Ready("web"), StartsWith("False Lost"));
  script_.on_call = nullptr;
  executor_.Advance(6min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
}

TEST_F(EipTruthTest, AFailedDeletionIsAReleaseThatFailed) {
  CreateReady();
  BreakKey();
  Delete("web");
  executor_.Advance(1min);
  EXPECT_THAT(EventReasons(), Contains("ReleaseFailed"));
  EXPECT_THAT(EventReasons(), Not(Contains("ReconcileFailed")));
}

TEST_F(EipTruthTest, TooManyTagsAreToldAndNotTriedEveryFewSeconds) {
  CreateReady();
  Merge("web", "{\"spec\":{" + TwentyTags() + "}}");
  executor_.Advance(4min);
  EXPECT_THAT(Ready("web"), HasSubstr("remove tags from spec.tags"));
  EXPECT_LE(Calls("TagResources"), 2u);
  Merge("web", R"({"spec":{"tags":{"tag0":null}}})");
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
}

TEST_F(EipTruthTest, ABandwidthPackageThatIsNotThereIsForSpecToChange) {
  Create("web", R"("bandwidthPackageID":"cbwp-nowhere")");
  executor_.Advance(4min);
  EXPECT_THAT(Ready("web"), AllOf(StartsWith("False InvalidConfig"), HasSubstr("change spec")));
  EXPECT_LE(Calls("AddCommonBandwidthPackageIp"), 2u);
}

TEST_F(EipTruthTest, AnAddressPoolThatIsNotThereCanBeCorrected) {
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "AllocateEipAddress") return;
    fate.refusal = {404, "ResourceNotFound.PublicIpAddressPool", "It is not found."};
    fate.carried_out = false;
  };
  Create("web", R"("publicIPAddressPoolID":"pippool-typo")");
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), AllOf(StartsWith("False InvalidConfig"), HasSubstr("change spec")));
  EXPECT_FALSE(Get("web")["status"].contains("attempt")) << "admission lets the fields change";
  script_.on_call = nullptr;
  Merge("web", R"({"spec":{"publicIPAddressPoolID":null}})");
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
}

TEST_F(EipTruthTest, AMessageIsToldInOneCondition) {
  CreateReady();
  EXPECT_EQ(MessageOf("Ready"), "EIP allocated and in sync with spec");
  EXPECT_EQ(MessageOf("Synced"), "");
  EXPECT_EQ(MessageOf("Progressing"), "");
}

TEST_F(EipTruthTest, APermissionThatIsMissingForMomentsIsNotToldOfAReadyObject) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string version = Version("web");
  int refusals = 1;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "DescribeEipAddresses" || refusals-- <= 0) return;
    fate.refusal = {403, "Forbidden.RAM", "Not with this key."};
    fate.carried_out = false;
  };
  executor_.Advance(6min);
  ASSERT_LE(refusals, 0) << "a resync";
  EXPECT_EQ(Version("web"), version) << Ready("web");
  EXPECT_THAT(Told(), Not(HasSubstr("Forbidden.RAM")));
  refusals = 1'000'000;
  executor_.Advance(7min);
  EXPECT_THAT(Ready("web"), StartsWith("True SyncFailed DescribeEipAddresses: Forbidden.RAM"));
}

TEST_F(EipTruthTest, AnAddressThatIsFoundAgainIsNotSaidToBeAllocated) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  EXPECT_THAT(Told(), HasSubstr("allocated " + id));
  EXPECT_THAT(Told(), Not(HasSubstr("found again")));
  WipeStatus("web");
  executor_.Advance(1min);
  EXPECT_EQ(Status("web", "allocationID"), id);
  EXPECT_THAT(Told(), HasSubstr("found again " + id));
}

TEST_F(EipTruthTest, AChangeThatTheCloudAcceptsWithoutEffectIsToldAsAFailure) {
  Create("web", R"("bandwidth":"5")");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  int calls = 0;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate&) {
    if (action == "ModifyEipAddressAttribute") ++calls;
    cloud_.vpc().Edit(id).bandwidth = "5";
  };
  Merge("web", R"({"spec":{"bandwidth":"50"}})");
  executor_.Advance(10s);
  EXPECT_THAT(Ready("web"), StartsWith("False Updating"));
  executor_.Advance(5min);
  EXPECT_THAT(Ready("web"),
              AllOf(StartsWith("False SyncFailed"), HasSubstr("bandwidth set to 50 Mbps")));
  EXPECT_LE(calls, 30);
  script_.on_call = nullptr;
  executor_.Advance(5min);
  EXPECT_THAT(Ready("web"), StartsWith("True Updated"));
}

TEST_F(EipTruthTest, AnImportLeavesThePackageThatBerthHasAddedItTo) {
  const std::string package = cloud_.vpc().CreatePackage(100);
  const std::string id = cloud_.vpc().CreateEip({});
  const std::string spec = Format(R"("allocationID":"{}","bandwidthPackageID":"{}")", id, package);
  Create("web", spec);
  executor_.Advance(1min);
  ASSERT_EQ(Address("web")->bandwidth_package_id, package);
  Merge("web", R"({"spec":{"bandwidthPackageID":null}})");
  executor_.Advance(1min);
  EXPECT_EQ(Address("web")->bandwidth_package_id, "");
  EXPECT_THAT(Ready("web"), StartsWith("True Updated"));
  EXPECT_EQ(Status("web", "joinedPackage"), "");
}

TEST_F(EipTruthTest, AnAttemptGoesWhenItIsSettled) {
  CreateReady();
  EXPECT_FALSE(Get("web")["status"].contains("attempt"));
  EXPECT_EQ(Get("web")["status"]["attempts"].as<int>(), 1);
  cloud_.vpc().DeleteEip(Status("web", "allocationID"));
  Annotate("web", kOnLostAnnotation, "reallocate");
  executor_.Advance(10min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_FALSE(Get("web")["status"].contains("attempt"));
  EXPECT_EQ(Get("web")["status"]["attempts"].as<int>(), 2);
}

TEST_F(EipTruthTest, AnEventSaysWhatWasDone) {
  CreateReady();
  cloud::Eip& eip = cloud_.vpc().Edit(Status("web", "allocationID"));
  eip.status = "InUse";
  eip.instance_id = "i-web";
  eip.instance_type = "EcsInstance";
  Annotate("web", kOnStuckAnnotation, "unassociate");
  Delete("web");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_THAT(EventNotes(), Contains("unassociated from EcsInstance i-web"));
  EXPECT_THAT(EventNotes(), Not(Contains(HasSubstr("was set"))));
}

// The action, the code and the request ID are there; the ID of the first time stays.
TEST_F(EipTruthTest, AFailureIsTraceableAndNotWrittenAgainAndAgain) {
  CreateReady();
  script_.on_call = [](const std::string&, cloud::simulator::Fate& fate) {
    fate.refusal = {400, "Unheard.Of", "Odd."};
    fate.carried_out = false;
  };
  Merge("web", R"({"spec":{"bandwidth":"20"}})");
  executor_.Advance(2min);
  EXPECT_THAT(Ready("web"), AllOf(HasSubstr("DescribeEipAddresses: Unheard.Of: Odd."),
                                  HasSubstr("(request ID ")));
  const std::string version = Version("web");
  executor_.Advance(20min);
  EXPECT_EQ(Version("web"), version);
  EXPECT_EQ(std::ranges::count_if(EventNotes(),
                                  [](const auto& note) { return note.contains("Unheard.Of"); }),
            1);
}

// The cloud answers calls of an action with one of these codes each time, for ever.
// A webhook of others refuses Berth's writes of metadata and spec.
TEST_F(EipTruthTest, AWriteThatTheApiServerRefusesIsTold) {
  const auto deny = [this](const std::string& what) {
    transport_.denies = [what](const kube::Request& request) {
      return !request.path.contains("/status") && request.body.contains(what);
    };
  };
  const auto refused = [](const std::string& how, const std::string& field) {
    return HasSubstr(
        Format("False {} the API server refused Berth's write of {}: admission "
               "webhook \"guard\" denied the request: no; ",
               how, field));
  };
  deny("finalizer");
  Create("web", "");
  executor_.Advance(10s);
  EXPECT_THAT(Ready("web"), refused("SyncFailed", "metadata.finalizers"));
  EXPECT_THAT(EventReasons(), testing::Contains("CreateFailed"));
  const std::string version = Version("web");
  executor_.Advance(5min);
  EXPECT_EQ(Version("web"), version) << "said once";
  deny("allocationID");
  executor_.Advance(2min);
  EXPECT_THAT(Ready("web"), refused("SyncFailed", "spec.allocationID"));
  transport_.denies = nullptr;
  executor_.Advance(2min);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  deny("finalizer");
  Delete("web");
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), refused("Deleting", "metadata.finalizers"));
  EXPECT_THAT(EventReasons(), testing::Contains("ReleaseFailed"));
  transport_.denies = nullptr;
  executor_.Advance(2min);
  EXPECT_FALSE(Exists("web"));
}

class EipStubbornCloud : public EipTruthTest {
 protected:
  void Refuse(const std::string& action, std::vector<std::string> codes) {
    script_.on_call = [action, codes, next = 0u](const std::string& called,
                                                 cloud::simulator::Fate& fate) mutable {
      if (called != action) return;
      fate.refusal = {400, codes[next++ % codes.size()], "Odd."};
      fate.carried_out = false;
    };
  }
  // Everything that the Ready condition says in an hour, one after the other.
  std::vector<std::string> ReadyForAnHour() {
    std::vector<std::string> told;
    for (int i = 0; i < 3600; ++i) {
      executor_.Advance(1s);
      const std::string ready = Ready("web");
      if (told.empty() || told.back() != ready) told.push_back(ready);
    }
    return told;
  }
  std::ptrdiff_t EventsWith(const std::string& text) {
    return std::ranges::count_if(EventNotes(),
                                 [&](const auto& note) { return note.contains(text); });
  }
};

TEST_F(EipStubbornCloud, AFailureStaysToldWhileItIsTriedAgain) {
  CreateReady();
  Refuse("TagResources", {"Strange.News"});
  Merge("web", R"({"spec":{"tags":{"team":"shop"}}})");
  executor_.Advance(5s);
  EXPECT_THAT(ReadyForAnHour(),
              testing::ElementsAre(StartsWith("False SyncFailed TagResources: Strange.News: ")));
  EXPECT_EQ(EventsWith("Strange.News"), 1);
  script_.on_call = nullptr;
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
}

TEST_F(EipStubbornCloud, AnotherSpecIsUpdatingUntilItFails) {
  CreateReady();
  Refuse("TagResources", {"Strange.News"});
  Merge("web", R"({"spec":{"tags":{"team":"shop"}}})");
  executor_.Advance(10min);
  ASSERT_THAT(Ready("web"), StartsWith("False SyncFailed"));
  script_.on_call = [](const std::string&, cloud::simulator::Fate& fate) { fate.there = 1s; };
  Merge("web", R"({"spec":{"tags":{"team":"other"}}})");
  executor_.Advance(1500ms);
  EXPECT_THAT(Ready("web"), StartsWith("False Updating setting tags"));
  Refuse("DescribeEipAddresses", {"Unheard.Of"});
  Merge("web", R"({"spec":{"tags":{"team":"third"}}})");
  executor_.Advance(5s);
  EXPECT_THAT(Ready("web"), StartsWith("False SyncFailed DescribeEipAddresses: Unheard.Of"));
}

TEST_F(EipStubbornCloud, EachDistinctFailureHasOneEvent) {
  CreateReady();
  Refuse("ModifyEipAddressAttribute", {"Odd.One", "Odd.Two", "Odd.Two"});
  Merge("web", R"({"spec":{"bandwidth":"20"}})");
  executor_.Advance(5s);
  EXPECT_LE(ReadyForAnHour().size(), 61u);
  EXPECT_EQ(EventsWith("Odd.One"), 1);
  EXPECT_EQ(EventsWith("Odd.Two"), 1);
}

// The EIP stays in transition, so it is looked at every 30 s; every other minute that fails.
TEST_F(EipStubbornCloud, AFailureThatComesAndGoesIsToldEveryFiveMinutes) {
  CreateReady();
  cloud_.vpc().Edit(Status("web", "allocationID")).status = "Associating";
  script_.on_call = [this](const std::string&, cloud::simulator::Fate& fate) {
    const auto now = executor_.Now().time_since_epoch();
    if (std::chrono::floor<std::chrono::minutes>(now).count() % 2 == 0) return;
    fate.refusal = cloud::simulator::Throttled();
    fate.carried_out = false;
  };
  Merge("web", R"({"spec":{"bandwidth":"20"}})");
  const auto told = ReadyForAnHour();
  EXPECT_THAT(told, Contains(StartsWith("False Throttled")));
  EXPECT_THAT(told, Contains(StartsWith("False Updating")));
  EXPECT_LE(told.size(), 26u);
}

// Each is another attempt.
TEST_F(EipStubbornCloud, AnAllocationThatIsRefusedAgainIsNoNews) {
  cloud_.vpc().SetQuota(0);
  Create("web", "");
  executor_.Advance(5s);
  EXPECT_THAT(ReadyForAnHour(), testing::ElementsAre(StartsWith("False SyncFailed")));
  EXPECT_GT(Get("web")["status"]["attempts"].as<int>(), 5);
  EXPECT_EQ(EventsWith("Quota"), 1);
}

}  // namespace
}  // namespace berth::eip
