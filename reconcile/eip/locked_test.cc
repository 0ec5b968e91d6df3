// An EIP that the cloud has locked, as for bills that are not paid.
#include "reconcile/eip/system_fixture_test.h"

namespace berth::eip {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

class LockedEipTest : public EipSystemTest {
 protected:
  // "web" is Ready; then the cloud locks its address.
  void CreateLocked() {
    Create("web", R"("bandwidth":"5")");
    executor_.Advance(30s);
    ASSERT_THAT(Ready("web"), StartsWith("True"));
    id_ = Status("web", "allocationID");
    cloud_.vpc().SetLocks(id_, {"financial"});
  }

  std::string id_;
};

TEST_F(LockedEipTest, ItIsNotReadyAndSaysWhatToDo) {
  CreateLocked();
  executor_.Advance(6min);
  EXPECT_THAT(Ready("web"), AllOf(StartsWith("False Locked " + id_), HasSubstr("financial"),
                                  HasSubstr("pay the account's bills")));
  EXPECT_THAT(EventReasons(), Contains("ReconcileFailed"));
  const std::string version = Version("web");
  executor_.Advance(1h);
  EXPECT_EQ(Version("web"), version);
}

TEST_F(LockedEipTest, ItIsReadyAgainOnceItIsUnlocked) {
  CreateLocked();
  executor_.Advance(6min);
  ASSERT_THAT(Ready("web"), StartsWith("False Locked"));
  cloud_.vpc().SetLocks(id_, {});
  executor_.Advance(6min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_EQ(Status("web", "allocationID"), id_);
}

TEST_F(LockedEipTest, AChangeWaitsForTheLockToGo) {
  CreateLocked();
  Merge("web", R"({"spec":{"bandwidth":"20"}})");
  executor_.Advance(10s);
  EXPECT_THAT(Ready("web"), StartsWith("False Locked"));
  EXPECT_EQ(Calls("ModifyEipAddressAttribute"), 0u);
  cloud_.vpc().SetLocks(id_, {});
  executor_.Advance(6min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_EQ(Address("web")->bandwidth, "20");
}

TEST_F(LockedEipTest, ItIsReleasedWithItsObject) {
  CreateLocked();
  Delete("web");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_EQ(cloud_.vpc().Find(id_), nullptr);
}

TEST_F(LockedEipTest, AReleaseThatTheCloudRefusesSaysThatItIsLocked) {
  CreateLocked();
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "ReleaseEipAddress") return;
    fate.refusal = {400, "IncorrectEipStatus", "Current elastic IP status does not support this."};
    fate.carried_out = false;
  };
  Delete("web");
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), AllOf(StartsWith("False Deleting ReleaseEipAddress: "),
                                  HasSubstr("pay the account's bills")));
  script_.on_call = nullptr;
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_EQ(cloud_.vpc().Find(id_), nullptr);
}

TEST_F(LockedEipTest, ItIsLeftInTheCloudOnRequest) {
  CreateLocked();
  Annotate("web", kOnStuckAnnotation, "abandon");
  Delete("web");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_NE(cloud_.vpc().Find(id_), nullptr);
}

}  // namespace
}  // namespace berth::eip
