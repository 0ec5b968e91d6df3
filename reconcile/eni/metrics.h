#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <cstddef>
#include <string>
#include <unordered_map>

#include "async/executor.h"
#include "reconcile/eni/task_queue.h"

namespace berth::eni {

// The metrics of the ENI system. Those of tasks have Terway's names and labels. Only the leading
// replica has tasks; all have the nodes, so take the maximum over replicas. On the control thread;
// the registry may be read from any.
class Metrics {
 public:
  explicit Metrics(prometheus::Registry& registry);

  // The tasks of the moment, to be called now and then; null while this replica does not lead: then
  // there are none. O(1).
  void Show(const TaskQueue* queue, async::TimePoint now);
  // A task that has ended: for TaskRunner::Options::on_result.
  void Ended(const Task& task);
  // A Node of ours as it is now, or that it is gone. O(1).
  void PutNode(const std::string& name, bool ready);
  void RemoveNode(const std::string& name);
  // ENIs of ours that no Node knew of were collected.
  void Leaked(std::size_t enis) { leaked_.Increment(static_cast<double>(enis)); }

 private:
  std::array<prometheus::Gauge*, kStates> tasks_;
  prometheus::Family<prometheus::Histogram>& attaches_;
  prometheus::Gauge& oldest_;
  prometheus::Gauge& not_ready_;
  prometheus::Counter& leaked_;
  std::unordered_map<std::string, bool> nodes_;  // whether they are ready
};

}  // namespace berth::eni
