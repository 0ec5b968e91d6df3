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
  // The cloud throttles releases until the next one has to wait for at least 10 s.
  void SlowReleases() {
    int throttled = 0;
    On("ReleaseEipAddress", [&throttled](auto& fate) {
      ++throttled;
      fate.refusal = cloud::simulator::Throttled();
      fate.carried_out = false;
    });
    Create("slow", "");
    executor_.Advance(30s);
    Delete("slow");
    for (int i = 0; i < 1200 && throttled < 5; ++i) executor_.Advance(100ms);
    ASSERT_EQ(throttled, 5);
    script_.on_call = nullptr;
  }
  // All events, as one text.
  std::string Events() { return Send(kube::Method::kGet, "/apis/events.k8s.io/v1/events").body; }
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
