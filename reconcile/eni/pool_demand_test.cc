#include <gtest/gtest.h>

#include "reconcile/eni/pool_fixture_test.h"

namespace berth::eni {
namespace {

using namespace pool_test;

TEST(PoolDemand, NothingIsWantedWithoutPodsAndMinimum) { EXPECT_FALSE(Next(SampleNode()).job); }

TEST(PoolDemand, WaitingPodsAndTheMinimumAreCountedOnce) {
  Node node = SampleNode();
  node.spec.min_pool = 3;
  Show(node, {SampleEni(1, 1)});
  const Bound bound = Bind(node, SamplePods(3));
  EXPECT_EQ(bound.waiting, 2);
  const Wanted wanted = Next(node, bound);
  const auto assign = JobOf<job::Assign>(wanted);
  ASSERT_TRUE(assign);
  EXPECT_EQ(assign->eni, "eni-1");
  EXPECT_EQ(assign->ipv4, 5);
}

TEST(PoolDemand, EnisInUseAreGrownBeforeANewOneIsMade) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 10), SampleEni(2, 8)});
  const Bound bound = Bind(node, SamplePods(23));
  Wanted wanted = Next(node, bound);
  const auto assign = JobOf<job::Assign>(wanted);
  ASSERT_TRUE(assign);
  EXPECT_EQ(assign->eni, "eni-2");
  EXPECT_EQ(assign->ipv4, 2);
  TakeAssigned(node, node.status, *assign, {AddressOf(2, 9), AddressOf(2, 10)});
  wanted = Next(node, Bind(node, SamplePods(23)));
  const auto create = JobOf<job::Create>(wanted);
  ASSERT_TRUE(create);
  EXPECT_EQ(create->request.ipv4_addresses, 3);
}

TEST(PoolDemand, ANewEniIsAsTheSpecSays) {
  Node node = SampleNode();
  node.spec.tags = {{"team", "a"}};
  node.spec.resource_group = "rg-1";
  const Wanted wanted = Next(node, {.waiting = 4});
  const auto create = JobOf<job::Create>(wanted);
  ASSERT_TRUE(create);
  cloud::EniRequest expected;
  expected.vswitch_id = "vsw-1";
  expected.security_group_ids = {"sg-1"};
  expected.resource_group_id = "rg-1";
  expected.tags = {{"team", "a"}};
  expected.ipv4_addresses = 4;
  EXPECT_EQ(create->request, expected);
}

TEST(PoolDemand, ANewEniTakesAsManyAddressesAsTheCloudAllows) {
  Node node = SampleNode();
  node.spec.ipv4_per_adapter = node.spec.ipv6_per_adapter = 60;
  node.spec.ipv6 = true;
  const Wanted wanted = Next(node, {.waiting = 100});
  const auto create = JobOf<job::Create>(wanted);
  ASSERT_TRUE(create);
  EXPECT_EQ(create->request.ipv4_addresses, 50);
  EXPECT_EQ(create->request.ipv6_addresses, 10);
}

TEST(PoolDemand, OnEfloACallTakesOneAddress) {
  Node node = SampleNode();
  node.backend = Backend::kEflo;
  Wanted wanted = Next(node, {.waiting = 4});
  const auto create = JobOf<job::Create>(wanted);
  ASSERT_TRUE(create);
  EXPECT_EQ(create->request.ipv4_addresses, 1);
  EXPECT_EQ(create->request.instance_id, kInstance);
  EXPECT_EQ(create->request.vpc_id, "vpc-1");
  Show(node, {SampleEni(1, 1)});
  wanted = Next(node, Bind(node, SamplePods(4)));
  const auto assign = JobOf<job::Assign>(wanted);
  ASSERT_TRUE(assign);
  EXPECT_EQ(assign->ipv4, 1);
}

