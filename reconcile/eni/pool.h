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
namespace berth::eni {

// A pod of the node that needs an address, or has one.
struct PodView {
  std::string pod;  // "ns/name"
  std::string uid;
  std::vector<std::string> addresses;  // as its status has them
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

// Takes over the cloud's view. An address with a pod is never dropped: it becomes Invalid. An ENI
// that the view lacks stays as it is unless it is in `gone` (flaw 12). ENIs with a task that has
// not ended keep the status that the task gives them. An ENI that is ours by its tag, Available and
// in no attempt or task, becomes Deleting. `busy` are the IDs with a task. O(addresses).
void TakeView(const Node& node, NodeStatus& status, const CloudView& view,
              const std::set<std::string>& busy, async::WallTime now);

// Takes over the end of a task: of an attach the addresses of the result; Failed and Timeout make
// the Nic Deleting unless a pod has an address of it; of a deletion, the Nic goes.
void TakeTask(const Node& node, NodeStatus& status, const Task& task, async::WallTime now);

// Binds waiting pods to free addresses and frees those of pods that are gone: once the pod is not
// in `pods` and the runtime, where there is one that knows the pod, says deleted. Bindings that
// exist stay (terway#1025). Dual stack: both addresses on one ENI. Counts the pods that wait.
struct Bound {
  int waiting = 0;  // pods without an address that they need
  bool freed = false;
};
Bound BindPods(const Node& node, NodeStatus& status, const PodsView& pods);

// Marks addresses and ENIs for release: when more than maxPoolSize are idle, and as `reclaim` says.
// Never a primary address, one with a pod, or anything of an unschedulable ENI.
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
// ENIs, then a new ENI by flavor (trunk, ERDMA, secondary). ENIs and addresses on their way, of
// attempts and Attaching ENIs, count. `waiting` is Bound's. `insufficient` tells why pods go
// without an address when nothing can be done: adapters used up, or all vSwitches full.
struct Wanted {
  std::optional<Job> job;
  std::string insufficient;
};
Wanted NextJob(const Node& node, const NodeStatus& status, int waiting, const VSwitches& vswitches,
               async::WallTime now, double random);

PoolFigures FiguresOf(const NodeStatus& status);

}  // namespace berth::eni
