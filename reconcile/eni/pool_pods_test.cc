#include <gtest/gtest.h>

#include "reconcile/eni/pool_fixture_test.h"

namespace berth::eni {
namespace {

using namespace pool_test;

TEST(PoolPods, PodsAreBoundInTheirOrderAndThePrimaryAddressGoesFirst) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 2)});
  const Bound bound = Bind(node, SamplePods(3));
  EXPECT_EQ(bound.waiting, 1);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(1, 1));
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-2"), AddressOf(1, 2));
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-3"), "");
  EXPECT_EQ(node.status.nics.at("eni-1").ipv4.at(AddressOf(1, 1)).pod_uid, "uid-1");
  EXPECT_EQ(node.status.last_modified, kNow);
}

TEST(PoolPods, ASecondPassChangesNothing) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 4), SampleEni(2, 3)});
  Bind(node, SamplePods(5));
  const NodeStatus before = node.status;
  EXPECT_FALSE(BindPods(node, node.status, SamplePods(5), kNow + 1h).freed);
  EXPECT_EQ(node.status.nics, before.nics);
  EXPECT_EQ(node.status.last_modified, before.last_modified);
}

TEST(PoolPods, EnisThatAreNeverDeletedAreFilledFirstThenTheFullest) {
  Node node = SampleNode();
  cloud::Eni trunk = SampleEni(3, 1);
  trunk.type = kTrunkType;
  Show(node, {SampleEni(1, 2), SampleEni(2, 4), trunk});
  Bind(node, SamplePods(2));
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(3, 1));
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-2"), AddressOf(2, 1));
}

TEST(PoolPods, NoPodIsBoundToAnEniThatIsNotInUseOrNotOurs) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 2), SampleEni(2, 2), SampleEni(3, 2)});
  node.status.nics.at("eni-1").status = kAttaching;
  node.status.nics.at("eni-2").status = kDeleting;
  node.status.nics.at("eni-3").unschedulable = true;
  EXPECT_EQ(Bind(node, SamplePods(2)).waiting, 2);
}

TEST(PoolPods, AGonePodsAddressIsFreeOnceTheRuntimeSaysDeleted) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 1)});
  Bind(node, SamplePods(1));
  NodeRuntime runtime;
  PodsView gone;
  gone.runtime = &runtime;
  EXPECT_FALSE(Bind(node, gone).freed) << "the daemon has not told of it yet";
  runtime.pods["uid-1"] = {.pod = "default/pod-1", .deleted = false};
  EXPECT_FALSE(Bind(node, gone).freed);
  runtime.pods["uid-1"].deleted = true;
  EXPECT_TRUE(Bind(node, gone).freed);
  EXPECT_EQ(NicStock::Of(node.status.nics.at("eni-1")).ipv4.idle, 1);
}

TEST(PoolPods, WithoutARuntimeAGonePodsAddressIsFree) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 1)});
  Bind(node, SamplePods(1));
  EXPECT_TRUE(Bind(node, {}).freed);
}

TEST(PoolPods, ABindingWithoutAUidWaitsForTheRuntimesPodOfItsName) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 1)});
  node.status.nics.at("eni-1").ipv4.at(AddressOf(1, 1)).pod = "default/pod-1";
  NodeRuntime runtime;
  runtime.pods["uid-1"] = {.pod = "default/pod-1", .deleted = false};
  PodsView gone;
  gone.runtime = &runtime;
  EXPECT_FALSE(Bind(node, gone).freed);
  runtime.pods["uid-1"].deleted = true;
  EXPECT_TRUE(Bind(node, gone).freed);
}

TEST(PoolPods, ABindingWithoutAUidIsThatOfTheLivePodOfItsName) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 2)});
  Ip& ip = node.status.nics.at("eni-1").ipv4.at(AddressOf(1, 2));
  ip.pod = "default/pod-1";
  EXPECT_EQ(Bind(node, SamplePods(1)).waiting, 0);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(1, 2));
  EXPECT_EQ(ip.pod_uid, "uid-1");
}

// The cloud gives an address that it took from one ENI to the next one that asks.
TEST(PoolPods, AnAddressThatALivePodHasIsGivenToNoOtherPod) {
  Node node = SampleNode();
  PodsView pods = SamplePods(1);
  pods.pods[0].addresses = {AddressOf(1, 1)};
  Show(node, {SampleEni(1, 1)});
  Bind(node, pods);
  Show(node, {}, pods, {}, {"eni-1"});
  ASSERT_EQ(node.status.nics.at("eni-1").status, kInvalid);
  cloud::Eni next = SampleEni(2, 2);
  next.primary_address = AddressOf(1, 1);
  next.ipv4[0].address = AddressOf(1, 1);
  Show(node, {next}, pods);
  pods.pods.push_back(SamplePod(2));
  EXPECT_EQ(Bind(node, pods).waiting, 0);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-2"), AddressOf(2, 2));
  EXPECT_EQ(node.status.nics.at("eni-2").ipv4.at(AddressOf(1, 1)).pod, "default/pod-1");
}