TEST(PoolDemand, AddressesOnTheirWayCount) {
  Node node = SampleNode();
  Attempt attempt;
  attempt.request.ipv4_addresses = 4;
  node.status.attempts["token"] = attempt;
  EXPECT_FALSE(Next(node, {.waiting = 4}).job);
  EXPECT_FALSE(Next(node, {.waiting = 10}).job) << "the ENI will have room for the rest";
  Wanted wanted = Next(node, {.waiting = 13});
  ASSERT_TRUE(JobOf<job::Create>(wanted));
  EXPECT_EQ(JobOf<job::Create>(wanted)->request.ipv4_addresses, 3);

  node.status.attempts.clear();
  Show(node, {SampleEni(1, 4)});
  node.status.nics.at("eni-1").status = kAttaching;
  EXPECT_FALSE(Next(node, {.waiting = 4}).job);
  EXPECT_EQ(Next(node, {.waiting = 4}).insufficient, "");
  wanted = Next(node, {.waiting = 13});
  ASSERT_TRUE(JobOf<job::Create>(wanted));
  EXPECT_EQ(JobOf<job::Create>(wanted)->request.ipv4_addresses, 3);
}

TEST(PoolDemand, EnisAndAttemptsStayWithinTheAdapters) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 10), SampleEni(2, 10)});
  node.status.nics.at("eni-2").unschedulable = true;
  Attempt attempt;
  attempt.request.ipv4_addresses = 10;
  node.status.attempts["token"] = attempt;
  const Wanted wanted = Next(node, {.waiting = 40});
  EXPECT_FALSE(wanted.job);
  EXPECT_EQ(wanted.insufficient,
            "no further ENI: the node takes 3 beside its primary one, by spec.flavor and "
            "spec.nodeCap.adapters");
}

TEST(PoolDemand, ALostNicTakesNoAdapter) {
  Node node = SampleNode();
  node.spec.adapters = 2;
  Show(node, {SampleEni(1, 1)});
  Bind(node, SamplePods(1));
  Show(node, {}, SamplePods(1), {}, {"eni-1"});
  EXPECT_TRUE(JobOf<job::Create>(Next(node, {.waiting = 1})));
}

TEST(PoolDemand, FlavorsAreMadeInTheirOrderAndTheTrunkWithoutDemand) {
  Node node = SampleNode();
  node.spec.trunk = node.spec.erdma = true;
  node.spec.flavors = {
      {.type = std::string(kSecondaryType), .traffic_mode = std::string(kStandard), .count = 1},
      {.type = std::string(kSecondaryType),
       .traffic_mode = std::string(kHighPerformance),
       .count = 1},
      {.type = std::string(kTrunkType), .traffic_mode = std::string(kStandard), .count = 1}};
  Bound bound{.waiting = 12, .waiting_erdma = 2};
  std::vector<cloud::EniRequest> made;
  while (true) {
    const Wanted wanted = Next(node, bound);
    const auto create = JobOf<job::Create>(wanted);
    if (!create) break;
    made.push_back(create->request);
    node.status.attempts[Format("token-{}", made.size())] = {.request = create->request,
                                                             .begun = kNow};
    ASSERT_LE(made.size(), 3);
  }
  ASSERT_EQ(made.size(), 3);
  EXPECT_TRUE(made[0].trunk);
  EXPECT_EQ(made[0].ipv4_addresses, 10);
  EXPECT_EQ(made[1].traffic_mode, kHighPerformance);
  EXPECT_EQ(made[1].ipv4_addresses, 2);
  EXPECT_FALSE(made[2].trunk);
  EXPECT_EQ(made[2].ipv4_addresses, 2);

  node.status.attempts.clear();
  const Wanted without_demand = Next(node);
  ASSERT_TRUE(JobOf<job::Create>(without_demand));
  EXPECT_TRUE(JobOf<job::Create>(without_demand)->request.trunk);
  EXPECT_EQ(JobOf<job::Create>(without_demand)->request.ipv4_addresses, 1);
}

