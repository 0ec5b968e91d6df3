#include <algorithm>
#include <utility>

#include "reconcile/eni/cloud_nic.h"
#include "reconcile/eni/node_reconciler.h"

namespace berth::eni {
namespace {

bool HasTag(const cloud::Eni& eni, std::string_view key, std::string_view value) {
  const auto found = eni.tags.find(std::string(key));
  return found != eni.tags.end() && found->second == value;
}

bool IsGoing(const NodeStatus& status) {
  return std::ranges::any_of(status.nics, [](const auto& entry) {
    return entry.second.status == kDeleting && !entry.second.unschedulable;
  });
}

}  // namespace

bool NodeReconciler::IsOwn(const Pass& pass, const cloud::Eni& eni) const {
  const Node& node = pass.node;
  if (eni.service_managed || IsExcluded(eni)) return false;
  if (eni.type != kSecondaryType && eni.type != kTrunkType) return false;
  const bool is_here = eni.instance_id == node.spec.instance && !eni.instance_id.empty();
  if (HasTag(eni, kNodeTag, node.id.uid))
    return is_here || eni.instance_id.empty() || HasTag(eni, kInstanceTag, eni.instance_id);
  if (eni.tags.contains(std::string(kNodeTag)))
    return is_here && pass.rival.empty() && HasTag(eni, kClusterTag, parts_.cluster) &&
           !IsForeign(node, eni);
  const bool is_known = node.status.nics.contains(eni.id);
  return HasTag(eni, kCreatorTag, kCreator) && pass.rival.empty() &&
         (is_here || (is_known && eni.instance_id.empty()));
}

// The tags tell which ENIs are ours, and only the cloud knows them: a Node ends with a sync that
// shows none of ours.
void NodeReconciler::MarkOwn(Pass& pass, const CloudView& view) const {
  pass.memory.own.emplace();
  for (const cloud::Eni& eni : view.enis) {
    if (!IsOwn(pass, eni)) continue;
    pass.memory.own->emplace(eni.id, eni.instance_id);
    Nic& nic = pass.to.nics[eni.id];
    nic.id = eni.id;
    nic.status = kDeleting;
    nic.unschedulable = false;
  }
}

async::Task<NodeReconciler::Outcome> NodeReconciler::End(Pass* pass) {
  Memory& memory = pass->memory;
  if (!pass->node.id.finalizer) {  // others hold it, and nothing of ours is left
    parts_.tasks.CancelNode(pass->key);
    co_return runtime::Requeue{};
  }
  for (const Task* task : parts_.tasks.queue().OfNode(pass->key)) {
    if (task->operation == Operation::kAttach) parts_.tasks.Cancel(std::string(task->eni));
  }
  TakeOutcome(*pass);
  TakeTasks(*pass);
  // Nothing is attached any more: an ENI that was on its way goes like the others.
  for (auto& [id, nic] : pass->to.nics) {
    // Others may have edited the status.
    const bool is_own = memory.own && memory.own->contains(id) && nic.status != kInvalid;
    if (is_own) nic.unschedulable = false;
    if (is_own || (nic.status == kAttaching && !nic.unschedulable)) nic.status = kDeleting;
  }
  // A request of this leader's that was answered, or never sent, leaves nothing behind.
  if (!memory.job) {
    std::erase_if(pass->to.attempts, [&](const auto& entry) {
      const auto sends = memory.sends.find(entry.first);
      return sends != memory.sends.end() && sends->second.certain;
    });
  }
  const bool is_empty = !memory.job && pass->to.attempts.empty() && !IsGoing(pass->to);
  // Without an account nothing was ever made for it, and nobody can be asked.
  const bool is_unused = pass->to.account.empty() && pass->to.nics.empty() &&
                         (memory.elsewhere || !AccountsOf(pass->node));
  const bool is_swept = memory.own && memory.own->empty();
  if (is_empty && (is_swept || is_unused)) {
    if (auto removed = co_await SetFinalizer(pass, false); !removed)
      co_return std::unexpected(removed.error());
    co_return runtime::Requeue{};
  }
  if (!memory.job && AccountsOf(pass->node) && parts_.executor.Now() >= memory.not_before) {
    memory.sync_settles = true;
    pass->order = OrderForAttempt(*pass);
    const bool is_lost = pass->to.account.empty() || !memory.own;  // others may edit the status
    if (!pass->order && (is_lost || memory.sync_wanted || !IsGoing(pass->to)))
      pass->order = SyncOrder(*pass);
  }
  CancelTasks(*pass);
  if (auto done = co_await Commit(pass); !done) co_return std::unexpected(done.error());
  co_return runtime::Requeue{NextPass(*pass)};
}

}  // namespace berth::eni
