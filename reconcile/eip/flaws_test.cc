#include "log/format.h"
#include "reconcile/eip/system_fixture_test.h"

namespace berth::eip {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// Flaws of AlibabaCloud-EIP-Operator that Berth must not have.

TEST_F(EipSystemTest, FlawNothingIsWrittenWhenNothingChanged) {
  Create("web", R"("bandwidth":"20")");
  executor_.Advance(30s);
  const std::string version = Get("web")["metadata"]["resourceVersion"].as<std::string>();
  const auto calls = Calls("DescribeEipAddresses");
  executor_.Advance(16min);
  EXPECT_EQ(Get("web")["metadata"]["resourceVersion"].as<std::string>(), version);
  EXPECT_EQ(Calls("DescribeEipAddresses"), calls + 3) << "looked at every five minutes";
}

TEST_F(EipSystemTest, FlawAnImportIsNotReleasedUnlessAskedFor) {
  const std::string kept = cloud_.vpc().CreateEip({});
  const std::string given = cloud_.vpc().CreateEip({});
  Create("kept", Format(R"("allocationID":"{}")", kept));
  Create("given", Format(R"("allocationID":"{}","releaseStrategy":"OnDelete")", given));
  executor_.Advance(10s);
  EXPECT_EQ(Status("kept", "origin"), "Imported");
  EXPECT_THAT(Ready("kept"), HasSubstr("True"));
  Delete("kept");
  Delete("given");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("kept"));
  EXPECT_FALSE(Exists("given"));
  EXPECT_TRUE(cloud_.vpc().Find(kept));
  EXPECT_FALSE(cloud_.vpc().Find(given));
  EXPECT_THAT(EventReasons(), Contains("Skipped"));
}

TEST_F(EipSystemTest, FlawOfTwoImportsOfOneAddressTheOlderHasIt) {
  const std::string id = cloud_.vpc().CreateEip({});
  Create("first", Format(R"("allocationID":"{}")", id));
  executor_.Advance(2s);
  Create("second", Format(R"("allocationID":"{}")", id));
  executor_.Advance(10s);
  EXPECT_THAT(Ready("first"), HasSubstr("True"));
  EXPECT_THAT(Ready("second"), HasSubstr("False InvalidConfig"));
  EXPECT_THAT(Ready("second"), HasSubstr("first"));
  Delete("first");
  executor_.Advance(10s);
  EXPECT_THAT(Ready("second"), HasSubstr("True"));
}

TEST_F(EipSystemTest, FlawDriftIsRepairedAtTheNextResync) {
  Create("web", R"("bandwidth":"20","name":"front","description":"of the shop",)"
                R"("resourceGroupID":"rg-1","tags":{"team":"web"})");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  cloud_.vpc().Edit(id).name = "meddled";
  cloud_.vpc().Edit(id).description = "meddled";
  cloud_.vpc().Edit(id).resource_group_id = "rg-meddled";
  cloud_.vpc().Edit(id).bandwidth = "1";
  cloud_.vpc().SetTags(id, {{"foreign", "x"}});
  bool told = false;
  for (int i = 0; i < 360; ++i) {
    executor_.Advance(1s);
    told |= Ready("web").contains("False Drifted");
  }
  EXPECT_TRUE(told);
  EXPECT_THAT(Ready("web"), HasSubstr("True Updated"));
  EXPECT_EQ(Address("web")->name, "front");
  EXPECT_EQ(Address("web")->description, "of the shop");
  EXPECT_EQ(Address("web")->resource_group_id, "rg-1");
  EXPECT_EQ(Address("web")->bandwidth, "20");
  EXPECT_EQ(Address("web")->tags.at("team"), "web");
  EXPECT_EQ(Address("web")->tags.at("foreign"), "x") << "others' tags are left alone";
  EXPECT_THAT(EventReasons(), Contains("Updated"));
}

TEST_F(EipSystemTest, FlawARefusedSpecIsExplainedAndNotAskedForAgainAndAgain) {
  Create("web", R"("internetChargeType":"PayByMoonlight")");
  executor_.Advance(4min);
  EXPECT_THAT(Ready("web"), HasSubstr("False InvalidConfig"));
  EXPECT_THAT(Ready("web"), HasSubstr("InternetChargeType"));
  EXPECT_LE(Calls("AllocateEipAddress"), 2u);
  EXPECT_THAT(EventReasons(), Contains("CreateFailed"));
  Merge("web", R"({"spec":{"internetChargeType":"PayByTraffic"}})");
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

TEST_F(EipSystemTest, FlawWhatCannotBeReleasedSaysWhyAndCanBeAbandoned) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  cloud_.vpc().Edit(id).status = "InUse";
  cloud_.vpc().Edit(id).instance_id = "i-7";
  Delete("web");
  executor_.Advance(10s);
  EXPECT_THAT(Ready("web"), HasSubstr("in use by"));
  EXPECT_THAT(EventReasons(), Contains("ReleaseFailed"));
  Merge("web",
        Format(R"({{"metadata":{{"annotations":{{"{}":"abandon"}}}}}})", kOnStuckAnnotation));
  executor_.Advance(10s);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(cloud_.vpc().Find(id));
}

