#include "cloud/simulator/aliyun/eip_list.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "cloud/simulator/aliyun/test_caller.h"

namespace berth::cloud::simulator {
namespace {

using namespace std::chrono_literals;
using aliyun::Parameters;
using AllocationIds = std::set<std::string>;

struct EipListTest : testing::Test {
  Cloud cloud{{}};
  TestCaller caller{cloud};
  VpcProduct& vpc = cloud.vpc();

  AllocationIds Found(Parameters filters) {
    AllocationIds ids;
    const auto answer = caller.Ask("DescribeEipAddresses", std::move(filters));
    EXPECT_EQ(answer.Code(), "OK");
    for (const auto& eip : answer.body["EipAddresses"]["EipAddress"].array_range()) {
      ids.insert(eip["AllocationId"].as<std::string>());
    }
    return ids;
  }
};

TEST_F(EipListTest, EveryFilterOfTheModelsSelects) {
  const std::string one = vpc.CreateEip({.isp = "BGP_PRO",
                                         .instance_charge_type = "PrePaid",
                                         .resource_group_id = "rg-1",
                                         .name = "one",
                                         .public_ip_address_pool_id = "pippool-1",
                                         .security_protection_types = {"AntiDDoS_Enhanced"}});
  const std::string other = vpc.CreateEip({.service_managed = true});
  vpc.SetLocks(one, {"financial"});
  for (const Parameters& filter : std::initializer_list<Parameters>{
           {{"ISP", "BGP_PRO"}},
           {{"ChargeType", "PrePaid"}},
           {{"ResourceGroupId", "rg-1"}},
           {{"EipName", "one"}},
           {{"PublicIpAddressPoolId", "pippool-1"}},
           {{"SecurityProtectionEnabled", "true"}},
           {{"ServiceManaged", "False"}},
           {{"LockReason", "financial"}},
           {{"AllocationId", one}},
           {{"EipAddress", vpc.Find(one)->address}},
           {{"AllocationId", one + "," + other}, {"EipAddress", vpc.Find(one)->address}}}) {
    EXPECT_EQ(Found(filter), AllocationIds{one}) << filter.begin()->first;
  }
  EXPECT_EQ(Found({{"SecurityProtectionEnabled", "false"}}), AllocationIds{other});
  EXPECT_EQ(Found({{"ServiceManaged", "true"}}), AllocationIds{other});
  EXPECT_EQ(Found({{"LockReason", "security"}}), AllocationIds{});
  EXPECT_EQ(Found({{"SegmentInstanceId", "eipsg-1"}}), AllocationIds{});
  EXPECT_EQ(caller.Code("DescribeEipAddresses", {{"ServiceManaged", "maybe"}}), "InvalidParameter");
}

TEST_F(EipListTest, MembersOfAPackageAreFound) {
  const std::string one = caller.Allocate();
  caller.Allocate();
  const std::string package = vpc.CreatePackage(10);
  caller.Ask("AddCommonBandwidthPackageIp",
             {{"IpInstanceId", one}, {"BandwidthPackageId", package}});
  EXPECT_EQ(Found({{"BandwidthPackageId", package}}), AllocationIds{one});
}

TEST_F(EipListTest, ATimeOfCreationSelects) {
  const std::string early = caller.Allocate();
  caller.now += 10min;
  const std::string late = caller.Allocate();
  EXPECT_EQ(Found({{"Filter.1.Key", "CreationStartTime"}, {"Filter.1.Value", "2026-01-02T03:05Z"}}),
            AllocationIds{late});
  EXPECT_EQ(Found({{"Filter.1.Key", "CreationEndTime"}, {"Filter.1.Value", "2026-01-02T03:05Z"}}),
            AllocationIds{early});
  EXPECT_EQ(caller.Code("DescribeEipAddresses",
                        {{"Filter.1.Key", "Colour"}, {"Filter.1.Value", "2026-01-02T03:05Z"}}),
            "InvalidParameter");
  EXPECT_EQ(caller.Code("DescribeEipAddresses",
                        {{"Filter.1.Key", "CreationStartTime"}, {"Filter.1.Value", "noon"}}),
            "InvalidParameter");
}

TEST_F(EipListTest, ALockIsToldWithItsReason) {
  const std::string id = caller.Allocate();
  EXPECT_EQ(caller.Describe(id)["BusinessStatus"].as<std::string>(), "Normal");
  EXPECT_TRUE(caller.Describe(id)["OperationLocks"]["LockReason"].empty());
  vpc.SetLocks(id, {"financial"});
  const Json eip = caller.Describe(id);
  EXPECT_EQ(eip["BusinessStatus"].as<std::string>(), "OperationLock");
  EXPECT_EQ(eip["OperationLocks"]["LockReason"][0]["LockReason"].as<std::string>(), "financial");
}

TEST_F(EipListTest, AnAssociationIsToldUntilItEnds) {
  const std::string id = caller.Allocate();
  const auto associate = [&](Parameters parameters) {
    parameters["AllocationId"] = id;
    return caller.Code("AssociateEipAddress", parameters);
  };
  const auto is = [&](const char* member, const char* value) {
    EXPECT_EQ(caller.Describe(id)[member].as<std::string>(), value) << member;
  };
  EXPECT_EQ(associate({{"InstanceId", "10.0.0.1"}, {"InstanceType", "IpAddress"}}),
            "MissingParameter");
  EXPECT_EQ(associate({{"InstanceId", "x"}, {"InstanceType", "Toaster"}}), "InvalidParameter");
  EXPECT_EQ(associate({{"InstanceId", "10.0.0.1"},
                       {"InstanceType", "IpAddress"},
                       {"PrivateIpAddress", "10.0.0.1"},
                       {"VpcId", "vpc-1"}}),
            "OK");
  is("InstanceId", "10.0.0.1");
  is("InstanceType", "IpAddress");
  is("InstanceRegionId", "cn-hangzhou");
  is("Mode", "NAT");
  is("PrivateIpAddress", "10.0.0.1");
  is("VpcId", "vpc-1");
  EXPECT_EQ(
      caller.Code("UnassociateEipAddress", {{"AllocationId", id}, {"InstanceId", "10.0.0.2"}}),
      "InvalidParameter");
  EXPECT_EQ(
      caller.Code("UnassociateEipAddress", {{"AllocationId", id}, {"InstanceId", "10.0.0.1"}}),
      "OK");
  for (const char* member :
       {"InstanceId", "InstanceType", "InstanceRegionId", "Mode", "PrivateIpAddress", "VpcId"}) {
    is(member, "");
  }
}

TEST_F(EipListTest, ASubscriptionHasAnEnd) {
  const std::string id = caller.Allocate({{"InstanceChargeType", "PrePaid"},
                                          {"InternetChargeType", "PayByBandwidth"},
                                          {"Period", "5"},
                                          {"PricingCycle", "Year"},
                                          {"AutoPay", "false"}});
  EXPECT_TRUE(caller.Describe(id)["ExpiredTime"].as<std::string>().starts_with("2031-01-0"));
  EXPECT_EQ(caller.Describe(caller.Allocate())["ExpiredTime"].as<std::string>(), "");
}

// The members of DescribeEipAddresses in the models of alibaba-cloud-sdk-go and vpc-20160428.
TEST_F(EipListTest, EveryMemberOfTheModelsIsThere) {
  const Json eip = caller.Describe(caller.Allocate());
  for (const char* member : {"AllocationId",
                             "AllocationTime",
                             "AvailableRegions",
                             "Bandwidth",
                             "BandwidthPackageBandwidth",
                             "BandwidthPackageId",
                             "BandwidthPackageType",
                             "BizType",
                             "BusinessStatus",
                             "ChargeType",
                             "DeletionProtection",
                             "Description",
                             "Descritpion",
                             "EipBandwidth",
                             "ExpiredTime",
                             "HDMonitorStatus",
                             "HasReservationData",
                             "ISP",
                             "InstanceId",
                             "InstanceRegionId",
                             "InstanceType",
                             "InternetChargeType",
                             "IpAddress",
                             "Mode",
                             "Name",
                             "Netmode",
                             "OperationLocks",
                             "PrivateIpAddress",
                             "PublicIpAddressPoolId",
                             "RegionId",
                             "ReservationActiveTime",
                             "ReservationBandwidth",
                             "ReservationInternetChargeType",
                             "ReservationOrderType",
                             "ResourceGroupId",
                             "SecondLimited",
                             "SecurityProtectionTypes",
                             "SegmentInstanceId",
                             "ServiceManaged",
                             "Status",
                             "Tags",
                             "VpcId",
                             "Zone"}) {
    EXPECT_TRUE(eip.contains(member)) << member;
  }
}

}  // namespace
}  // namespace berth::cloud::simulator
