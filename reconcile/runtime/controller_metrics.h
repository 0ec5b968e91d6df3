#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <string>

#include "reconcile/runtime/work_queue.h"

namespace berth::runtime {

enum class ReconcileResult { kSuccess, kRequeueAfter, kError, kTerminalError, kTimeout };

// A controller's metrics and those of its work queue, under the names, labels and buckets of
// client-go and controller-runtime, so that the dashboards and alerts people have work as they are.
// The registry may be read from any thread. Every call is O(1) and allocates nothing.
class ControllerMetrics {
 public:
  ControllerMetrics(prometheus::Registry& registry, const std::string& controller,
                    std::size_t concurrency);

  void Taken(Duration waited);
  void Ended(ReconcileResult result, Duration worked);
  // The queue's present figures; call it after they have changed, and now and then while keys are
  // being processed.
  void Show(const WorkQueueStats& queue);

 private:
  // Metrics of the queue.
  prometheus::Gauge& depth_fresh_;
  prometheus::Gauge& depth_resync_;
  prometheus::Counter& adds_;
  prometheus::Counter& retries_;
  prometheus::Histogram& waited_;
  prometheus::Histogram& worked_;
  prometheus::Gauge& unfinished_;
  prometheus::Gauge& longest_;
  // Metrics of the controller.
  prometheus::Counter& success_;
  prometheus::Counter& requeue_after_;
  prometheus::Counter& error_;
  prometheus::Counter& errors_;
  prometheus::Counter& terminal_;
  prometheus::Counter& timeouts_;
  prometheus::Histogram& time_;
  prometheus::Gauge& active_;

  std::uint64_t shown_adds_ = 0;
  std::uint64_t shown_retries_ = 0;
};

}  // namespace berth::runtime
