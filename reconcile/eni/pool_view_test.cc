#include <gtest/gtest.h>

#include "reconcile/eni/pool_fixture_test.h"

namespace berth::eni {
namespace {

using namespace pool_test;

cloud::Eni Detached(cloud::Eni eni, const std::string& status = "Available") {
  eni.status = status;
  eni.instance_id.clear();
  return eni;
}

Task EndedTask(const std::string& eni, Operation operation, State state) {
  Task task;
  task.eni = eni;
  task.operation = operation;
  task.state = state;
  return task;
}

TEST(PoolView, AnEniOfTheInstanceIsAddedWithItsAddressesAndItsVSwitch) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3, 2)});
  const Nic& nic = node.status.nics.at("eni-1");
  EXPECT_EQ(nic.status, kInUse);
  EXPECT_EQ(nic.ipv4.size(), 3);
  EXPECT_TRUE(nic.ipv4.at(AddressOf(1, 1)).primary);
  EXPECT_EQ(nic.ipv4.at(AddressOf(1, 2)).status, kValid);
  EXPECT_EQ(nic.ipv6.size(), 2);
  EXPECT_EQ(nic.ipv4_cidr, "10.0.0.0/16");
  EXPECT_FALSE(nic.unschedulable);
  EXPECT_EQ(node.status.last_sync, kNow);
}

TEST(PoolView, PrimaryAndMemberEnisAreNotShown) {
  Node node = SampleNode();
  cloud::Eni primary = SampleEni(1, 1);
  primary.type = kPrimaryType;
  cloud::Eni member = SampleEni(2, 1);
  member.type = kMemberType;
  cloud::Eni migrated = SampleEni(3, 1);
  migrated.tags["leni_primary"] = "true";
  migrated.tags["acs:ecs:support_eni"] = "true";
  Show(node, {primary, member, migrated});
  EXPECT_TRUE(node.status.nics.empty());
}

TEST(PoolView, AnEniThatTheViewLacksStaysUntilTheCloudSaysThatItIsGone) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  Show(node, {});
  EXPECT_EQ(node.status.nics.at("eni-1").ipv4.size(), 3);
  Show(node, {}, {}, {"eni-1"}, {"eni-1"});
  EXPECT_TRUE(node.status.nics.contains("eni-1")) << "its task tells how it ends";
  Show(node, {}, {}, {}, {"eni-1"});
  EXPECT_TRUE(node.status.nics.empty());
}

TEST(PoolView, AGoneEniWithAPodStaysAsInvalidUntilThePodIsGone) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  Bind(node, SamplePods(1));
  Show(node, {}, SamplePods(1), {}, {"eni-1"});
  EXPECT_EQ(node.status.nics.at("eni-1").status, kInvalid);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(1, 1));
  EXPECT_EQ(node.status.nics.at("eni-1").ipv4.size(), 1);
  Bind(node, {});
  EXPECT_TRUE(node.status.nics.empty());
}

TEST(PoolView, AnEniThatIsBackIsUsedAgain) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  Bind(node, SamplePods(1));
  Show(node, {}, SamplePods(1), {}, {"eni-1"});
  Show(node, {SampleEni(1, 3)}, SamplePods(1));
  EXPECT_EQ(node.status.nics.at("eni-1").status, kInUse);
  EXPECT_EQ(CountWithStatus(node.status, kValid), 3);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(1, 1));
}

TEST(PoolView, AnAddressThatTheViewLacksIsDroppedUnlessAPodHasIt) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 5)});
  Bind(node, SamplePods(3));  // 10.0.1.1 to 10.0.1.3
  Show(node, {SampleEni(1, 2)}, SamplePods(3));
  const auto& addresses = node.status.nics.at("eni-1").ipv4;
  EXPECT_EQ(addresses.size(), 3);
  EXPECT_EQ(addresses.at(AddressOf(1, 3)).status, kInvalid);
  Show(node, {SampleEni(1, 3)}, SamplePods(3));
  EXPECT_EQ(addresses.at(AddressOf(1, 3)).status, kValid);
}

