#include "cloud/aliyun/eflo_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <list>

#include "async/test_executor.h"
#include "cloud/aliyun/test_cloud.h"
#include "cloud/test_account.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// The client against the simulated cloud, through the signed wire.
class EfloClientTest : public testing::TestWithParam<SignatureVersion> {
 protected:
  EfloClientTest() {
    cloud_.Settle(executor_.WallNow());
    cloud_.vpc().CreateVSwitch({.id = "vsw-a", .cidr = "10.0.0.0/16"});
    AddNode("e01-1");
  }

  void AddNode(const std::string& id) {
    simulator::Instance node{.id = id, .vswitch_id = "vsw-a"};
    EXPECT_TRUE(cloud_.eflo().CreateInstance(node));
  }
  template <typename T>
  T Run(async::Task<T> task) {
    const Pending<T> call(std::move(task));
    executor_.Advance(3min);
    return call.value();
  }
  static EniRequest RequestFor(const std::string& node) {
    return {.vswitch_id = "vsw-a",
            .security_group_ids = {"sg-1", "sg-2"},
            .instance_id = node,
            .zone_id = "cn-hangzhou-a",
            .vpc_id = "vpc-default"};
  }
  std::string Make(const EniRequest& request) {
    const auto made = Run(enis_.Create(request, {}));
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->id : "";
  }
  // So many ENIs, each on a node of its own.
  std::vector<std::string> MakeMany(int count) {
    std::vector<std::string> ids;
    for (int n = 0; n < count; ++n) {
      AddNode(Format("e01-many-{}", n));
      ids.push_back(Make(RequestFor(Format("e01-many-{}", n))));
    }
    return ids;
  }
  Eni Only(const std::string& id) {
    const auto enis = Run(enis_.Describe({id}));
    EXPECT_TRUE(enis && enis->size() == 1);
    return enis && enis->size() == 1 ? enis->front() : Eni();
  }
  std::uint64_t CallsOf(const std::string& action) {
    const auto found = cloud_.calls().find(action);
    return found == cloud_.calls().end() ? 0 : found->second.carried_out;
  }
  template <typename T>
  static std::string ReasonOf(const Result<T>& result) {
    return result ? "OK" : result.error().reason;
  }
  void Fail(std::string action, simulator::Fault::Kind kind, std::string code = "") {
    cloud_.faults().Set({{.action = std::move(action), .kind = kind, .code = std::move(code)}});
  }

  async::TestExecutor executor_;
  simulator::Latency fates_{executor_, 10ms, 50ms};
  TestAccount account_{
      executor_,
      fates_,
      {.eflo = {.attaching = 18s, .detaching = 4s, .deleting = 4s, .assigning = 3s}},
      {.signature = GetParam(), .calls_per_minute = 6000}};
  simulator::Cloud& cloud_ = account_.cloud;
  Enis& enis_ = account_.lenis;
};

