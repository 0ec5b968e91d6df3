#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/eni.h"
#include "kube/api.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "reconcile/eni/cloud_job.h"
#include "reconcile/eni/objects.h"
#include "reconcile/eni/pool.h"
#include "reconcile/eni/task_runner.h"
#include "reconcile/runtime/controller.h"
#include "reconcile/runtime/overlay.h"

namespace berth::eni {

// The caches that a node's pool depends on.
struct Caches {
  runtime::Overlay<Node>& nodes;
  const kube::Informer<Node>& listed_nodes;
  std::size_t nodes_by_uid;
  std::size_t nodes_by_instance;
  const kube::Informer<Pod>& pods;
  std::size_t pods_by_node;
  const kube::Informer<NodeRuntime>& runtimes;
  const kube::Informer<CoreNode>& core_nodes;
};

// The accounts of each backend; without EFLO nodes of it are not looked after.
struct Backends {
  cloud::EniAccounts& ecs;
  cloud::EniAccounts* eflo = nullptr;
};

// Keeps Nodes. A pass never waits for the cloud: it takes over what jobs and tasks have come to,
// works out the pool, writes the status as one patch, and then begins what the status says: tasks
// for ENIs that are Attaching or Deleting, and one job a node. So a crash finds everything in the
// status: an attempt is there before its create, Deleting before a detach or an unassignment.
class NodeReconciler {
 public:
  using Outcome = kube::Result<runtime::Requeue>;

  // A sync with the cloud comes after this time; sooner when an ENI is on its way or the account
  // did not show the instance.
  static constexpr async::Duration kSyncEach = std::chrono::hours(12);
  static constexpr async::Duration kSyncTransitional = std::chrono::seconds(30);
  static constexpr async::Duration kSyncLost = std::chrono::minutes(5);
  // The pool is looked at after this time, unless its poolSyncPeriod says otherwise.
  static constexpr async::Duration kPoolEach = std::chrono::minutes(2);
  // A vSwitch without addresses is passed over for this time.
  static constexpr async::Duration kVSwitchFull = std::chrono::minutes(20);
  static constexpr async::Duration kVSwitchFresh = std::chrono::minutes(10);
  static constexpr async::Duration kVSwitchKnown = std::chrono::hours(1);
  // An ENI that no list has is gone if it is not listed this time later either.
  static constexpr async::Duration kMissingFor = std::chrono::seconds(60);
  // A client token is good for a day; much younger attempts are repeated, older ones searched for.
  static constexpr async::Duration kTokenLife = std::chrono::hours(1);
  static constexpr async::Duration kLongestPause = std::chrono::minutes(2);
  // No ENI is made for a Node whose last attach failed, for this time, which doubles.
  static constexpr async::Duration kFirstAttachPause = std::chrono::seconds(30);
  static constexpr async::Duration kLongestAttachPause = std::chrono::minutes(30);
  // The reason of the condition Synced while the ENIs of spec's instance are not known.
  static constexpr std::string_view kInstanceChanged = "InstanceChanged";

  struct Parts {
    async::Executor& executor;
    kube::Api api;
    kube::EventRecorder& events;
    Caches caches;
    Backends backends;
    std::string cluster;  // the value of kClusterTag
    TaskRunner& tasks;
    std::function<void(const std::string& key)> again;
  };

  explicit NodeReconciler(Parts parts)
      : parts_(std::move(parts)), started_(parts_.executor.Now()) {}

  async::Task<Outcome> Reconcile(std::string key);

  // The cloud has shown something of the Node that its status may not have.
  void WantSync(const std::string& key);
  // Whether the task may ask for a change of the ENI that the cloud has shown: not of one that is
  // excluded, or another Node's.
  bool MayChange(const Task& task, const cloud::Eni& eni) const;
  // Whether a version of a Node is this reconciler's own write.
  bool IsOwnWrite(const std::string& key, const std::string& version) const;
  // Entries of all tables. None is left when all objects are gone.
  std::size_t Remembered() const {
    return memories_.size() + vswitches_.known.size() + vswitches_.full_until.size() +
           vswitches_read_.size();
  }

