// The life of a task: looks, requests, its end.
#include <algorithm>
#include <utility>

#include "log/format.h"
#include "reconcile/eni/task_queue.h"

namespace berth::eni {
namespace {

// The request ID that an error of the cloud ends with; empty for none.
std::string RequestIdOf(const Error& error) {
  constexpr std::string_view kBegin = " (request ID ";
  const auto at = error.message.rfind(kBegin);
  if (at == std::string::npos || !error.message.ends_with(')')) return {};
  const auto id = at + kBegin.size();
  return error.message.substr(id, error.message.size() - id - 1);
}

std::string_view ReasonOf(Sight sight) {
  switch (sight) {
    case Sight::kInUseElsewhere:
      return reason::kInUseElsewhere;
    case Sight::kInUseHere:
      return reason::kInUse;
    case Sight::kMissing:
      return reason::kGone;
    default:
      return reason::kBroken;
  }
}

std::string FailureOf(Sight sight, const cloud::Eni* eni) {
  if (sight == Sight::kMissing) return "the cloud has no such ENI";
  if (sight == Sight::kInUseElsewhere) return Format("it is in use by {}", eni->instance_id);
  return Format("the cloud shows it as {}", eni->status);
}

}  // namespace

std::optional<async::TimePoint> TaskQueue::next_look() const {
  return due_.empty() ? std::nullopt : std::optional(due_.begin()->first);
}

std::vector<TaskQueue::Look> TaskQueue::TakeLooks(async::TimePoint now, std::size_t most) {
  std::vector<Look> looks;
  std::map<std::pair<std::string_view, Backend>, std::size_t> open;  // indexes of looks with room
  while (!due_.empty() && due_.begin()->first <= now) {
    Entry& entry = *running_.at(due_.begin()->second);
    const std::pair key(std::string_view(entry.account), entry.backend);
    const auto fitting = entry.alone ? open.end() : open.find(key);
    if (fitting == open.end() && looks.size() == most) break;
    due_.erase(due_.begin());
    entry.next_look_at.reset();
    if (fitting != open.end()) {
      Look& look = looks[fitting->second];
      look.tasks.push_back(entry.id());
      if (look.tasks.size() == kMostLooks) open.erase(fitting);
      continue;
    }
    if (!entry.alone) open.emplace(key, looks.size());
    looks.push_back({entry.account, entry.backend, entry.alone, {entry.id()}});
  }
  return looks;
}

bool TaskQueue::Seen(const TaskId& id, const cloud::Eni* eni, async::TimePoint now) {
  Entry* entry = FindEntry(id);
  if (!entry || entry->ended()) return false;
  Touch(id.eni);
  const Sight sight = eni ? SightOf(eni->status, eni->instance_id, entry->instance)
                          : SightOf(std::nullopt, "", entry->instance);
  entry->cloud_status = eni ? eni->status : "";
  entry->reason.clear();
  const bool confirmed = std::exchange(entry->alone, false) && sight == Sight::kMissing;
  const Step step = confirmed ? DecideAbsent(entry->operation)
                              : Decide(entry->operation, sight, entry->asked_at.has_value(),
                                       IsOver(*entry, sight, now));
  if (sight == Sight::kMoving && entry->asked_at) entry->moved = true;
  if (!entry->asked_at) FollowOthers(*entry, sight, now);
  switch (step) {
    case Step::kComplete:
      return Complete(*entry, eni, now), false;
    case Step::kFail:
      return End(*entry, State::kFailed, ReasonOf(sight), FailureOf(sight, eni), now), false;
    case Step::kConfirm:
      entry->alone = true;
      return Schedule(*entry, now), false;
    case Step::kAsk:
    case Step::kPoll:
      break;
  }
  if (entry->deadline && now >= *entry->deadline) {
    End(*entry, State::kTimeout, reason::kDeadline,
        Format("the cloud shows it as {} when its time is over", eni ? eni->status : "not listed"),
        now);
    return false;
  }
  if (step == Step::kAsk) {
    if (eni && options_.may_change && !options_.may_change(*entry, *eni)) {
      End(*entry, State::kFailed, reason::kNotOurs,
          "its tags say that it is not this Node's to change", now);
      return false;
    }
    return Ask(*entry, now);
  }
  Leave(RequestsLike(*entry), id.generation, now);
  return Poll(*entry, now), false;
}

void TaskQueue::FollowOthers(Entry& entry, Sight sight, async::TimePoint now) {
  const bool moves = sight == Sight::kMoving;
  if (entry.operation != Operation::kAttach || moves == entry.deadline.has_value()) return;
  Gate& attaches = nodes_.at(entry.node).attaches;
  if (moves) {
    entry.deadline = now + PaceOf(entry.eni, entry.backend).timeout;
    attaches.Occupy(entry.generation);
  } else {
    entry.deadline.reset();
    Leave(attaches, entry.generation, now);
  }
  SetState(entry, moves ? State::kRunning : State::kPending);
}

void TaskQueue::NotSeen(const TaskId& id, const Error& error, async::TimePoint now) {
  Entry* entry = FindEntry(id);
  if (!entry || entry->ended()) return;
  SetError(*entry, error);
  Leave(RequestsLike(*entry), id.generation, now);
  Poll(*entry, now, error.retry_after);
}

void TaskQueue::Answered(const TaskId& id, const Result<void>& answer, async::TimePoint now) {
  // A task that was cancelled meanwhile is gone, but not its request.
  for (Gate& gate : requests_) Leave(gate, id.generation, now);
  Entry* entry = FindEntry(id);
  if (!entry || entry->ended()) return;
  entry->sending = false;
  if (!answer) return Refused(*entry, answer.error(), now);
  entry->bound = false;
  Accepted(*entry, now);
  Schedule(*entry, now + PaceOf(id.eni, entry->backend).initial_delay);
}

void TaskQueue::Accepted(Entry& entry, async::TimePoint at) {
  ++entry.attempt;
  entry.asked_at = at;
  entry.unsure = false;
  entry.moved = false;
  entry.looks = 0;
  entry.reason.clear();
  entry.error.clear();
  SetState(entry, State::kRunning);
  if (entry.operation == Operation::kAttach)
    nodes_.at(entry.node).attaches.Occupy(entry.generation);
  if (entry.started_at) return;
  entry.started_at = at;
  if (entry.operation == Operation::kAttach)
    entry.deadline = at + PaceOf(entry.eni, entry.backend).timeout;
}

void TaskQueue::Refused(Entry& entry, const Error& error, async::TimePoint now) {
  SetError(entry, error);
  const bool attaches = entry.operation == Operation::kAttach;
  switch (error.error_class) {
    case ErrorClass::kNotFound:
      if (!attaches) return Complete(entry, nullptr, now);
      return End(entry, State::kFailed, entry.reason, error.message, now);
    case ErrorClass::kTerminal:
      if (!attaches) return Schedule(entry, now + kStuck);
      return End(entry, State::kFailed, entry.reason, error.message, now);
    case ErrorClass::kAmbiguous:
      entry.unsure = true;
      [[fallthrough]];
    case ErrorClass::kConflict:
      return Poll(entry, now, PaceOf(entry.eni, entry.backend).initial_delay);
    case ErrorClass::kThrottled:
    case ErrorClass::kRetry:
      return Poll(entry, now, error.retry_after);
  }
}

bool TaskQueue::IsWanted(const TaskId& id) const {
  const Entry* entry = FindEntry(id);
  return entry && !entry->ended();
}

void TaskQueue::SetError(Entry& entry, const Error& error) {
  entry.reason = error.reason.empty() ? std::string(reason::kUnreachable) : error.reason;
  entry.error = error.message;
  if (std::string id = RequestIdOf(error); !id.empty()) entry.request_id = std::move(id);
}

void TaskQueue::Schedule(Entry& entry, async::TimePoint at) {
  if (entry.next_look_at) due_.erase({*entry.next_look_at, entry.generation});
  entry.next_look_at = at;
  due_.emplace(at, entry.generation);
  Touch(entry.eni);
}

void TaskQueue::Poll(Entry& entry, async::TimePoint now, async::Duration least) {
  const auto pause = PollDelay(PaceOf(entry.eni, entry.backend), entry.looks++, options_.random());
  async::TimePoint at = now + std::max(pause, least);
  if (entry.deadline && now < *entry.deadline) at = std::min(at, *entry.deadline);
  Schedule(entry, at);
}

bool TaskQueue::IsOver(const Entry& entry, Sight sight, async::TimePoint now) const {
  if (sight == Sight::kMissing) {
    const bool deleted = entry.operation == Operation::kDelete && entry.asked_at;
    return deleted || now - entry.born >= kListLag;
  }
  const auto waited = now - entry.asked_at.value_or(entry.created_at);
  if (entry.operation == Operation::kAttach)
    return entry.asked_at && (entry.moved || (!entry.bound && waited >= kFallBack));
  return waited >= kStuck;
}

bool TaskQueue::Ask(Entry& entry, async::TimePoint now) {
  if (entry.operation == Operation::kAttach) {
    if (entry.attempt >= kMostAttaches) {
      End(entry, State::kFailed, reason::kGivenUp,
          Format("the cloud accepted {} attaches and gave each of them up", entry.attempt), now);
      return false;
    }
    if (!nodes_.at(entry.node).attaches.Enter(entry.generation)) {
      entry.reason = reason::kNodeBusy;
      Leave(RequestsLike(entry), entry.generation, now);
      return false;
    }
  }
  entry.sending = RequestsLike(entry).Enter(entry.generation);
  if (!entry.sending) entry.reason = reason::kNoTurn;
  return entry.sending;
}

Gate& TaskQueue::RequestsLike(const Entry& entry) {
  return requests_[static_cast<std::size_t>(entry.backend) * kOperations +
                   static_cast<std::size_t>(entry.operation)];
}

void TaskQueue::Leave(Gate& gate, std::uint64_t generation, async::TimePoint now) {
  if (const auto next = gate.Leave(generation)) Schedule(*running_.at(*next), now);
}

void TaskQueue::LeaveGates(const Entry& entry, async::TimePoint now) {
  Leave(nodes_.at(entry.node).attaches, entry.generation, now);
  if (!entry.sending) Leave(RequestsLike(entry), entry.generation, now);
}

void TaskQueue::Complete(Entry& entry, const cloud::Eni* eni, async::TimePoint now) {
  if (eni) entry.result = *eni;
  End(entry, State::kCompleted, "", "", now);
}

void TaskQueue::End(Entry& entry, State state, std::string_view reason, std::string error,
                    async::TimePoint now) {
  SetState(entry, state);
  entry.reason = std::string(reason);
  entry.error = std::move(error);
  entry.completed_at = now;
  running_.erase(entry.generation);
  LeaveGates(entry, now);
  Touch(entry.eni);
  options_.on_ended(entry);
}

}  // namespace berth::eni
