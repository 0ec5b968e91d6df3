// A deletion releases at most, and never buys.
#include "reconcile/eip/system_fixture_test.h"

namespace berth::eip {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kPrePaid =
    R"("instanceChargeType":"PrePaid","internetChargeType":"PayByBandwidth","bandwidth":"5",)"
    R"("period":3,"pricingCycle":"Year")";

class EipDeletionTest : public EipSystemTest {
 protected:
  // Every call of the action.
  void On(const std::string& action, std::function<void(cloud::simulator::Fate&)> what) {
    script_.on_call = [action, what = std::move(what)](const std::string& called,
                                                       cloud::simulator::Fate& fate) {
      if (called == action) what(fate);
    };
  }
  // The cloud throttles calls of the action until the next one has to wait for at least 10 s.
  void Slow(const std::string& action, const std::function<void()>& cause) {
    int throttled = 0;
    On(action, [&throttled](auto& fate) {
      ++throttled;
      fate.refusal = cloud::simulator::Throttled();
      fate.carried_out = false;
    });
    cause();
    for (int i = 0; i < 1200 && throttled < 5; ++i) executor_.Advance(100ms);
    ASSERT_EQ(throttled, 5);
    script_.on_call = nullptr;
  }
  void SlowReleases() {
    Create("slow", "");
    executor_.Advance(30s);
    Slow("ReleaseEipAddress", [this] { Delete("slow"); });
  }
  // Another replica leads; `meanwhile` nobody does.
  void ChangeLeader(const std::function<void()>& meanwhile) {
    const auto taken =
        Send(kube::Method::kPatch, "/apis/coordination.k8s.io/v1/namespaces/default/leases/berth",
             R"({"spec":{"holderIdentity":"two"}})", "application/merge-patch+json");
    ASSERT_EQ(taken.code, 200) << taken.body;
    for (int i = 0; i < 50 && system_.leading(); ++i) executor_.Advance(100ms);
    ASSERT_FALSE(system_.leading());
    meanwhile();
    next_leadership_.Start();
    executor_.Advance(1min);
    ASSERT_TRUE(next_system_.leading());
  }
  // All events, as one text.
  std::string Events() { return Send(kube::Method::kGet, "/apis/events.k8s.io/v1/events").body; }

  runtime::Leadership next_leadership_{
      executor_, transport_, {.ns = "default", .name = "berth", .identity = "two"}};
  System next_system_{executor_, transport_, next_leadership_, account_.vpcs, {}};
};

TEST_F(EipDeletionTest, WithEveryRequestRefusedNothingIsBought) {
  On("AllocateEipAddress", [](auto& fate) {
    fate.refusal = cloud::simulator::Throttled();
    fate.carried_out = false;
  });
  Create("year", kPrePaid);
  executor_.Advance(2min);
  Delete("year");
  executor_.Advance(2s);
  script_.on_call = nullptr;
  executor_.Advance(30min);
  EXPECT_FALSE(Exists("year"));
  EXPECT_TRUE(cloud_.vpc().ledger().empty());
}

TEST_F(EipDeletionTest, NothingIsBoughtForAnObjectThatIsDeletedWhileItIsLookedFor) {
  script_.on_call = [refusals = 1](const std::string& action,
                                   cloud::simulator::Fate& fate) mutable {
    if (action == "DescribeEipAddresses") fate.there = 8s;
    if (action != "AllocateEipAddress" || refusals-- <= 0) return;
    fate.refusal = cloud::simulator::Throttled();
    fate.carried_out = false;
  };
  Create("year", kPrePaid);
  executor_.Advance(6s);
  Delete("year");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("year"));
  EXPECT_TRUE(cloud_.vpc().ledger().empty());
}

TEST_F(EipDeletionTest, DoubtAboutAPrePaidAddressIsSettledByItsTag) {
  On("AllocateEipAddress", [](auto& fate) { fate.arrives = false; });
  Create("year", kPrePaid);
  executor_.Advance(30s);
  Delete("year");
  executor_.Advance(1min);
  script_.on_call = nullptr;
  executor_.Advance(5min);
  ASSERT_TRUE(Exists("year")) << "a request may still arrive";
  EXPECT_THAT(Ready("year"), HasSubstr("PrePaid"));
  executor_.Advance(20min);
  EXPECT_FALSE(Exists("year"));
  EXPECT_TRUE(cloud_.vpc().ledger().empty());
}

