#include "reconcile/eni/task_runner.h"

#include <unordered_map>
#include <utility>

#include "log/format.h"

namespace berth::eni {

TaskRunner::TaskRunner(async::Executor& executor, Options options)
    : executor_(executor),
      options_(std::move(options)),
      queue_({.random = [this] { return executor_.RandomFraction(); },
              .on_ended =
                  [this](const Task& task) {
                    if (options_.on_result) options_.on_result(task);
                    options_.on_ended(task.node);
                  },
              .may_change = options_.may_change,
              .requests_at_once = options_.requests_at_once}) {}

std::uint64_t TaskRunner::Submit(TaskRequest request) {
  const std::uint64_t generation = queue_.Submit(std::move(request), executor_.Now());
  SetTimer();
  return generation;
}

void TaskRunner::Cancel(const std::string& eni) {
  queue_.Cancel(eni, executor_.Now());
  SetTimer();
}

void TaskRunner::CancelNode(const std::string& node) {
  queue_.CancelNode(node, executor_.Now());
  SetTimer();
}

Withdrawal TaskRunner::Withdraw(const std::string& eni) {
  const Task* task = queue_.Find(eni);
  const std::string node = task ? task->node : "";
  const Withdrawal withdrawal = queue_.Withdraw(eni, executor_.Now());
  SetTimer();
  // The ENI is to be given up.
  if (queue_.IsWithdrawn(eni) && !node.empty()) options_.on_ended(node);
  return withdrawal;
}

void TaskRunner::Noted(const TaskId& id) { queue_.Noted(id, executor_.Now()); }

std::vector<TaskChange> TaskRunner::TakeChanges() {
  queue_.Expire(executor_.Now());
  return queue_.TakeChanges();
}

// The timer stands at the tick after the first look that is due. With all looks under way there is
// none: the first of them that ends sets it.
void TaskRunner::SetTimer() {
  const auto due = queue_.next_look();
  if (!due || looks_ == options_.looks_at_once) {
    timer_ = {};
    timer_at_.reset();
    return;
  }
  const auto since = std::max(*due, executor_.Now()).time_since_epoch();
  const async::TimePoint at((since + kTick - async::Duration(1)) / kTick * kTick);
  if (timer_at_ == at) return;
  timer_at_ = at;
  timer_ = executor_.RunAt(at, [this] { Tick(); });
}

void TaskRunner::Tick() {
  timer_at_.reset();
  for (TaskQueue::Look& look : queue_.TakeLooks(executor_.Now(), options_.looks_at_once - looks_)) {
    ++looks_;
    Begin(Look(std::move(look)));
  }
  SetTimer();
}

void TaskRunner::Begin(async::Task<void> call) {
  std::erase_if(calls_, [](const async::Running& running) { return !running; });
  calls_.push_back(async::Start(std::move(call)));
}

async::Task<void> TaskRunner::Look(TaskQueue::Look look) {
  cloud::Enis* enis = options_.enis(look.account, look.backend);
  Result<std::vector<cloud::Eni>> answer =
      std::unexpected(Error{.error_class = ErrorClass::kRetry,
                            .message = Format("the {} of account {} cannot be reached now",
                                              Name(look.backend), look.account)});
  if (enis) {
    std::vector<std::string> ids;
    ids.reserve(look.tasks.size());
    for (const TaskId& id : look.tasks) ids.push_back(id.eni);
    answer = co_await enis->Describe(std::move(ids));
  }
  --looks_;
  std::unordered_map<std::string_view, const cloud::Eni*> found;
  if (answer) {
    for (const cloud::Eni& eni : *answer) found.emplace(eni.id, &eni);
  }
  for (const TaskId& id : look.tasks) {
    if (!answer) {
      queue_.NotSeen(id, answer.error(), executor_.Now());
      continue;
    }
    const auto eni = found.find(id.eni);
    if (queue_.Seen(id, eni == found.end() ? nullptr : eni->second, executor_.Now())) {
      ++requests_;
      Begin(Request(id));
    }
  }
  SetTimer();
}

async::Task<void> TaskRunner::Request(TaskId id) {
  const Task* task = queue_.Find(id.eni);
  const Result<void> answer = co_await Send(task, options_.enis(task->account, task->backend));
  --requests_;
  queue_.Answered(id, answer, executor_.Now());
  SetTimer();
}

// `task` is read before the first wait.
async::Task<Result<void>> TaskRunner::Send(const Task* task, cloud::Enis* enis) {
  if (!enis) {
    co_return std::unexpected(Error{.error_class = ErrorClass::kRetry,
                                    .reason = std::string(cloud::kNotSent),
                                    .message = "the cloud cannot be reached now"});
  }
  const cloud::Wanted wanted = [this, id = task->id()] { return IsWanted(id); };
  switch (task->operation) {
    case Operation::kAttach:
      co_return co_await enis->Attach(task->eni, task->instance, task->trunk, wanted);
    case Operation::kDetach:
      co_return co_await enis->Detach(task->eni, task->instance, task->trunk, wanted);
    case Operation::kDelete:
      co_return co_await enis->Delete(task->eni, wanted);
  }
  std::unreachable();
}

async::Task<bool> TaskRunner::IsWanted(TaskId id) const { co_return queue_.IsWanted(id); }

}  // namespace berth::eni
