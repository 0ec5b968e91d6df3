#include "cloud/aliyun/vpc_client.h"

#include <gtest/gtest.h>

#include "async/test_executor.h"
#include "cloud/aliyun/test_cloud.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

constexpr const char* kDone = R"({"RequestId":"R-1"})";

std::string Page(int first, int count, int total) {
  std::string items;
  for (int i = first; i < first + count; ++i) {
    items += Format(R"({}{{"AllocationId":"eip-{}"}})", items.empty() ? "" : ",", i);
  }
  return Format(R"({{"EipAddresses":{{"EipAddress":[{}]}},"TotalCount":{}}})", items, total);
}

async::Task<bool> Say(const bool* wanted) { co_return *wanted; }

class VpcClientTest : public testing::Test {
 protected:
  // The last call's parameters, when it is `action` and rightly signed; RegionId is in all of them.
  Parameters Sent(const std::string& action) {
    if (transport_.size() == 0) return {};
    const auto& sent = transport_.last();
    EXPECT_EQ(sent.header("x-acs-action"), action);
    EXPECT_EQ(sent.header("x-acs-version"), "2016-04-28");
    EXPECT_EQ(sent.header("authorization"), ExpectedAuthorization(sent, *credentials_.now));
    Parameters query = sent.query();
    EXPECT_EQ(query["RegionId"], "cn-hangzhou");
    query.erase("RegionId");
    return query;
  }
  // Calls, answers that it is done, and gives what was sent.
  Parameters Do(const std::string& action, async::Task<Result<void>> task) {
    const Pending<Result<void>> call(std::move(task));
    Parameters sent = Sent(action);
    transport_.last().Answer(200, kDone);
    EXPECT_TRUE(call.ended() && call.value());
    return sent;
  }
  Result<std::vector<Eip>> Describe(std::vector<std::string> answers) {
    const Pending<Result<std::vector<Eip>>> call(vpc_.EipsTagged("k", "v"));
    executor_.Advance(std::chrono::seconds(1));  // there may be a line
    for (const auto& answer : answers) transport_.last().Answer(200, answer);
    return call.ended() ? call.value() : Terminal("still waiting");
  }

  async::TestExecutor executor_;
  ScriptedTransport transport_;
  TestCredentials credentials_;
  ApiClient api_{executor_,
                 transport_,
                 credentials_,
                 nullptr,
                 {.endpoint = VpcEndpoint("cn-hangzhou", false),
                  .version = std::string(kVpcVersion),
                  .region = "cn-hangzhou"}};
  VpcClient vpc_{api_};
};

TEST_F(VpcClientTest, Endpoints) {
  EXPECT_EQ(VpcEndpoint("cn-hangzhou", false), "https://vpc.cn-hangzhou.aliyuncs.com");
  EXPECT_EQ(VpcEndpoint("cn-hangzhou", true), "https://vpc-vpc.cn-hangzhou.aliyuncs.com");
}

TEST_F(VpcClientTest, AllocateSendsAllThatIsAskedFor) {
  const Pending<Result<AllocatedEip>> call(
      vpc_.AllocateEip({.client_token = "token-1",
                        .bandwidth = "10",
                        .isp = "BGP_PRO",
                        .internet_charge_type = "PayByBandwidth",
                        .instance_charge_type = "PrePaid",
                        .public_ip_address_pool_id = "pippool-1",
                        .resource_group_id = "rg-1",
                        .name = "web",
                        .description = "für alle & jeden",
                        .security_protection_types = {"AntiDDoS_Enhanced", "Other"},
                        .tags = {{"owner", "u-1"}, {"team", "web"}},
                        .period = 3,
                        .pricing_cycle = "Month",
                        .auto_pay = true},
                       {}));
  EXPECT_EQ(Sent("AllocateEipAddress"),
            (Parameters{{"AutoPay", "true"},
                        {"Bandwidth", "10"},
                        {"ClientToken", "token-1"},
                        {"Description", "für alle & jeden"},
                        {"ISP", "BGP_PRO"},
                        {"InstanceChargeType", "PrePaid"},
                        {"InternetChargeType", "PayByBandwidth"},
                        {"Name", "web"},
                        {"Netmode", "public"},
                        {"Period", "3"},
                        {"PricingCycle", "Month"},
                        {"PublicIpAddressPoolId", "pippool-1"},
                        {"ResourceGroupId", "rg-1"},
                        {"SecurityProtectionTypes.1", "AntiDDoS_Enhanced"},
                        {"SecurityProtectionTypes.2", "Other"},
                        {"Tag.1.Key", "owner"},
                        {"Tag.1.Value", "u-1"},
                        {"Tag.2.Key", "team"},
                        {"Tag.2.Value", "web"}}));
  transport_.last().Answer(
      200, R"({"AllocationId":"eip-1","EipAddress":"203.0.113.7","OrderId":12,"RequestId":"R"})");
  ASSERT_TRUE(call.value());
  EXPECT_EQ(call.value()->allocation_id, "eip-1");
  EXPECT_EQ(call.value()->address, "203.0.113.7");
}