TEST_F(EipDeletionTest, APrePaidAddressThatWasBoughtUnseenIsFound) {
  On("AllocateEipAddress", [](auto& fate) { fate.answered = false; });
  Create("year", kPrePaid);
  executor_.Advance(2s);
  Delete("year");
  script_.on_call = nullptr;
  executor_.Advance(5min);
  ASSERT_TRUE(Exists("year"));
  EXPECT_THAT(Ready("year"), HasSubstr(cloud_.vpc().Eips().front().allocation_id + " is PrePaid"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

// A release waits for its turn, and its object changes meanwhile.
TEST_F(EipDeletionTest, AnAddressThatIsToBeKeptIsNotReleasedWhenItsTurnComes) {
  for (const bool by_spec : {true, false}) {
    Create("web", "");
    executor_.Advance(30s);
    const std::string id = Status("web", "allocationID");
    SlowReleases();
    Delete("web");
    executor_.Advance(2s);
    ASSERT_TRUE(Exists("web"));
    if (by_spec) {
      Merge("web", R"({"spec":{"releaseStrategy":"Never"}})");
    } else {
      Annotate("web", kOnStuckAnnotation, "abandon");
    }
    executor_.Advance(2min);
    EXPECT_FALSE(Exists("web"));
    EXPECT_FALSE(Exists("slow"));
    EXPECT_TRUE(cloud_.vpc().Find(id)) << by_spec;
    EXPECT_THAT(EventReasons(), Contains("Skipped"));
  }
}

TEST_F(EipDeletionTest, AnAddressThatGetsAnotherObjectsTagMeanwhileIsNotReleased) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  SlowReleases();
  Delete("web");
  executor_.Advance(2s);
  cloud_.vpc().SetTags(id, {{std::string(kOwnerTag), "another-cluster"}});
  executor_.Advance(2min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(cloud_.vpc().Find(id));
  EXPECT_THAT(Events(), HasSubstr("names another object"));
}

TEST_F(EipDeletionTest, AReleaseThatWaitsForItsTurnIsToldAtOnce) {
  Create("web", "");
  executor_.Advance(30s);
  SlowReleases();
  Delete("web");
  executor_.Advance(2s);
  EXPECT_THAT(Ready("web"), HasSubstr("False Deleting"));
  EXPECT_TRUE(Address("web"));
}

TEST_F(EipDeletionTest, ADeletionIsToldWhileACallOfTheObjectWaitsForItsTurn) {
  Create("web", "");
  executor_.Advance(30s);
  Slow("DescribeEipAddresses", [this] { Create("slow", ""); });
  Annotate("web", kOnLostAnnotation, "reallocate");
  executor_.Advance(2s);
  ASSERT_THAT(Ready("web"), HasSubstr("True Created"));
  Delete("web");
  executor_.Advance(2s);
  EXPECT_THAT(Ready("web"), HasSubstr("False Deleting"));
  EXPECT_TRUE(Address("web"));
}

TEST_F(EipDeletionTest, AnAddressThatAnotherObjectNamesMeanwhileIsNotReleased) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  SlowReleases();
  Delete("web");
  executor_.Advance(2s);
  Create("other", Format(R"("allocationID":"{}")", id));
  executor_.Advance(2min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_FALSE(Exists("slow"));
  EXPECT_TRUE(cloud_.vpc().Find(id));
}

TEST_F(EipDeletionTest, AnAddressThatWasReleasedIsNotSaidToStay) {
  for (const bool by_spec : {true, false}) {
    Create("web", "");
    executor_.Advance(30s);
    const std::string id = Status("web", "allocationID");
    Delete("web");
    executor_.Advance(1s);
    ASSERT_EQ(Status("web", "status"), "Releasing");
    if (by_spec) {
      Merge("web", R"({"spec":{"releaseStrategy":"Never"}})");
    } else {
      Annotate("web", kOnStuckAnnotation, "abandon");
    }
    executor_.Advance(1min);
    EXPECT_FALSE(Exists("web"));
    cloud_.vpc().Settle(executor_.WallNow());
    EXPECT_FALSE(cloud_.vpc().Find(id));
    EXPECT_THAT(Events(), HasSubstr(id + " was released"));
  }
  EXPECT_THAT(EventReasons(), Not(Contains("Skipped")));
}

TEST_F(EipDeletionTest, AnAddressWhoseReleaseHadNoAnswerIsNotSaidToStay) {
  for (const bool by_spec : {true, false}) {
    Create("web", "");
    executor_.Advance(30s);
    const std::string id = Status("web", "allocationID");
    On("ReleaseEipAddress", [](auto& fate) { fate.answered = false; });
    Delete("web");
    executor_.Advance(1s);
    if (by_spec) {
      Merge("web", R"({"spec":{"releaseStrategy":"Never"}})");
    } else {
      Annotate("web", kOnStuckAnnotation, "abandon");
    }
    executor_.Advance(1min);
    EXPECT_FALSE(Exists("web"));
    EXPECT_THAT(Events(), HasSubstr(id + " may have been released"));
  }
  EXPECT_THAT(Events(), Not(HasSubstr("in the cloud")));
}

// A change waits for its turn, and the user takes it back.
TEST_F(EipDeletionTest, AChangeThatIsTakenBackMeanwhileIsNotSent) {
  const std::string package = cloud_.vpc().CreatePackage(100);
  struct Change {
    const char* action;
    std::string begin;
    std::string end;
  };
  const std::string on_stuck = R"({"metadata":{"annotations":{"eip.alibabacloud.com/on-stuck":)";
  for (const auto& [action, begin, end] :
       {Change{"ModifyEipAddressAttribute", R"({"spec":{"bandwidth":"50"}})",
               R"({"spec":{"bandwidth":"5"}})"},
        Change{"AddCommonBandwidthPackageIp",
               Format(R"({{"spec":{{"bandwidthPackageID":"{}"}}}})", package),
               R"({"spec":{"bandwidthPackageID":null}})"},
        Change{"UnassociateEipAddress", on_stuck + R"("unassociate"}}})", on_stuck + "null}}}"}}) {
    const bool unassociates = std::string_view(action) == "UnassociateEipAddress";
    for (const char* name : {"web", "slow"}) Create(name, R"("bandwidth":"5")");
    executor_.Advance(30s);
    for (const char* name : {"web", "slow"}) {
      if (!unassociates) continue;
      cloud_.vpc().Edit(Status(name, "allocationID")).status = "InUse";
      Delete(name);
    }
    executor_.Advance(30s);
    Slow(action, [&] { Merge("slow", begin); });
    Merge("web", begin);
    executor_.Advance(2s);
    Merge("web", end);
    executor_.Advance(2min);
    EXPECT_EQ(Calls(action), 1u) << action << ": that of slow";
    EXPECT_EQ(Address("web")->status, unassociates ? "InUse" : "Available");
    for (const char* name : {"web", "slow"}) {
      if (!Exists(name)) continue;
      Annotate(name, kOnStuckAnnotation, "abandon");
      Delete(name);
    }
    executor_.Advance(1min);
    ASSERT_FALSE(Exists("web"));
  }
}

TEST_F(EipDeletionTest, NoAddressIsBoughtInPlaceOfALostOneWhenTheUserTakesThatBack) {
  const std::string annotation = R"({"metadata":{"annotations":{"eip.alibabacloud.com/on-lost":)";
  for (const bool refused : {true, false}) {
    Create("web", "");
    executor_.Advance(30s);
    const std::string id = Status("web", "allocationID");
    cloud_.vpc().DeleteEip(id);
    executor_.Advance(10min);
    ASSERT_THAT(Ready("web"), HasSubstr("False Lost " + id));
    if (refused) {
      cloud_.vpc().SetQuota(0);
    } else {
      Slow("AllocateEipAddress", [this] { Create("slow", ""); });
    }
    Merge("web", annotation + R"("reallocate"}}})");
    executor_.Advance(10s);
    ASSERT_THAT(Ready("web"), Not(HasSubstr("Lost")));
    Merge("web", annotation + "null}}}");
    executor_.Advance(1s);
    cloud_.vpc().SetQuota(10);
    executor_.Advance(10min);
    EXPECT_THAT(Ready("web"), HasSubstr("False Lost " + id)) << refused;
    EXPECT_EQ(Status("web", "status"), "Lost");
    EXPECT_EQ(cloud_.vpc().Eips().size(), refused ? 0u : 1u) << "that of slow";
    Merge("web", annotation + R"("reallocate"}}})");
    executor_.Advance(2min);
    EXPECT_THAT(Ready("web"), HasSubstr("True "));
    Delete("web");
    executor_.Advance(1min);
  }
}

// With so many tags there is none to look for, and the next leader cannot know what was sent.
TEST_F(EipDeletionTest, AWithdrawnReplacementIsNotBoughtByTheNextLeader) {
  const std::string annotation = R"({"metadata":{"annotations":{"eip.alibabacloud.com/on-lost":)";
  Create("web", TwentyTags());
  Create("year", std::string(kPrePaid) + "," + TwentyTags());
  executor_.Advance(30s);
  for (const char* name : {"web", "year"}) cloud_.vpc().DeleteEip(Status(name, "allocationID"));
  executor_.Advance(10min);
  Slow("AllocateEipAddress", [this] { Create("slow", ""); });
  for (const char* name : {"web", "year"}) Merge(name, annotation + R"("reallocate"}}})");
  executor_.Advance(10s);
  ChangeLeader([&] {
    for (const char* name : {"web", "year"}) {
      ASSERT_TRUE(Get(name)["status"]["attempt"].contains("clientToken"));
      Merge(name, annotation + "null}}}");
    }
  });
  executor_.Advance(10min);
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u) << "that of slow";
  for (const char* name : {"web", "year"}) {
    EXPECT_THAT(Ready(name), HasSubstr("False Lost the cloud did not say whether"));
    Merge(name, annotation + R"("reallocate"}}})");
    executor_.Advance(1min);
    EXPECT_THAT(Ready(name), HasSubstr("True "));
  }
}

// The cloud gives up what it has begun.
TEST_F(EipDeletionTest, AnAddressThatIsStillThereIsNotSaidToBeReleased) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  Delete("web");
  executor_.Advance(1s);
  ASSERT_EQ(Status("web", "status"), "Releasing");
  cloud_.vpc().Edit(id).status = "Available";
  cloud_.vpc().Edit(id).deletion_protection = true;
  executor_.Advance(10s);
  EXPECT_THAT(Ready("web"), HasSubstr("protected"));
  Annotate("web", kOnStuckAnnotation, "abandon");
  executor_.Advance(10s);
  EXPECT_FALSE(Exists("web"));
  ASSERT_TRUE(IsThere(id));
  EXPECT_THAT(Events(), Not(HasSubstr(id + " was released")));
  EXPECT_THAT(Events(), HasSubstr(id + " may have been released"));
}

TEST_F(EipDeletionTest, AChangeThatWasCarriedOutIsToldThoughTheObjectChangesMeanwhile) {
  Create("web", R"("bandwidth":"5")");
  executor_.Advance(30s);
  On("ModifyEipAddressAttribute", [this, first = true](auto&) mutable {
    if (!std::exchange(first, false)) return;
    server_.Handle({.method = kube::Method::kPatch,
                    .path = Path("web"),
                    .body = R"({"spec":{"bandwidth":"5"}})",
                    .content_type = "application/merge-patch+json"},
                   [](const kube::Response& response) { ASSERT_EQ(response.code, 200); });
  });
  Merge("web", R"({"spec":{"bandwidth":"50"}})");
  executor_.Advance(1min);
  EXPECT_EQ(Address("web")->bandwidth, "5");
  EXPECT_THAT(Events(), HasSubstr("bandwidth set to 50 Mbps"));
}

// The replica that led before may have sent a release.
TEST_F(EipDeletionTest, AReleaseThatWasNotSentIsNotSaidToHaveBeenAfterALeaderChange) {
  Create("web", "");
  Create("refused", "");
  executor_.Advance(30s);
  On("ReleaseEipAddress", [](auto& fate) {
    fate.refusal = {403, "Forbidden.RAM", "Not with this key."};
    fate.carried_out = false;
  });
  Delete("refused");
  executor_.Advance(5s);
  SlowReleases();
  Delete("web");
  executor_.Advance(2s);
  ASSERT_THAT(Ready("web"), HasSubstr("False Deleting"));
  ChangeLeader([this] {
    for (const char* name : {"web", "refused"}) {
      Merge(name, R"({"spec":{"releaseStrategy":"Never"}})");
    }
  });
  EXPECT_FALSE(Exists("web"));
  EXPECT_FALSE(Exists("refused"));
  EXPECT_THAT(Events(), HasSubstr("stays in the cloud"));
  EXPECT_THAT(Events(), Not(HasSubstr("may have been released")));
}

TEST_F(EipDeletionTest, AReleaseThatHadNoAnswerIsToldByTheNextLeader) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  On("ReleaseEipAddress", [](auto& fate) { fate.answered = false; });
  Delete("web");
  executor_.Advance(1s);
  ChangeLeader([this] { Merge("web", R"({"spec":{"releaseStrategy":"Never"}})"); });
  EXPECT_FALSE(Exists("web"));
  EXPECT_THAT(Events(), HasSubstr(id + " may have been released"));
}