TEST(PoolView, APrimaryAddressStaysWhenTheViewHasNone) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 2)});
  cloud::Eni eni = SampleEni(1, 0);
  eni.primary_address.clear();
  Show(node, {eni});
  EXPECT_EQ(node.status.nics.at("eni-1").ipv4.size(), 1);
  EXPECT_TRUE(node.status.nics.at("eni-1").ipv4.at(AddressOf(1, 1)).primary);
}

TEST(PoolView, AnAddressThatWasGivenBackIsNotFreeBecauseALateViewHasIt) {
  Node node = SampleNode();
  node.spec.max_pool = 1;
  Show(node, {SampleEni(1, 2)});
  Shrink(node, node.status, {}, kNow, 0);
  const Wanted wanted = Next(node);
  const auto unassign = JobOf<job::Unassign>(wanted);
  ASSERT_TRUE(unassign);
  TakeUnassigned(node.status, *unassign, kNow);
  EXPECT_EQ(node.status.next_sync, kNow + 30s);
  EXPECT_FALSE(Next(node).job);

  Show(node, {SampleEni(1, 2)});
  EXPECT_EQ(Bind(node, SamplePods(2)).waiting, 1);
  EXPECT_TRUE(JobOf<job::Unassign>(Next(node))) << "asked again: nothing happens to it twice";
  Show(node, {SampleEni(1, 1)}, SamplePods(2));
  EXPECT_EQ(node.status.nics.at("eni-1").ipv4.size(), 1);
}

TEST(PoolView, AnEniInUseElsewhereIsLeftAlone) {
  Node node = SampleNode();
  cloud::Eni eni = SampleEni(1, 3);
  eni.instance_id = "i-2";
  Show(node, {eni});
  EXPECT_TRUE(node.status.nics.empty());

  Show(node, {SampleEni(1, 3)});
  Show(node, {eni});
  EXPECT_TRUE(node.status.nics.empty());

  Show(node, {SampleEni(1, 3)});
  Bind(node, SamplePods(1));
  Show(node, {eni}, SamplePods(1));
  EXPECT_EQ(node.status.nics.at("eni-1").status, kInvalid);
}

TEST(PoolView, AnEniWithTheNodesTagInNoAttemptOrTaskIsDeleted) {
  Node node = SampleNode();
  cloud::Eni eni = Detached(SampleEni(1, 3));
  eni.tags[std::string(kAttemptTag)] = "token";
  node.status.attempts["token"] = {};
  Show(node, {eni});
  EXPECT_TRUE(node.status.nics.empty()) << "the attempt will bring it";
  node.status.attempts.clear();
  Show(node, {eni}, {}, {"eni-1"});
  EXPECT_TRUE(node.status.nics.empty()) << "the task will";
  Show(node, {eni});
  EXPECT_EQ(node.status.nics.at("eni-1").status, kDeleting);
}

TEST(PoolView, OthersAvailableEnisAreLeftAlone) {
  Node node = SampleNode();
  cloud::Eni other_node = Detached(SampleEni(1, 3));
  other_node.tags[std::string(kNodeTag)] = "other-uid";
  cloud::Eni foreign = Detached(SampleEni(2, 3));
  foreign.tags.clear();
  cloud::Eni excluded = Detached(SampleEni(3, 3));
  excluded.tags["terway.alibabacloud.com/excluded"] = "true";
  Show(node, {other_node, foreign, excluded});
  EXPECT_TRUE(node.status.nics.empty());
}

TEST(PoolView, AnEniThatSomebodyDetachedIsAttachedAgainForItsPodsElseDeleted) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  Bind(node, SamplePods(1));
  Show(node, {Detached(SampleEni(1, 3))}, SamplePods(1));
  EXPECT_EQ(node.status.nics.at("eni-1").status, kAttaching);

  Node unused = SampleNode();
  Show(unused, {SampleEni(1, 3)});
  Show(unused, {Detached(SampleEni(1, 3))});
  EXPECT_EQ(unused.status.nics.at("eni-1").status, kDeleting);
}

