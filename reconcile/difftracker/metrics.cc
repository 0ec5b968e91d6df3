#include "reconcile/difftracker/metrics.h"

#include <algorithm>

namespace berth::difftracker {
namespace {

using Seconds = std::chrono::duration<double>;

const prometheus::Histogram::BucketBoundaries kSeconds = {0.5, 1,  2,   5,   10,  20,
                                                          30,  60, 120, 300, 600, 1800};
const prometheus::Histogram::BucketBoundaries kTries = {0, 1, 2, 3, 5, 10, 20, 50};

constexpr std::array<Direction, 2> kDirections = {Direction::kInbound, Direction::kOutbound};

std::string TypeOf(Direction direction) {
  return direction == Direction::kInbound ? "inbound" : "outbound";
}

std::string KindOf(OperationKind kind) { return std::string(ToString(kind)); }

auto& GaugesOf(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

auto& CountersOf(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

auto& HistogramsOf(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

bool IsPending(State state) { return state != State::kCreated; }

}  // namespace

Metrics::Metrics(prometheus::Registry& registry)
    : pending_(GaugesOf(registry, "difftracker_engine_pending_service_operations",
                        "Services whose operation has not ended, by state and type.")),
      oldest_(GaugesOf(registry, "difftracker_engine_pending_operation_oldest_age_seconds",
                       "For how long the oldest of them has been in its state.")),
      operations_(CountersOf(registry, "difftracker_engine_service_operations_total",
                             "Operations that have ended, by result and the cloud's code.")),
      durations_(HistogramsOf(registry, "difftracker_engine_service_operation_duration_seconds",
                              "From the first try of an operation to its success.")),
      retries_(HistogramsOf(registry, "difftracker_engine_service_operation_retries",
                            "Tries of an operation before the one that succeeded.")),
      tracked_(GaugesOf(registry, "difftracker_engine_tracked_services_total",
                        "Services that are tracked, by state.")),
      parked_(CountersOf(registry, "difftracker_engine_service_operations_parked_total",
                         "Services parked, by reason.")),
      buffered_(GaugesOf(registry, "difftracker_engine_buffered_updates",
                         "Addresses of services that cannot take them yet, by kind.")),
      pending_deletions_(GaugesOf(registry, "difftracker_engine_pending_deletions",
                                  "Services that wait for their addresses to leave the locations.")
                             .Add({})),
      blocked_(GaugesOf(registry, "difftracker_engine_services_blocked_by_locations",
                        "Deletions that addresses in locations hold up.")
                   .Add({})),
      locations_(GaugesOf(registry, "difftracker_engine_locations_total",
                          "Locations in the gateway, as last read or synced.")
                     .Add({})),
      addresses_(GaugesOf(registry, "difftracker_engine_addresses_total",
                          "Addresses in the gateway's locations, as last read or synced.")
                     .Add({})),
      orphans_(CountersOf(registry, "difftracker_engine_orphaned_resources_cleaned_total",
                          "Services deleted whose object was gone before this process knew it.")
                   .Add({})),
      finalizers_(CountersOf(registry, "difftracker_engine_finalizers_recovered_total",
                             "Finalizers that were missing from a tracked object, or left behind.")
                      .Add({})),
      sync_seconds_(HistogramsOf(registry, "difftracker_engine_location_sync_duration_seconds",
                                 "Duration of requests that update locations.")
                        .Add({}, kSeconds)),
      bisects_(CountersOf(registry, "difftracker_engine_batch_bisects_total",
                          "Location requests that were split to find a refused entry.")
                   .Add({})),
      drift_(CountersOf(registry, "difftracker_engine_drift_found_total",
                        "Addresses that a read showed other than expected.")
                 .Add({})) {}

void Metrics::Show(const Engine* engine, async::TimePoint now) {
  std::array<std::array<std::size_t, kStates>, 2> counts{};
  std::array<std::array<double, kStates>, 2> ages{};
  std::array<std::size_t, 2> buffered{};
  const Engine::Totals totals = engine ? engine->totals() : Engine::Totals{};
  if (engine) {
    engine->ForEachService([&](const ServiceView& view) {
      const auto direction = static_cast<std::size_t>(view.direction);
      const auto state = static_cast<std::size_t>(view.state);
      ++counts[direction][state];
      buffered[direction] += view.buffered;
      auto& age = ages[direction][state];
      age = std::max(age, Seconds(now - view.state_since).count());
    });
  }
  for (std::size_t i = 0; i < kStates; ++i) {
    const auto state = static_cast<State>(i);
    const std::string name(ToString(state));
    tracked_.Add({{"state", name}}).Set(static_cast<double>(counts[0][i] + counts[1][i]));
    if (!IsPending(state)) continue;
    for (const Direction direction : kDirections) {
      const auto at = static_cast<std::size_t>(direction);
      const prometheus::Labels labels = {{"state", name}, {"service_type", TypeOf(direction)}};
      pending_.Add(labels).Set(static_cast<double>(counts[at][i]));
      oldest_.Add(labels).Set(ages[at][i]);
    }
  }
  buffered_.Add({{"kind", "endpoints"}}).Set(static_cast<double>(buffered[0]));
  buffered_.Add({{"kind", "pods"}}).Set(static_cast<double>(buffered[1]));
  pending_deletions_.Set(
      static_cast<double>(totals.services[static_cast<std::size_t>(State::kDeletionPending)]));
  blocked_.Set(static_cast<double>(totals.blocked_by_locations));
  locations_.Set(static_cast<double>(totals.locations));
  addresses_.Set(static_cast<double>(totals.addresses));
  if (engine != shown_) shown_bisects_ = shown_drift_ = 0;
  shown_ = engine;
  bisects_.Increment(static_cast<double>(totals.bisects - shown_bisects_));
  drift_.Increment(static_cast<double>(totals.drift_found - shown_drift_));
  shown_bisects_ = totals.bisects;
  shown_drift_ = totals.drift_found;
}

void Metrics::Began(const Operation& operation, async::TimePoint now) {
  const auto [begun, is_new] = begun_.try_emplace(operation.id.service, Begun{operation.kind, now});
  if (!is_new && begun->second.kind != operation.kind) begun->second = {operation.kind, now};
}

std::string Metrics::CodeOf(const Error& error) {
  std::string code = error.reason.empty() ? std::to_string(error.code) : error.reason;
  if (codes_.size() >= kMostCodes && !codes_.contains(code)) return "Other";
  codes_.insert(code);
  return code;
}

void Metrics::Ended(const Operation& operation, const Result<void>& result, async::TimePoint now) {
  const std::string code = result ? "" : CodeOf(result.error());
  operations_
      .Add({{"operation", KindOf(operation.kind)},
            {"service_type", TypeOf(operation.direction)},
            {"result", result ? "success" : "error"},
            {"error_code", code},
            {"is_orphan", operation.orphan ? "true" : "false"}})
      .Increment();
  if (!result) return;
  const prometheus::Labels labels = {{"operation", KindOf(operation.kind)},
                                     {"service_type", TypeOf(operation.direction)}};
  const auto begun = begun_.find(operation.id.service);
  if (begun != begun_.end()) {
    durations_.Add(labels, kSeconds).Observe(Seconds(now - begun->second.when).count());
    begun_.erase(begun);
  }
  retries_.Add(labels, kTries).Observe(operation.attempt - 1);
  if (operation.orphan && operation.kind == OperationKind::kDelete) orphans_.Increment();
}

void Metrics::Synced(async::Duration took) { sync_seconds_.Observe(Seconds(took).count()); }

void Metrics::Parked(std::string_view reason) {
  parked_.Add({{"reason", std::string(reason)}}).Increment();
}

}  // namespace berth::difftracker