TEST_F(EipSystemTest, FlawALostAddressIsSaidToBeLostAndReplacedWhenAskedFor) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  cloud_.vpc().DeleteEip(id);
  executor_.Advance(12min);
  EXPECT_THAT(Ready("web"), HasSubstr("False Lost"));
  Merge("web",
        Format(R"({{"metadata":{{"annotations":{{"{}":"reallocate"}}}}}})", kOnLostAnnotation));
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_NE(Status("web", "allocationID"), id);
  EXPECT_EQ(Get("web")["spec"]["allocationID"], Get("web")["status"]["allocationID"]);
}

TEST_F(EipSystemTest, FlawALostAnswerDoesNotAllocateASecondAddress) {
  int lost = 0;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate& fate) {
    if (action == "AllocateEipAddress" && ++lost <= 3) fate.answered = false;
  };
  // So many tags that it cannot be found by its owner's.
  Create("web", R"("bandwidth":"20",)" + TwentyTags());
  executor_.Advance(5s);
  Merge("web", R"({"spec":{"bandwidth":"30"}})");  // the repetitions are the same nevertheless
  executor_.Advance(2min);
  EXPECT_EQ(lost, 4);
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
  ASSERT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_EQ(Address("web")->bandwidth, "30");
}

TEST_F(EipSystemTest, FlawAnEditedAllocationIdDoesNotOrphanTheAddress) {
  const std::string other = cloud_.vpc().CreateEip({});
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  Merge("web", Format(R"({{"spec":{{"allocationID":"{}"}}}})", other));
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), HasSubstr("False InvalidConfig"));
  EXPECT_THAT(Ready("web"), HasSubstr(id));
  EXPECT_EQ(Status("web", "allocationID"), id);
  Delete("web");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("web"));
  EXPECT_FALSE(cloud_.vpc().Find(id));
  EXPECT_TRUE(cloud_.vpc().Find(other));
}

TEST_F(EipSystemTest, FlawPrePaidSaysForHowLongAndHowItIsPaid) {
  Create("web", R"("instanceChargeType":"PrePaid","internetChargeType":"PayByBandwidth",)"
                R"("bandwidth":"20","period":3,"pricingCycle":"Month")");
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), HasSubstr("True Created"));
  EXPECT_EQ(Status("web", "instanceChargeType"), "PrePaid");
  // The cloud does not release it before its time, which is said; then it can go.
  Delete("web");
  executor_.Advance(10s);
  EXPECT_THAT(Ready("web"), HasSubstr("PrePaid"));
  EXPECT_THAT(EventReasons(), Contains("ReleaseFailed"));
  cloud_.vpc().DeleteEip(Status("web", "allocationID"));
  executor_.Advance(5min);
  EXPECT_FALSE(Exists("web"));
}

TEST_F(EipSystemTest, FlawWhatIsProtectedSaysSoAndGoesOnceItIsNot) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  cloud_.vpc().Edit(id).deletion_protection = true;
  Delete("web");
  executor_.Advance(10s);
  EXPECT_THAT(Ready("web"), HasSubstr("protected"));
  cloud_.vpc().Edit(id).deletion_protection = false;
  executor_.Advance(6min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_FALSE(cloud_.vpc().Find(id));
}

TEST_F(EipSystemTest, FlawWhatIsInUseIsTakenOffWhenAskedFor) {
  Create("web", "");
  executor_.Advance(30s);
  cloud_.vpc().Edit(Status("web", "allocationID")).status = "InUse";
  Delete("web");
  executor_.Advance(10s);
  ASSERT_TRUE(Exists("web"));
  Annotate("web", kOnStuckAnnotation, "unassociate");
  executor_.Advance(30s);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

TEST_F(EipSystemTest, FlawErrorsAreKnownByTheirCodeNotByTheirWords) {
  Create("web", "");
  executor_.Advance(30s);
  script_.on_call = [](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "ReleaseEipAddress") return;
    fate.refusal = {400, "OperationDenied", "InvalidAllocationId.NotFound is not the matter."};
    fate.carried_out = false;
  };
  Delete("web");
  executor_.Advance(30s);
  EXPECT_TRUE(Exists("web"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
  EXPECT_THAT(Ready("web"), HasSubstr("is not the matter"));
}

TEST_F(EipSystemTest, FlawNoKeyIsWrittenAnywhere) {
  testing::internal::CaptureStderr();
  script_.on_call = [this](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "AllocateEipAddress") return;
    fate.refusal = {400, "SignatureDoesNotMatch",
                    Format("{} {}", account_.kKeyId, account_.kSecret)};
    fate.carried_out = false;
  };
  Create("web", "");
  executor_.Advance(2min);
  const std::string written = testing::internal::GetCapturedStderr() + Told();
  EXPECT_THAT(written, HasSubstr("***"));
  EXPECT_THAT(written, Not(HasSubstr(account_.kSecret)));
  EXPECT_THAT(written, Not(HasSubstr(account_.kKeyId)));
}

TEST_F(EipSystemTest, FlawWhatIsInvalidCanBeDeleted) {
  Create("web", R"("internetChargeType":"PayByMoonlight","bandwidth":"many")");
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), HasSubstr("False InvalidConfig"));
  Delete("web");
  executor_.Advance(10s);
  EXPECT_FALSE(Exists("web"));
}

}  // namespace
}  // namespace berth::eip
