#include "cloud/aliyun/ecs_client.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "async/test_executor.h"
#include "cloud/aliyun/test_cloud.h"
#include "cloud/aliyun/vpc_client.h"
#include "cloud/test_account.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

using namespace std::chrono_literals;

// Lists that are empty for a while.
struct Weather : simulator::Latency {
  using Latency::Latency;
  simulator::Fate Draw(const http::Request& request) override {
    simulator::Fate fate = Latency::Draw(request);
    fate.empty_list = empty_lists;
    return fate;
  }
  bool empty_lists = false;
};

// The client against the simulated cloud, through the signed wire.
class EcsClientTest : public testing::Test {
 protected:
  EcsClientTest() {
    cloud_.Settle(executor_.WallNow());
    cloud_.vpc().CreateVSwitch({.id = "vsw-a", .cidr = "10.0.0.0/16", .ipv6_cidr = "fd00:1::/64"});
    simulator::Instance instance{.id = "i-1", .vswitch_id = "vsw-a"};
    EXPECT_TRUE(cloud_.ecs().CreateInstance(instance));
  }

  template <typename T>
  T Run(async::Task<T> task) {
    const Pending<T> call(std::move(task));
    executor_.Advance(3min);
    return call.value();
  }
  std::string Make(EniRequest request = {}) {
    request.vswitch_id = "vsw-a";
    request.security_group_ids = {"sg-1", "sg-2"};
    const auto made = Run(enis_.Create(std::move(request), {}));
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->id : "";
  }
  Eni Only(const std::string& id) {
    const auto enis = Run(enis_.Describe({id, "eni-unheard-of"}));
    EXPECT_TRUE(enis && enis->size() == 1);
    return enis && enis->size() == 1 ? enis->front() : Eni();
  }
  template <typename T>
  static std::string ReasonOf(const Result<T>& result) {
    return result ? "OK" : result.error().reason;
  }

  async::TestExecutor executor_;
  Weather fates_{executor_, 10ms, 50ms};
  TestAccount account_{executor_,
                       fates_,
                       {.ecs = {.attaching = 4s, .detaching = 4s, .deleting = 4s}},
                       {.calls_per_minute = 6000}};
  simulator::Cloud& cloud_ = account_.cloud;
  Enis& enis_ = account_.enis;
};

TEST_F(EcsClientTest, AnEniLivesItsLife) {
  const EniRequest request{.client_token = "t-1",
                           .traffic_mode = "HighPerformance",
                           .resource_group_id = "rg-1",
                           .ipv4_addresses = 3,
                           .ipv6_addresses = 2,
                           .tags = {{"creator", "terway"}}};
  const std::string id = Make(request);
  EXPECT_EQ(Make(request), id);  // the token's

  Eni eni = Only(id);
  EXPECT_EQ(eni, *cloud_.ecs().Find(id));  // all that the cloud knows
  EXPECT_EQ(eni.status, "Available");
  EXPECT_EQ(eni.ipv4.size(), 3u);
  EXPECT_EQ(eni.ipv6.size(), 2u);

  ASSERT_TRUE(Run(enis_.Attach(id, "i-1", "", {})));
  eni = Only(id);
  EXPECT_EQ(eni.status, "InUse");
  EXPECT_EQ(eni.instance_id, "i-1");
  EXPECT_EQ(Run(enis_.OfInstance("i-1"))->size(), 2u);
  EXPECT_EQ(Run(enis_.OfInstance("i-2"))->size(), 0u);
  EXPECT_EQ(Run(enis_.Tagged("creator", "terway"))->size(), 1u);

  const auto ipv4 = Run(enis_.AssignIpv4(id, 2, "t-2"));
  EXPECT_EQ(*Run(enis_.AssignIpv4(id, 2, "t-2")), *ipv4);
  const auto ipv6 = Run(enis_.AssignIpv6(id, 1, ""));
  const auto ipv4_prefixes = Run(enis_.AssignIpv4Prefixes(id, 1, ""));
  const auto ipv6_prefixes = Run(enis_.AssignIpv6Prefixes(id, 1, ""));
  eni = Only(id);
  EXPECT_EQ(eni.ipv4.size(), 5u);
  EXPECT_EQ(eni.ipv4.back().address, ipv4->back());
  EXPECT_EQ(eni.ipv6.back(), ipv6->back());
  EXPECT_EQ(eni.ipv4_prefixes, *ipv4_prefixes);
  EXPECT_EQ(eni.ipv6_prefixes, *ipv6_prefixes);

  ASSERT_TRUE(Run(enis_.UnassignIpv4(id, *ipv4)));
  ASSERT_TRUE(Run(enis_.UnassignIpv6(id, *ipv6)));
  ASSERT_TRUE(Run(enis_.UnassignIpv4Prefixes(id, *ipv4_prefixes)));
  ASSERT_TRUE(Run(enis_.UnassignIpv6Prefixes(id, *ipv6_prefixes)));
  EXPECT_EQ(Run(enis_.UnassignIpv4(id, *ipv4)).error().error_class, ErrorClass::kNotFound);
  eni = Only(id);
  EXPECT_EQ(eni.ipv4.size(), 3u);
  EXPECT_EQ(eni.ipv6.size(), 2u);
  EXPECT_TRUE(eni.ipv4_prefixes.empty() && eni.ipv6_prefixes.empty());

  ASSERT_TRUE(Run(enis_.Detach(id, "i-1", "", {})));
  ASSERT_TRUE(Run(enis_.Delete(id, {})));
  EXPECT_EQ(Run(enis_.Describe({id}))->size(), 0u);
  EXPECT_EQ(Run(enis_.Delete(id, {})).error().error_class, ErrorClass::kNotFound);
}