TEST(PoolView, ABusyNicKeepsTheStatusOfItsTaskAndAnAttachingOneWaitsForUse) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  node.status.nics.at("eni-1").status = kDeleting;
  Show(node, {Detached(SampleEni(1, 3), "Detaching")}, {}, {"eni-1"});
  EXPECT_EQ(node.status.nics.at("eni-1").status, kDeleting);

  node.status.nics.at("eni-1").status = kAttaching;
  Show(node, {SampleEni(1, 3)}, {}, {"eni-1"});
  EXPECT_EQ(node.status.nics.at("eni-1").status, kAttaching);
  Show(node, {Detached(SampleEni(1, 3))});
  EXPECT_EQ(node.status.nics.at("eni-1").status, kAttaching) << "after a restart without its task";
  Show(node, {SampleEni(1, 3)});
  EXPECT_EQ(node.status.nics.at("eni-1").status, kInUse);
}

TEST(PoolView, ALateListDoesNotMakeAnEniInUseAttaching) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  cloud::Eni late = SampleEni(1, 3);
  late.status = kAttaching;
  Show(node, {late});
  EXPECT_EQ(node.status.nics.at("eni-1").status, kInUse);
}

TEST(PoolView, ADeletingNicWithAPodIsInUseAgain) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  Bind(node, SamplePods(1));
  node.status.nics.at("eni-1").status = kDeleting;
  Show(node, {SampleEni(1, 3)}, SamplePods(1));
  EXPECT_EQ(node.status.nics.at("eni-1").status, kInUse);
}

TEST(PoolView, ADeletingNicWithAPodThatIsDetachedIsAttachedAgain) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  Bind(node, SamplePods(1));
  node.status.nics.at("eni-1").status = kDeleting;  // by Terway
  cloud::Eni eni = SampleEni(1, 3);
  eni.status = "Detaching";
  Show(node, {eni}, SamplePods(1));
  EXPECT_EQ(node.status.nics.at("eni-1").status, "Detaching");
  Show(node, {Detached(eni)}, SamplePods(1));
  EXPECT_EQ(node.status.nics.at("eni-1").status, kAttaching);
}

TEST(PoolView, AFailedEniIsDeletedUnlessItHasAPod) {
  Node node = SampleNode();
  cloud::Eni failed = SampleEni(1, 3);
  failed.status = "Attach Failed";
  Show(node, {SampleEni(1, 3)});
  Show(node, {failed});
  EXPECT_EQ(node.status.nics.at("eni-1").status, kDeleting);

  Node with_pod = SampleNode();
  Show(with_pod, {SampleEni(1, 3)});
  Bind(with_pod, SamplePods(1));
  Show(with_pod, {failed}, SamplePods(1));
  EXPECT_EQ(with_pod.status.nics.at("eni-1").status, kInvalid);
}

// Unschedulable ENIs: shown, never assigned, grown or deleted.

TEST(PoolView, EnisOfOthersAreUnschedulable) {
  Node node = SampleNode();
  node.spec.tag_block_list = {{"team", "storage"}};
  cloud::Eni erdma_controller = SampleEni(1, 3);
  erdma_controller.tags[std::string(kCreatorTag)] = "alibabacloud-erdma-controller";
  cloud::Eni excluded = SampleEni(2, 3);
  excluded.tags["terway.alibabacloud.com/excluded"] = "true";
  cloud::Eni blocked = SampleEni(3, 3);
  blocked.tags["team"] = "storage";
  cloud::Eni rdma = SampleEni(4, 3);
  rdma.traffic_mode = kHighPerformance;
  cloud::Eni managed = SampleEni(5, 3);
  managed.service_managed = true;
  cloud::Eni foreign = SampleEni(6, 3);
  foreign.tags.clear();
  Show(node, {erdma_controller, excluded, blocked, rdma, managed, foreign, SampleEni(7, 3)});
  for (int i = 1; i <= 6; ++i)
    EXPECT_TRUE(node.status.nics.at(Format("eni-{}", i)).unschedulable) << i;
  EXPECT_FALSE(node.status.nics.at("eni-7").unschedulable);

  node.spec.erdma = true;
  node.spec.tag_block_list.clear();
  Show(node, {blocked, rdma});
  EXPECT_FALSE(node.status.nics.at("eni-3").unschedulable);
  EXPECT_FALSE(node.status.nics.at("eni-4").unschedulable);
}

