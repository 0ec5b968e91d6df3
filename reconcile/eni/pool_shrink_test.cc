#include <gtest/gtest.h>

#include "reconcile/eni/pool_fixture_test.h"

namespace berth::eni {
namespace {

using namespace pool_test;

int IdleOf(const Node& node) {
  int idle = 0;
  for (const Nic* nic : PoolNics(node.status)) idle += NicStock::Of(*nic).Idle(node.spec);
  return idle;
}

void Shrink(Node& node, const PodsView& pods = {}) {
  eni::Shrink(node, node.status, pods, kNow, 0);
}

TEST(PoolShrink, IdleAddressesBeyondTheMaximumAreReleasedButNoPrimaryOne) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 10)});
  Bind(node, SamplePods(1));
  PodsView pods = SamplePods(1);
  node.spec.max_pool = 4;
  Shrink(node, pods);
  EXPECT_EQ(IdleOf(node), 4);
  EXPECT_EQ(CountWithStatus(node.status, kDeleting), 5);
  const Wanted wanted = Next(node);
  const auto unassign = JobOf<job::Unassign>(wanted);
  ASSERT_TRUE(unassign);
  EXPECT_EQ(unassign->ipv4.size(), 5);

  node.status.nics.at("eni-1").ipv4.at(AddressOf(1, 1)).pod.clear();
  cloud::Eni trunk = SampleEni(1, 10);
  trunk.type = kTrunkType;
  Show(node, {trunk});
  node.spec.max_pool = 0;
  Shrink(node);
  EXPECT_EQ(node.status.nics.at("eni-1").status, kInUse) << "a trunk ENI stays";
  EXPECT_EQ(node.status.nics.at("eni-1").ipv4.at(AddressOf(1, 1)).status, kValid);
  EXPECT_EQ(CountWithStatus(node.status, kDeleting), 9);
}

TEST(PoolShrink, ACallGivesBackTenAtMost) {
  Node node = SampleNode();
  node.spec.ipv4_per_adapter = 30;
  node.spec.max_pool = 0;
  Show(node, {SampleEni(1, 30)});
  Bind(node, SamplePods(1));
  Shrink(node, SamplePods(1));
  Wanted wanted = Next(node);
  ASSERT_TRUE(JobOf<job::Unassign>(wanted));
  EXPECT_EQ(JobOf<job::Unassign>(wanted)->ipv4.size(), 10);
  node.backend = Backend::kEflo;
  wanted = Next(node);
  EXPECT_EQ(JobOf<job::Unassign>(wanted)->ipv4.size(), 1);
}

TEST(PoolShrink, AMarkOfSomebodyElseTakesNoPrimaryOrBoundAddress) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  Bind(node, SamplePods(2));
  for (auto& [address, ip] : node.status.nics.at("eni-1").ipv4) ip.status = kDeleting;
  node.status.nics.at("eni-1").ipv4.at(AddressOf(1, 1)).pod.clear();
  const auto unassign = JobOf<job::Unassign>(Next(node));
  ASSERT_TRUE(unassign);
  EXPECT_EQ(unassign->ipv4, std::vector<std::string>{AddressOf(1, 3)});
}

TEST(PoolShrink, UnusedEnisGoBeforeSingleAddresses) {
  Node node = SampleNode();
  node.spec.max_pool = 5;
  Show(node, {SampleEni(1, 10), SampleEni(2, 4)});
  Bind(node, SamplePods(2));  // on eni-1, which has the most addresses
  Shrink(node, SamplePods(2));
  EXPECT_EQ(node.status.nics.at("eni-2").status, kDeleting);
  EXPECT_EQ(IdleOf(node), 5);
  EXPECT_EQ(CountWithStatus(node.status, kDeleting), 3);
}

TEST(PoolShrink, AnEniIsNotReleasedBelowTheMaximum) {
  Node node = SampleNode();
  node.spec.max_pool = 8;
  Show(node, {SampleEni(1, 10)});
  Shrink(node);
  EXPECT_EQ(node.status.nics.at("eni-1").status, kInUse);
  EXPECT_EQ(IdleOf(node), 8);
}

TEST(PoolShrink, EnisWithAPodsAddressStay) {
  Node node = SampleNode();
  node.spec.max_pool = 0;
  Show(node, {SampleEni(1, 3), SampleEni(2, 3)});
  PodsView pods;
  pods.pods = {SamplePod(1, {AddressOf(2, 2)})};
  Bind(node, pods);
  Shrink(node, pods);
  EXPECT_EQ(node.status.nics.at("eni-1").status, kDeleting);
  EXPECT_EQ(node.status.nics.at("eni-2").status, kInUse);
  EXPECT_EQ(node.status.nics.at("eni-2").ipv4.at(AddressOf(2, 2)).status, kValid);
}

