#include "cloud/simulator/aliyun/vpc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ranges>
#include <set>

#include "cloud/simulator/aliyun/test_caller.h"
#include "log/format.h"

namespace berth::cloud::simulator {
namespace {

using namespace std::chrono_literals;
using aliyun::Parameters;

struct VpcTest : testing::Test {
  Cloud cloud{{}};
  TestCaller caller{cloud};
  VpcProduct& vpc = cloud.vpc();

  std::string AllocateCode(Parameters parameters) {
    return caller.Code("AllocateEipAddress", std::move(parameters));
  }
};

struct SlowVpcTest : testing::Test {
  Cloud cloud{{.vpc = {.until_visible = 5s,
                       .releasing = 3s,
                       .associating = 3s,
                       .unassociating = 3s,
                       .binding = 3s}}};
  TestCaller caller{cloud};
  VpcProduct& vpc = cloud.vpc();
};

TEST_F(VpcTest, AnAllocatedAddressIsDescribed) {
  const auto made =
      caller.Ask("AllocateEipAddress", {{"Bandwidth", "10"},
                                        {"Name", "web"},
                                        {"Description", "the door"},
                                        {"ResourceGroupId", "rg-1"},
                                        {"SecurityProtectionTypes.1", "AntiDDoS_Enhanced"}});
  ASSERT_EQ(made.Code(), "OK");
  EXPECT_TRUE(made["AllocationId"].starts_with("eip-"));
  EXPECT_EQ(made["AllocationId"].size(), 24);
  const auto eip = caller.Describe(made["AllocationId"]);
  const auto is = [&](const char* field, const char* value) {
    EXPECT_EQ(eip[field].as<std::string>(), value) << field;
  };
  EXPECT_EQ(eip["IpAddress"].as<std::string>(), made["EipAddress"]);
  is("Status", "Available");
  is("Bandwidth", "10");
  is("EipBandwidth", "10");
  is("InternetChargeType", "PayByTraffic");
  is("ChargeType", "PostPaid");
  is("ISP", "BGP");
  is("Name", "web");
  is("Descritpion", "the door");
  is("Description", "the door");
  is("ResourceGroupId", "rg-1");
  is("AllocationTime", "2026-01-02T03:04:05Z");
  EXPECT_EQ(eip["SecurityProtectionTypes"]["SecurityProtectionType"][0].as<std::string>(),
            "AntiDDoS_Enhanced");
}

TEST_F(VpcTest, BandwidthIsBoundedByHowItIsPaid) {
  const auto postpaid = [&](const char* charge, const char* bandwidth) {
    return AllocateCode({{"InternetChargeType", charge}, {"Bandwidth", bandwidth}});
  };
  EXPECT_EQ(postpaid("PayByTraffic", "200"), "OK");
  EXPECT_EQ(postpaid("PayByTraffic", "201"), "InvalidParameter");
  EXPECT_EQ(postpaid("PayByBandwidth", "500"), "OK");
  EXPECT_EQ(postpaid("PayByBandwidth", "501"), "InvalidParameter");
  for (const char* bad : {"0", "-1", "05", "5M", " 5", "99999999999"}) {
    EXPECT_EQ(postpaid("PayByTraffic", bad), "InvalidParameter") << bad;
  }
  EXPECT_EQ(postpaid("PayAsYouLike", "5"), "InvalidParameter");
}

TEST_F(VpcTest, ASubscriptionNeedsItsTerms) {
  Parameters parameters{{"InstanceChargeType", "PrePaid"}, {"Bandwidth", "1000"}};
  EXPECT_EQ(AllocateCode(parameters), "COMMODITY.INVALID_COMPONENT");
  parameters["InternetChargeType"] = "PayByBandwidth";
  EXPECT_EQ(AllocateCode(parameters), "MissingParameter");
  parameters["Period"] = "9";
  EXPECT_EQ(AllocateCode(parameters), "MissingParameter");
  parameters["AutoPay"] = "yes";
  EXPECT_EQ(AllocateCode(parameters), "InvalidParameter");
  parameters["AutoPay"] = "True";  // as Python's SDK spells it
  const auto made = caller.Ask("AllocateEipAddress", parameters);
  EXPECT_EQ(made.Code(), "OK");
  EXPECT_GT(made.body["OrderId"].as<std::int64_t>(), 0);
  parameters["Period"] = "10";
  EXPECT_EQ(AllocateCode(parameters), "InvalidParameter");
  parameters["Period"] = "6";
  parameters["PricingCycle"] = "Year";
  EXPECT_EQ(AllocateCode(parameters), "InvalidParameter");
  EXPECT_EQ(caller.Code("ReleaseEipAddress", {{"AllocationId", made["AllocationId"]}}),
            "Forbidden.ChargeTypeIsPrepaid");
  EXPECT_EQ(caller.Code("ModifyEipAddressAttribute",
                        {{"AllocationId", made["AllocationId"]}, {"Bandwidth", "5"}}),
            "Forbidden.ChargeTypeIsPrepaid");
}

TEST_F(VpcTest, ASingleLineIsPaidByBandwidth) {
  EXPECT_EQ(AllocateCode({{"ISP", "ChinaTelecom"}}), "COMMODITY.INVALID_COMPONENT");
  EXPECT_EQ(AllocateCode({{"ISP", "ChinaTelecom"}, {"InternetChargeType", "PayByBandwidth"}}),
            "OK");
  EXPECT_EQ(AllocateCode({{"ISP", "ChinaMobile_L2"},
                          {"InternetChargeType", "PayByBandwidth"},
                          {"InstanceChargeType", "PrePaid"},
                          {"Period", "1"},
                          {"AutoPay", "true"}}),
            "COMMODITY.INVALID_COMPONENT");
  EXPECT_EQ(AllocateCode({{"ISP", "Pigeon"}}), "InvalidParameter");
}

TEST_F(VpcTest, TextsAreBounded) {
  std::string wide;
  for (int i = 0; i < 128; ++i) wide += "é";
  EXPECT_EQ(AllocateCode({{"Name", wide}}), "OK");
  EXPECT_EQ(AllocateCode({{"Name", wide + "x"}}), "InvalidParameter");
  EXPECT_EQ(AllocateCode({{"Name", "http://x"}}), "InvalidParameter");
  EXPECT_EQ(AllocateCode({{"Description", std::string(256, 'x')}}), "OK");
  EXPECT_EQ(AllocateCode({{"Description", std::string(257, 'x')}}), "InvalidParameter");
  EXPECT_EQ(AllocateCode({{"Description", "https://x"}}), "InvalidParameter");
}

TEST_F(VpcTest, TheAccountHasItsLimits) {
  EXPECT_EQ(AllocateCode({{"RegionId", "mars"}}), "InvalidRegionId.NotFound");
  vpc.SetFunded(false);
  EXPECT_EQ(AllocateCode({}), "InsufficientBalance.Eip");
  vpc.SetFunded(true);
  vpc.SetQuota(1);
  EXPECT_EQ(AllocateCode({}), "OK");
  EXPECT_EQ(AllocateCode({}), "QuotaExceeded.Eip");
}

TEST_F(VpcTest, OnlyWhatIsFreeAndUnprotectedIsReleased) {
  const std::string id = caller.Allocate();
  const auto release = [&] { return caller.Code("ReleaseEipAddress", {{"AllocationId", id}}); };
  vpc.Edit(id).deletion_protection = true;
  EXPECT_EQ(release(), "InvalidOperation.DeletionProtection");
  vpc.Edit(id).deletion_protection = false;
  vpc.Edit(id).service_managed = true;
  EXPECT_EQ(release(), "OperationUnsupported.ServiceManaged");
  vpc.Edit(id).service_managed = false;
  caller.Ask("AssociateEipAddress", {{"AllocationId", id}, {"InstanceId", "i-1"}});
  EXPECT_EQ(release(), "IncorrectEipStatus");
  caller.Ask("UnassociateEipAddress", {{"AllocationId", id}});
  EXPECT_EQ(release(), "OK");
  EXPECT_EQ(release(), "InvalidAllocationId.NotFound");
}

TEST_F(VpcTest, DeletionProtectionIsSetByItsOwnCall) {
  const std::string id = caller.Allocate();
  const auto protect = [&](const char* enable, const char* type = "EIP") {
    return caller.Code("DeletionProtection",
                       {{"InstanceId", id}, {"Type", type}, {"ProtectionEnable", enable}});
  };
  EXPECT_EQ(protect("true"), "OK");
  EXPECT_TRUE(caller.Describe(id)["DeletionProtection"].as<bool>());
  EXPECT_EQ(caller.Code("ReleaseEipAddress", {{"AllocationId", id}}),
            "InvalidOperation.DeletionProtection");
  EXPECT_EQ(protect("yes"), "InvalidParameter");
  EXPECT_EQ(protect(""), "MissingParameter");
  EXPECT_EQ(protect("true", "NATGW"), "InvalidParameter");
  EXPECT_EQ(protect("False"), "OK");
  EXPECT_EQ(caller.Code("ReleaseEipAddress", {{"AllocationId", id}}), "OK");
}

TEST_F(VpcTest, ALockedEipCannotBeUsedButReleased) {
  const std::string id = caller.Allocate();
  const std::string package = vpc.CreatePackage(10);
  const auto modify = [&] {
    return caller.Code("ModifyEipAddressAttribute", {{"AllocationId", id}, {"Bandwidth", "9"}});
  };
  vpc.SetLocks(id, {"financial"});
  EXPECT_EQ(modify(), "IncorrectEipStatus");
  EXPECT_EQ(caller.Code("AssociateEipAddress", {{"AllocationId", id}, {"InstanceId", "i-1"}}),
            "IncorrectEipStatus");
  EXPECT_EQ(caller.Code("AddCommonBandwidthPackageIp",
                        {{"IpInstanceId", id}, {"BandwidthPackageId", package}}),
            "IncorrectEipStatus");
  vpc.SetLocks(id, {});
  EXPECT_EQ(modify(), "OK");
  vpc.SetLocks(id, {"security"});
  EXPECT_EQ(caller.Code("ReleaseEipAddress", {{"AllocationId", id}}), "OK");
}

TEST_F(VpcTest, ADryRunChecksAndChangesNothing) {
  const std::string id = caller.Allocate();
  const std::string package = vpc.CreatePackage(10);
  const auto dry = [&](const char* action, Parameters parameters) {
    parameters["DryRun"] = "true";
    return caller.Code(action, parameters);
  };
  const Parameters joining{{"IpInstanceId", id}, {"BandwidthPackageId", package}};
  EXPECT_EQ(dry("DescribeEipAddresses", {}), "DryRunOperation");
  EXPECT_EQ(dry("DescribeEipAddresses", {{"PageSize", "0"}}), "InvalidParameter");
  EXPECT_EQ(dry("DescribeCommonBandwidthPackages", {}), "DryRunOperation");
  EXPECT_EQ(dry("AssociateEipAddress", {{"AllocationId", id}, {"InstanceId", "i-1"}}),
            "DryRunOperation");
  EXPECT_EQ(dry("AddCommonBandwidthPackageIp", joining), "DryRunOperation");
  EXPECT_EQ(dry("RemoveCommonBandwidthPackageIp", joining), "OperationUnsupported.IpNotInCbwp");
  EXPECT_EQ(vpc.Find(id)->status, "Available");
  EXPECT_EQ(vpc.Find(id)->bandwidth_package_id, "");
}

TEST_F(SlowVpcTest, ANewAddressIsNotListedAtOnce) {
  const std::string id = caller.Allocate();
  EXPECT_EQ(caller.Status(id), "gone");
  EXPECT_EQ(vpc.Eips().size(), 1);
  EXPECT_EQ(caller.Code("ModifyEipAddressAttribute", {{"AllocationId", id}, {"Name", "n"}}), "OK");
  caller.now += 4999ms;
  EXPECT_EQ(caller.Status(id), "gone");
  caller.now += 1ms;
  EXPECT_EQ(caller.Status(id), "Available");
}

TEST_F(SlowVpcTest, AReleaseTakesItsTime) {
  const std::string id = vpc.CreateEip({});
  const auto release = [&] { return caller.Code("ReleaseEipAddress", {{"AllocationId", id}}); };
  EXPECT_EQ(release(), "OK");
  EXPECT_EQ(caller.Status(id), "Releasing");
  EXPECT_EQ(release(), "IncorrectEipStatus");
  EXPECT_EQ(caller.Code("ModifyEipAddressAttribute", {{"AllocationId", id}, {"Name", "n"}}),
            "IncorrectEipStatus");
  EXPECT_EQ(caller.Code("TagResources",
                        {{"ResourceType", "EIP"}, {"ResourceId.1", id}, {"Tag.1.Key", "k"}}),
            "InvalidResourceId.NotFound");
  caller.now += 3s;
  EXPECT_EQ(caller.Status(id), "gone");
  EXPECT_EQ(release(), "InvalidAllocationId.NotFound");
}

TEST_F(SlowVpcTest, AnAssociationTakesItsTime) {
  vpc.Settle(caller.now);
  const std::string id = vpc.CreateEip({});
  EXPECT_EQ(caller.Code("UnassociateEipAddress", {{"AllocationId", id}}), "IncorrectEipStatus");
  EXPECT_EQ(caller.Code("AssociateEipAddress", {{"AllocationId", id}, {"InstanceId", "i-1"}}),
            "OK");
  EXPECT_EQ(caller.Status(id), "Associating");
  EXPECT_EQ(caller.Code("UnassociateEipAddress", {{"AllocationId", id}}), "IncorrectEipStatus");
  caller.now += 3s;
  EXPECT_EQ(caller.Status(id), "InUse");
  EXPECT_EQ(caller.Ask("DescribeEipAddresses", {{"AssociatedInstanceType", "EcsInstance"},
                                                {"AssociatedInstanceId", "i-1"}})["TotalCount"],
            "1");
  EXPECT_EQ(caller.Code("UnassociateEipAddress", {{"AllocationId", id}}), "OK");
  EXPECT_EQ(caller.Status(id), "Unassociating");
  caller.now += 3s;
  EXPECT_EQ(caller.Status(id), "Available");
  EXPECT_EQ(vpc.Find(id)->instance_id, "");
}

TEST_F(SlowVpcTest, APackageIsJoinedAndLeftInTime) {
  const std::string id = vpc.CreateEip({.bandwidth = "7"});
  const std::string package = vpc.CreatePackage(1000);
  const Parameters both{{"IpInstanceId", id}, {"BandwidthPackageId", package}, {"IpType", "EIP"}};
  const auto relation = [&] {
    return caller.Ask("DescribeCommonBandwidthPackages")
        .body["CommonBandwidthPackages"]["CommonBandwidthPackage"][0]["PublicIpAddresses"]
             ["PublicIpAddresse"];
  };
  EXPECT_EQ(caller.Code("RemoveCommonBandwidthPackageIp", both),
            "OperationUnsupported.IpNotInCbwp");
  EXPECT_EQ(caller.Code("AddCommonBandwidthPackageIp", both), "OK");
  EXPECT_EQ(relation()[0]["BandwidthPackageIpRelationStatus"].as<std::string>(), "BINDING");
  for (const char* action : {"AddCommonBandwidthPackageIp", "RemoveCommonBandwidthPackageIp"}) {
    EXPECT_EQ(caller.Code(action, both), "BandwidthPackageOperation.conflict");
  }
  EXPECT_EQ(caller.Code("ReleaseEipAddress", {{"AllocationId", id}}),
            "BandwidthPackageOperation.conflict");
  caller.now += 3s;
  EXPECT_EQ(relation()[0]["BandwidthPackageIpRelationStatus"].as<std::string>(), "BINDED");
  EXPECT_EQ(caller.Describe(id)["Bandwidth"].as<std::string>(), "1000");
  EXPECT_EQ(caller.Describe(id)["EipBandwidth"].as<std::string>(), "7");
  EXPECT_EQ(caller.Code("AddCommonBandwidthPackageIp", both),
            "IpInstanceId.AlreadyInBandwidthPackage");
  EXPECT_EQ(caller.Code("RemoveCommonBandwidthPackageIp", both), "OK");
  caller.now += 3s;
  EXPECT_EQ(caller.Describe(id)["BandwidthPackageId"].as<std::string>(), "");
  EXPECT_TRUE(relation().empty());
}

TEST_F(VpcTest, APackageTakesOnlyWhatFits) {
  const std::string package = vpc.CreatePackage(10);
  const auto add = [&](const std::string& id, const std::string& to) {
    return caller.Code("AddCommonBandwidthPackageIp",
                       {{"IpInstanceId", id}, {"BandwidthPackageId", to}});
  };
  EXPECT_EQ(add(vpc.CreateEip({.instance_charge_type = "PrePaid"}), package),
            "IpInstanceId.ChargeType.NotSupport");
  EXPECT_EQ(add(vpc.CreateEip({.isp = "BGP_PRO"}), package), "InvalidParameter");
  EXPECT_EQ(add("eip-none", package), "InvalidAllocationId.NotFound");
  EXPECT_EQ(add(vpc.CreateEip({}), "cbwp-none"), "InvalidBandwidthPackageId.NotFound");
  // A released EIP leaves its package.
  const std::string id = vpc.CreateEip({});
  EXPECT_EQ(add(id, package), "OK");
  EXPECT_EQ(caller.Code("ReleaseEipAddress", {{"AllocationId", id}}), "OK");
  EXPECT_EQ(caller.Code("DescribeCommonBandwidthPackages"), "OK");
}

TEST_F(VpcTest, AChangeIsCheckedAndWhatIsNotNamedStays) {
  const std::string id = caller.Allocate({{"Name", "old"}, {"Description", "stays"}});
  const auto modify = [&](Parameters parameters) {
    parameters["AllocationId"] = id;
    return caller.Code("ModifyEipAddressAttribute", parameters);
  };
  EXPECT_EQ(modify({{"Name", "new"}, {"Bandwidth", "20"}}), "OK");
  EXPECT_EQ(modify({{"Name", "newer"}, {"Bandwidth", "201"}}), "InvalidParameter");
  EXPECT_EQ(vpc.Find(id)->name, "new");
  EXPECT_EQ(vpc.Find(id)->bandwidth, "20");
  EXPECT_EQ(vpc.Find(id)->description, "stays");
  EXPECT_EQ(
      caller.Code("MoveResourceGroup",
                  {{"ResourceType", "eip"}, {"ResourceId", id}, {"NewResourceGroupId", "rg-2"}}),
      "OK");
  EXPECT_EQ(vpc.Find(id)->resource_group_id, "rg-2");
}

TEST_F(VpcTest, TagsFindAddresses) {
  const std::string one = caller.Allocate(), other = caller.Allocate();
  const auto found = [&](Parameters tags) {
    std::set<std::string> ids;
    const auto answer = caller.Ask("DescribeEipAddresses", std::move(tags));
    for (const auto& eip : answer.body["EipAddresses"]["EipAddress"].array_range()) {
      ids.insert(eip["AllocationId"].as<std::string>());
    }
    EXPECT_EQ(answer["TotalCount"], std::to_string(ids.size()));
    return ids;
  };
  using Ids = std::set<std::string>;
  EXPECT_EQ(caller.Code("TagResources", {{"ResourceType", "EIP"},
                                         {"ResourceId.1", one},
                                         {"ResourceId.2", other},
                                         {"Tag.1.Key", "owner"},
                                         {"Tag.1.Value", "berth"},
                                         {"Tag.2.Key", "empty"}}),
            "OK");
  EXPECT_EQ(caller.Code("TagResources", {{"ResourceType", "EIP"},
                                         {"ResourceId.1", one},
                                         {"Tag.1.Key", "owner"},
                                         {"Tag.1.Value", "me"}}),
            "OK");
  EXPECT_EQ(found({{"Tag.1.Key", "owner"}}), (Ids{one, other}));
  EXPECT_EQ(found({{"Tag.1.Key", "owner"}, {"Tag.1.Value", "me"}}), Ids{one});
  EXPECT_EQ(found({{"Tag.1.Key", "owner"}, {"Tag.1.Value", "berth"}}), Ids{other});
  EXPECT_EQ(found({{"Tag.1.Key", "empty"}, {"Tag.2.Key", "owner"}, {"Tag.2.Value", "me"}}),
            Ids{one});
  EXPECT_EQ(vpc.Find(one)->tags, (Tags{{"owner", "me"}, {"empty", ""}}));
  EXPECT_EQ(caller.Ask("ListTagResources", {{"ResourceType", "EIP"}, {"ResourceId.1", one}})
                .body["TagResources"]["TagResource"]
                .size(),
            2);
  EXPECT_EQ(caller.Code("UnTagResources",
                        {{"ResourceType", "EIP"}, {"ResourceId.1", one}, {"TagKey.1", "owner"}}),
            "OK");
  EXPECT_EQ(found({{"Tag.1.Key", "owner"}}), Ids{other});
  EXPECT_EQ(caller.Code("ReleaseEipAddress", {{"AllocationId", other}}), "OK");
  EXPECT_EQ(found({{"Tag.1.Key", "owner"}}), Ids{});
}

TEST_F(VpcTest, AnAddressMayBeAllocatedWithTags) {
  const auto made =
      caller.Ask("AllocateEipAddress",
                 {{"Tag.1.Key", "owner"}, {"Tag.1.Value", "berth"}, {"Tag.2.Key", "empty"}});
  EXPECT_EQ(vpc.Find(made["AllocationId"])->tags, (Tags{{"owner", "berth"}, {"empty", ""}}));
  const auto found =
      caller.Ask("DescribeEipAddresses", {{"Tag.1.Key", "owner"}, {"Tag.1.Value", "berth"}});
  EXPECT_EQ(found["TotalCount"], "1");
  EXPECT_EQ(caller.Code("AllocateEipAddress", {{"Tag.1.Key", "acs:thing"}}),
            "InvalidTagKey.Malformed");
}

TEST_F(VpcTest, TagsAreChecked) {
  const std::string id = caller.Allocate();
  const auto tag = [&](Parameters tags) {
    tags.emplace("ResourceType", "EIP");
    tags.emplace("ResourceId.1", id);
    return caller.Code("TagResources", std::move(tags));
  };
  EXPECT_EQ(tag({}), "MissingParameter.TagKey");
  EXPECT_EQ(tag({{"Tag.1.Key", "aliyunthing"}}), "InvalidTagKey.Malformed");
  EXPECT_EQ(tag({{"Tag.1.Key", "acs:thing"}}), "InvalidTagKey.Malformed");
  EXPECT_EQ(tag({{"Tag.1.Key", "a"}, {"Tag.2.Key", "a"}}), "Duplicate.TagKey");
  EXPECT_EQ(tag({{"Tag.1.Key", "a"}, {"ResourceId.1", "eip-none"}}), "InvalidResourceId.NotFound");
  EXPECT_EQ(tag({{"Tag.1.Key", "a"}, {"ResourceType", "VPC"}}), "InvalidResourceType.NotFound");
  Parameters crowd{{"Tag.1.Key", "a"}};
  for (int n = 1; n <= 51; ++n) crowd[Format("ResourceId.{}", n)] = id;
  EXPECT_EQ(tag(crowd), "NumberExceed.ResourceIds");
  Parameters most;
  for (int n = 1; n <= 20; ++n) most[Format("Tag.{}.Key", n)] = Format("k{}", n);
  EXPECT_EQ(tag(most), "OK");
  EXPECT_EQ(tag({{"Tag.1.Key", "k1"}, {"Tag.1.Value", "again"}}), "OK");
  EXPECT_EQ(tag({{"Tag.1.Key", "one more"}}), "QuotaExceed.TagsPerResource");
  most["Tag.21.Key"] = "k21";
  EXPECT_EQ(tag(most), "NumberExceed.Tags");
}

TEST_F(VpcTest, AListComesInPages) {
  std::set<std::string> made, listed;
  for (int i = 0; i < 23; ++i) made.insert(caller.Allocate());
  for (int page = 1; page <= 4; ++page) {
    const auto answer = caller.Ask("DescribeEipAddresses", {{"PageNumber", std::to_string(page)}});
    EXPECT_EQ(answer["TotalCount"], "23");
    const auto list = answer.body["EipAddresses"]["EipAddress"];
    EXPECT_EQ(list.size(), page < 3 ? 10 : page == 3 ? 3 : 0);
    for (const auto& eip : list.array_range()) listed.insert(eip["AllocationId"].as<std::string>());
  }
  EXPECT_EQ(listed, made);
  EXPECT_EQ(caller.Code("DescribeEipAddresses", {{"PageSize", "101"}}), "InvalidParameter");
  EXPECT_EQ(caller.Code("DescribeEipAddresses", {{"PageNumber", "0"}}), "InvalidParameter");
  std::string fifty_one;
  for (int i = 0; i < 51; ++i) fifty_one += Format("eip-{},", i);
  EXPECT_EQ(caller.Code("DescribeEipAddresses", {{"AllocationId", fifty_one}}), "InvalidParameter");
}

TEST_F(VpcTest, TheLedgerTellsWhoseDoingItWas) {
  const std::string id = caller.Allocate({{"ClientToken", "t"}});
  const std::string others = vpc.CreateEip({.tags = {{"k", "v"}}});
  caller.Ask("ReleaseEipAddress", {{"AllocationId", id}});
  EXPECT_TRUE(vpc.DeleteEip(others));
  EXPECT_FALSE(vpc.DeleteEip(others));
  using Event = LedgerEntry::Event;
  const auto& ledger = vpc.ledger();
  ASSERT_EQ(ledger.size(), 4);
  const auto is = [&](int n, Event event, const std::string& what, const std::string& by) {
    EXPECT_EQ(ledger[n].event, event) << n;
    EXPECT_EQ(ledger[n].allocation_id, what) << n;
    EXPECT_EQ(ledger[n].by, by) << n;
  };
  is(0, Event::kAllocated, id, "berth");
  EXPECT_EQ(ledger[0].client_token, "t");
  is(1, Event::kAllocated, others, "");
  is(2, Event::kReleased, id, "berth");
  is(3, Event::kReleased, others, "");
  EXPECT_TRUE(vpc.Eips().empty());
}

TEST_F(VpcTest, AddressesAreNeverShared) {
  std::set<std::string> addresses;
  for (int i = 0; i < 10'000; ++i) addresses.insert(vpc.Find(vpc.CreateEip({}))->address);
  EXPECT_EQ(addresses.size(), 10'000);
  EXPECT_TRUE(
      std::ranges::all_of(addresses, [](const auto& a) { return a.starts_with("100.64."); }));
}

}  // namespace
}  // namespace berth::cloud::simulator