TEST(PoolDemand, WithoutRdmaPodsNoHighPerformanceEniIsMade) {
  Node node = SampleNode();
  node.spec.erdma = true;
  node.spec.flavors = {{.type = std::string(kSecondaryType),
                        .traffic_mode = std::string(kHighPerformance),
                        .count = 1}};
  EXPECT_FALSE(Next(node, {.waiting = 5}).job);
  EXPECT_TRUE(JobOf<job::Create>(Next(node, {.waiting_erdma = 1})));
}

TEST(PoolDemand, FlavorsBeyondTheAdaptersAreCapped) {
  Node node = SampleNode();
  node.spec.adapters = 2;
  node.spec.flavors = {
      {.type = std::string(kSecondaryType), .traffic_mode = std::string(kStandard), .count = 9}};
  Show(node, {SampleEni(1, 10)});
  EXPECT_FALSE(Next(node, {.waiting = 20}).job);
}

// Dual stack.

TEST(PoolDemand, ADualStackEniGetsIpv4ThenAsManyIpv6) {
  Node node = SampleNode();
  node.spec.ipv6 = true;
  Show(node, {SampleEni(1, 1, 0)});
  Wanted wanted = Next(node, {.waiting = 3});
  const auto assign = JobOf<job::Assign>(wanted);
  ASSERT_TRUE(assign);
  EXPECT_EQ(assign->ipv4, 2) << "the primary one is half a pair";
  EXPECT_EQ(assign->ipv6, 0);
  TakeAssigned(node, node.status, *assign, {AddressOf(1, 2), AddressOf(1, 3)});
  wanted = Next(node, {.waiting = 3});
  const auto second = JobOf<job::Assign>(wanted);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->ipv4, 0);
  EXPECT_EQ(second->ipv6, 3);
}

TEST(PoolDemand, ADualStackEniHasRoomForAsManyPairsAsItsSmallerFamily) {
  Node node = SampleNode();
  node.spec.ipv6 = true;
  node.spec.ipv6_per_adapter = 2;
  Show(node, {SampleEni(1, 2, 2)});
  Bind(node, SamplePods(2));
  const Wanted wanted = Next(node, {.waiting = 1});
  EXPECT_TRUE(JobOf<job::Create>(wanted));
  node.spec.ipv6_per_adapter = 0;
  const Wanted none = Next(node, {.waiting = 1});
  EXPECT_FALSE(none.job);
  EXPECT_NE(none.insufficient.find("10 IPv4 and 0 IPv6"), std::string::npos) << none.insufficient;
}

// Warm-up.

// As TestSharedENI_WarmUp of Terway.
TEST(PoolDemand, AWarmUpAllocatesItsSizeOnceEvenBeyondTheMaximum) {
  for (const int max_pool : {20, 5}) {
    Node node = SampleNode();
    node.status.warm_up_completed = false;
    node.spec.warm_up = 10;
    node.spec.min_pool = 1;
    node.spec.max_pool = max_pool;
    Show(node, {SampleEni(1, 1)});
    Shrink(node, node.status, {}, kNow, 0);
    EXPECT_EQ(node.status.warm_up_target, 10);
    Wanted wanted = Next(node);
    const auto assign = JobOf<job::Assign>(wanted);
    ASSERT_TRUE(assign);
    EXPECT_EQ(assign->ipv4, 9) << "all that the ENI has room for";
    std::vector<std::string> assigned;
    for (int i = 2; i <= 10; ++i) assigned.push_back(AddressOf(1, i));
    TakeAssigned(node, node.status, *assign, assigned);
    EXPECT_EQ(node.status.warm_up_allocated, 9);

    Shrink(node, node.status, {}, kNow, 0);
    EXPECT_FALSE(node.status.warm_up_completed);
    EXPECT_EQ(CountWithStatus(node.status, kDeleting), 0) << "nothing is released meanwhile";
    wanted = Next(node);
    const auto create = JobOf<job::Create>(wanted);
    ASSERT_TRUE(create);
    EXPECT_EQ(create->request.ipv4_addresses, 1);
    node.status.attempts["token"] = {.request = create->request, .begun = kNow};
    EXPECT_FALSE(Next(node).job);
    TakeCreated(node, node.status, "token", SampleEni(2, 1), SampleVSwitches());
    EXPECT_FALSE(Next(node).job);
    Show(node, {SampleEni(2, 1)});
    EXPECT_EQ(node.status.warm_up_allocated, 10);

    Shrink(node, node.status, {}, kNow, 0);
    EXPECT_TRUE(node.status.warm_up_completed);
    EXPECT_EQ(PoolNics(node.status).size(), max_pool == 5 ? 1 : 2);
    EXPECT_EQ(NicStock::Of(node.status.nics.at("eni-1")).ipv4.idle, max_pool == 5 ? 5 : 10);
  }
}