TEST(PoolShrink, AMaximumBelowTheMinimumIsTheMinimum) {
  Node node = SampleNode();
  node.spec.min_pool = 6;
  node.spec.max_pool = 2;
  Show(node, {SampleEni(1, 10)});
  Shrink(node);
  EXPECT_EQ(IdleOf(node), 6);
  while (const auto job = JobOf<job::Unassign>(Next(node))) TakeUnassigned(node.status, *job, kNow);
  EXPECT_FALSE(Next(node).job);
}

TEST(PoolShrink, PairsAreReleasedTogether) {
  Node node = SampleNode();
  node.spec.ipv6 = true;
  node.spec.max_pool = 2;
  Show(node, {SampleEni(1, 6, 6)});
  Bind(node, SamplePods(1));
  Shrink(node, SamplePods(1));
  EXPECT_EQ(IdleOf(node), 2);
  const NicStock stock = NicStock::Of(node.status.nics.at("eni-1"));
  EXPECT_EQ(stock.ipv4.idle, 2);
  EXPECT_EQ(stock.ipv6.idle, 2);
}

// Reclaim.

Node ReclaimingNode() {
  Node node = SampleNode();
  node.spec.min_pool = 3;
  node.spec.max_pool = 10;
  node.spec.has_reclaim = true;
  node.spec.reclaim_after = 2min;
  node.spec.reclaim_interval = 30s;
  node.spec.reclaim_batch = 3;
  node.spec.reclaim_jitter = 0.1;
  Show(node, {SampleEni(1, 10)});
  return node;
}

// As TestSharedENI_IdleIPReclaim of Terway.
TEST(PoolShrink, IdleAddressesAreReclaimedInBatchesNotBelowTheMinimum) {
  Node node = ReclaimingNode();
  node.status.last_modified = kNow;
  async::WallTime now = kNow;
  std::vector<int> seen;
  for (int second = 0; second < 600; second += 10, now += 10s) {
    eni::Shrink(node, node.status, {}, now, 0.5);
    const int idle = IdleOf(node);
    if (seen.empty() || seen.back() != idle) seen.push_back(idle);
    if (now < kNow + 2min) {
      EXPECT_EQ(idle, 10);
    }
  }
  EXPECT_EQ(seen, (std::vector<int>{10, 7, 4, 3}));
  EXPECT_FALSE(node.status.next_reclaim) << "nothing is left to write about";
}

TEST(PoolShrink, TheReclaimIntervalIsJittered) {
  Node node = ReclaimingNode();
  eni::Shrink(node, node.status, {}, kNow, 0.5);
  EXPECT_EQ(node.status.next_reclaim, kNow + 31500ms);
  eni::Shrink(node, node.status, {}, kNow + 31s, 0.5);
  EXPECT_EQ(IdleOf(node), 10);
  EXPECT_EQ(node.status.next_reclaim, kNow + 31500ms);
}

TEST(PoolShrink, ANewBindingPutsTheReclaimOff) {
  Node node = ReclaimingNode();
  eni::Shrink(node, node.status, {}, kNow, 0);
  ASSERT_TRUE(node.status.next_reclaim);
  BindPods(node, node.status, SamplePods(1), kNow + 20s);
  eni::Shrink(node, node.status, SamplePods(1), kNow + 40s, 0);
  EXPECT_FALSE(node.status.next_reclaim);
  EXPECT_EQ(IdleOf(node), 9);
}

TEST(PoolShrink, PrimaryAddressesAreNoReasonToReclaim) {
  Node node = ReclaimingNode();
  node.spec.min_pool = 0;
  cloud::Eni trunk = SampleEni(1, 1);
  trunk.type = kTrunkType;
  Show(node, {trunk});
  eni::Shrink(node, node.status, {}, kNow, 0);
  EXPECT_FALSE(node.status.next_reclaim) << "each time would be a write, for ever";
}

TEST(PoolShrink, AReclaimWithoutABatchOrWithNonsenseIsHarmless) {
  Node node = ReclaimingNode();
  node.spec.reclaim_batch = 0;
  eni::Shrink(node, node.status, {}, kNow, 0);
  EXPECT_FALSE(node.status.next_reclaim);
  node.spec.reclaim_batch = 1;
  node.spec.reclaim_after.reset();
  node.spec.reclaim_interval = async::Duration::zero();
  node.spec.reclaim_jitter = 1e300;
  eni::Shrink(node, node.status, {}, kNow, 0.9);
  EXPECT_GE(*node.status.next_reclaim, kNow + 15s);
  node.spec.reclaim_interval = async::Duration::max();
  node.status.next_reclaim = kNow;
  eni::Shrink(node, node.status, {}, kNow, 0.9);
  EXPECT_GT(*node.status.next_reclaim, kNow + 24h);
}

}  // namespace
}  // namespace berth::eni