TEST_P(EfloClientTest, AnEniLivesItsLife) {
  EniRequest request = RequestFor("e01-1");
  request.client_token = "t-1";
  request.resource_group_id = "rg-1";
  request.tags = {{"creator", "terway"}, {"berth.dev/attempt", "t-1"}};
  const auto made = Run(enis_.Create(request, {}));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->status, "Executing");
  EXPECT_EQ(made->instance_id, "e01-1");
  const std::string id = made->id;
  EXPECT_EQ(Make(request), id);  // the token's

  Eni eni = Only(id);
  EXPECT_EQ(eni, *cloud_.eflo().Find(id));  // all that the cloud knows
  EXPECT_EQ(eni.status, "InUse");
  EXPECT_EQ(eni.instance_id, "e01-1");
  EXPECT_EQ(eni.security_group_ids, std::vector<std::string>{"sg-1"});
  EXPECT_EQ(eni.ipv4, (std::vector<EniAddress>{{eni.primary_address, true, ""}}));
  EXPECT_EQ(*Run(enis_.OfInstance("e01-1")), std::vector{eni});
  EXPECT_EQ(*Run(enis_.Tagged("creator", "terway")), std::vector{eni});
  EXPECT_EQ(Run(enis_.Tagged("creator", "x"))->size(), 0u);

  const auto first = Run(enis_.AssignIpv4(id, 1, "t-2"));
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*Run(enis_.AssignIpv4(id, 1, "t-2")), *first);
  const auto second = Run(enis_.AssignIpv4(id, 1, "t-3"));
  eni = Only(id);
  EXPECT_EQ(AddressesOf(eni), (std::vector{eni.primary_address, first->front(), second->front()}));
  EXPECT_THAT(eni.ipv4.back().name, HasSubstr("sip-"));
  EXPECT_EQ(*Run(enis_.OfInstance("e01-1")), std::vector{eni});

  ASSERT_TRUE(Run(enis_.UnassignIpv4(id, {first->front(), second->front()})));
  EXPECT_EQ(Only(id).ipv4.size(), 1u);
  const auto gone = Run(enis_.UnassignIpv4(id, *first));
  EXPECT_EQ(gone.error().error_class, ErrorClass::kNotFound);

  ASSERT_TRUE(Run(enis_.Detach(id, "e01-1", "", {})));
  EXPECT_EQ(Only(id).status, "Available");
  EXPECT_EQ(Only(id).instance_id, "");
  EXPECT_EQ(Run(enis_.Detach(id, "e01-1", "", {})).error().error_class, ErrorClass::kNotFound);
  ASSERT_TRUE(Run(enis_.Attach(id, "e01-1", "", {})));
  EXPECT_EQ(Only(id).status, "InUse");
  EXPECT_EQ(Run(enis_.Delete(id, {})).error().error_class, ErrorClass::kConflict);
  ASSERT_TRUE(Run(enis_.Detach(id, "e01-1", "", {})));
  ASSERT_TRUE(Run(enis_.Delete(id, {})));
  EXPECT_EQ(Run(enis_.Describe({id}))->size(), 0u);
  EXPECT_EQ(Run(enis_.Delete(id, {})).error().error_class, ErrorClass::kNotFound);
}

TEST_P(EfloClientTest, TheNodesOwnEnisAreNotListed) {
  EXPECT_EQ(cloud_.eflo().enis().size(), 1u);
  EXPECT_EQ(Run(enis_.OfInstance("e01-1"))->size(), 0u);
  EXPECT_EQ(Run(enis_.Describe({cloud_.eflo().enis().begin()->first}))->size(), 0u);
}

TEST_P(EfloClientTest, AListHasAllItsPages) {
  const auto ids = MakeMany(45);
  for (const std::string& id : ids) cloud_.eflo().SetTags(id, {{"k", "v"}});
  const auto before = CallsOf("ListElasticNetworkInterfaces");
  EXPECT_EQ(Run(enis_.Tagged("k", "v"))->size(), 45u);
  EXPECT_EQ(CallsOf("ListElasticNetworkInterfaces") - before, 3u);
}

TEST_P(EfloClientTest, ManyEnisOfManyNodesAreLookedUpByThePagesOfTheRegion) {
  const auto ids = MakeMany(100);
  const auto before = CallsOf("ListElasticNetworkInterfaces");
  const auto enis = Run(enis_.Describe(ids));
  ASSERT_TRUE(enis);
  EXPECT_EQ(enis->size(), 100u);
  EXPECT_EQ(CallsOf("ListElasticNetworkInterfaces") - before, 5u);
}

TEST_P(EfloClientTest, AFewOfManyAreLookedUpOneByOne) {
  auto ids = MakeMany(200);
  ids.resize(4);
  ids.push_back("leni-unheard-of");
  const auto before = CallsOf("ListElasticNetworkInterfaces");
  EXPECT_EQ(Run(enis_.Describe(ids))->size(), 4u);
  EXPECT_EQ(CallsOf("ListElasticNetworkInterfaces") - before, 6u);  // one told that there are more
}

