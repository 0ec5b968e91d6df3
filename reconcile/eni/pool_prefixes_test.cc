#include <gtest/gtest.h>

#include "reconcile/eni/pool_fixture_test.h"

namespace berth::eni {
namespace {

using namespace pool_test;

Node PrefixNode(int count) {
  Node node = SampleNode();
  node.spec.prefixes = true;
  node.spec.ipv4_prefixes = count;
  node.spec.ipv4_per_adapter = 30;
  node.spec.max_pool = 0;
  return node;
}

std::vector<std::string> Blocks(int eni, int first, int count) {
  std::vector<std::string> blocks;
  for (int i = first; i < first + count; ++i) blocks.push_back(Format("10.{}.{}.0/28", eni, i));
  return blocks;
}

// Carries out Assign jobs until another one comes; their sizes.
std::vector<int> AssignAll(Node& node) {
  std::vector<int> sizes;
  while (true) {
    const Wanted wanted = Next(node);
    const auto assign = JobOf<job::Assign>(wanted);
    if (!assign || sizes.size() > 50) return sizes;
    const int count = assign->ipv4_prefixes + assign->ipv6_prefixes;
    sizes.push_back(count);
    const int eni = assign->eni.back() - '0';
    TakeAssigned(node, node.status, *assign,
                 assign->ipv4_prefixes > 0
                     ? Blocks(eni, static_cast<int>(sizes.size()) * 20, count)
                     : std::vector<std::string>{Format("2001:db8:{}::/80", eni)});
  }
}

// As TestPrefix_Boundary_APILimit of Terway.
TEST(PoolPrefixes, ACallAsksForTenAtMost) {
  for (const int count : {9, 10, 11, 20}) {
    Node node = PrefixNode(count);
    Show(node, {SampleEni(1, 1)});
    const std::vector<int> sizes = AssignAll(node);
    int sum = 0;
    for (const int size : sizes) {
      EXPECT_LE(size, 10);
      sum += size;
    }
    EXPECT_EQ(sum, count);
  }
}

TEST(PoolPrefixes, AddressesAndPrefixesFitTheAdapter) {
  Node node = PrefixNode(40);
  Show(node, {SampleEni(1, 5)});
  AssignAll(node);
  EXPECT_EQ(NicStock::Of(node.status.nics.at("eni-1")).ipv4.held, 30);
  const Wanted wanted = Next(node);
  const auto create = JobOf<job::Create>(wanted);
  ASSERT_TRUE(create);
  EXPECT_EQ(create->request.ipv4_addresses, 1);
  EXPECT_EQ(create->request.ipv4_prefixes, 10) << "15 are wanted, the rest follows";
  node.status.attempts["token"] = {.request = create->request, .begun = kNow};
  EXPECT_FALSE(Next(node).job) << "the new ENI has room for the rest";
}

// As TestPrefix_DualStack_1to1Ratio of Terway.
TEST(PoolPrefixes, EachDualStackEniWithPrefixesHasOneIpv6Prefix) {
  Node node = PrefixNode(40);
  node.spec.ipv6 = true;
  node.spec.ipv6_prefixes = 7;  // counts without IPv4 only
  Show(node, {SampleEni(1, 1), SampleEni(2, 1)});
  AssignAll(node);
  for (const char* id : {"eni-1", "eni-2"})
    EXPECT_EQ(node.status.nics.at(id).ipv6_prefixes.size(), 1) << id;

  Node fresh = PrefixNode(5);
  fresh.spec.ipv6 = true;
  const Wanted wanted = Next(fresh);
  ASSERT_TRUE(JobOf<job::Create>(wanted));
  EXPECT_EQ(JobOf<job::Create>(wanted)->request.ipv4_prefixes, 5);
  EXPECT_EQ(JobOf<job::Create>(wanted)->request.ipv6_prefixes, 1);
}

TEST(PoolPrefixes, WithIpv6AloneItsCountRules) {
  Node node = PrefixNode(5);
  node.spec.ipv4 = false;
  node.spec.ipv6 = true;
  node.spec.ipv6_prefixes = 1;
  Wanted wanted = Next(node);
  ASSERT_TRUE(JobOf<job::Create>(wanted));
  EXPECT_EQ(JobOf<job::Create>(wanted)->request.ipv4_prefixes, 0);
  EXPECT_EQ(JobOf<job::Create>(wanted)->request.ipv6_prefixes, 1);
  Show(node, {SampleEni(1, 1), SampleEni(2, 1)});
  EXPECT_EQ(AssignAll(node), std::vector<int>{1});
}

TEST(PoolPrefixes, PrefixesOnTheirWayAndFrozenOnesCount) {
  Node node = PrefixNode(6);
  cloud::Eni eni = SampleEni(1, 1);
  eni.ipv4_prefixes = Blocks(1, 1, 4);
  Show(node, {eni});
  node.status.nics.at("eni-1").ipv4_prefixes[0].status = kFrozen;
  node.status.nics.at("eni-1").status = kAttaching;
  EXPECT_FALSE(Next(node).job);
  node.status.nics.at("eni-1").status = kInUse;
  EXPECT_EQ(AssignAll(node), std::vector<int>{2});
}

TEST(PoolPrefixes, PodsAndPoolSizesAreNoDemand) {
  Node node = PrefixNode(2);
  node.spec.min_pool = 20;
  cloud::Eni eni = SampleEni(1, 1);
  eni.ipv4_prefixes = Blocks(1, 1, 2);
  Show(node, {eni, SampleEni(2, 5)});
  const PodsView pods = SamplePods(8);
  EXPECT_FALSE(Next(node, Bind(node, pods)).job);
  Shrink(node, node.status, pods, kNow, 0);
  EXPECT_FALSE(Next(node, Bind(node, pods)).job) << "nothing is released";
}

TEST(PoolPrefixes, OnEfloThereAreNone) {
  Node node = PrefixNode(5);
  node.backend = Backend::kEflo;
  EXPECT_FALSE(Next(node).job);
  EXPECT_EQ(JobOf<job::Create>(Next(node, {.waiting = 1}))->request.ipv4_prefixes, 0);
}

TEST(PoolPrefixes, AFrozenPrefixIsValidAgainAfterItsTime) {
  Node node = PrefixNode(2);
  cloud::Eni eni = SampleEni(1, 1);
  eni.ipv4_prefixes = Blocks(1, 1, 2);
  Show(node, {eni});
  auto& prefixes = node.status.nics.at("eni-1").ipv4_prefixes;
  prefixes[0].status = prefixes[1].status = kFrozen;
  prefixes[0].frozen_until = kNow;
  Shrink(node, node.status, {}, kNow - 1s, 0);
  EXPECT_EQ(prefixes[0].status, kFrozen);
  Shrink(node, node.status, {}, kNow, 0);
  EXPECT_EQ(prefixes[0].status, kValid);
  EXPECT_FALSE(prefixes[0].frozen_until);
  EXPECT_EQ(prefixes[1].status, kFrozen) << "without a time it stays so";
}

TEST(PoolPrefixes, APrefixWithAPodsAddressIsNotGivenBack) {
  Node node = PrefixNode(0);
  cloud::Eni eni = SampleEni(1, 1);
  eni.ipv4_prefixes = {"10.1.1.0/28", "10.1.2.0/28"};
  Show(node, {eni});
  for (Prefix& prefix : node.status.nics.at("eni-1").ipv4_prefixes) prefix.status = kDeleting;
  PodsView pods;
  pods.pods = {SamplePod(1, {"10.1.2.15"})};
  const Wanted wanted = Next(node, Bind(node, pods));
  const auto unassign = JobOf<job::Unassign>(wanted);
  ASSERT_TRUE(unassign);
  EXPECT_EQ(unassign->ipv4_prefixes, std::vector<std::string>{"10.1.1.0/28"});
  TakeUnassigned(node.status, *unassign, kNow);
  EXPECT_FALSE(Next(node, Bind(node, pods)).job);

  Show(node, {eni}, pods);
  eni.ipv4_prefixes = {"10.1.2.0/28"};
  Show(node, {eni}, pods);
  EXPECT_EQ(node.status.nics.at("eni-1").ipv4_prefixes.size(), 1);
  EXPECT_EQ(node.status.nics.at("eni-1").ipv4_prefixes[0].status, kDeleting);
  EXPECT_TRUE(JobOf<job::Unassign>(Next(node, Bind(node, {}))));
}

TEST(PoolPrefixes, WhilePodsMayHaveUntoldAddressesNoPrefixIsGivenBack) {
  Node node = PrefixNode(0);
  cloud::Eni eni = SampleEni(1, 1);
  eni.ipv4_prefixes = {"10.1.1.0/28"};
  Show(node, {eni});
  node.status.nics.at("eni-1").ipv4_prefixes[0].status = kDeleting;
  EXPECT_FALSE(Next(node, Bind(node, SamplePods(1))).job) << "its address is not told yet";
  NodeRuntime runtime;
  runtime.pods["uid-9"] = {.pod = "default/pod-9", .deleted = false};
  PodsView pods;
  pods.runtime = &runtime;
  EXPECT_FALSE(Next(node, Bind(node, pods)).job) << "its sandbox still stands";
  runtime.pods["uid-9"].deleted = true;
  EXPECT_TRUE(JobOf<job::Unassign>(Next(node, Bind(node, pods))));
}

TEST(PoolPrefixes, APrefixThatTheViewLacksIsDroppedUnlessAPodHasAnAddressOfIt) {
  Node node = PrefixNode(2);
  cloud::Eni eni = SampleEni(1, 1);
  eni.ipv4_prefixes = {"10.1.1.0/28", "10.1.2.0/28"};
  Show(node, {eni});
  PodsView pods;
  pods.pods = {SamplePod(1, {"10.1.2.3"})};
  Show(node, {SampleEni(1, 1)}, pods);
  const auto& prefixes = node.status.nics.at("eni-1").ipv4_prefixes;
  ASSERT_EQ(prefixes.size(), 1);
  EXPECT_EQ(prefixes[0].prefix, "10.1.2.0/28");
  EXPECT_EQ(prefixes[0].status, kInvalid);
  Show(node, {eni}, pods);
  EXPECT_EQ(prefixes[0].status, kValid);
}

TEST(PoolPrefixes, AnEniWithAPodInAPrefixIsNotDeletedWhenItsAttachFails) {
  Node node = PrefixNode(1);
  cloud::Eni eni = SampleEni(1, 1);
  eni.ipv4_prefixes = {"10.1.1.0/28"};
  Show(node, {eni});
  node.status.nics.at("eni-1").status = kAttaching;
  PodsView pods;
  pods.pods = {SamplePod(1, {"10.1.1.3"})};
  Task task;
  task.eni = "eni-1";
  task.state = State::kTimeout;
  TakeTask(node, node.status, task, pods, kNow);
  EXPECT_EQ(node.status.nics.at("eni-1").status, kAttaching);
  TakeTask(node, node.status, task, {}, kNow);
  EXPECT_EQ(node.status.nics.at("eni-1").status, kDeleting);
}

}  // namespace
}  // namespace berth::eni