 private:
  // An attempt's requests, as far as this leader sent them.
  struct Sends {
    bool certain = false;  // all of them were ours, and each was answered with a refusal
    async::TimePoint last{};
    bool refused = false;  // for good, by the last answer
    bool doubted = false;  // refused once, perhaps for what spec says
    // Since when the key of the moment cannot carry it on.
    std::optional<async::TimePoint> barred = {};
  };
  // The SufficientIP condition that was written last: the watch may be late.
  struct Told {
    std::string core_uid;
    std::string message;
    async::TimePoint when{};
  };
  // Knowledge of a Node beside its status, for as long as this leader leads.
  struct Memory {
    std::string uid;
    std::string version;  // of the last write
    std::int64_t generation = 0;
    Backend backend = Backend::kEcs;
    async::Running job;
    std::optional<JobOutcome> outcome;  // to be taken over
    // The instance whose ENIs status has; empty while that is not known.
    std::string instance;
    // Where ENIs are that were made for an earlier instance and stayed there, by ID.
    std::map<std::string, std::string> left;
    bool placed = false;  // a job has shown that the key is of the Node's account and region
    bool sync_wanted = false;
    bool syncing = false;           // a sync is under way, or its outcome not taken yet
    bool sync_settles = true;       // no other job was wanted when the last one was ordered
    bool sync_again = false;        // it was wanted after that sync had begun
    std::set<std::string> settled;  // ENIs whose tasks were noted since: the sync may not know it
    // Whether the last sync showed an ENI of the instance, as every instance has one; none before.
    std::optional<bool> instance_seen;
    bool moving = false;  // the last sync showed an ENI on its way that status does not have
    std::map<std::string, Sends> sends;               // by token
    std::map<std::string, async::TimePoint> missing;  // IDs that lists lack, since when
    std::map<std::string, async::TimePoint> born;     // ENIs that this leader made, when
    std::map<std::string, async::TimePoint> failed;   // ENIs whose last task failed, when
    std::set<std::uint64_t> counted;                  // generations of failed attaches, not noted
    int failed_attaches = 0;                          // in a row
    std::string attach_error;                         // of the last of them
    async::TimePoint no_create_before{};              // after it
    int failures = 0;                                 // of jobs in a row
    async::TimePoint not_before{};                    // the next job
    std::optional<Error> failure;                     // of the last job that failed
    std::size_t failed_job = std::variant_npos;       // its kind, in JobResult
    std::optional<cloud::Place> elsewhere;            // the place of the key, when it is not ours
    // Of a deleted Node: where its ENIs are attached, by ID, once they were looked for.
    std::optional<std::map<std::string, std::string>> own;
    std::optional<Told> told;
  };
  // An event to be recorded once the status says the same.
  struct Note {
    bool succeeded = false;
    std::string what;  // "CreateENI"
    std::string text;
  };
  // One pass over one Node.
  struct Pass {
    std::string key;
    Node node;
    NodeStatus to;
    Memory& memory;
    PodsView pods = {};
    std::string rival = {};  // a Node that has its instance
    Wanted wanted = {};
    int waiting = 0;                      // pods without an address
    bool held_back = false;               // an ENI is wanted and not made, because attaches failed
    bool took = false;                    // the job's outcome is in `to`
    bool news = false;                    // it was not taken before
    std::vector<TaskId> ended = {};       // tasks whose end `to` has
    std::set<std::string> detached = {};  // ENIs among them that are Available now
    std::vector<Note> notes = {};
    std::optional<JobOrder> order = {};
  };
  // A condition that is not all well.
  struct Trouble {
    std::string reason;
    std::string message;
  };

  void Forget(const std::string& key);
  async::Task<Outcome> Maintain(Pass* pass);
  async::Task<Outcome> End(Pass* pass);
  async::Task<kube::Result<void>> SetFinalizer(Pass* pass, bool wanted);
  // Writes `to`, then begins tasks and the job.
  async::Task<kube::Result<void>> Commit(Pass* pass);
  async::Task<kube::Result<void>> TellCoreNode(Pass* pass);