TEST(PoolDemand, AWarmUpIsOverWhenNothingHasRoom) {
  Node node = SampleNode();
  node.status.warm_up_completed = false;
  node.spec.warm_up = 50;
  node.spec.adapters = 2;
  Show(node, {SampleEni(1, 10)});
  Shrink(node, node.status, {}, kNow, 0);
  EXPECT_TRUE(node.status.warm_up_completed);
}

TEST(PoolDemand, WithoutAWarmUpItIsOverAtOnce) {
  Node node = SampleNode();
  node.status.warm_up_completed = false;
  Shrink(node, node.status, {}, kNow, 0);
  EXPECT_TRUE(node.status.warm_up_completed);
  EXPECT_EQ(node.status.warm_up_target, 0);
}

// vSwitches.

// As TestVSwitchExhaustedENIScenario of Terway.
TEST(PoolDemand, IdleAddressesOfAFullVSwitchCountAndGrowthGoesElsewhere) {
  Node node = SampleNode();
  node.spec.min_pool = 5;
  node.spec.max_pool = 20;
  cloud::Eni exhausted = SampleEni(1, 9);
  exhausted.vswitch_id = "vsw-full";
  Show(node, {exhausted, SampleEni(2, 1)});
  VSwitches vswitches = SampleVSwitches();
  vswitches.known["vsw-full"] = SampleVSwitch("vsw-full", 0);
  EXPECT_FALSE(Next(node, {}, vswitches).job);

  const Bound bound = Bind(node, SamplePods(7));
  const Wanted wanted = Next(node, bound, vswitches);
  const auto assign = JobOf<job::Assign>(wanted);
  ASSERT_TRUE(assign);
  EXPECT_EQ(assign->eni, "eni-2");
  EXPECT_EQ(assign->ipv4, 2);
}

TEST(PoolDemand, AFullVSwitchIsPassedOverForAWhile) {
  Node node = SampleNode();
  node.spec.vswitches = {"vsw-1", "vsw-2"};
  VSwitches vswitches = SampleVSwitches();
  vswitches.known["vsw-2"] = SampleVSwitch("vsw-2", 2);
  vswitches.full_until["vsw-1"] = kNow + 20min;
  Wanted wanted = Next(node, {.waiting = 6}, vswitches);
  ASSERT_TRUE(JobOf<job::Create>(wanted));
  EXPECT_EQ(JobOf<job::Create>(wanted)->request.vswitch_id, "vsw-2");
  EXPECT_EQ(JobOf<job::Create>(wanted)->request.ipv4_addresses, 2) << "no more are free";

  vswitches.full_until["vsw-2"] = kNow + 10min;
  wanted = Next(node, {.waiting = 6}, vswitches);
  EXPECT_FALSE(wanted.job);
  EXPECT_EQ(wanted.insufficient, "no vSwitch of zone zone-a has free addresses");

  vswitches.full_until["vsw-1"] = kNow;
  wanted = Next(node, {.waiting = 6}, vswitches);
  ASSERT_TRUE(JobOf<job::Create>(wanted));
  EXPECT_EQ(JobOf<job::Create>(wanted)->request.vswitch_id, "vsw-1");
}

