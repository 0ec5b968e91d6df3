#include "reconcile/eni/node_reconciler.h"

#include <algorithm>
#include <utility>

#include "kube/object.h"
#include "log/format.h"
#include "reconcile/eni/cloud_nic.h"
#include "reconcile/eni/pod_addresses.h"

namespace berth::eni {

using namespace std::chrono_literals;

namespace {

// The condition, an empty object without it.
Json ConditionOf(const Json& conditions, std::string_view type) {
  if (!conditions.is_array()) return Json::Object();
  for (const Json& condition : conditions.array_range()) {
    if (condition.get_value_or<std::string>("type", "") == type) return condition;
  }
  return Json::Object();
}

// A task of an ENI that failed is followed by the next one after this time.
constexpr auto kAfterFailure = 30s;

bool IsDue(const std::optional<async::WallTime>& time, async::WallTime now) {
  return !time || now >= *time;
}

}  // namespace

async::Task<NodeReconciler::Outcome> NodeReconciler::Reconcile(std::string key) {
  const Node* cached = parts_.caches.nodes.Get(key);
  const auto known = memories_.find(key);
  if (!cached || (known != memories_.end() && known->second.uid != cached->id.uid)) {
    parts_.tasks.CancelNode(key);
    Forget(key);
    if (!cached) co_return runtime::Requeue{};
  }
  if (!cached->IsOurs() && !(cached->id.deleting != 0 && cached->id.finalizer)) {
    parts_.tasks.CancelNode(key);
    Forget(key);
    co_return runtime::Requeue{};
  }
  const bool is_new = !memories_.contains(key);
  Memory& memory = memories_[key];
  memory.uid = cached->id.uid;
  const bool is_moved = std::exchange(memory.backend, cached->backend) != cached->backend;
  // The other API has other ENIs.
  if (is_moved && !is_new) memory.instance.clear();
  if (std::exchange(memory.generation, cached->id.generation) != cached->id.generation ||
      is_moved) {
    memory.failures = 0;
    memory.not_before = {};
    memory.failed_attaches = 0;
    memory.no_create_before = {};
    memory.instance_seen.reset();
    NoteSpec(memory, *cached, is_new);
  }
  Pass pass{.key = std::move(key), .node = *cached, .to = cached->status, .memory = memory};
  pass.pods = PodsOf(pass.node);
  pass.rival = RivalOf(pass.node);
  if (pass.node.id.deleting != 0) co_return co_await End(&pass);
  co_return co_await Maintain(&pass);
}

// A new leader reads from the condition whether the one before had asked the cloud about this spec.
void NodeReconciler::NoteSpec(Memory& memory, const Node& node, bool is_new) {
  memory.placed = false;
  // A request that was refused may be one that spec would not make any more.
  for (auto& [token, sends] : memory.sends) sends.refused |= sends.doubted;
  if (const Json synced = ConditionOf(node.status.conditions, "Synced");
      is_new && synced.get_value_or<std::int64_t>("observedGeneration", 0) == node.id.generation) {
    if (synced.get_value_or<std::string>("reason", "") != kInstanceChanged)
      memory.instance = node.spec.instance;
    if (synced.get_value_or<std::string>("status", "") == "True") return;
  }
  WantSync(memory);
}

void NodeReconciler::Forget(const std::string& key) {
  memories_.erase(key);
  if (!memories_.empty()) return;
  vswitches_ = {};
  vswitches_read_.clear();
}

async::Task<NodeReconciler::Outcome> NodeReconciler::Maintain(Pass* pass) {
  const auto now = parts_.executor.WallNow();
  if (!pass->node.id.finalizer && !pass->node.unsupported) {
    if (auto added = co_await SetFinalizer(pass, true); !added)
      co_return std::unexpected(added.error());
  }
  TakeOutcome(*pass);
  TakeTasks(*pass);
  if (!pass->node.unsupported && pass->rival.empty() && !IsOfInstance(*pass)) {
    ChooseJob(*pass);  // a sync: the addresses in status may be those of another instance
  } else if (!pass->node.unsupported && pass->rival.empty()) {
    const Bound bound = BindPods(pass->node, pass->to, pass->pods, now);
    pass->waiting = bound.waiting + bound.waiting_erdma;
    Shrink(pass->node, pass->to, pass->pods, now, parts_.executor.RandomFraction());
    pass->wanted =
        NextJob(pass->node, pass->to, bound, vswitches_, now, parts_.executor.RandomFraction());
    ChooseJob(*pass);
  }
  CancelTasks(*pass);
  if (auto done = co_await Commit(pass); !done) co_return std::unexpected(done.error());
  if (auto told = co_await TellCoreNode(pass); !told) co_return std::unexpected(told.error());
  co_return runtime::Requeue{NextPass(*pass)};
}

async::Task<kube::Result<void>> NodeReconciler::SetFinalizer(Pass* pass, bool wanted) {
  Json patch = runtime::PatchOf(pass->node.id);
  patch["metadata"]["finalizers"] =
      runtime::FinalizersOf(pass->node.id, wanted ? kFinalizer : std::string_view());
  const auto written = co_await parts_.api.Patch(kNodes, "", pass->node.id.name,
                                                 kube::PatchType::kMerge, patch.to_string());
  if (!written) {
    if (runtime::IsGone(written.error())) co_return kube::Result<void>();
    co_return std::unexpected(written.error());
  }
  if (!wanted) co_return kube::Result<void>();
  auto now = kube::Decode<Node>(*written);
  if (!now) co_return std::unexpected(now.error());
  pass->memory.version = now->id.version;
  pass->node = *now;
  pass->to = now->status;
  parts_.caches.nodes.Note(std::move(*now));
  co_return kube::Result<void>();
}

async::Task<kube::Result<void>> NodeReconciler::Commit(Pass* pass) {
  pass->to.figures = FiguresOf(pass->to);
  SetConditions(*pass);
  if (pass->to.nics != pass->node.status.nics) pass->to.last_modified = parts_.executor.WallNow();
  if (const auto patch = StatusPatch(pass->node, pass->to)) {
    const auto written =
        co_await parts_.api.Patch(kNodes, "", pass->node.id.name, kube::PatchType::kMerge,
                                  patch->to_string(), {.subresource = "status", .call = {}});
    if (!written) {
      if (runtime::IsGone(written.error())) co_return kube::Result<void>();
      co_return std::unexpected(written.error());
    }
    auto now = kube::Decode<Node>(*written);
    if (!now) co_return std::unexpected(now.error());
    pass->memory.version = now->id.version;
    parts_.caches.nodes.Note(std::move(*now));
  }
  for (const TaskId& id : pass->ended) {
    parts_.tasks.Noted(id);
    pass->memory.counted.erase(id.generation);
    if (pass->memory.syncing) pass->memory.settled.insert(id.eni);
  }
  // A job may have ended while the status was written: its outcome is for the next pass.
  if (pass->took) {
    pass->memory.outcome.reset();
    pass->memory.syncing = false;
  }
  for (const auto& note : pass->notes) Record(*pass, note);
  SubmitTasks(*pass);
  StartJob(*pass);
  co_return kube::Result<void>();
}

void NodeReconciler::TakeTasks(Pass& pass) {
  for (const Task* task : parts_.tasks.queue().OfNode(pass.key)) {
    if (!task->ended()) continue;
    TakeTask(pass.node, pass.to, *task, pass.pods, parts_.executor.WallNow());
    pass.ended.push_back({task->eni, task->generation});
    const bool succeeded = task->state == State::kCompleted;
    pass.notes.push_back({succeeded, std::string(Name(task->operation)) + "ENI",
                          succeeded ? task->eni : Format("{}: {}", task->eni, task->error)});
    if (task->operation == Operation::kAttach) NoteAttach(pass.memory, *task);
    if (succeeded) {
      pass.memory.failed.erase(task->eni);
      if (task->operation == Operation::kDetach) pass.detached.insert(task->eni);
    } else {
      pass.memory.failed[task->eni] = parts_.executor.Now();
      WantSync(pass.memory);
    }
  }
  // A user has withdrawn the attach. An ENI that pods have addresses of is attached all the same.
  const PodAddresses addresses(pass.pods);
  for (auto& [id, nic] : pass.to.nics) {
    if (nic.status == kAttaching && parts_.tasks.queue().IsWithdrawn(id) &&
        !addresses.HasAnyOf(nic))
      nic.status = kDeleting;
  }
  const auto is_gone = [&](const auto& entry) { return !pass.to.nics.contains(entry.first); };
  std::erase_if(pass.memory.failed, is_gone);
  std::erase_if(pass.memory.born, is_gone);
}

// An instance that is gone refuses every attach: ENIs are not made and deleted without end for it.
void NodeReconciler::NoteAttach(Memory& memory, const Task& task) {
  if (task.state == State::kCompleted) {
    memory.failed_attaches = 0;
    memory.no_create_before = {};
    return;
  }
  // The pass may be repeated until its status could be written.
  if (!memory.counted.insert(task.generation).second) return;
  memory.attach_error = task.error;
  async::Duration pause = kFirstAttachPause;
  for (int i = 0; i < memory.failed_attaches && pause < kLongestAttachPause; ++i) pause *= 2;
  ++memory.failed_attaches;
  memory.no_create_before = parts_.executor.Now() + std::min(pause, kLongestAttachPause);
}

PodsView NodeReconciler::PodsOf(const Node& node) const {
  std::vector<const Pod*> pods;
  parts_.caches.pods.ForEachIn(parts_.caches.pods_by_node, node.id.name,
                               [&](const std::string&, const Pod& pod) {
                                 if (pod.needs_ip) pods.push_back(&pod);
                               });
  std::ranges::sort(pods, {},
                    [](const Pod* pod) { return std::pair(pod->id.created, pod->id.Key()); });
  PodsView view{.runtime = parts_.caches.runtimes.Get(node.id.name)};
  for (const Pod* pod : pods)
    view.pods.push_back({pod->id.Key(), pod->id.uid, pod->addresses, pod->erdma});
  return view;
}

std::string NodeReconciler::RivalOf(const Node& node) const {
  const auto age = [](const Node& any) { return std::pair(any.id.created, any.id.name); };
  std::string rival;
  parts_.caches.listed_nodes.ForEachIn(
      parts_.caches.nodes_by_instance, node.spec.instance,
      [&](const std::string& name, const Node& other) {
        if (other.id.uid != node.id.uid && other.IsOurs() && age(other) < age(node)) rival = name;
      });
  return rival;
}

bool NodeReconciler::IsForeign(const Node& node, const cloud::Eni& eni) const {
  const auto made_for = eni.tags.find(std::string(kNodeTag));
  if (made_for != eni.tags.end() && made_for->second == node.id.uid) return false;
  const auto cluster = eni.tags.find(std::string(kClusterTag));
  if (cluster != eni.tags.end() && cluster->second != parts_.cluster) return true;
  if (made_for == eni.tags.end()) return false;
  if (parts_.caches.listed_nodes.CountIn(parts_.caches.nodes_by_uid, made_for->second) > 0)
    return true;
  const auto instance = eni.tags.find(std::string(kInstanceTag));
  return instance == eni.tags.end() || instance->second != node.spec.instance;
}

bool NodeReconciler::MayChange(const Task& task, const cloud::Eni& eni) const {
  if (IsExcluded(eni)) return false;
  const Node* node = parts_.caches.nodes.Get(task.node);
  // The tags told at the sync which ENIs go with a Node; the task of one that is gone is cancelled.
  if (!node || node->id.deleting != 0) return true;
  const auto known = node->status.nics.find(eni.id);
  return !IsForeign(*node, eni) &&
         !IsUnschedulable(*node, eni, known == node->status.nics.end() ? nullptr : &known->second);
}

// Ends tasks that the status does not ask for any more: a pod was seen on an ENI that was to go, or
// a user has excluded it.
void NodeReconciler::CancelTasks(const Pass& pass) {
  for (const Task* task : parts_.tasks.queue().OfNode(pass.key)) {
    if (task->ended()) continue;
    const auto nic = pass.to.nics.find(task->eni);
    const bool attaches = task->operation == Operation::kAttach;
    // In another account or region the cloud does not know the ENI.
    const bool is_misled = pass.memory.elsewhere.has_value() ||
                           (attaches && task->instance != pass.node.spec.instance);
    const std::string_view wanted = attaches ? kAttaching : kDeleting;
    const bool is_excluded = nic != pass.to.nics.end() && nic->second.unschedulable;
    if (is_excluded) WantSync(pass.memory);  // its status was the task's
    if (nic == pass.to.nics.end() || nic->second.status != wanted || is_excluded || is_misled ||
        task->backend != BackendOf(pass.node) || task->account != pass.to.account)
      parts_.tasks.Cancel(std::string(task->eni));
  }
}

// The status says what is to be done, so that a task that was lost with its leader comes again.
void NodeReconciler::SubmitTasks(Pass& pass) {
  if (pass.to.account.empty() || !pass.memory.placed) return;  // a sync comes first
  const auto now = parts_.executor.Now();
  const PodAddresses addresses(pass.pods);
  for (const auto& [id, nic] : pass.to.nics) {
    const bool attaches = nic.status == kAttaching;
    if (nic.unschedulable || (!attaches && nic.status != kDeleting)) continue;
    if (parts_.tasks.queue().Find(id)) continue;
    // It was withdrawn while the status was written: the next pass gives the ENI up.
    const bool has_pods = addresses.HasAnyOf(nic);
    if (attaches && parts_.tasks.queue().IsWithdrawn(id) && !has_pods) continue;
    const auto failed = pass.memory.failed.find(id);
    if (failed != pass.memory.failed.end() && now - failed->second < kAfterFailure) continue;
    const auto born = pass.memory.born.find(id);
    const auto& places =
        pass.node.id.deleting != 0 && pass.memory.own ? *pass.memory.own : pass.memory.left;
    const auto place = attaches ? places.end() : places.find(id);
    parts_.tasks.Submit(
        {.eni = id,
         .operation = attaches                     ? Operation::kAttach
                      : pass.detached.contains(id) ? Operation::kDelete
                                                   : Operation::kDetach,
         .node = pass.key,
         .instance = place == places.end() ? pass.node.spec.instance : place->second,
         .account = pass.to.account,
         .backend = BackendOf(pass.node),
         .born = born == pass.memory.born.end() ? started_ : born->second,
         .ipv4_addresses = static_cast<int>(nic.ipv4.size()),
         .ipv6_addresses = static_cast<int>(nic.ipv6.size()),
         .ipv4_prefixes = static_cast<int>(nic.ipv4_prefixes.size()),
         .ipv6_prefixes = static_cast<int>(nic.ipv6_prefixes.size()),
         .has_pods = has_pods});
  }
}

bool NodeReconciler::IsSyncDue(const Pass& pass) const {
  const Memory& memory = pass.memory;
  const auto now = parts_.executor.WallNow();
  if (pass.to.account.empty() || memory.sync_wanted || IsDue(pass.to.next_sync, now)) return true;
  if (!IsOfInstance(pass) || (!memory.placed && HasTasks(pass.to))) return true;
  // Others may have written times that Berth would not.
  if (pass.to.next_sync.value_or(now) > now + 2 * kSyncEach) return true;
  if (pass.to.last_sync.value_or(now) > now + kSyncEach) return true;
  // A list that lacked the instance may have been late.
  if (IsInstanceLost(pass) && IsDue(pass.to.last_sync, now - kSyncLost)) return true;
  const bool missing = std::ranges::any_of(memory.missing, [&](const auto& entry) {
    return parts_.executor.Now() - entry.second >= kMissingFor;
  });
  return missing || ((memory.moving || IsTransitional(pass.to)) &&
                     IsDue(pass.to.last_sync, now - kSyncTransitional));
}

bool NodeReconciler::IsInstanceLost(const Pass& pass) const {
  return pass.memory.instance_seen == false && pass.node.backend == Backend::kEcs;
}

// Whether an ENI is on its way in the cloud without a task of ours.
bool NodeReconciler::IsTransitional(const NodeStatus& status) {
  return std::ranges::any_of(status.nics, [](const auto& entry) {
    const Nic& nic = entry.second;
    const bool has_task =
        !nic.unschedulable && (nic.status == kAttaching || nic.status == kDeleting);
    return nic.status != kInUse && nic.status != kInvalid && !has_task;
  });
}

bool NodeReconciler::HasTasks(const NodeStatus& status) {
  return std::ranges::any_of(status.nics, [](const auto& entry) {
    const Nic& nic = entry.second;
    return !nic.unschedulable && (nic.status == kAttaching || nic.status == kDeleting);
  });
}

async::Duration NodeReconciler::NextPass(const Pass& pass) const {
  const Memory& memory = pass.memory;
  const auto now = parts_.executor.Now();
  async::Duration next = pass.node.spec.pool_sync_period.value_or(kPoolEach);
  for (const auto time : {memory.not_before, memory.no_create_before}) {
    if (time > now) next = std::min(next, time - now);
  }
  if (IsTransitional(pass.to) || memory.moving || !memory.missing.empty())
    next = std::min(next, kSyncTransitional);
  if (IsInstanceLost(pass)) next = std::min(next, kSyncLost);
  const bool unsettled =
      !pass.to.attempts.empty() || std::ranges::any_of(pass.to.nics, [](auto& nic) {
        return nic.second.status == kAttaching || nic.second.status == kDeleting;
      });
  if (unsettled) next = std::min<async::Duration>(next, kAfterFailure);
  const auto wall = parts_.executor.WallNow();
  if (const auto& reclaim = pass.to.next_reclaim; reclaim && *reclaim > wall)
    next = std::min<async::Duration>(next, *reclaim - wall);
  return std::max<async::Duration>(next, 1s);
}

// A sync that is under way may have seen the cloud before there was a reason to look.
void NodeReconciler::WantSync(Memory& memory) {
  memory.sync_wanted = true;
  if (memory.syncing) memory.sync_again = true;
}

void NodeReconciler::WantSync(const std::string& key) {
  const auto found = memories_.find(key);
  if (found == memories_.end()) return;
  WantSync(found->second);
  parts_.again(key);
}

bool NodeReconciler::IsOwnWrite(const std::string& key, const std::string& version) const {
  const auto found = memories_.find(key);
  return found != memories_.end() && found->second.version == version;
}

Backend NodeReconciler::BackendOf(const Node& node) const {
  // A deleted Node may have been one of ECS before.
  return node.id.deleting != 0 && !parts_.backends.eflo ? Backend::kEcs : node.backend;
}

cloud::EniAccounts* NodeReconciler::AccountsOf(const Node& node) const {
  return BackendOf(node) == Backend::kEcs ? &parts_.backends.ecs : parts_.backends.eflo;
}

}  // namespace berth::eni