TEST_F(VpcClientTest, AllocateSendsNothingElse) {
  const Pending<Result<AllocatedEip>> call(vpc_.AllocateEip({.client_token = "t"}, {}));
  EXPECT_EQ(Sent("AllocateEipAddress"), (Parameters{{"ClientToken", "t"}, {"Netmode", "public"}}));
}

TEST_F(VpcClientTest, AnAllocationWithoutAnIdMayHaveHappened) {
  const Pending<Result<AllocatedEip>> call(vpc_.AllocateEip({.client_token = "t"}, {}));
  transport_.last().Answer(200, kDone);
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kAmbiguous);
  EXPECT_NE(call.value().error().message.find("R-1"), std::string::npos);
}

TEST_F(VpcClientTest, AnAllocationThatIsNoLongerWantedIsNotSent) {
  const Pending<Result<AllocatedEip>> throttled(vpc_.AllocateEip({.client_token = "t"}, {}));
  transport_.last().Answer(400, R"({"Code":"Throttling.User","Message":"Too fast."})");
  bool wanted = true;
  const Pending<Result<AllocatedEip>> late(
      vpc_.AllocateEip({.client_token = "u"}, [&wanted] { return Say(&wanted); }));
  ASSERT_FALSE(late.ended()) << "it waits for its turn";
  wanted = false;
  executor_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(transport_.size(), 1u);
  EXPECT_EQ(late.value().error().error_class, ErrorClass::kConflict);
  EXPECT_EQ(late.value().error().reason, kNotSent);
}

TEST_F(VpcClientTest, AReleaseThatIsNoLongerWantedIsNotSent) {
  const Pending<Result<void>> throttled(vpc_.ReleaseEip("eip-1", {}));
  transport_.last().Answer(400, R"({"Code":"Throttling.User","Message":"Too fast."})");
  bool wanted = true;
  const Pending<Result<void>> late(vpc_.ReleaseEip("eip-2", [&wanted] { return Say(&wanted); }));
  ASSERT_FALSE(late.ended()) << "it waits for its turn";
  wanted = false;
  executor_.Advance(std::chrono::minutes(1));
  EXPECT_EQ(transport_.size(), 1u);
  EXPECT_EQ(late.value().error().error_class, ErrorClass::kConflict);
  EXPECT_EQ(late.value().error().reason, kNotSent);
}

TEST_F(VpcClientTest, DescribeAsksForManyAtOnce) {
  const Pending<Result<std::vector<Eip>>> call(vpc_.DescribeEips({"eip-1", "eip-2"}));
  EXPECT_EQ(
      Sent("DescribeEipAddresses"),
      (Parameters{{"AllocationId", "eip-1,eip-2"}, {"PageNumber", "1"}, {"PageSize", "100"}}));
  transport_.last().Answer(200, Page(2, 1, 1));
  ASSERT_TRUE(call.value());
  ASSERT_EQ(call.value()->size(), 1);
  EXPECT_EQ(call.value()->front().allocation_id, "eip-2");
}

TEST_F(VpcClientTest, DescribeOfNoneIsNoCall) {
  const Pending<Result<std::vector<Eip>>> call(vpc_.DescribeEips({}));
  EXPECT_TRUE(call.value()->empty());
  EXPECT_EQ(transport_.size(), 0);
}