TEST(PoolView, ATagFilterChoosesTheEnisThatBerthDidNotMake) {
  Node node = SampleNode();
  node.spec.tag_filter = {{"pool", "pods"}};
  cloud::Eni own = SampleEni(1, 3);
  cloud::Eni of_terway = SampleEni(2, 3);
  of_terway.tags.erase(std::string(kNodeTag));
  cloud::Eni chosen = SampleEni(3, 3);
  chosen.tags = {{"pool", "pods"}};
  Show(node, {own, of_terway, chosen});
  EXPECT_FALSE(node.status.nics.at("eni-1").unschedulable);
  EXPECT_TRUE(node.status.nics.at("eni-2").unschedulable);
  EXPECT_FALSE(node.status.nics.at("eni-3").unschedulable);
}

TEST(PoolView, AnEniThatTerwayHadInThePoolStaysThere) {
  Node node = SampleNode();
  cloud::Eni eni = SampleEni(1, 3);
  Show(node, {eni});
  eni.tags.clear();
  Show(node, {eni});
  EXPECT_FALSE(node.status.nics.at("eni-1").unschedulable);
}

// As TestHandleStatusSkipsUnschedulableENIs of Terway.
TEST(PoolView, NothingOfAnUnschedulableEniIsGivenBack) {
  Node node = SampleNode();
  node.spec.max_pool = 0;
  Show(node, {SampleEni(1, 3), SampleEni(2, 3, 2)});
  Nic& deleting = node.status.nics.at("eni-1");
  deleting.status = kDeleting;
  Nic& in_use = node.status.nics.at("eni-2");
  in_use.ipv4.at(AddressOf(2, 2)).status = kDeleting;
  in_use.ipv6.at(Ipv6Of(2, 1)).status = kDeleting;
  in_use.ipv4_prefixes.push_back({.prefix = "10.0.3.0/28", .status = std::string(kDeleting)});
  deleting.unschedulable = in_use.unschedulable = true;
  Shrink(node, node.status, {}, kNow, 0);
  EXPECT_FALSE(Next(node).job);
  EXPECT_EQ(in_use.status, kInUse);

  node.spec.tag_block_list = {{std::string(kNodeTag), "node-uid"}};
  Show(node, {SampleEni(1, 3), SampleEni(2, 3, 2)});
  EXPECT_EQ(deleting.status, kInUse) << "marks from before it was another's are taken back";
  EXPECT_EQ(CountWithStatus(node.status, kDeleting), 0);
}

TEST(PoolView, AnUnschedulableEniThatWasDetachedIsForgotten) {
  Node node = SampleNode();
  node.spec.tag_block_list = {{"team", "storage"}};
  cloud::Eni eni = SampleEni(1, 3);
  eni.tags["team"] = "storage";
  Show(node, {eni});
  Show(node, {Detached(eni)});
  EXPECT_TRUE(node.status.nics.empty());
}

// Ended tasks.

TEST(PoolTask, AnAttachThatCompletesBringsTheAddresses) {
  Node node = SampleNode();
  node.status.attempts["token"] = {};
  cloud::Eni created = Detached(SampleEni(1, 1));
  TakeCreated(node, node.status, "token", created, SampleVSwitches());
  EXPECT_TRUE(node.status.attempts.empty());
  EXPECT_EQ(node.status.nics.at("eni-1").status, kAttaching);
  EXPECT_EQ(node.status.nics.at("eni-1").ipv6_cidr, "2001:db8::/56");

  Task task = EndedTask("eni-1", Operation::kAttach, State::kCompleted);
  task.result = SampleEni(1, 3);
  TakeTask(node, node.status, task, {}, kNow);
  EXPECT_EQ(node.status.nics.at("eni-1").status, kInUse);
  EXPECT_EQ(node.status.nics.at("eni-1").ipv4.size(), 3);
}

