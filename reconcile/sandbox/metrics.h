#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "cloud/sandbox_agent.h"
#include "kube/informer.h"
#include "reconcile/sandbox/objects.h"
#include "reconcile/sandbox/registry.h"

namespace berth::sandbox {

// The metrics of sandboxes. Slots are those of the leading replica. On the control thread; the
// registry may be read from any.
class Metrics {
 public:
  explicit Metrics(prometheus::Registry& registry);

  // The gauges of the moment, to be called now and then; null while this replica does not lead.
  // O(sandboxes + agents).
  void Show(const kube::Informer<Sandbox>& sandboxes, const Registry* slots);

  void Orphaned() { orphans_.Increment(); }
  // No stamp was given to a create: "NotLeading", or why there was no slot.
  void Unstamped(std::string_view reason);
  void Called(std::string_view call, bool success, async::Duration took);

 private:
  void ShowSlots(const Registry& slots);

  prometheus::Family<prometheus::Gauge>& phases_;
  prometheus::Family<prometheus::Gauge>& slots_;
  prometheus::Family<prometheus::Counter>& unstamped_;
  prometheus::Family<prometheus::Histogram>& calls_;
  prometheus::Counter& orphans_;
  // By pool and state; those of pools that are gone are removed.
  std::map<std::pair<std::string, std::string>, prometheus::Gauge*> shown_;
};

// Agents whose calls are timed. Of the control thread.
class TimedAgents : public cloud::SandboxAgents {
 public:
  // Without metrics it only passes calls on. Both outlive it.
  TimedAgents(async::Executor& executor, cloud::SandboxAgents& agents, Metrics* metrics)
      : executor_(executor), agents_(agents), metrics_(metrics) {}

  async::Task<Result<void>> Create(cloud::AgentAddress agent,
                                   cloud::SandboxRequest request) override;
  async::Task<Result<void>> Delete(cloud::AgentAddress agent, std::string sandbox_id) override;
  async::Task<Result<cloud::AgentStatus>> Status(cloud::AgentAddress agent) override;

 private:
  async::Executor& executor_;
  cloud::SandboxAgents& agents_;
  Metrics* metrics_;
};

}  // namespace berth::sandbox
