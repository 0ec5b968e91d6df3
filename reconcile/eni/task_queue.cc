#include "reconcile/eni/task_queue.h"

#include <algorithm>

namespace berth::eni {
TaskQueue::TaskQueue(Options options)
    : options_(std::move(options)),
      requests_(kBackends * kOperations, Gate(options_.requests_at_once)),
      shown_(kShown, kMostShown) {}

std::uint64_t TaskQueue::Submit(TaskRequest request, async::TimePoint now) {
  if (const auto present = tasks_.find(request.eni); present != tasks_.end()) {
    if (!present->second.ended()) return present->second.generation;
    Forget(request.eni, now);
  }
  shown_.Remove(request.eni);
  std::erase(withdrawn_, request.eni);
  Entry entry;
  static_cast<TaskRequest&>(entry) = std::move(request);
  entry.generation = ++last_generation_;
  entry.created_at = now;
  Entry& added = tasks_.emplace(entry.eni, std::move(entry)).first->second;
  running_.emplace(added.generation, &added);
  ++counts_[static_cast<std::size_t>(added.state)];
  const std::size_t attaches =
      added.backend == Backend::kEflo ? options_.eflo_attaches_of_node : options_.attaches_of_node;
  nodes_.try_emplace(added.node, Node{{}, Gate(attaches)}).first->second.tasks.insert(&added);
  const Pace pace = PaceOf(added.eni, added.backend);
  added.bound = added.operation == Operation::kAttach && IsBoundAtCreate(added.eni) &&
                now - added.born < pace.timeout;
  if (added.bound) {
    Accepted(added, added.born);
    Schedule(added, std::max(now, added.born + pace.initial_delay));
  } else {
    Schedule(added, now);
  }
  return added.generation;
}

void TaskQueue::Cancel(const std::string& eni, async::TimePoint now) {
  if (tasks_.contains(eni)) Forget(eni, now);
}

void TaskQueue::CancelNode(const std::string& node, async::TimePoint now) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  std::vector<std::string> enis;
  for (const Entry* entry : found->second.tasks) enis.push_back(entry->eni);
  for (const std::string& eni : enis) Forget(eni, now);
}

Withdrawal TaskQueue::MayWithdraw(const std::string& eni) const {
  const auto found = tasks_.find(eni);
  if (found == tasks_.end()) return shown_.Find(eni) ? Withdrawal::kWithdrawn : Withdrawal::kNoTask;
  const Entry& entry = found->second;
  if (entry.ended()) return Withdrawal::kUnrecorded;
  if (entry.operation != Operation::kAttach) return Withdrawal::kReleasing;
  if (entry.sending || entry.unsure || entry.state == State::kRunning) return Withdrawal::kAccepted;
  return entry.has_pods ? Withdrawal::kNeeded : Withdrawal::kWithdrawn;
}

Withdrawal TaskQueue::Withdraw(const std::string& eni, async::TimePoint now) {
  const Withdrawal withdrawal = MayWithdraw(eni);
  if (withdrawal != Withdrawal::kWithdrawn) return withdrawal;
  if (shown_.Remove(eni)) {
    Touch(eni);
    return withdrawal;
  }
  Forget(eni, now);
  if (withdrawn_.size() == kMostWithdrawn) withdrawn_.pop_front();
  withdrawn_.push_back(eni);
  return withdrawal;
}

bool TaskQueue::IsWithdrawn(const std::string& eni) const {
  return std::ranges::contains(withdrawn_, eni);
}

void TaskQueue::Noted(const TaskId& id, async::TimePoint now) {
  Entry* entry = FindEntry(id);
  if (!entry || !entry->ended()) return;
  entry->result.reset();
  Task task = *entry;
  Forget(id.eni, now);
  for (const std::string& eni : shown_.Add(std::move(task), now)) Touch(eni);
  Touch(id.eni);
}

void TaskQueue::Expire(async::TimePoint now) {
  for (const std::string& eni : shown_.Expire(now)) Touch(eni);
}

const Task* TaskQueue::Find(const std::string& eni) const {
  const auto found = tasks_.find(eni);
  return found == tasks_.end() ? nullptr : &found->second;
}

std::vector<const Task*> TaskQueue::OfNode(const std::string& node) const {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return {};
  return {found->second.tasks.begin(), found->second.tasks.end()};
}

void TaskQueue::ForEach(const std::function<void(const Task&)>& visit) const {
  for (const auto& [eni, entry] : tasks_) visit(entry);
}

std::optional<async::TimePoint> TaskQueue::oldest() const {
  return running_.empty() ? std::nullopt : std::optional(running_.begin()->second->created_at);
}

std::vector<TaskChange> TaskQueue::TakeChanges() {
  std::vector<TaskChange> changes;
  changes.reserve(changed_.size());
  for (const std::string& eni : changed_) {
    const Task* task = Find(eni);
    if (!task) task = shown_.Find(eni);
    const auto told = published_.find(eni);
    changes.push_back(
        {eni, task, task && told != published_.end() && told->second != task->generation});
    if (task) {
      published_.insert_or_assign(eni, task->generation);
    } else {
      published_.erase(told);
    }
  }
  changed_.clear();
  return changes;
}

void TaskQueue::Forget(const std::string& eni, async::TimePoint now) {
  const auto found = tasks_.find(eni);
  const Entry& entry = found->second;
  running_.erase(entry.generation);
  LeaveGates(entry, now);
  if (entry.next_look_at) due_.erase({*entry.next_look_at, entry.generation});
  --counts_[static_cast<std::size_t>(entry.state)];
  const auto node = nodes_.find(entry.node);
  node->second.tasks.erase(&entry);
  if (node->second.tasks.empty()) nodes_.erase(node);
  tasks_.erase(found);
  Touch(eni);
}

TaskQueue::Entry* TaskQueue::FindEntry(const TaskId& id) {
  const auto found = tasks_.find(id.eni);
  return found != tasks_.end() && found->second.generation == id.generation ? &found->second
                                                                            : nullptr;
}

const TaskQueue::Entry* TaskQueue::FindEntry(const TaskId& id) const {
  const auto found = tasks_.find(id.eni);
  return found != tasks_.end() && found->second.generation == id.generation ? &found->second
                                                                            : nullptr;
}

void TaskQueue::Touch(const std::string& eni) {
  // A task that came and went between two TakeChanges is nobody's business.
  if (tasks_.contains(eni) || shown_.Find(eni) || published_.contains(eni)) {
    changed_.insert(eni);
  } else {
    changed_.erase(eni);
  }
}

void TaskQueue::SetState(Entry& entry, State state) {
  --counts_[static_cast<std::size_t>(entry.state)];
  entry.state = state;
  ++counts_[static_cast<std::size_t>(entry.state)];
}

}  // namespace berth::eni
