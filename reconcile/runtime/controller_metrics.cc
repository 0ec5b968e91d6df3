#include "reconcile/runtime/controller_metrics.h"

#include <chrono>
#include <utility>

namespace berth::runtime {
namespace {

using prometheus::Histogram;
using prometheus::Labels;

const Histogram::BucketBoundaries kQueueBuckets = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
                                                   1e-2, 1e-1, 1,    10,   100,  1000};
const Histogram::BucketBoundaries kReconcileBuckets = {
    0.005, 0.01, 0.025, 0.05, 0.1,  0.15, 0.2,  0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6,
    0.7,   0.8,  0.9,   1.0,  1.25, 1.5,  1.75, 2.0,  2.5, 3.0,  3.5, 4.0,  4.5, 5,
    6,     7,    8,     9,    10,   15,   20,   25,   30,  40,   50,  60};

prometheus::Gauge& MakeGauge(prometheus::Registry& registry, const char* name, const char* help,
                             const Labels& labels) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
}

prometheus::Counter& MakeCounter(prometheus::Registry& registry, const char* name, const char* help,
                                 const Labels& labels) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
}

Histogram& MakeHistogram(prometheus::Registry& registry, const char* name, const char* help,
                         const Labels& labels, const Histogram::BucketBoundaries& buckets) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(labels, buckets);
}

// The queue has the controller's name, and its series carry it twice, as controller-runtime's do.
Labels OfQueue(const std::string& name) { return {{"name", name}, {"controller", name}}; }

// controller-runtime's number for a priority: that of its own resyncs is -100.
Labels OfPriority(const std::string& name, const char* priority) {
  return {{"name", name}, {"controller", name}, {"priority", priority}};
}

prometheus::Gauge& Depth(prometheus::Registry& registry, const Labels& labels) {
  return MakeGauge(registry, "workqueue_depth", "Keys that are ready and wait to be taken", labels);
}

prometheus::Counter& Total(prometheus::Registry& registry, const std::string& controller,
                           const char* result) {
  return MakeCounter(registry, "controller_runtime_reconcile_total", "Reconciles by their result",
                     {{"controller", controller}, {"result", result}});
}

double Seconds(Duration time) { return std::chrono::duration<double>(time).count(); }

// A counter outlives its controller and is taken up by the next of that name, which counts from 0.
void Raise(prometheus::Counter& counter, std::uint64_t& shown, std::uint64_t value) {
  counter.Increment(static_cast<double>(value - std::exchange(shown, value)));
}

}  // namespace

ControllerMetrics::ControllerMetrics(prometheus::Registry& registry, const std::string& controller,
                                     std::size_t concurrency)
    : depth_fresh_(Depth(registry, OfPriority(controller, "0"))),
      depth_resync_(Depth(registry, OfPriority(controller, "-100"))),
      adds_(MakeCounter(registry, "workqueue_adds_total", "Keys added, each once while it waits",
                        OfQueue(controller))),
      retries_(
          MakeCounter(registry, "workqueue_retries_total",
                      "Keys added for a later time, after a failure or because it was asked for",
                      OfQueue(controller))),
      waited_(MakeHistogram(registry, "workqueue_queue_duration_seconds",
                            "How long keys waited until they were taken", OfQueue(controller),
                            kQueueBuckets)),
      worked_(MakeHistogram(registry, "workqueue_work_duration_seconds",
                            "How long keys were worked on", OfQueue(controller), kQueueBuckets)),
      unfinished_(MakeGauge(registry, "workqueue_unfinished_work_seconds",
                            "How long the keys being worked on have been, added up",
                            OfQueue(controller))),
      longest_(MakeGauge(registry, "workqueue_longest_running_processor_seconds",
                         "How long the first of the keys being worked on has been",
                         OfQueue(controller))),
      success_(Total(registry, controller, "success")),
      requeue_after_(Total(registry, controller, "requeue_after")),
      error_(Total(registry, controller, "error")),
      errors_(MakeCounter(registry, "controller_runtime_reconcile_errors_total",
                          "Reconciles that failed", {{"controller", controller}})),
      terminal_(MakeCounter(registry, "controller_runtime_terminal_reconcile_errors_total",
                            "Reconciles that failed and were not tried again",
                            {{"controller", controller}})),
      timeouts_(MakeCounter(registry, "controller_runtime_reconcile_timeouts_total",
                            "Reconciles given up at their deadline", {{"controller", controller}})),
      time_(MakeHistogram(registry, "controller_runtime_reconcile_time_seconds",
                          "How long reconciles took", {{"controller", controller}},
                          kReconcileBuckets)),
      active_(MakeGauge(registry, "controller_runtime_active_workers", "Reconciles under way",
                        {{"controller", controller}})) {
  // Never counted up, and there all the same: upstream's series for reconciles that ask to come
  // again at once, which cannot be asked for here.
  Total(registry, controller, "requeue");
  MakeGauge(registry, "controller_runtime_max_concurrent_reconciles",
            "Reconciles that may be under way at once", {{"controller", controller}})
      .Set(static_cast<double>(concurrency));
}

void ControllerMetrics::Taken(Duration waited) { waited_.Observe(Seconds(waited)); }

void ControllerMetrics::Ended(ReconcileResult result, Duration worked) {
  worked_.Observe(Seconds(worked));
  time_.Observe(Seconds(worked));
  if (result == ReconcileResult::kSuccess) return success_.Increment();
  if (result == ReconcileResult::kRequeueAfter) return requeue_after_.Increment();
  error_.Increment();
  errors_.Increment();
  if (result == ReconcileResult::kTerminalError) terminal_.Increment();
  if (result == ReconcileResult::kTimeout) timeouts_.Increment();
}

void ControllerMetrics::Show(const WorkQueueStats& queue) {
  depth_fresh_.Set(static_cast<double>(queue.depth - queue.resync));
  depth_resync_.Set(static_cast<double>(queue.resync));
  Raise(adds_, shown_adds_, queue.adds);
  Raise(retries_, shown_retries_, queue.delays);
  unfinished_.Set(Seconds(queue.unfinished));
  longest_.Set(Seconds(queue.longest));
  active_.Set(static_cast<double>(queue.processing));
}

}  // namespace berth::runtime
