// An address belongs to a region and an account: with a key of another account nothing is done to
// it.
#include "reconcile/eip/system_fixture_test.h"

namespace berth::eip {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kOtherAccount = "42";

class EipPlaceTest : public EipSystemTest {
 protected:
  void CreateReady(const std::string& spec = "") {
    Create("web", spec);
    executor_.Advance(30s);
    ASSERT_THAT(Ready("web"), StartsWith("True"));
  }
  void GiveOtherAccountsKey() { account_.ChangeKey("LTAI-other", kOtherAccount); }
  void GiveOwnKey() {
    account_.ChangeKey(cloud::TestAccount::kKeyId, cloud::simulator::kDefaultAccount);
  }
  void PatchStatus(const std::string& patch) {
    const auto answer =
        Send(kube::Method::kPatch, Path("web") + "/status", patch, "application/merge-patch+json");
    ASSERT_EQ(answer.code, 200) << answer.body;
  }
  cloud::simulator::VpcProduct& OtherCloud() {
    return cloud_.vpc(kOtherAccount, cloud::TestAccount::kRegion);
  }
};

TEST_F(EipPlaceTest, TheStatusSaysWhereTheAddressIs) {
  CreateReady();
  EXPECT_EQ(Status("web", "region"), cloud::TestAccount::kRegion);
  EXPECT_EQ(Status("web", "account"), cloud::simulator::kDefaultAccount);
}

TEST_F(EipPlaceTest, ADeletionUnderAnotherAccountsKeyReleasesNothingAndSaysWhatToDo) {
  CreateReady();
  const std::string id = Status("web", "allocationID");
  GiveOtherAccountsKey();
  Delete("web");
  executor_.Advance(10min);
  ASSERT_TRUE(Exists("web"));
  EXPECT_THAT(Ready("web"), StartsWith("False WrongAccount"));
  EXPECT_THAT(Ready("web"), HasSubstr("access key of account"));
  EXPECT_THAT(Ready("web"), HasSubstr(kOnStuckAnnotation));
  EXPECT_TRUE(cloud_.vpc().Find(id));
  EXPECT_EQ(Calls("ReleaseEipAddress"), 0u);
  GiveOwnKey();
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("web"));
  EXPECT_FALSE(cloud_.vpc().Find(id));
}

TEST_F(EipPlaceTest, ARotatedKeyOfTheSameAccountGoesOn) {
  CreateReady();
  account_.ChangeKey("LTAI-rotated", cloud::simulator::kDefaultAccount);
  Delete("web");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("web"));
  cloud_.vpc().Settle(executor_.WallNow());
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

TEST_F(EipPlaceTest, AnAddressIsNotReplacedUnderAnotherAccountsKey) {
  CreateReady();
  const std::string id = Status("web", "allocationID");
  Annotate("web", kOnLostAnnotation, "reallocate");
  GiveOtherAccountsKey();
  executor_.Advance(20min);
  EXPECT_THAT(Ready("web"), StartsWith("False WrongAccount"));
  EXPECT_TRUE(OtherCloud().Eips().empty());
  GiveOwnKey();
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_EQ(Status("web", "allocationID"), id);
}

TEST_F(EipPlaceTest, AnAttemptIsNotRepeatedInAnotherAccount) {
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action == "AllocateEipAddress") fate.answered = false;
  };
  Create("web", "");
  executor_.Advance(5s);
  GiveOtherAccountsKey();
  script_.on_call = nullptr;
  executor_.Advance(10min);
  EXPECT_THAT(Ready("web"), StartsWith("False WrongAccount"));
  EXPECT_TRUE(OtherCloud().Eips().empty());
  GiveOwnKey();
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

TEST_F(EipPlaceTest, InAnotherRegionNothingIsDone) {
  CreateReady();
  PatchStatus(R"({"status":{"region":"cn-beijing"}})");
  Delete("web");
  executor_.Advance(10min);
  EXPECT_THAT(Ready("web"), StartsWith("False WrongRegion"));
  EXPECT_THAT(Ready("web"), HasSubstr("cn-beijing"));
  EXPECT_EQ(Calls("ReleaseEipAddress"), 0u);
}

TEST_F(EipPlaceTest, AnObjectThatIsNotWhereBerthWorksCanBeAbandoned) {
  CreateReady();
  GiveOtherAccountsKey();
  Delete("web");
  executor_.Advance(1min);
  Annotate("web", kOnStuckAnnotation, "abandon");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

// As an earlier version, or the Go operator, has left it.
TEST_F(EipPlaceTest, ThePlaceIsWrittenDownWhenTheAddressIsSeen) {
  CreateReady();
  PatchStatus(R"({"status":{"region":null,"account":null}})");
  executor_.Advance(6min);
  EXPECT_EQ(Status("web", "account"), cloud::simulator::kDefaultAccount);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
}

TEST_F(EipPlaceTest, WithoutARecordAnAddressThatIsNotSeenIsNeitherReleasedNorReplaced) {
  CreateReady();
  const std::string id = Status("web", "allocationID");
  Annotate("web", kOnLostAnnotation, "reallocate");
  GiveOtherAccountsKey();
  PatchStatus(R"({"status":{"region":null,"account":null}})");
  executor_.Advance(20min);
  EXPECT_THAT(Ready("web"), StartsWith("False Lost"));
  EXPECT_TRUE(OtherCloud().Eips().empty());
  Delete("web");
  executor_.Advance(10min);
  ASSERT_TRUE(Exists("web"));
  EXPECT_THAT(Ready("web"), HasSubstr("does not say where"));
  EXPECT_TRUE(cloud_.vpc().Find(id));
}

// The cloud lists it long after it was allocated.
class LatePlaceTest : public EipSystemTest {
 protected:
  LatePlaceTest() : EipSystemTest(10min) {}
};

TEST_F(LatePlaceTest, AnAddressThatIsFoundAgainIsNotLostAnyMore) {
  Create("web", "");
  executor_.Advance(10s);
  Send(kube::Method::kPatch, Path("web") + "/status", R"({"status":{"account":null}})",
       "application/merge-patch+json");
  executor_.Advance(5min);
  ASSERT_THAT(Ready("web"), StartsWith("False Lost"));
  // As it is before each write.
  std::vector<std::string> states;
  transport_.refuses = [&](const kube::Request&) {
    server_.Handle({.path = Path("web")},
                   [&](const auto& answer) { states.push_back(answer.body); });
    return false;
  };
  executor_.Advance(10min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_GT(states.size(), 1u);
  EXPECT_THAT(states, Each(Not(AllOf(HasSubstr(R"("reason":"Lost")"), HasSubstr("eipAddress")))));
}

}  // namespace
}  // namespace berth::eip
