// A fault that passes is never the spec's, and half a minute after its end all is well.
#include "async/sanitized.h"
#include "reconcile/eip/system_fixture_test.h"

namespace berth::eip {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// TLS fails, or every call is refused with this code.
class EipPassingFault : public EipSystemTest, public testing::WithParamInterface<const char*> {
 protected:
  void Begin() {
    script_.on_call = [](const std::string&, cloud::simulator::Fate& fate) {
      if (std::string_view(GetParam()) == "TLS") {
        fate.trusted = false;
        return;
      }
      fate.refusal = {400, GetParam(), "It will pass."};
      fate.carried_out = false;
    };
  }
  void End() { script_.on_call = nullptr; }
};

TEST_P(EipPassingFault, AReadyObjectStaysReady) {
  Create("web", "");
  executor_.Advance(30s);
  Begin();
  for (int i = 0; i < 40; ++i) {
    executor_.Advance(30s);
    ASSERT_THAT(Ready("web"), StartsWith("True"));
  }
  EXPECT_THAT(Ready("web"), HasSubstr("True SyncFailed DescribeEipAddresses: "));
  End();
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), StartsWith("True Created"));
}

TEST_P(EipPassingFault, AnObjectIsReadyHalfAMinuteAfterItsEnd) {
  Begin();
  for (const char* name : {"a", "b", "c"}) Create(name, "");
  executor_.Advance(10min);
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_THAT(Ready(name), StartsWith("False SyncFailed"));
  }
  End();
  executor_.Advance(30s);
  for (const char* name : {"a", "b", "c"}) EXPECT_THAT(Ready(name), StartsWith("True"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 3u);
}

// One answer is for up to 50 objects.
TEST_F(EipSystemTest, ARefusedReadIsNoFaultOfTheSpec) {
  for (int i = 0; i < 30; ++i) Create(Format("e{}", i), "");
  executor_.Advance(1min);
  const std::string version = Version("e7");
  int refusals = 1;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "DescribeEipAddresses" || refusals-- <= 0) return;
    fate.refusal = {400, "InvalidParameter", "Not like this."};
    fate.carried_out = false;
  };
  executor_.Advance(6min);
  ASSERT_LE(refusals, 0) << "a resync";
  EXPECT_EQ(Version("e7"), version) << Ready("e7");
  EXPECT_THAT(Told(), Not(HasSubstr("Not like this")));
  // It goes on, and a deletion tells of it.
  refusals = 1'000'000;
  Delete("e7");
  executor_.Advance(6min);
  EXPECT_THAT(Ready("e7"), HasSubstr("False Deleting DescribeEipAddresses: InvalidParameter"));
  EXPECT_THAT(Ready("e8"), HasSubstr("True SyncFailed DescribeEipAddresses: InvalidParameter"));
  EXPECT_THAT(Told(), Not(HasSubstr("change spec")));
  refusals = 0;
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("e7"));
  for (int i = 8; i < 30; ++i) EXPECT_THAT(Ready(Format("e{}", i)), StartsWith("True Created"));
}

// Whatever class the cloud's code has.
TEST_F(EipSystemTest, AChangeOrADeletionThatTheCloudRefusesSaysSo) {
  for (const char* code : {"InvalidOperation.InvalidEniState", "InvalidEcsId.NotFound"}) {
    Create("web", R"("bandwidth":"5")");
    executor_.Advance(30s);
    script_.on_call = [code](const std::string& action, cloud::simulator::Fate& fate) {
      if (action == "DescribeEipAddresses") return;
      fate.refusal = {400, code, "Not now."};
      fate.carried_out = false;
    };
    Merge("web", R"({"spec":{"bandwidth":"7"}})");
    executor_.Advance(1min);
    EXPECT_THAT(Ready("web"),
                HasSubstr(Format("False SyncFailed ModifyEipAddressAttribute: {}", code)));
    EXPECT_THAT(EventReasons(), testing::Contains("ReconcileFailed"));
    cloud_.vpc().Edit(Status("web", "allocationID")).status = "InUse";
    Annotate("web", kOnStuckAnnotation, "unassociate");
    Delete("web");
    executor_.Advance(1min);
    EXPECT_THAT(Ready("web"), HasSubstr(Format("False Deleting UnassociateEipAddress: {}", code)));
    EXPECT_THAT(EventReasons(), testing::Contains("ReleaseFailed"));
    script_.on_call = nullptr;
    executor_.Advance(2min);
    EXPECT_FALSE(Exists("web"));
  }
}

INSTANTIATE_TEST_SUITE_P(OfTheCloud, EipPassingFault,
                         testing::Values("TLS", "InvalidTimeStamp.Expired", "IncompleteSignature",
                                         "ReserveIpFail", "OrderError.EIP",
                                         "InvalidRegionId.NotFound", "Unheard.Of",
                                         "InvalidOperation.InvalidEniState",
                                         "InvalidResourceId.NotFound", "InvalidParameter",
                                         "InvalidAccessKeyId.NotFound"));

// Retries of all keys together are 10 a second: 500 objects would need most of a minute to try.
TEST_F(EipSystemTest, AfterAnOutageTheFirstSuccessWakesAll) {
  constexpr int kEips = kSanitized ? 100 : 500;
  for (int i = 0; i < kEips; ++i) Create(Format("e{}", i), "");
  executor_.Advance(15min);
  for (int i = 0; i < kEips; ++i) {
    Merge(Format("e{}", i), R"({"spec":{"description":"changed"}})");
  }
  script_.on_call = [](const std::string&, cloud::simulator::Fate& fate) { fate.trusted = false; };
  executor_.Advance(10min);
  EXPECT_THAT(Ready(Format("e{}", kEips - 1)), StartsWith("False"));
  script_.on_call = nullptr;
  executor_.Advance(2min);
  for (int i = 0; i < kEips; ++i) ASSERT_THAT(Ready(Format("e{}", i)), StartsWith("True")) << i;
}

// A refusal that may pass does not bind the object to what it asked for at first.
TEST_F(EipSystemTest, ASpecThatIsChangedWhileItIsRefusedIsFollowed) {
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "AllocateEipAddress") return;
    fate.refusal = {400, "InvalidRegionId.NotFound", "There is no such region."};
    fate.carried_out = false;
  };
  Create("web", R"("bandwidth":"7")");
  executor_.Advance(2min);
  EXPECT_THAT(Ready("web"), HasSubstr("AllocateEipAddress: InvalidRegionId.NotFound: "));
  Merge("web", R"({"spec":{"bandwidth":"8","isp":"BGP_PRO"}})");
  executor_.Advance(30s);
  script_.on_call = nullptr;
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_EQ(Address("web")->isp, "BGP_PRO");
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

}  // namespace
}  // namespace berth::eip
