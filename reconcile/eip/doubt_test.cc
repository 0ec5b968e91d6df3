// An answer that does not say whether an address was allocated.
#include "reconcile/eip/system_fixture_test.h"

namespace berth::eip {
namespace {

using cloud::simulator::Fault;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class EipDoubtTest : public EipSystemTest {
 protected:
  void CarryOutAndRefuse(const std::string& action, const std::string& code) {
    cloud_.faults().Set(
        {{.action = action, .kind = Fault::Kind::kCarriedOut, .code = code, .count = 1000}});
  }
  std::size_t Addresses() {
    cloud_.vpc().Settle(executor_.WallNow());
    return cloud_.vpc().Eips().size();
  }
};

TEST_F(EipDoubtTest, AnAddressIsNotForgottenBecauseACodeIsUnknown) {
  for (const char* code : {"IdempotentProcessing", "IdempotentFailed", "ReserveIpFail",
                           "SignatureNonceUsed", "Unheard.Of"}) {
    CarryOutAndRefuse("AllocateEipAddress", code);
    Create("web", "");
    for (int i = 0; i < 3000 && Addresses() == 0; ++i) executor_.Advance(10ms);
    executor_.Advance(1s);
    Delete("web");
    cloud_.faults().Set({});
    executor_.Advance(2min);
    EXPECT_FALSE(Exists("web"));
    EXPECT_EQ(Addresses(), 0u) << code;
  }
  EXPECT_THAT(Told(), Not(HasSubstr("nothing was allocated")));
}

// The first request has allocated an address, which is not listed yet.
TEST_F(EipDoubtTest, AnUnknownCodeAndAnotherSpecDoNotAllocateTwice) {
  CarryOutAndRefuse("AllocateEipAddress", "ReserveIpFail");
  Create("web", "");
  for (int i = 0; i < 3000 && Addresses() == 0; ++i) executor_.Advance(10ms);
  cloud_.faults().Set({{.action = "AllocateEipAddress", .code = "Throttling", .count = 3}});
  Merge("web", R"({"spec":{"isp":"BGP_PRO"}})");
  executor_.Advance(2min);
  EXPECT_EQ(Addresses(), 1u);
}

// Another spec is followed at once only if the code says that nothing was allocated.
TEST_F(EipDoubtTest, AnotherSpecIsFollowedOnceNothingCanComeOfTheFirst) {
  bool refuses = true;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "AllocateEipAddress" || !refuses) return;
    fate.refusal = {400, "InvalidBandwidth.Odd", "The bandwidth is odd."};
    fate.carried_out = false;
  };
  Create("web", R"("bandwidth":"7")");
  executor_.Advance(1min);
  Merge("web", R"({"spec":{"isp":"BGP_PRO"}})");
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), HasSubstr("spec is followed then"));
  EXPECT_EQ(Get("web")["status"]["attempt"]["number"].as<int>(), 1);
  executor_.Advance(18min);
  EXPECT_GE(Get("web")["status"]["attempt"]["number"].as<int>(), 2);
  refuses = false;
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_EQ(Address("web")->isp, "BGP_PRO");
  EXPECT_EQ(Addresses(), 1u);
}

// AlibabaCloud-EIP-Operator's CustomResourceDefinition has no status.attempt.
TEST_F(EipDoubtTest, NothingIsAllocatedIfTheAttemptIsNotKept) {
  const std::string path =
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/eips.eip.alibabacloud.com";
  const Json crd = Json::parse(Send(kube::Method::kGet, path).body);
  Json other = crd;
  other["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
      .erase("attempt");
  ASSERT_EQ(Send(kube::Method::kPut, path, other.to_string()).code, 200);
  Create("web", "");
  executor_.Advance(2min);
  EXPECT_THAT(Ready("web"), HasSubstr("does not keep status.attempt"));
  const int patches = transport_.patches;
  executor_.Advance(10min);
  EXPECT_LE(transport_.patches, patches + 12);
  EXPECT_EQ(Addresses(), 0u);
  Json again = Json::parse(Send(kube::Method::kGet, path).body);
  again["spec"] = crd["spec"];
  ASSERT_EQ(Send(kube::Method::kPut, path, again.to_string()).code, 200);
  executor_.Advance(2min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
}

TEST_F(EipDoubtTest, ARefusedReleaseMayHaveBeenCarriedOut) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  CarryOutAndRefuse("ReleaseEipAddress", "Unheard.Of");
  Delete("web");
  executor_.Advance(1s);
  Merge("web", R"({"spec":{"releaseStrategy":"Never"}})");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_THAT(Told(), HasSubstr(id + " may have been released"));
}

}  // namespace
}  // namespace berth::eip
