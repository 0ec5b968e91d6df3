#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/executor.h"
#include "cloud/eni.h"
#include "json/json.h"
#include "kube/api.h"
#include "kube/json_view.h"
#include "reconcile/eni/task.h"
#include "reconcile/runtime/identity.h"

// The objects of the ENI system: network.alibabacloud.com/v1beta1 Node and NodeRuntime, and what it
// needs of pods and core nodes.
namespace berth::eni {

using runtime::Identity;

inline constexpr kube::Resource kNodes{"network.alibabacloud.com", "v1beta1", "nodes", "Node",
                                       false};
inline constexpr kube::Resource kNodeRuntimes{"network.alibabacloud.com", "v1beta1", "noderuntimes",
                                              "NodeRuntime", false};
inline constexpr kube::Resource kPods{"", "v1", "pods", "Pod"};
inline constexpr kube::Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr kube::Resource kCoreNodes{"", "v1", "nodes", "Node", false};

inline constexpr std::string_view kFinalizer = "network.alibabacloud.com/node-controller";
// Tags of an ENI that Berth made: for Terway's tools, the uid of its Node, the token of its create.
inline constexpr std::string_view kCreatorTag = "creator";
inline constexpr std::string_view kCreator = "terway";
inline constexpr std::string_view kNodeTag = "berth.dev/node-uid";
inline constexpr std::string_view kAttemptTag = "berth.dev/attempt";
// With the value "true" on an ENI that is not Terway's to use, nor Berth's.
inline constexpr std::string_view kExcludedTag = "terway.alibabacloud.com/excluded";
// The instance that it was made for: others may attach it elsewhere.
inline constexpr std::string_view kInstanceTag = "berth.dev/instance-id";
// The uid of the namespace kube-system: an account may have ENIs of several clusters.
inline constexpr std::string_view kClusterTag = "berth.dev/cluster-uid";

// Statuses of an address or a prefix.
inline constexpr std::string_view kValid = "Valid";
inline constexpr std::string_view kInvalid = "Invalid";    // the cloud does not have it any more
inline constexpr std::string_view kDeleting = "Deleting";  // to be given back; of a Nic, too
inline constexpr std::string_view kFrozen = "Frozen";      // of a prefix: no more pods
// Statuses of a Nic beside the cloud's own.
inline constexpr std::string_view kInUse = "InUse";
inline constexpr std::string_view kAttaching = "Attaching";
// The types and traffic modes of an ENI.
inline constexpr std::string_view kPrimaryType = "Primary";
inline constexpr std::string_view kSecondaryType = "Secondary";
inline constexpr std::string_view kTrunkType = "Trunk";
inline constexpr std::string_view kMemberType = "Member";
inline constexpr std::string_view kStandard = "Standard";
inline constexpr std::string_view kHighPerformance = "HighPerformance";

struct Flavor {
  std::string type;
  std::string traffic_mode;
  int count = 0;
  friend bool operator==(const Flavor&, const Flavor&) = default;
};

// A Node's spec, written by Terway. Counts that are missing or negative are 0, those above
// kMostCount are kMostCount: sums of them stay small. Durations are at most a year.
struct NodeSpec {
  static constexpr int kMostCount = 1'000'000;

  std::string region;
  std::string instance_type;
  std::string instance;
  std::string zone;
  // nodeCap
  int adapters = 0;  // ENIs of the instance, the primary one counted
  int total_adapters = 0;
  int ipv4_per_adapter = 0;
  int ipv6_per_adapter = 0;
  int eri_quantity = 0;
  // eni
  bool has_eni = false;
  std::vector<std::string> vswitches;
  std::vector<std::string> security_groups;
  std::string vswitch_policy;  // ordered, random, most
  cloud::Tags tags;
  cloud::Tags tag_filter;  // an ENI of the instance without these tags is not ours to use
  std::vector<std::pair<std::string, std::string>> tag_block_list;
  std::string resource_group;
  bool ipv4 = false;
  bool ipv6 = false;
  bool erdma = false;
  bool trunk = false;
  bool prefixes = false;  // enableIPPrefix
  int ipv4_prefixes = 0;
  int ipv6_prefixes = 0;
  // pool
  bool has_pool = false;
  int max_pool = 0;
  int min_pool = 0;
  int warm_up = 0;
  std::optional<async::Duration> pool_sync_period;
  bool has_reclaim = false;
  std::optional<async::Duration> reclaim_after;
  std::optional<async::Duration> reclaim_interval;
  double reclaim_jitter = 0.1;  // of the interval; Terway's default where none above 0 is given
  int reclaim_batch = 0;
  std::vector<Flavor> flavors;
  // Members whose text cannot be read, each a sentence for people. They count as not given: to
  // refuse the object would hide its deletion, too.
  std::vector<std::string> mistakes;