TEST(PoolPods, APodInheritsNoAddressThatItWouldNotGetNow) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 2), SampleEni(2, 1)});
  Bind(node, SamplePods(1));
  ASSERT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(1, 1));
  PodsView next = SamplePods(1);
  next.pods[0].uid = "uid-1b";
  const auto heir_of = [&](auto change) {
    Node copy = node;
    change(copy);
    Bind(copy, next);
    return AddressesOfPod(copy.status, "default/pod-1");
  };
  EXPECT_EQ(heir_of([](Node&) {}), AddressOf(1, 1));
  EXPECT_EQ(heir_of([](Node& n) { n.status.nics.at("eni-1").status = kAttaching; }),
            AddressOf(2, 1))
      << "the ENI is being attached again";
  EXPECT_EQ(heir_of([](Node& n) { n.status.nics.at("eni-1").unschedulable = true; }),
            AddressOf(2, 1));
  EXPECT_EQ(heir_of([](Node& n) {
              n.status.nics.at("eni-1").ipv4.at(AddressOf(1, 1)).status = kInvalid;
            }),
            AddressOf(1, 2))
      << "others have taken the address away";
  EXPECT_EQ(heir_of([](Node& n) { n.spec.ipv6 = true; }), "") << "it needs a pair now";
}

TEST(PoolPods, APodThatReplacesOneOfItsNameWaitsForTheTeardownOrTakesAnotherAddress) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 2)});
  Bind(node, SamplePods(1));
  NodeRuntime runtime;
  runtime.pods["uid-1"] = {.pod = "default/pod-1", .deleted = false};
  PodsView next = SamplePods(1);
  next.pods[0].uid = "uid-1b";
  next.runtime = &runtime;

  Node torn_down = node;
  Bind(node, next);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(1, 1) + " " + AddressOf(1, 2));
  runtime.pods["uid-1"].deleted = true;
  EXPECT_TRUE(Bind(node, next).freed);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(1, 2));

  EXPECT_FALSE(Bind(torn_down, next).freed);
  EXPECT_EQ(AddressesOfPod(torn_down.status, "default/pod-1"), AddressOf(1, 1));
  EXPECT_EQ(torn_down.status.nics.at("eni-1").ipv4.at(AddressOf(1, 1)).pod_uid, "uid-1b");
}

TEST(PoolPods, APodTakesOverTheAddressesOfOneEarlierPodOfItsName) {
  Node node = SampleNode();
  node.spec.ipv6 = true;
  Show(node, {SampleEni(1, 2, 2)});
  for (int i = 1; i <= 2; ++i) {
    for (Ip* ip : {&node.status.nics.at("eni-1").ipv4.at(AddressOf(1, i)),
                   &node.status.nics.at("eni-1").ipv6.at(Ipv6Of(1, i))}) {
      ip->pod = "default/pod-1";
      ip->pod_uid = Format("old-{}", i);
    }
  }
  EXPECT_TRUE(Bind(node, SamplePods(1)).freed);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(1, 1) + " " + Ipv6Of(1, 1));
}

TEST(PoolPods, APodWithAnAddressOfTheNodeIsBoundToIt) {
  Node node = SampleNode();
  node.spec.ipv6 = true;
  Show(node, {SampleEni(1, 3, 3)});
  PodsView pods;
  pods.pods = {SamplePod(1, {AddressOf(1, 3), "2001:0db8:0001::0002"})};
  EXPECT_EQ(Bind(node, pods).waiting, 0);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(1, 3) + " " + Ipv6Of(1, 2));
}

TEST(PoolPods, APodWithAnAddressThatTheNodeLacksIsNotWaiting) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  PodsView pods;
  pods.pods = {SamplePod(1, {"172.16.0.9"})};
  EXPECT_EQ(Bind(node, pods).waiting, 0);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), "");
}

TEST(PoolPods, APodsReportedAddressTakesBackTheDeletion) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  node.status.nics.at("eni-1").status = kDeleting;
  node.status.nics.at("eni-1").ipv4.at(AddressOf(1, 2)).status = kDeleting;
  PodsView pods;
  pods.pods = {SamplePod(1, {AddressOf(1, 2)})};
  Bind(node, pods);
  EXPECT_EQ(node.status.nics.at("eni-1").status, kInUse);
  EXPECT_EQ(CountWithStatus(node.status, kDeleting), 0);
}

TEST(PoolPods, AnInvalidAddressIsGivenBackOnceItsPodIsGone) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  Bind(node, SamplePods(3));
  Show(node, {SampleEni(1, 2)}, SamplePods(3));
  Bind(node, SamplePods(2));
  EXPECT_EQ(node.status.nics.at("eni-1").ipv4.at(AddressOf(1, 3)).status, kDeleting);
}

TEST(PoolPods, BothAddressesOfADualStackPodAreOnOneEni) {
  Node node = SampleNode();
  node.spec.ipv6 = true;
  Show(node, {SampleEni(1, 4, 0), SampleEni(2, 1, 1), SampleEni(3, 0, 0)});
  EXPECT_EQ(Bind(node, SamplePods(2)).waiting, 1);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(2, 1) + " " + Ipv6Of(2, 1));
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-2"), "") << "no half of a pair";
}

TEST(PoolPods, OnlyPodsWithRdmaAreBoundToHighPerformanceEnis) {
  Node node = SampleNode();
  node.spec.erdma = true;
  cloud::Eni rdma = SampleEni(1, 2);
  rdma.traffic_mode = kHighPerformance;
  Show(node, {rdma, SampleEni(2, 1)});
  PodsView pods = SamplePods(4);
  pods.pods[1].erdma = pods.pods[3].erdma = true;
  const Bound bound = Bind(node, pods);
  EXPECT_EQ(bound.waiting, 1);
  EXPECT_EQ(bound.waiting_erdma, 0);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(2, 1));
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-2"), AddressOf(1, 1));
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-4"), AddressOf(1, 2));
}

TEST(PoolPods, InPrefixModePodsAreNotBound) {
  Node node = SampleNode();
  node.spec.prefixes = true;
  Show(node, {SampleEni(1, 3)});
  EXPECT_EQ(Bind(node, SamplePods(2)).waiting, 0);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), "");
}

}  // namespace
}  // namespace berth::eni
