#include "reconcile/eni/task_queue.h"

#include <algorithm>
#include <array>

#include "log/format.h"

namespace berth::eni {

using namespace std::chrono_literals;

std::uint64_t TaskQueue::Submit(TaskRequest request, async::TimePoint now) {
  if (const auto present = tasks_.find(request.eni); present != tasks_.end()) {
    if (!present->second.ended()) return present->second.generation;
    Forget(request.eni);
  }
  Entry entry;
  static_cast<TaskRequest&>(entry) = std::move(request);
  entry.generation = ++last_generation_;
  entry.created_at = now;
  Entry& added = tasks_.emplace(entry.eni, std::move(entry)).first->second;
  nodes_[added.node].enis.insert(added.eni);
  Schedule(added, now);
  return added.generation;
}

void TaskQueue::Cancel(const std::string& eni) {
  if (tasks_.contains(eni)) Forget(eni);
}

void TaskQueue::CancelNode(const std::string& node) {
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return;
  const std::set<std::string> enis = found->second.enis;
  for (const std::string& eni : enis) Forget(eni);
}

void TaskQueue::Remove(const TaskId& id) {
  const Entry* entry = FindEntry(id);
  if (entry && entry->ended()) Forget(id.eni);
}

const Task* TaskQueue::Find(const std::string& eni) const {
  const auto found = tasks_.find(eni);
  return found == tasks_.end() ? nullptr : &found->second;
}

std::vector<const Task*> TaskQueue::OfNode(const std::string& node) const {
  std::vector<const Task*> tasks;
  const auto found = nodes_.find(node);
  if (found == nodes_.end()) return tasks;
  for (const std::string& eni : found->second.enis) tasks.push_back(&tasks_.at(eni));
  return tasks;
}

void TaskQueue::ForEach(const std::function<void(const Task&)>& visit) const {
  for (const auto& [eni, entry] : tasks_) visit(entry);
}

std::optional<async::TimePoint> TaskQueue::next_look() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

std::vector<TaskQueue::Look> TaskQueue::TakeLooks(async::TimePoint now) {
  std::vector<Look> looks;
  std::array<Look, 2> open = {Look{.backend = Backend::kEcs}, Look{.backend = Backend::kEflo}};
  while (!due_.empty() && due_.begin()->first <= now) {
    const Entry& entry = tasks_.at(due_.begin()->second);
    due_.erase(due_.begin());
    TaskId id{entry.eni, entry.generation};
    if (entry.alone) {
      looks.push_back({entry.backend, true, {std::move(id)}});
      continue;
    }
    Look& look = open[static_cast<std::size_t>(entry.backend)];
    look.tasks.push_back(std::move(id));
    if (look.tasks.size() == kMostLooks) looks.push_back(std::exchange(look, {entry.backend}));
  }
  for (Look& look : open) {
    if (!look.tasks.empty()) looks.push_back(std::move(look));
  }
  return looks;
}

bool TaskQueue::Seen(const TaskId& id, const cloud::Eni* eni, async::TimePoint now) {
  Entry* entry = FindEntry(id);
  if (!entry || entry->ended()) return false;
  const Sight sight = eni ? SightOf(eni->status, eni->instance_id, entry->instance)
                          : SightOf(std::nullopt, "", entry->instance);
  entry->cloud_status = eni ? eni->status : "";
  const bool confirmed = std::exchange(entry->alone, false) && sight == Sight::kMissing;
  const bool over = IsOver(*entry, sight, now);
  Step step = confirmed ? DecideAbsent(entry->operation)
                        : Decide(entry->operation, sight, entry->asked_at.has_value(), over);
  if (sight == Sight::kMoving && entry->asked_at) entry->moved = true;
  const bool timed_out = entry->deadline && now >= *entry->deadline;
  switch (step) {
    case Step::kComplete:
      if (eni) entry->result = *eni;
      End(*entry, State::kCompleted, "", now);
      return false;
    case Step::kFail:
      End(*entry, State::kFailed,
          sight == Sight::kMissing          ? "the cloud has no such ENI"
          : sight == Sight::kInUseElsewhere ? Format("it is in use by {}", eni->instance_id)
                                            : Format("the cloud shows it as {}", eni->status),
          now);
      return false;
    case Step::kConfirm:
      entry->alone = true;
      Schedule(*entry, now);
      return false;
    case Step::kAsk:
      if (!timed_out) return Ask(*entry, now);
      break;
    case Step::kPoll:
      if (!timed_out) return Poll(*entry, now), false;
      break;
  }
  End(*entry, State::kTimeout,
      Format("the cloud shows it as {} when its time is over", eni ? eni->status : "not listed"),
      now);
  return false;
}

void TaskQueue::NotSeen(const TaskId& id, const Error& error, async::TimePoint now) {
  Entry* entry = FindEntry(id);
  if (!entry || entry->ended()) return;
  entry->error = error.message;
  Poll(*entry, now);
  if (const auto earliest = now + error.retry_after; entry->next_look_at < earliest)
    Schedule(*entry, earliest);
}

void TaskQueue::Answered(const TaskId& id, const Result<void>& answer, async::TimePoint now) {
  Entry* entry = FindEntry(id);
  if (!entry || entry->ended()) return;
  const Pace pace = PaceOf(entry->eni, entry->backend);
  if (answer) {
    ++entry->attempt;
    entry->asked_at = now;
    entry->moved = false;
    entry->looks = 0;
    entry->state = State::kRunning;
    entry->error.clear();
    if (!entry->started_at) {
      entry->started_at = now;
      if (entry->operation == Operation::kAttach) entry->deadline = now + pace.timeout;
    }
    return Schedule(*entry, now + pace.initial_delay);
  }
  const Error& error = answer.error();
  entry->error = error.message;
  const bool attaches = entry->operation == Operation::kAttach;
  switch (error.error_class) {
    case ErrorClass::kNotFound:
      if (attaches) return End(*entry, State::kFailed, error.message, now);
      return End(*entry, State::kCompleted, "", now);
    case ErrorClass::kTerminal:
      if (attaches) return End(*entry, State::kFailed, error.message, now);
      return Schedule(*entry, now + kStuck);
    case ErrorClass::kAmbiguous:
    case ErrorClass::kConflict:
      return Schedule(*entry, now + pace.initial_delay);
    case ErrorClass::kThrottled:
    case ErrorClass::kRetry:
      Poll(*entry, now);
      if (const auto earliest = now + error.retry_after; entry->next_look_at < earliest)
        Schedule(*entry, earliest);
  }
}

bool TaskQueue::IsWanted(const TaskId& id) const {
  const Entry* entry = FindEntry(id);
  return entry && !entry->ended();
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

void TaskQueue::Schedule(Entry& entry, async::TimePoint at) {
  due_.erase({entry.next_look_at, entry.eni});
  entry.next_look_at = at;
  due_.emplace(at, entry.eni);
}

void TaskQueue::Poll(Entry& entry, async::TimePoint now) {
  const auto pause = PollDelay(PaceOf(entry.eni, entry.backend), entry.looks++, options_.random());
  async::TimePoint at = now + pause;
  if (entry.deadline && now < *entry.deadline) at = std::min(at, *entry.deadline);
  Schedule(entry, at);
}

bool TaskQueue::IsOver(const Entry& entry, Sight sight, async::TimePoint now) const {
  if (sight == Sight::kMissing) return now - entry.born >= kListLag;
  const auto waited = now - entry.asked_at.value_or(entry.created_at);
  if (entry.operation == Operation::kAttach)
    return entry.asked_at && (entry.moved || waited >= kFallBack);
  return waited >= kStuck;
}

bool TaskQueue::Ask(Entry& entry, async::TimePoint now) {
  if (entry.operation == Operation::kAttach) {
    if (entry.attempt >= kMostAttaches) {
      End(entry, State::kFailed,
          Format("the cloud accepted {} attaches and gave each of them up", entry.attempt), now);
      return false;
    }
    if (!EnterNode(entry)) return false;
  }
  return true;
}

bool TaskQueue::EnterNode(Entry& entry) {
  Node& node = nodes_.at(entry.node);
  if (node.busy.contains(entry.eni)) return true;
  const std::size_t most =
      entry.backend == Backend::kEflo ? options_.eflo_attaches_of_node : options_.attaches_of_node;
  if (node.busy.size() < most) return node.busy.insert(entry.eni).second;
  node.line.push_back(entry.eni);
  return false;
}

void TaskQueue::LeaveNode(const Entry& entry) {
  Node& node = nodes_.at(entry.node);
  std::erase(node.line, entry.eni);
  if (node.busy.erase(entry.eni) == 0 || node.line.empty()) return;
  Entry& next = tasks_.at(node.line.front());
  node.line.pop_front();
  node.busy.insert(next.eni);
  Schedule(next, next.next_look_at);  // now: the look that it had may be long ago
}

void TaskQueue::End(Entry& entry, State state, std::string error, async::TimePoint now) {
  entry.state = state;
  entry.error = std::move(error);
  entry.completed_at = now;
  LeaveNode(entry);
  options_.on_ended(entry.node);
}

void TaskQueue::Forget(const std::string& eni) {
  const auto found = tasks_.find(eni);
  LeaveNode(found->second);
  due_.erase({found->second.next_look_at, eni});
  const auto node = nodes_.find(found->second.node);
  node->second.enis.erase(eni);
  if (node->second.enis.empty()) nodes_.erase(node);
  tasks_.erase(found);
}

}  // namespace berth::eni