TEST_F(VpcClientTest, AnEipIsReadWhole) {
  const auto eips = Describe({R"({"TotalCount":1,"PageSize":100,"EipAddresses":{"EipAddress":[{
      "AllocationId":"eip-1","IpAddress":"203.0.113.7","Status":"InUse","ISP":"BGP",
      "InternetChargeType":"PayByTraffic","ChargeType":"PostPaid","Bandwidth":"5",
      "EipBandwidth":"4","ResourceGroupId":"rg-1","Name":"web","Description":"new",
      "Descritpion":"old","PublicIpAddressPoolId":"pippool-1","InstanceId":"i-1",
      "InstanceType":"EcsInstance","DeletionProtection":true,"ServiceManaged":1,
      "SecurityProtectionTypes":{"SecurityProtectionType":["AntiDDoS_Enhanced"]},
      "Tags":{"Tag":[{"Key":"owner","Value":"u-1"},{"Key":"empty","Value":""}]},
      "BusinessStatus":"FinancialLocked",
      "OperationLocks":{"LockReason":[{"LockReason":"financial"}]},
      "Novelty":{"x":[1]}}]}})"});
  ASSERT_TRUE(eips) << eips.error().message;
  const Eip expected{.allocation_id = "eip-1",
                     .address = "203.0.113.7",
                     .status = "InUse",
                     .isp = "BGP",
                     .internet_charge_type = "PayByTraffic",
                     .instance_charge_type = "PostPaid",
                     .bandwidth = "5",
                     .resource_group_id = "rg-1",
                     .name = "web",
                     .description = "new",
                     .public_ip_address_pool_id = "pippool-1",
                     .instance_id = "i-1",
                     .instance_type = "EcsInstance",
                     .security_protection_types = {"AntiDDoS_Enhanced"},
                     .deletion_protection = true,
                     .service_managed = true,
                     .business_status = "FinancialLocked",
                     .lock_reasons = {"financial"},
                     .tags = {{"owner", "u-1"}, {"empty", ""}}};
  EXPECT_EQ(eips->front(), expected);
}

TEST_F(VpcClientTest, InAPackageTheBandwidthIsTheEipsOwn) {
  const auto eips = Describe({R"({"TotalCount":1,"EipAddresses":{"EipAddress":[{
      "AllocationId":"eip-1","Bandwidth":200,"EipBandwidth":5,"BandwidthPackageId":"cbwp-1",
      "BandwidthPackageBandwidth":200,"BandwidthPackageType":"CommonBandwidthPackage"}]}})"});
  ASSERT_TRUE(eips);
  EXPECT_EQ(eips->front().bandwidth, "5");
  EXPECT_EQ(eips->front().bandwidth_package_id, "cbwp-1");
  EXPECT_EQ(eips->front().bandwidth_package_bandwidth, "200");
}

TEST_F(VpcClientTest, TheCloudsSpellingOfDescriptionIsReadToo) {
  const auto eips = Describe({R"({"TotalCount":1,"EipAddresses":{"EipAddress":[{
      "AllocationId":"eip-1","Descritpion":"old"}]}})"});
  ASSERT_TRUE(eips);
  EXPECT_EQ(eips->front().description, "old");
}

TEST_F(VpcClientTest, TaggedOnesComePageByPage) {
  const Pending<Result<std::vector<Eip>>> call(vpc_.EipsTagged("owner", "u 1"));
  EXPECT_EQ(Sent("DescribeEipAddresses"), (Parameters{{"PageNumber", "1"},
                                                      {"PageSize", "100"},
                                                      {"Tag.1.Key", "owner"},
                                                      {"Tag.1.Value", "u 1"}}));
  transport_.last().Answer(200, Page(0, 100, 201));
  EXPECT_EQ(Sent("DescribeEipAddresses")["PageNumber"], "2");
  transport_.last().Answer(200, Page(100, 100, 201));
  EXPECT_EQ(Sent("DescribeEipAddresses")["PageNumber"], "3");
  EXPECT_FALSE(call.ended());
  transport_.last().Answer(200, Page(200, 1, 201));
  ASSERT_TRUE(call.value());
  ASSERT_EQ(call.value()->size(), 201);
  EXPECT_EQ(call.value()->back().allocation_id, "eip-200");
  EXPECT_EQ(transport_.size(), 3);
}

TEST_F(VpcClientTest, PagesSmallerThanAskedForAreNotTheLast) {
  const auto eips = Describe({Page(0, 50, 60), Page(50, 10, 60)});
  ASSERT_TRUE(eips);
  EXPECT_EQ(eips->size(), 60);
}

TEST_F(VpcClientTest, AnEmptyPageIsTheLastWhateverTheTotal) {
  const auto eips = Describe({Page(0, 50, 60), Page(50, 0, 60)});
  ASSERT_TRUE(eips);
  EXPECT_EQ(eips->size(), 50);
}

TEST_F(VpcClientTest, PagesThatFailFailTheWhole) {
  const Pending<Result<std::vector<Eip>>> call(vpc_.EipsTagged("k", "v"));
  transport_.last().Answer(200, Page(0, 100, 101));
  transport_.last().Fail(ErrorClass::kAmbiguous);
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kRetry);
}

