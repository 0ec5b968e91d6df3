#include "reconcile/sandbox/metrics.h"

#include <array>
#include <set>

namespace berth::sandbox {
namespace {

const prometheus::Histogram::BucketBoundaries kSeconds = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 35};

constexpr std::array kPhases = {Phase::kPending, Phase::kBound,   Phase::kRunning,    Phase::kLost,
                                Phase::kFailed,  Phase::kExpired, Phase::kTerminating};

}  // namespace

Metrics::Metrics(prometheus::Registry& registry)
    : phases_(prometheus::BuildGauge()
                  .Name("berth_sandbox_phase")
                  .Help("Sandboxes, by phase.")
                  .Register(registry)),
      slots_(prometheus::BuildGauge()
                 .Name("berth_sandbox_slots")
                 .Help("Slots of agents, by pool and state: bound, reserved, draining, free.")
                 .Register(registry)),
      unstamped_(prometheus::BuildCounter()
                     .Name("berth_sandbox_unstamped_total")
                     .Help("Sandboxes that were admitted without a reservation, by reason.")
                     .Register(registry)),
      calls_(prometheus::BuildHistogram()
                 .Name("berth_sandbox_agent_call_seconds")
                 .Help("Calls to agents, by call and result.")
                 .Register(registry)),
      orphans_(prometheus::BuildCounter()
                   .Name("berth_sandbox_orphans_total")
                   .Help("Containers that no Sandbox claimed and that were deleted.")
                   .Register(registry)
                   .Add({})) {}

void Metrics::Show(const kube::Informer<Sandbox>& sandboxes, const Registry* slots) {
  std::map<Phase, int> counts;
  sandboxes.ForEach(
      [&counts](const std::string&, const Sandbox& sandbox) { ++counts[sandbox.status.phase]; });
  for (const Phase phase : kPhases) {
    phases_.Add({{"phase", std::string(ToString(phase))}}).Set(counts[phase]);
  }
  const Registry none;
  ShowSlots(slots ? *slots : none);
}

void Metrics::ShowSlots(const Registry& slots) {
  std::set<std::pair<std::string, std::string>> present;
  for (const auto& [ns, name] : slots.Pools()) {
    const SlotCounts counts = slots.CountsOf(ns, name);
    const std::string pool = ns + "/" + name;
    const auto show = [&](const char* state, std::size_t number) {
      auto& gauge = shown_[{pool, state}];
      if (!gauge) gauge = &slots_.Add({{"pool", pool}, {"state", state}});
      gauge->Set(static_cast<double>(number));
      present.emplace(pool, state);
    };
    show("bound", counts.bound);
    show("reserved", counts.reserved);
    show("draining", counts.draining);
    show("free", counts.free);
  }
  std::erase_if(shown_, [&](const auto& entry) {
    if (present.contains(entry.first)) return false;
    slots_.Remove(entry.second);
    return true;
  });
}

void Metrics::Unstamped(std::string_view reason) {
  unstamped_.Add({{"reason", std::string(reason)}}).Increment();
}

void Metrics::Called(std::string_view call, bool success, async::Duration took) {
  calls_.Add({{"call", std::string(call)}, {"success", success ? "true" : "false"}}, kSeconds)
      .Observe(std::chrono::duration<double>(took).count());
}

async::Task<Result<void>> TimedAgents::Create(cloud::AgentAddress agent,
                                              cloud::SandboxRequest request) {
  const auto begun = executor_.Now();
  auto result = co_await agents_.Create(std::move(agent), std::move(request));
  if (metrics_) metrics_->Called("create", result.has_value(), executor_.Now() - begun);
  co_return result;
}

async::Task<Result<void>> TimedAgents::Delete(cloud::AgentAddress agent, std::string sandbox_id) {
  const auto begun = executor_.Now();
  auto result = co_await agents_.Delete(std::move(agent), std::move(sandbox_id));
  if (metrics_) metrics_->Called("delete", result.has_value(), executor_.Now() - begun);
  co_return result;
}

async::Task<Result<cloud::AgentStatus>> TimedAgents::Status(cloud::AgentAddress agent) {
  const auto begun = executor_.Now();
  auto result = co_await agents_.Status(std::move(agent));
  if (metrics_) metrics_->Called("status", result.has_value(), executor_.Now() - begun);
  co_return result;
}

}  // namespace berth::sandbox