// As "preserve existing PodID bindings" of Terway.
TEST(PoolTask, AnAttachThatCompletesLateKeepsBindings) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  Bind(node, SamplePods(2));
  const NodeStatus before = node.status;
  Task task = EndedTask("eni-1", Operation::kAttach, State::kCompleted);
  task.result = SampleEni(1, 3);
  TakeTask(node, node.status, task, SamplePods(2), kNow);
  EXPECT_EQ(node.status.nics, before.nics);
}

TEST(PoolTask, AnAttachThatFailsMakesTheNicDeletingUnlessAPodHasAnAddressOfIt) {
  for (const State state : {State::kFailed, State::kTimeout}) {
    Node node = SampleNode();
    Show(node, {SampleEni(1, 3)});
    node.status.nics.at("eni-1").status = kAttaching;
    Task task = EndedTask("eni-1", Operation::kAttach, state);
    task.cloud_status = "Available";
    task.error = "no turn";

    Node with_pod = node;
    PodsView pods;
    pods.pods = {SamplePod(1, {AddressOf(1, 2)})};
    TakeTask(node, node.status, task, {}, kNow);
    EXPECT_EQ(node.status.nics.at("eni-1").status, kDeleting);
    TakeTask(with_pod, with_pod.status, task, pods, kNow);
    const Nic& nic = with_pod.status.nics.at("eni-1");
    EXPECT_EQ(nic.status, kAttaching);
    EXPECT_EQ(nic.conditions.at("OperationErr").message, "no turn");
    TakeTask(with_pod, with_pod.status, task, pods, kNow + 1h);
    EXPECT_EQ(nic.conditions.at("OperationErr").observed, kNow);
  }
}

TEST(PoolTask, AnEniThatAnotherInstanceHasIsForgottenNotDeleted) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  node.status.nics.at("eni-1").status = kAttaching;
  Task task = EndedTask("eni-1", Operation::kAttach, State::kFailed);
  task.cloud_status = kInUse;
  TakeTask(node, node.status, task, {}, kNow);
  EXPECT_TRUE(node.status.nics.empty());
}

TEST(PoolTask, AnEniOfPodsThatIsGoneIsInvalidNotAttachedForEver) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  Bind(node, SamplePods(1));
  node.status.nics.at("eni-1").status = kAttaching;
  TakeTask(node, node.status, EndedTask("eni-1", Operation::kAttach, State::kFailed), SamplePods(1),
           kNow);
  EXPECT_EQ(node.status.nics.at("eni-1").status, kInvalid);
  EXPECT_EQ(AddressesOfPod(node.status, "default/pod-1"), AddressOf(1, 1));
}

TEST(PoolTask, ADeletionThatCompletesRemovesTheNicAndADetachDoesNot) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3)});
  node.status.nics.at("eni-1").status = kDeleting;
  TakeTask(node, node.status, EndedTask("eni-1", Operation::kDetach, State::kCompleted), {}, kNow);
  EXPECT_EQ(node.status.nics.at("eni-1").status, kDeleting);
  TakeTask(node, node.status, EndedTask("eni-1", Operation::kDelete, State::kTimeout), {}, kNow);
  EXPECT_EQ(node.status.nics.at("eni-1").status, kDeleting);
  TakeTask(node, node.status, EndedTask("eni-1", Operation::kDelete, State::kCompleted), {}, kNow);
  EXPECT_TRUE(node.status.nics.empty());
}

TEST(PoolFigures, PairsCountOnce) {
  Node node = SampleNode();
  Show(node, {SampleEni(1, 3, 3), SampleEni(2, 2)});
  node.status.nics.at("eni-2").status = kAttaching;
  node.spec.ipv6 = true;
  Bind(node, SamplePods(1));
  EXPECT_EQ(FiguresOf(node.status),
            (PoolFigures{.enis = 2, .addresses = 5, .idle = 2, .attaching = 1}));
}

}  // namespace
}  // namespace berth::eni