  // Takes over what the cloud and the tasks have come to.
  void TakeOutcome(Pass& pass);
  void Take(Pass& pass, outcome::Sync& end, const cloud::Place& here);
  void Take(Pass& pass, outcome::Find& end, const cloud::Place& here);
  void Take(Pass& pass, outcome::ReadVSwitches& end, const cloud::Place& here);
  void Take(Pass& pass, outcome::Create& end, const cloud::Place& here);
  void Take(Pass& pass, outcome::Assign& end, const cloud::Place& here);
  void Take(Pass& pass, outcome::Unassign& end, const cloud::Place& here);
  void Adopt(Pass& pass, const std::string& token, const cloud::Eni& eni);
  void DropAttempts(Pass& pass);
  static bool EndsFailure(const Memory& memory, const JobResult& result);
  void NoteError(Memory& memory, const Error* error);
  void NoteVSwitch(const cloud::VSwitch& vswitch);
  // Forgets vSwitches that were read long ago: Nodes may not name them any more.
  void ForgetVSwitches();
  static void WantSync(Memory& memory);
  // The spec is another one than this leader knows; `is_new`: it has just begun to know the Node.
  static void NoteSpec(Memory& memory, const Node& node, bool is_new);
  // Whether status has the ENIs of the Node's instance, not of one that spec named before.
  static bool IsOfInstance(const Pass& pass) {
    return pass.memory.instance == pass.node.spec.instance;
  }
  void SetNicCondition(Nic& nic, const std::string& type, const Error& error);
  void TakeTasks(Pass& pass);
  void NoteAttach(Memory& memory, const Task& task);
  // The ENIs of a deleted Node that go with it.
  void MarkOwn(Pass& pass, const CloudView& view) const;
  // Whether an ENI goes with its Node: made by Berth for this Node, or one of its instance that was
  // made by Terway, or for a Node that is gone.
  bool IsOwn(const Pass& pass, const cloud::Eni& eni) const;

  // Chooses and begins work.
  PodsView PodsOf(const Node& node) const;
  // The name of an older Node that has the same instance; empty for none.
  std::string RivalOf(const Node& node) const;
  // Whether the ENI was made for another cluster, another Node that exists, or another instance.
  bool IsForeign(const Node& node, const cloud::Eni& eni) const;
  void ChooseJob(Pass& pass);
  std::optional<JobOrder> OrderFor(Pass& pass);
  std::optional<JobOrder> OrderForAttempt(Pass& pass);
  JobOrder Order(const Pass& pass, decltype(JobOrder::work) work) const;
  JobOrder SyncOrder(const Pass& pass) const;
  JobOrder CreateOrder(const Pass& pass, const Attempt& attempt);
  bool IsSyncDue(const Pass& pass) const;
  static bool IsSyncFailing(const Memory& memory);
  // Whether the account did not show the instance. EFLO does not tell.
  bool IsInstanceLost(const Pass& pass) const;
  static bool IsTransitional(const NodeStatus& status);
  static bool HasTasks(const NodeStatus& status);
  std::vector<std::string> StaleVSwitches(const Node& node) const;
  void CancelTasks(const Pass& pass);
  void SubmitTasks(Pass& pass);
  void StartJob(Pass& pass);
  async::Task<void> RunJob(std::string key, JobOrder order, cloud::EniAccounts* accounts);
  async::Task<bool> IsStillWanted(std::string key, std::string uid, std::string token);
  async::Duration NextPass(const Pass& pass) const;
  Backend BackendOf(const Node& node) const;
  cloud::EniAccounts* AccountsOf(const Node& node) const;

  // Tells people.
  std::optional<Trouble> TroubleOf(const Pass& pass) const;
  void SetConditions(Pass& pass) const;
  void Record(const Pass& pass, const Note& note);

  Parts parts_;
  const async::TimePoint started_;
  std::unordered_map<std::string, Memory> memories_;  // by key
  VSwitches vswitches_;
  std::map<std::string, async::TimePoint> vswitches_read_;  // by ID
};

}  // namespace berth::eni
