#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "cloud/eni.h"
#include "reconcile/eni/objects.h"
#include "reconcile/eni/task_queue.h"

// The rules of a node's pool of addresses, as functions of a Node's spec and status: no clock, no
// I/O. Each changes the status that it is given, which the reconciler then writes as one patch.
// A pass over a node calls them in this order: TakeView, TakeTask and the answers of jobs as they
// come, BindPods, Shrink, NextJob. A is the number of addresses and prefixes of the node, P that of
// its pods; a node has some 500 of each.
//
// A Nic is in the pool while it is InUse, not unschedulable, and Secondary or Trunk. Pods that ask
// for RDMA have addresses of HighPerformance ENIs, and no other pod has. In prefix mode
// (enableIPPrefix, not on EFLO) the node's daemon gives pods addresses of the prefixes and tells
// nobody but the pods' status: there, pods are not bound and nothing is shrunk.
namespace berth::eni {

// A pod of the node that needs an address, or has one.
struct PodView {
  std::string pod;  // "ns/name"
  std::string uid;
  std::vector<std::string> addresses;  // as its status has them
  bool erdma = false;                  // a container has a limit for aliyun/erdma
};

// The pods of a node: those that exist and need an address, and those that its daemon has told of.
struct PodsView {
  std::vector<PodView> pods;             // ordered by creation, then by name
  const NodeRuntime* runtime = nullptr;  // null without one
};

// The ENIs of a node as the cloud showed them at one moment.
struct CloudView {
  // All of the instance, those that carry the node's tag, and those of status by ID.
  std::vector<cloud::Eni> enis;
  // IDs of status that the cloud was asked for one by one, and does not have.
  std::set<std::string> gone;
  std::map<std::string, cloud::VSwitch> vswitches;  // by ID; those that the ENIs are in
};

// Takes over the cloud's view. `busy` are the IDs with a task that has not ended. O((A + P) log P).
//
// An address or prefix with a pod is never dropped: it becomes Invalid while the view lacks it. So
// does a Nic, when it is gone, in use elsewhere or detached by somebody else; without pods it is
// dropped. An ENI that the view lacks stays as it is unless it is in `gone` (flaw 12). A Nic that
// is busy keeps the status that its task gives it; one that is Attaching stays so until it is
// InUse; one that is Deleting stays so unless it has a pod or is unschedulable.
//
// An ENI of the instance that status lacks is added when it is InUse. It is unschedulable by its
// tags, as HighPerformance without enableERDMA, or, on ECS, when Terway and Berth did not make it
// and no tagFilter says that it is theirs. One that has the Node's tag, is not InUse and in no
// attempt or task, becomes Deleting. Primary and Member ENIs are not shown. An unschedulable Nic
// has the cloud's status, which may be Attaching or Deleting: no task is for it.
void TakeView(const Node& node, NodeStatus& status, const CloudView& view,
              const std::set<std::string>& busy, const PodsView& pods, async::WallTime now);

// Takes over the end of a task: of an attach the addresses of the result; Failed and Timeout make
// the Nic Deleting unless a pod has an address of it, or another instance has the ENI; of a
// deletion, the Nic goes. A second call changes nothing. O((A + P) log P).
void TakeTask(const Node& node, NodeStatus& status, const Task& task, const PodsView& pods,
              async::WallTime now);

// Binds waiting pods to free addresses and frees those of pods that are gone: once the pod is not
// in `pods` and the runtime, where there is one, says deleted. (The daemon tells the runtime of
// every pod that it finds in status, so one that the runtime does not know is only too new.)
// Bindings that exist stay (terway#1025). A pod that replaces one of its name gets the address of
// the latter once that is gone. A pod with addresses in its status is bound to these, if the node
// has them, or to none. Dual stack: both addresses on one ENI. A Nic that is Deleting and turns out
// to have a pod is InUse again: its task is to be cancelled. O((A + P) log (A + P)).
struct Bound {
  int waiting = 0;             // pods without an address that they need, but for those below
  int waiting_erdma = 0;       // pods that wait for an address of a HighPerformance ENI
  bool freed = false;          // an address has lost its pod
  std::set<std::string> held;  // prefixes that a pod has, or may have, an address of
};
Bound BindPods(const Node& node, NodeStatus& status, const PodsView& pods, async::WallTime now);

// Marks addresses and ENIs for release: when more than maxPoolSize are idle (or minPoolSize, if
// that is more), and as `reclaim` says, but not below minPoolSize. Whole unused Standard Secondary
// ENIs go first. Never a primary address, one with a pod, or anything of an unschedulable ENI.
// Begins and ends the warm-up, during which nothing is released. Makes Frozen prefixes Valid again
// when their time is over. O((A + P) log P).
void Shrink(const Node& node, NodeStatus& status, const PodsView& pods, async::WallTime now,
            double random);

// The vSwitches that may be tried, and those that were found full.
struct VSwitches {
  std::map<std::string, cloud::VSwitch> known;        // by ID
  std::map<std::string, async::WallTime> full_until;  // passed over until then
};

// One piece of work at the cloud. A node has at most one under way.
namespace job {
struct Create {
  cloud::EniRequest request;  // without token and Berth's tags
};
struct Assign {
  std::string eni;
  int ipv4 = 0;
  int ipv4_prefixes = 0;
  int ipv6 = 0;
  int ipv6_prefixes = 0;  // one of the four is not 0
};
struct Unassign {
  std::string eni;
  std::vector<std::string> ipv4;
  std::vector<std::string> ipv4_prefixes;
  std::vector<std::string> ipv6;
  std::vector<std::string> ipv6_prefixes;  // one of the four is not empty
};
}  // namespace job
using Job = std::variant<job::Create, job::Assign, job::Unassign>;

// The next work that the pool needs, if any: addresses to give back first, then addresses on InUse
// ENIs, then a new ENI by flavor (trunk, ERDMA, secondary). Wanted are
//
//   waiting pods + max(minPoolSize - idle, warmUpTarget - warmUpAllocatedCount, 0)
//
// less what attempts and Attaching ENIs will bring; while these will have room for the rest, no
// more ENIs are made. A trunk ENI that the flavors ask for is made without demand. Without flavors,
// all but one of the adapters are for secondary ENIs. In prefix mode ipv4PrefixCount prefixes are
// wanted in all, and one IPv6 prefix on each ENI that has IPv4 ones.
//
// `insufficient` tells why pods go without an address, or the next one would, when nothing can be
// done about it. `refused`: more addresses or ENIs are wanted, and no ENI could be chosen for them;
// the vSwitches may not be known, or not as they are now. O(A log A).
struct Wanted {
  std::optional<Job> job;
  std::string insufficient;
  bool refused = false;
};
Wanted NextJob(const Node& node, const NodeStatus& status, const Bound& bound,
               const VSwitches& vswitches, async::WallTime now, double random);

// Take over the answers of jobs, O(log A) for each address: the attempt becomes a Nic that is
// Attaching;
void TakeCreated(const Node& node, NodeStatus& status, const std::string& token,
                 const cloud::Eni& eni, const VSwitches& vswitches);
// the addresses or prefixes that the cloud has assigned are Valid;
void TakeAssigned(const Node& node, NodeStatus& status, const job::Assign& job,
                  const std::vector<std::string>& assigned);
// and those that it has taken back are Invalid until a view lacks them, because a late view may
// still have them. The next sync is due within 30 s.
void TakeUnassigned(NodeStatus& status, const job::Unassign& job, async::WallTime now);

PoolFigures FiguresOf(const NodeStatus& status);  // O(A)

}  // namespace berth::eni