// Nothing there would mean "released", and cost somebody an address.
TEST_F(VpcClientTest, AMalformedListIsNotAnEmptyOne) {
  for (const auto* answer :
       {"{}", R"({"EipAddresses":{}})", R"({"EipAddresses":[]})",
        R"({"EipAddresses":{"EipAddress":"none"}})",
        R"({"TotalCount":1,"EipAddresses":{"EipAddress":[{"IpAddress":"203.0.113.7"}]}})",
        R"({"TotalCount":1,"EipAddresses":{"EipAddress":[7]}})"}) {
    const auto eips = Describe({answer});
    ASSERT_FALSE(eips) << answer;
    EXPECT_EQ(eips.error().error_class, ErrorClass::kRetry) << answer;
  }
}

TEST_F(VpcClientTest, ATotalThatIsNoNumberIsNone) {
  for (const auto* total : {R"("many")", "null", "-1", "{}", "[]", "1e99"}) {
    const auto eips = Describe({Format(
        R"({{"EipAddresses":{{"EipAddress":[{{"AllocationId":"eip-1"}}]}},"TotalCount":{}}})",
        total)});
    ASSERT_TRUE(eips) << total;
    EXPECT_EQ(eips->size(), 1);
  }
}

TEST_F(VpcClientTest, ModifySendsWhatChanges) {
  EXPECT_EQ(Do("ModifyEipAddressAttribute", vpc_.ModifyEip("eip-1", {.bandwidth = "10"}, {})),
            (Parameters{{"AllocationId", "eip-1"}, {"Bandwidth", "10"}}));
  EXPECT_EQ(Do("ModifyEipAddressAttribute",
               vpc_.ModifyEip("eip-1", {.name = "n", .description = ""}, {})),
            (Parameters{{"AllocationId", "eip-1"}, {"Description", ""}, {"Name", "n"}}));
}

TEST_F(VpcClientTest, ReleaseAndUnassociate) {
  const Parameters eip{{"AllocationId", "eip-1"}};
  EXPECT_EQ(Do("ReleaseEipAddress", vpc_.ReleaseEip("eip-1", {})), eip);
  EXPECT_EQ(Do("UnassociateEipAddress", vpc_.UnassociateEip("eip-1", {})), eip);
}

TEST_F(VpcClientTest, Packages) {
  EXPECT_EQ(Do("AddCommonBandwidthPackageIp", vpc_.JoinPackage("eip-1", "cbwp-1", "t", {})),
            (Parameters{{"BandwidthPackageId", "cbwp-1"},
                        {"ClientToken", "t"},
                        {"IpInstanceId", "eip-1"},
                        {"IpType", "EIP"}}));
  EXPECT_EQ(
      Do("RemoveCommonBandwidthPackageIp", vpc_.LeavePackage("eip-1", "cbwp-1", "t", {})),
      (Parameters{
          {"BandwidthPackageId", "cbwp-1"}, {"ClientToken", "t"}, {"IpInstanceId", "eip-1"}}));
}

TEST_F(VpcClientTest, Tagging) {
  EXPECT_EQ(Do("TagResources", vpc_.TagEips({"eip-1", "eip-2"}, {{"a", "1"}, {"b", ""}}, {})),
            (Parameters{{"ResourceId.1", "eip-1"},
                        {"ResourceId.2", "eip-2"},
                        {"ResourceType", "EIP"},
                        {"Tag.1.Key", "a"},
                        {"Tag.1.Value", "1"},
                        {"Tag.2.Key", "b"},
                        {"Tag.2.Value", ""}}));
  EXPECT_EQ(Do("UnTagResources", vpc_.UntagEips({"eip-1"}, {"a", "b"}, {})),
            (Parameters{{"ResourceId.1", "eip-1"},
                        {"ResourceType", "EIP"},
                        {"TagKey.1", "a"},
                        {"TagKey.2", "b"}}));
}

TEST_F(VpcClientTest, Move) {
  EXPECT_EQ(Do("MoveResourceGroup", vpc_.MoveEip("eip-1", "rg-2", {})),
            (Parameters{
                {"NewResourceGroupId", "rg-2"}, {"ResourceId", "eip-1"}, {"ResourceType", "eip"}}));
}

TEST_F(VpcClientTest, ErrorsAreTheClouds) {
  const Pending<Result<void>> call(vpc_.ReleaseEip("eip-1", {}));
  transport_.last().Answer(
      404, R"({"Code":"InvalidAllocationId.NotFound","Message":"None.","RequestId":"R-9"})");
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kNotFound);
  EXPECT_EQ(call.value().error().reason, "InvalidAllocationId.NotFound");
  EXPECT_EQ(call.value().error().message,
            "ReleaseEipAddress: InvalidAllocationId.NotFound: None. (request ID R-9)");
}

}  // namespace
}  // namespace berth::cloud::aliyun
