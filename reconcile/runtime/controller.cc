#include "reconcile/runtime/controller.h"

#include <algorithm>
#include <utility>

#include "log/log.h"

namespace berth::runtime {
namespace {

// Often enough for a scrape to see how long reconciles under way have been running; client-go's.
constexpr Duration kMetricsPeriod = std::chrono::milliseconds(500);

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Controller::Controller(async::Executor& executor, Options options, Reconcile reconcile)
    : executor_(executor),
      options_(std::move(options)),
      reconcile_(std::move(reconcile)),
      queue_(options_.name, options_.back_off, options_.retry_rate) {
  if (options_.registry) {
    metrics_.emplace(*options_.registry, options_.name, options_.concurrency);
  }
}

void Controller::Add(std::string_view key) {
  queue_.Add(key, executor_.Now());
  Wake();
}

void Controller::AddResync(std::string_view key) {
  queue_.Add(key, executor_.Now(), Priority::kResync);
  Wake();
}

void Controller::AddAfter(std::string_view key, Duration delay) {
  queue_.AddAfter(key, executor_.Now(), delay);
  Wake();
}

void Controller::Start() {
  started_ = true;
  Wake();
}

void Controller::Stop() {
  started_ = false;
  for (const Worker& worker : std::exchange(workers_, {})) {
    queue_.Add(worker.item.key(), executor_.Now(), worker.item.priority());
    queue_.Done(worker.item);
  }
  Wake();
}

// The work itself waits for its turn, so that adding a key never runs a reconcile inside the
// caller, and a thousand adds wake it once.
void Controller::Wake() {
  if (std::exchange(woken_, true)) return;
  wake_ = executor_.RunAfter({}, [this] {
    woken_ = false;
    Work();
  });
}

void Controller::Work() {
  while (started_ && workers_.size() < options_.concurrency) {
    const auto item = queue_.Get(executor_.Now());
    if (!item) break;
    Begin(*item);
  }
  if (metrics_) metrics_->Show(queue_.Stats(executor_.Now()));
  if (const auto next = NextWork()) {
    timer_ = executor_.RunAt(*next, [this] { Work(); });
  } else {
    timer_ = {};
  }
}

// None when only an add or the end of a reconcile can bring work.
std::optional<TimePoint> Controller::NextWork() const {
  std::optional<TimePoint> next;
  if (started_ && workers_.size() < options_.concurrency) next = queue_.NextDue();
  if (metrics_ && !workers_.empty()) {
    const TimePoint show = executor_.Now() + kMetricsPeriod;
    next = std::min(next.value_or(show), show);
  }
  return next;
}

void Controller::Begin(WorkQueue::Item item) {
  if (metrics_) metrics_->Taken(item.waited());
  const auto worker = workers_.emplace(workers_.end(), item, async::Running());
  // Process ends in a turn of its own, never before Start returns.
  worker->task = async::Start(Process(item), [this, worker] {
    workers_.erase(worker);
    Wake();
  });
}

async::Task<void> Controller::Process(WorkQueue::Item item) {
  const Outcome outcome =
      co_await async::Within(executor_, options_.deadline, reconcile_(item.key()));
  Finish(item, outcome);
}

void Controller::Finish(WorkQueue::Item item, const Outcome& outcome) {
  const ReconcileResult result = !outcome   ? TimeOut(item)
                                 : *outcome ? Succeed(item, **outcome)
                                            : Fail(item, outcome->error());
  if (metrics_) metrics_->Ended(result, executor_.Now() - item.taken());
  queue_.Done(item);
}

ReconcileResult Controller::Succeed(WorkQueue::Item item, const Requeue& requeue) {
  ++counts_.succeeded;
  queue_.Forget(item);
  if (requeue.after <= Duration::zero()) return ReconcileResult::kSuccess;
  queue_.AddAfter(item.key(), executor_.Now(), requeue.after, item.priority());
  return ReconcileResult::kRequeueAfter;
}

ReconcileResult Controller::Fail(WorkQueue::Item item, const kube::Error& error) {
  ++counts_.failed;
  if (error.error_class == kube::ErrorClass::kTerminal) {
    ++counts_.terminal;
    log::Write(item.failures() == 0 ? log::Level::kError : log::Level::kDebug,
               "reconcile refused; tried again in a minute, or when the object changes",
               {{"controller", name()}, {"key", item.key()}, {"error", error.message}});
    queue_.AddRateLimited(item, executor_.Now(), kRetryTerminal);
    return ReconcileResult::kTerminalError;
  }
  // A conflict is how concurrent writers find out about each other: nothing to be told of.
  const bool usual = error.error_class == kube::ErrorClass::kConflict;
  log::Write(usual ? log::Level::kDebug : log::Level::kWarn, "reconcile failed; tried again",
             {{"controller", name()},
              {"key", item.key()},
              {"failures", item.failures() + 1},
              {"error", error.message}});
  queue_.AddRateLimited(item, executor_.Now(),
                        std::min<Duration>(error.retry_after, kLongestRetryAfter));
  return ReconcileResult::kError;
}

ReconcileResult Controller::TimeOut(WorkQueue::Item item) {
  ++counts_.failed;
  ++counts_.timed_out;
  log::Warn("reconcile past its deadline: given up, tried again",
            {{"controller", name()},
             {"key", item.key()},
             {"failures", item.failures() + 1},
             {"deadlineSeconds", Seconds(options_.deadline)}});
  queue_.AddRateLimited(item, executor_.Now());
  return ReconcileResult::kTimeout;
}

ControllerStats Controller::Stats() const {
  ControllerStats stats = counts_;
  stats.queue = queue_.Stats(executor_.Now());
  return stats;
}

}  // namespace berth::runtime