TEST_F(EcsClientTest, AMemberNamesItsTrunk) {
  const std::string trunk = Make({.trunk = true});
  ASSERT_TRUE(Run(enis_.Attach(trunk, "i-1", "", {})));
  const std::string member = Make();
  ASSERT_TRUE(Run(enis_.Attach(member, "i-1", trunk, {})));
  EXPECT_EQ(Only(trunk).type, "Trunk");
  EXPECT_EQ(Only(member).type, "Member");
  EXPECT_EQ(Only(member).trunk_eni_id, trunk);
}

TEST_F(EcsClientTest, TaggedEnisComePageByPage) {
  for (int n = 0; n < 300; ++n) Make({.tags = {{"k", "v"}}});
  const auto enis = Run(enis_.Tagged("k", "v"));
  ASSERT_TRUE(enis);
  EXPECT_EQ(enis->size(), 300u);
  EXPECT_EQ(cloud_.calls().at("DescribeNetworkInterfaces").carried_out, 2u);
}

TEST_F(EcsClientTest, AListMayBeEmptyForAWhile) {
  const std::string id = Make();
  fates_.empty_lists = true;
  EXPECT_EQ(Run(enis_.Describe({id}))->size(), 0u);
  fates_.empty_lists = false;
  EXPECT_EQ(Run(enis_.Describe({id}))->size(), 1u);
}

// As the cloud's documents have them: a name that the client does not use would limit nothing.
TEST_F(EcsClientTest, EveryLimitIsOfAnActionThatTheCloudHas) {
  const auto limits = EniLimits();
  EXPECT_EQ(limits.at("DescribeNetworkInterfaces"), 800);
  EXPECT_EQ(limits.at("DetachNetworkInterface"), 400);
  for (const auto& [action, limit] : limits) {
    EXPECT_TRUE(cloud_.ecs().Has(action) || cloud_.vpc().Has(action)) << action;
  }
}

TEST_F(EcsClientTest, NothingIsAskedAboutNothing) {
  EXPECT_TRUE(Run(enis_.Describe({}))->empty());
  EXPECT_TRUE(Run(enis_.UnassignIpv4("eni-x", {})));
  EXPECT_TRUE(Run(enis_.DescribeVSwitches({}))->empty());
  EXPECT_TRUE(cloud_.calls().empty());
}

TEST_F(EcsClientTest, VSwitchesAreDescribed) {
  const auto vswitches = Run(enis_.DescribeVSwitches({"vsw-a", "vsw-x"}));
  ASSERT_TRUE(vswitches);
  EXPECT_EQ(*vswitches, (std::vector<VSwitch>{{.id = "vsw-a",
                                               .vpc_id = "vpc-default",
                                               .zone_id = "cn-hangzhou-a",
                                               .cidr = "10.0.0.0/16",
                                               .ipv6_cidr = "fd00:1::/64",
                                               .free_addresses = 65536 - 4 - 1}}));
}