TEST_P(EfloClientTest, LooksThatCameDuringALookAreOneLook) {
  const auto ids = MakeMany(100);
  const auto before = CallsOf("ListElasticNetworkInterfaces");
  std::list<Pending<Result<std::vector<Eni>>>> looks;
  for (std::size_t n = 0; n < 10; ++n) {
    looks.emplace_back(enis_.Describe({ids.begin() + 10 * n, ids.begin() + 10 * (n + 1)}));
  }
  looks.pop_back();  // nobody waits for this one any more
  executor_.Advance(1min);
  std::size_t n = 0;
  for (const auto& look : looks) {
    ASSERT_TRUE(look.ended() && look.value());
    ASSERT_EQ(look.value()->size(), 10u);
    EXPECT_EQ(look.value()->front().id, ids[10 * n++]);
  }
  EXPECT_EQ(CallsOf("ListElasticNetworkInterfaces") - before, 5u + 5u);
}

TEST_P(EfloClientTest, ALookThatNobodyWaitsForIsNotMade) {
  const auto ids = MakeMany(20);
  const auto before = CallsOf("ListElasticNetworkInterfaces");
  const Pending<Result<std::vector<Eni>>> look(enis_.Describe(ids));
  {
    const Pending<Result<std::vector<Eni>>> abandoned(enis_.Describe(ids));
  }
  executor_.Advance(1min);
  EXPECT_TRUE(look.ended() && look.value());
  EXPECT_EQ(CallsOf("ListElasticNetworkInterfaces") - before, 1u);
}

TEST_P(EfloClientTest, AddressesOfAnEniOnItsWayAreNotAskedFor) {
  std::list<Pending<Result<Eni>>> made;
  for (int n = 0; n < 4; ++n) made.emplace_back(enis_.Create(RequestFor("e01-1"), {}));
  executor_.Advance(5s);
  std::vector<std::string> ids;
  for (const auto& eni : made) ids.push_back(eni.value()->id);
  const Pending<Result<std::vector<Eni>>> look(enis_.Describe(ids));
  executor_.Advance(5s);
  ASSERT_TRUE(look.ended() && look.value());
  ASSERT_EQ(look.value()->size(), 4u);
  EXPECT_EQ(look.value()->front().status, "Executing");
  EXPECT_EQ(CallsOf("ListLeniPrivateIpAddresses"), 0u);
  executor_.Advance(1min);
  EXPECT_EQ(Run(enis_.Describe(ids))->size(), 4u);
  EXPECT_EQ(CallsOf("ListLeniPrivateIpAddresses"), 4u);
}

TEST_P(EfloClientTest, AFailedLookIsAnErrorOfAllAndTheNextOneIsMade) {
  const auto ids = MakeMany(5);
  Fail("ListElasticNetworkInterfaces", simulator::Fault::Kind::kRefused, "InternalError");
  EXPECT_EQ(ReasonOf(Run(enis_.Describe(ids))), "InternalError");
  EXPECT_EQ(Run(enis_.Describe(ids))->size(), 5u);
  Fail("ListLeniPrivateIpAddresses", simulator::Fault::Kind::kRefused, "InternalError");
  EXPECT_EQ(ReasonOf(Run(enis_.Describe(ids))), "InternalError");
}

TEST_P(EfloClientTest, AnErrorNumberIsAnErrorWhateverTheHttpStatus) {
  const auto absent = Run(enis_.Delete("leni-x", {}));
  EXPECT_EQ(absent.error().error_class, ErrorClass::kNotFound);
  EXPECT_EQ(absent.error().reason, "1011");
  EXPECT_THAT(absent.error().message, HasSubstr("DeleteElasticNetworkInterface: 1011: "));
  EXPECT_THAT(absent.error().message, HasSubstr("(request ID "));
  Fail("DeleteElasticNetworkInterface", simulator::Fault::Kind::kRefused, "1017");
  EXPECT_EQ(Run(enis_.Delete("leni-x", {})).error().error_class, ErrorClass::kConflict);
}

