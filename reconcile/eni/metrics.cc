#include "reconcile/eni/metrics.h"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace berth::eni {
namespace {

using Seconds = std::chrono::duration<double>;

const prometheus::Histogram::BucketBoundaries kAttachSeconds = {1,  3,  5,   10,  20,
                                                                30, 60, 120, 180, 300};

prometheus::Gauge& MakeGauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

// In Terway's words.
const char* ResultOf(const Task& task) {
  if (task.state == State::kTimeout) return "timeout";
  return task.state == State::kCompleted ? "success" : "failed";
}

const char* TypeOf(std::string_view eni) {
  if (eni.starts_with("leni-")) return "eflo";
  return eni.starts_with("hdeni-") ? "hdeni" : "ecs";
}

}  // namespace

Metrics::Metrics(prometheus::Registry& registry)
    : attaches_(prometheus::BuildHistogram()
                    .Name("terway_eni_attach_duration_seconds")
                    .Help("Duration of ENI attaches from their submission to their end, by result "
                          "and type of the ENI.")
                    .Register(registry)),
      oldest_(MakeGauge(registry, "berth_eni_oldest_task_seconds",
                        "For how long the oldest task that has not ended has been there; 0 when "
                        "there is none.")),
      not_ready_(MakeGauge(registry, "berth_eni_nodes_not_ready",
                           "Nodes of network.alibabacloud.com that are not Ready.")),
      leaked_(prometheus::BuildCounter()
                  .Name("berth_eni_leaked_total")
                  .Help("ENIs of ours that no Node knew of and that were collected.")
                  .Register(registry)
                  .Add({})) {
  auto& tasks = prometheus::BuildGauge()
                    .Name("terway_eni_task_queue_size")
                    .Help("ENI tasks whose end no Node has yet, by status.")
                    .Register(registry);
  for (std::size_t i = 0; i < kStates; ++i)
    tasks_[i] = &tasks.Add({{"status", std::string(Name(static_cast<State>(i)))}});
}

void Metrics::Show(const TaskQueue* queue, async::TimePoint now) {
  for (std::size_t i = 0; i < kStates; ++i)
    tasks_[i]->Set(queue ? static_cast<double>(queue->counts()[i]) : 0);
  const auto oldest = queue ? queue->oldest() : std::nullopt;
  oldest_.Set(oldest ? std::max(Seconds(now - *oldest).count(), 0.0) : 0);
}

void Metrics::Ended(const Task& task) {
  if (task.operation != Operation::kAttach || !task.completed_at) return;
  attaches_.Add({{"result", ResultOf(task)}, {"eni_type", TypeOf(task.eni)}}, kAttachSeconds)
      .Observe(Seconds(*task.completed_at - task.created_at).count());
}

void Metrics::PutNode(const std::string& name, bool ready) {
  const auto [node, added] = nodes_.try_emplace(name, true);
  if (node->second == ready) return;
  node->second = ready;
  not_ready_.Increment(ready ? -1 : 1);
}

void Metrics::RemoveNode(const std::string& name) {
  const auto node = nodes_.extract(name);
  if (node && !node.mapped()) not_ready_.Decrement();
}

}  // namespace berth::eni