TEST_F(EcsClientTest, AFullVSwitchAndAFullInstanceAreToldApart) {
  cloud_.vpc().CreateVSwitch({.id = "vsw-s", .cidr = "10.1.0.0/29"});
  const auto full = Run(enis_.Create(
      {.vswitch_id = "vsw-s", .security_group_ids = {"sg-1"}, .ipv4_addresses = 5}, {}));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().error_class, ErrorClass::kTerminal);
  EXPECT_TRUE(IsVSwitchFull(full.error()) && !IsCapacityExceeded(full.error()));
  for (int n = 0; n < 3; ++n) ASSERT_TRUE(Run(enis_.Attach(Make(), "i-1", "", {})));
  const auto refused = Run(enis_.Attach(Make(), "i-1", "", {}));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(IsCapacityExceeded(refused.error()) && !IsVSwitchFull(refused.error()));
}

TEST_F(EcsClientTest, CallsThatAreNoLongerWantedAreNotSent) {
  const auto no = []() -> async::Task<bool> { co_return false; };
  for (const auto& reason :
       {ReasonOf(Run(enis_.Create({}, no))), ReasonOf(Run(enis_.Attach("eni", "i", "", no))),
        ReasonOf(Run(enis_.Detach("eni", "i", "", no))), ReasonOf(Run(enis_.Delete("eni", no)))}) {
    EXPECT_EQ(reason, kNotSent);
  }
  EXPECT_TRUE(cloud_.calls().empty());
}

TEST_F(EcsClientTest, CallsOfAnAccountAreSignedWithItsKeysOnly) {
  const auto here = Run(account_.eni_accounts.Here());
  ASSERT_TRUE(here);
  Enis& enis = account_.eni_accounts.In(here->account);
  EXPECT_TRUE(Run(enis.OfInstance("i-1")));
  account_.ChangeKey("LTAI-other", "42");
  EXPECT_EQ(ReasonOf(Run(enis.OfInstance("i-1"))), kNotSent);
  EXPECT_EQ(ReasonOf(Run(enis.DescribeVSwitches({"vsw-a"}))), kNotSent);
  EXPECT_EQ(Run(account_.eni_accounts.In("42").OfInstance("i-1"))->size(), 0u);
}

TEST_F(EcsClientTest, ALostAnswerIsAmbiguousAndItsTokenMakesNoSecondEni) {
  cloud_.faults().Set(
      {{.action = "CreateNetworkInterface", .kind = simulator::Fault::Kind::kLostAnswer}});
  const EniRequest request{
      .client_token = "t", .vswitch_id = "vsw-a", .security_group_ids = {"sg-1"}};
  EXPECT_EQ(Run(enis_.Create(request, {})).error().error_class, ErrorClass::kAmbiguous);
  EXPECT_TRUE(Run(enis_.Create(request, {})));
  EXPECT_EQ(cloud_.ecs().enis().size(), 2u);  // with the primary one
}

TEST_F(EcsClientTest, FaultsComeAsOftenAsAskedFor) {
  const std::string id = Make();
  cloud_.faults().Set({{.action = "AttachNetworkInterface", .code = "Throttling.User", .count = 2},
                       {.action = "AttachNetworkInterface",
                        .kind = simulator::Fault::Kind::kDelayed,
                        .delay = 2s}});
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(Run(enis_.Attach(id, "i-1", "", {})).error().error_class, ErrorClass::kThrottled);
  }
  EXPECT_EQ(cloud_.ecs().Find(id)->status, "Available");
  const Pending<Result<void>> late(enis_.Attach(id, "i-1", "", {}));
  executor_.Advance(1900ms);
  EXPECT_FALSE(late.ended());
  executor_.Advance(200ms);
  EXPECT_TRUE(late.ended() && late.value());
  EXPECT_TRUE(cloud_.faults().all().empty());
}

// The client's very words, with the test in the cloud's place.
class EcsRequestTest : public testing::Test {
 protected:
  Parameters Sent(const std::string& action) {
    EXPECT_EQ(transport_.last().header("x-acs-action"), action);
    EXPECT_EQ(transport_.last().header("x-acs-version"), kEcsVersion);
    Parameters query = transport_.last().query();
    query.erase("RegionId");
    return query;
  }

  async::TestExecutor executor_;
  ScriptedTransport transport_;
  TestCredentials credentials_;
  ApiClient api_{executor_,
                 transport_,
                 credentials_,
                 nullptr,
                 {.endpoint = EcsEndpoint("cn-hangzhou", false),
                  .version = std::string(kEcsVersion),
                  .region = "cn-hangzhou"}};
  EniApis apis_{api_, api_};
  EcsClient enis_{apis_};
};