TEST_P(EfloClientTest, AFullEniAFullNodeAndAFullVSwitchAreToldApart) {
  const std::string id = Make(RequestFor("e01-1"));
  for (int n = 1; n < 10; ++n) ASSERT_TRUE(Run(enis_.AssignIpv4(id, 1, Format("t-{}", n))));
  const auto full_eni = Run(enis_.AssignIpv4(id, 1, "t"));
  EXPECT_EQ(ReasonOf(full_eni), "1013");
  EXPECT_TRUE(IsCapacityExceeded(full_eni.error()) && !IsVSwitchFull(full_eni.error()));
  for (int n = 1; n < 4; ++n) Make(RequestFor("e01-1"));
  const auto full_node = Run(enis_.Create(RequestFor("e01-1"), {}));
  EXPECT_TRUE(IsCapacityExceeded(full_node.error()) && !IsVSwitchFull(full_node.error()));
  cloud_.vpc().CreateVSwitch({.id = "vsw-s", .cidr = "10.1.0.0/29"});
  while (cloud_.vpc().vswitches().at("vsw-s").pool.Take()) {
  }
  AddNode("e01-2");
  EniRequest request = RequestFor("e01-2");
  request.vswitch_id = "vsw-s";
  const auto full_vswitch = Run(enis_.Create(request, {}));
  EXPECT_EQ(full_vswitch.error().error_class, ErrorClass::kTerminal);
  EXPECT_TRUE(IsVSwitchFull(full_vswitch.error()) && !IsCapacityExceeded(full_vswitch.error()));
}

TEST_P(EfloClientTest, AnAddressThatIsSlowIsAmbiguousAndItsTokenFindsIt) {
  const std::string id = Make(RequestFor("e01-1"));
  Fail("AssignLeniPrivateIpAddress", simulator::Fault::Kind::kSticks);
  const auto slow = Run(enis_.AssignIpv4(id, 1, "t"));
  EXPECT_EQ(slow.error().error_class, ErrorClass::kAmbiguous);
  EXPECT_THAT(slow.error().message, HasSubstr("Executing"));
  EXPECT_EQ(CallsOf("ListLeniPrivateIpAddresses"), 10u);
  EXPECT_EQ(Only(id).ipv4.size(), 1u);  // those that can be used
  auto& record = cloud_.eflo().Edit(id);
  record.address_status.begin()->second = "Available";
  EXPECT_EQ(Run(enis_.AssignIpv4(id, 1, "t"))->front(), record.eni.ipv4.back().address);
}

TEST_P(EfloClientTest, AnAddressThatFailsIsGivenBack) {
  const std::string id = Make(RequestFor("e01-1"));
  Fail("AssignLeniPrivateIpAddress", simulator::Fault::Kind::kFallsBack);
  const auto failed = Run(enis_.AssignIpv4(id, 1, "t"));
  EXPECT_EQ(failed.error().error_class, ErrorClass::kConflict);
  EXPECT_THAT(failed.error().message, HasSubstr("Create Failed"));
  cloud_.Settle(executor_.WallNow());
  EXPECT_EQ(cloud_.eflo().Find(id)->ipv4.size(), 1u);
}

TEST_P(EfloClientTest, ThingsThatEfloLacksAreRefusedHere) {
  const auto with = [](auto change) {
    EniRequest request = RequestFor("e01-1");
    change(request);
    return request;
  };
  using R = EniRequest;
  for (const EniRequest& each :
       {with([](R& r) { r.trunk = true; }), with([](R& r) { r.ipv4_prefixes = 1; }),
        with([](R& r) { r.ipv6_prefixes = 1; }), with([](R& r) { r.ipv6_addresses = 1; }),
        with([](R& r) { r.ipv4_addresses = 2; }),
        with([](R& r) { r.traffic_mode = "HighPerformance"; })}) {
    const auto refused = Run(enis_.Create(each, {}));
    EXPECT_EQ(refused.error().error_class, ErrorClass::kTerminal);
    EXPECT_THAT(refused.error().message, HasSubstr("EFLO"));
  }
  EXPECT_EQ(Run(enis_.Attach("leni", "e", "trunk", {})).error().error_class, ErrorClass::kTerminal);
  for (auto refused : {Run(enis_.AssignIpv4("leni", 2, "")), Run(enis_.AssignIpv6("leni", 1, "")),
                       Run(enis_.AssignIpv4Prefixes("leni", 1, "")),
                       Run(enis_.AssignIpv6Prefixes("leni", 1, ""))}) {
    EXPECT_EQ(refused.error().error_class, ErrorClass::kTerminal);
  }
  for (auto refused : {Run(enis_.UnassignIpv6("leni", {"fd00::1"})),
                       Run(enis_.UnassignIpv4Prefixes("leni", {"10.0.0.0/28"})),
                       Run(enis_.UnassignIpv6Prefixes("leni", {"fd00::/80"}))}) {
    EXPECT_EQ(refused.error().error_class, ErrorClass::kTerminal);
  }
  EXPECT_TRUE(cloud_.calls().empty());
}