TEST_F(EipDeletionTest, AnAbandonedObjectWithoutAnAddressNamesNone) {
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "DescribeEipAddresses" && action != "AllocateEipAddress") return;
    fate.refusal = cloud::simulator::Unavailable();
    fate.carried_out = false;
  };
  Create("web", "");
  executor_.Advance(10s);
  Annotate("web", kOnStuckAnnotation, "abandon");
  Delete("web");
  executor_.Advance(10s);
  EXPECT_FALSE(Exists("web"));
  EXPECT_THAT(Events(), HasSubstr("an EIP that may have been allocated is left in the cloud, as"));
}

TEST_F(EipDeletionTest, AReleaseIsAskedForOnce) {
  Create("web", "");
  executor_.Advance(30s);
  Delete("web");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_EQ(Calls("ReleaseEipAddress"), 1u);
  EXPECT_THAT(EventReasons(), Contains("Released"));
}

// The object was never told of its address.
TEST_F(EipDeletionTest, AnAddressThatNobodyKnewIsReleasedOnce) {
  On("AllocateEipAddress", [](auto& fate) { fate.answered = false; });
  Create("web", "");
  executor_.Advance(2s);
  Delete("web");
  script_.on_call = nullptr;
  executor_.Advance(2min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_EQ(Calls("ReleaseEipAddress"), 1u);
  cloud_.vpc().Settle(executor_.WallNow());
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

// The answer was lost, others took its tags off, and for longer than a request is in doubt no call
// got through: the request is repeated all the same, and the cloud names the address.
TEST_F(EipDeletionTest, AnAddressThatNobodyKnewAndThatLostItsTagIsFoundByItsToken) {
  On("AllocateEipAddress", [](auto& fate) { fate.answered = false; });
  Create("web", "");
  executor_.Advance(2s);
  cloud_.keys().Revoke(cloud::TestAccount::kKeyId);
  Delete("web");
  script_.on_call = nullptr;
  executor_.Advance(20min);
  ASSERT_TRUE(Exists("web"));
  ASSERT_EQ(cloud_.vpc().Eips().size(), 1u);
  cloud_.vpc().SetTags(cloud_.vpc().Eips().front().allocation_id, {});
  account_.GiveKey();
  executor_.Advance(2min);
  EXPECT_FALSE(Exists("web"));
  cloud_.vpc().Settle(executor_.WallNow());
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

TEST_F(EipDeletionTest, DoubtEndsWhenNeitherTagNorTokenTellOfAnAddress) {
  for (const char* code : {"Forbidden.RAM", "Unheard.Of"}) {
    On("AllocateEipAddress", [](auto& fate) { fate.arrives = false; });
    Create("web", "");
    executor_.Advance(12s);
    On("AllocateEipAddress", [code](auto& fate) {
      fate.refusal = {403, code, "Not like this."};
      fate.carried_out = false;
    });
    Delete("web");
    executor_.Advance(10min);
    EXPECT_TRUE(Exists("web")) << "a request may still arrive";
    executor_.Advance(20min);
    EXPECT_FALSE(Exists("web")) << code;
  }
  EXPECT_TRUE(cloud_.vpc().ledger().empty());
}

}  // namespace
}  // namespace berth::eip