TEST(PoolDemand, TheVSwitchIsChosenByThePolicyAndFitsTheZone) {
  Node node = SampleNode();
  node.spec.vswitches = {"vsw-far", "vsw-1", "vsw-2", "vsw-3", "vsw-unknown"};
  VSwitches vswitches = SampleVSwitches();
  vswitches.known["vsw-far"] = SampleVSwitch("vsw-far", 4000);
  vswitches.known["vsw-far"].zone_id = "zone-b";
  vswitches.known["vsw-2"] = SampleVSwitch("vsw-2", 300);
  vswitches.known["vsw-3"] = SampleVSwitch("vsw-3", 100);
  const auto chosen = [&](const std::string& policy, double random) {
    node.spec.vswitch_policy = policy;
    const Wanted wanted = Next(node, {.waiting = 1}, vswitches, random);
    return JobOf<job::Create>(wanted) ? JobOf<job::Create>(wanted)->request.vswitch_id : "";
  };
  EXPECT_EQ(chosen("ordered", 0.9), "vsw-1");
  EXPECT_EQ(chosen("most", 0.9), "vsw-2");
  EXPECT_EQ(chosen("random", 0), "vsw-1");
  EXPECT_EQ(chosen("random", 0.5), "vsw-2");
  EXPECT_EQ(chosen("random", 0.99), "vsw-3");
}

TEST(PoolDemand, AMissingVSwitchIsTold) {
  Node node = SampleNode();
  const auto insufficient = [&](const VSwitches& vswitches) {
    return Next(node, {.waiting = 1}, vswitches).insufficient;
  };
  VSwitches vswitches = SampleVSwitches();
  vswitches.known["vsw-1"].zone_id = "zone-b";
  EXPECT_EQ(insufficient(vswitches),
            "none of the 1 vSwitches of spec.eni.vSwitchOptions is in zone zone-a");
  vswitches.known["vsw-1"].zone_id = "zone-a";
  vswitches.known["vsw-1"].ipv6_cidr.clear();
  EXPECT_EQ(insufficient(vswitches), "");
  node.spec.ipv6 = true;
  EXPECT_EQ(insufficient(vswitches), "no vSwitch of zone zone-a has IPv6");
  node.spec.vswitches.clear();
  EXPECT_EQ(insufficient(vswitches), "spec.eni.vSwitchOptions names no vSwitch");
}

TEST(PoolDemand, InsufficiencyIsToldBeforeTheNextPodComes) {
  Node node = SampleNode();
  node.spec.adapters = 2;
  Show(node, {SampleEni(1, 10)});
  EXPECT_EQ(Next(node, Bind(node, SamplePods(9))).insufficient, "");
  const Wanted wanted = Next(node, Bind(node, SamplePods(10)));
  EXPECT_FALSE(wanted.job);
  EXPECT_NE(wanted.insufficient, "");
}

TEST(PoolDemand, SizesBeyondAllReasonAreHarmless) {
  Node node = SampleNode();
  constexpr int kHuge = 2'147'483'647;
  node.spec.min_pool = node.spec.max_pool = node.spec.warm_up = kHuge;
  node.spec.adapters = node.spec.ipv4_per_adapter = kHuge;
  node.spec.flavors = {
      {.type = std::string(kSecondaryType), .traffic_mode = std::string(kStandard), .count = kHuge},
      {.type = std::string(kTrunkType), .traffic_mode = std::string(kStandard), .count = kHuge}};
  const Wanted wanted = Next(node, {.waiting = kHuge, .waiting_erdma = kHuge});
  ASSERT_TRUE(JobOf<job::Create>(wanted));
  EXPECT_EQ(JobOf<job::Create>(wanted)->request.ipv4_addresses, 50);
}

}  // namespace
}  // namespace berth::eni