  static NodeSpec From(kube::JsonView spec);
};

struct Ip {
  std::string address;
  bool primary = false;
  std::string status;   // kValid, kInvalid, kDeleting
  std::string pod;      // "ns/name"; empty for none
  std::string pod_uid;  // may be empty though `pod` is not: Terway did not always write it
  std::string name;     // by which EFLO knows it
  friend bool operator==(const Ip&, const Ip&) = default;
};

struct Prefix {
  std::string prefix;
  std::string status;                           // kValid, kFrozen, kInvalid, kDeleting
  std::optional<async::WallTime> frozen_until;  // frozenExpireAt
  friend bool operator==(const Prefix&, const Prefix&) = default;
};

struct NicCondition {
  std::string message;
  async::WallTime observed{};
  friend bool operator==(const NicCondition&, const NicCondition&) = default;
};

// An entry of status.networkInterfaces.
struct Nic {
  std::string id;
  std::string status;  // the cloud's, kAttaching from the create on, or kDeleting until it is gone
  std::string mac;
  std::string vswitch;
  std::vector<std::string> security_groups;
  std::string primary_address;
  std::string traffic_mode;
  std::string type;
  bool unschedulable = false;  // shown; never assigned, grown or deleted
  std::string ipv4_cidr;
  std::string ipv6_cidr;
  std::map<std::string, Ip> ipv4;  // by address
  std::map<std::string, Ip> ipv6;
  std::vector<Prefix> ipv4_prefixes;
  std::vector<Prefix> ipv6_prefixes;
  std::map<std::string, NicCondition> conditions;  // InsufficientIP, OperationErr
  friend bool operator==(const Nic&, const Nic&) = default;

  // An address of it is bound to a pod. Pods in prefixes are not in status: see PodAddresses.
  bool HasPod() const;
};

// A create that was begun: written before the cloud is asked. Each repetition asks for the same
// with the same token, whatever has become of the spec since.
struct Attempt {
  cloud::EniRequest request;  // its client_token is the key in status.attempts
  async::WallTime begun{};
  friend bool operator==(const Attempt&, const Attempt&) = default;
};

// Counts for the columns of `kubectl get`, in status.pool: a column cannot count.
struct PoolFigures {
  int enis = 0;
  int addresses = 0;
  int idle = 0;
  int attaching = 0;
  friend bool operator==(const PoolFigures&, const PoolFigures&) = default;
};

// The members of a Node's status that Berth writes. Times are written in whole seconds.
struct NodeStatus {
  std::map<std::string, Nic> nics;          // by ID
  std::map<std::string, Attempt> attempts;  // by token
  std::string account;  // the cloud account that the ENIs are in; empty before the first is known
  std::optional<async::WallTime> next_sync;
  std::optional<async::WallTime> last_sync;
  std::optional<async::WallTime> last_modified;
  std::optional<async::WallTime> next_reclaim;
  int warm_up_target = 0;
  int warm_up_allocated = 0;
  bool warm_up_completed = false;
  std::optional<PoolFigures> figures;  // none before the first count
  Json conditions = Json::null();      // status.conditions as they are; an array, or null
  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;

  static NodeStatus From(kube::JsonView status);
};

struct Node {
  Identity id;
  NodeSpec spec;
  NodeStatus status;
  bool exclusive = false;    // the label says eniOnly: its pods have whole ENIs
  bool unsupported = false;  // a Lingjun node whose annotation eno-api says hdeni or ecs-hdeni
  Backend backend = Backend::kEcs;

  // Never an error: members of the wrong type, which the schema refuses, count as not given.
  static kube::Result<Node> From(kube::JsonView object);

  // Whether Berth has anything to do with it: ids, eni, pool and adapters are set, and it is not
  // exclusive. What an object that is not ours has in status stays untouched.
  bool IsOurs() const;
};

// The merge patch of `status`, with the precondition of the object's version, that makes of the
// status as it was read `to`; none when nothing differs. Maps are patched by key, removed entries
// are null, arrays are replaced whole. Members that Berth does not know stay. Types and traffic
// modes that the schema does not have are left out. O(size of both).
std::optional<Json> StatusPatch(const Node& read, const NodeStatus& to);

// The pods that the daemon of a node has set up or torn down, by uid.
struct NodeRuntime {
  Identity id;
  struct Pod {
    std::string pod;       // "ns/name"
    bool deleted = false;  // the latest of its statuses; of the same second this one
  };
  std::map<std::string, Pod> pods;

  static kube::Result<NodeRuntime> From(kube::JsonView object);
};

// A pod, as far as addresses are concerned.
struct Pod {
  Identity id;
  std::string node;                    // empty until it is scheduled
  bool needs_ip = false;               // not hostNetwork, Succeeded, Failed, or annotated pod-eni
  std::vector<std::string> addresses;  // status.podIPs, or status.podIP
  bool erdma = false;                  // a container has a limit for aliyun/erdma

  static kube::Result<Pod> From(kube::JsonView object);
};

// A node of Kubernetes' own: its SufficientIP condition.
struct CoreNode {
  Identity id;
  std::optional<bool> sufficient;
  std::string sufficient_message;

  static kube::Result<CoreNode> From(kube::JsonView object);
};

}  // namespace berth::eni