TEST_F(EcsRequestTest, CreateSaysWhatIsAskedForAndNothingElse) {
  const Pending<Result<Eni>> call(enis_.Create({.client_token = "t",
                                                .vswitch_id = "vsw-1",
                                                .security_group_ids = {"sg-1", "sg-2"},
                                                .traffic_mode = "Standard",
                                                .trunk = true,
                                                .ipv4_addresses = 10,
                                                .ipv6_prefixes = 1,
                                                .tags = {{"a", "b"}}},
                                               {}));
  EXPECT_EQ(Sent("CreateNetworkInterface"), (Parameters{{"ClientToken", "t"},
                                                        {"VSwitchId", "vsw-1"},
                                                        {"SecurityGroupIds.1", "sg-1"},
                                                        {"SecurityGroupIds.2", "sg-2"},
                                                        {"NetworkInterfaceTrafficMode", "Standard"},
                                                        {"InstanceType", "Trunk"},
                                                        {"SourceDestCheck", "false"},
                                                        {"SecondaryPrivateIpAddressCount", "9"},
                                                        {"Ipv6PrefixCount", "1"},
                                                        {"Tag.1.Key", "a"},
                                                        {"Tag.1.Value", "b"}}));
  // Without an ID nothing was made.
  transport_.last().Answer(200, R"({"RequestId":"R-1","NetworkInterfaceId":""})");
  ASSERT_TRUE(call.ended() && !call.value());
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kRetry);
}

TEST_F(EcsRequestTest, AListThatIsNotWholeIsNoList) {
  for (const char* answer :
       {"{}", R"({"NetworkInterfaceSets":{}})",
        R"({"NetworkInterfaceSets":{"NetworkInterfaceSet":[{"Status":"InUse"}]}})",
        R"({"NetworkInterfaceSets":{"NetworkInterfaceSet":[{"NetworkInterfaceId":"eni-1"}]}})"}) {
    const Pending<Result<std::vector<Eni>>> call(enis_.Describe({"eni-1"}));
    executor_.Advance(1s);  // there may be a line
    transport_.last().Answer(200, answer);
    ASSERT_TRUE(call.ended() && !call.value()) << answer;
    EXPECT_EQ(call.value().error().error_class, ErrorClass::kRetry);
  }
}

TEST_F(EcsRequestTest, TheInstanceIsReadFromTheAttachmentWhereItStandsThereAlone) {
  const Pending<Result<std::vector<Eni>>> call(enis_.Describe({"eni-1"}));
  EXPECT_EQ(Sent("DescribeNetworkInterfaces"),
            (Parameters{{"NetworkInterfaceId.1", "eni-1"}, {"MaxResults", "250"}}));
  transport_.last().Answer(200, R"({"NetworkInterfaceSets":{"NetworkInterfaceSet":[
      {"NetworkInterfaceId":"eni-1","Status":"InUse","Attachment":{"InstanceId":"i-1"}}]}})");
  ASSERT_TRUE(call.ended() && call.value());
  EXPECT_EQ(call.value()->front().instance_id, "i-1");
}

TEST_F(EcsRequestTest, AnAssignmentThatNamesNoAddressIsAmbiguous) {
  const Pending<Result<std::vector<std::string>>> call(enis_.AssignIpv4("eni-1", 3, "t"));
  EXPECT_EQ(Sent("AssignPrivateIpAddresses"), (Parameters{{"NetworkInterfaceId", "eni-1"},
                                                          {"SecondaryPrivateIpAddressCount", "3"},
                                                          {"ClientToken", "t"}}));
  transport_.last().Answer(200, "{}");
  ASSERT_TRUE(call.ended() && !call.value());
  EXPECT_EQ(call.value().error().error_class, ErrorClass::kAmbiguous);
}

TEST(EcsEndpointTest, IsThatOfTheRegion) {
  EXPECT_EQ(EcsEndpoint("cn-hangzhou", false), "https://ecs.cn-hangzhou.aliyuncs.com");
  EXPECT_EQ(EcsEndpoint("cn-hangzhou", true), "https://ecs-vpc.cn-hangzhou.aliyuncs.com");
}

}  // namespace
}  // namespace berth::cloud::aliyun