TEST_P(EfloClientTest, NothingIsAskedAboutNothing) {
  EXPECT_TRUE(Run(enis_.Describe({}))->empty());
  EXPECT_TRUE(Run(enis_.UnassignIpv4("leni-x", {})));
  EXPECT_TRUE(Run(enis_.UnassignIpv6("leni-x", {})));
  EXPECT_TRUE(cloud_.calls().empty());
  EXPECT_EQ(Run(enis_.DescribeVSwitches({"vsw-a"}))->size(), 1u);
}

TEST_P(EfloClientTest, CallsThatAreNoLongerWantedAreNotSent) {
  const auto no = []() -> async::Task<bool> { co_return false; };
  for (const auto& reason :
       {ReasonOf(Run(enis_.Create({}, no))), ReasonOf(Run(enis_.Attach("leni", "e", "", no))),
        ReasonOf(Run(enis_.Detach("leni", "e", "", no))),
        ReasonOf(Run(enis_.Delete("leni", no)))}) {
    EXPECT_EQ(reason, kNotSent);
  }
  EXPECT_TRUE(cloud_.calls().empty());
}

TEST_P(EfloClientTest, CallsOfAnAccountAreSignedWithItsKeysOnly) {
  const auto here = Run(account_.leni_accounts.Here());
  ASSERT_TRUE(here);
  Enis& enis = account_.leni_accounts.In(here->account);
  EXPECT_TRUE(Run(enis.OfInstance("e01-1")));
  account_.ChangeKey("LTAI-other", "42");
  EXPECT_EQ(ReasonOf(Run(enis.OfInstance("e01-1"))), kNotSent);
  EXPECT_EQ(ReasonOf(Run(enis.Describe({"a", "b"}))), kNotSent);
}

TEST_P(EfloClientTest, ALostAnswerIsAmbiguousAndItsTokenMakesNoSecondEni) {
  Fail("CreateElasticNetworkInterface", simulator::Fault::Kind::kLostAnswer);
  EniRequest request = RequestFor("e01-1");
  request.client_token = "t";
  EXPECT_EQ(Run(enis_.Create(request, {})).error().error_class, ErrorClass::kAmbiguous);
  EXPECT_TRUE(Run(enis_.Create(request, {})));
  EXPECT_EQ(cloud_.eflo().enis().size(), 2u);  // with the node's own
}

// As the cloud's documents have them: a name that the client does not use would limit nothing.
TEST_P(EfloClientTest, EveryLimitIsOfAnActionThatTheCloudHas) {
  const auto limits = EfloLimits();
  EXPECT_EQ(limits.at("ListElasticNetworkInterfaces"), 6000);
  EXPECT_EQ(limits.at("AttachElasticNetworkInterface"), 300);
  for (const auto& [action, limit] : limits) EXPECT_TRUE(cloud_.eflo().Has(action)) << action;
}

INSTANTIATE_TEST_SUITE_P(Signatures, EfloClientTest,
                         testing::Values(SignatureVersion::kAcs3, SignatureVersion::kV1));

}  // namespace
}  // namespace berth::cloud::aliyun
