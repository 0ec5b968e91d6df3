#include "reconcile/ipam/metrics.h"

#include <cmath>

namespace berth::ipam {
namespace {

const prometheus::Histogram::BucketBoundaries kBuckets = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 90};

double Amount(Address addresses) { return static_cast<double>(addresses); }

}  // namespace

Metrics::Metrics(prometheus::Registry& registry)
    : requeues_(prometheus::BuildCounter()
                    .Name("subnetpool_parent_requeue_total")
                    .Help("Pools whose status was put up for recounting, by the kind of event.")
                    .Register(registry)),
      durations_(prometheus::BuildHistogram()
                     .Name("subnetpool_parent_reconcile_duration_seconds")
                     .Help("How long reconciles of a pool's status took, by result.")
                     .Register(registry)),
      last_(prometheus::BuildGauge()
                .Name("subnetpool_parent_status_last_timestamp_seconds")
                .Help("When a pool's status was last found or brought up to date, as Unix time.")
                .Register(registry)),
      size_(prometheus::BuildGauge()
                .Name("berth_ipam_pool_addresses")
                .Help("Addresses in a pool's range.")
                .Register(registry)),
      free_(prometheus::BuildGauge()
                .Name("berth_ipam_pool_free_addresses")
                .Help("Addresses of a pool that can be given out: not held by Subnets, child pools "
                      "or reservations, and not excluded.")
                .Register(registry)),
      claims_(prometheus::BuildGauge()
                  .Name("berth_ipam_claims")
                  .Help("SubnetClaims, by phase.")
                  .Register(registry)),
      created_(requeues_.Add({{"event_type", "create"}})),
      updated_(requeues_.Add({{"event_type", "update"}})),
      deleted_(requeues_.Add({{"event_type", "delete"}})),
      success_(durations_.Add({{"result", "success"}}, kBuckets)),
      error_(durations_.Add({{"result", "error"}}, kBuckets)),
      inflight_(prometheus::BuildGauge()
                    .Name("subnetpool_parent_reconcile_inflight")
                    .Help("Reconciles of a pool's status under way.")
                    .Register(registry)
                    .Add({})) {}

void Metrics::Requeued(Trigger trigger) {
  switch (trigger) {
    case Trigger::kCreate:
      return created_.Increment();
    case Trigger::kUpdate:
      return updated_.Increment();
    case Trigger::kDelete:
      return deleted_.Increment();
  }
}

void Metrics::Ended(bool succeeded, async::Duration took) {
  inflight_.Decrement();
  (succeeded ? success_ : error_).Observe(std::chrono::duration<double>(took).count());
}

void Metrics::Reported(const std::string& key, const Space::PoolState& state, async::WallTime now) {
  auto [found, fresh] = pools_.try_emplace(key);
  PoolGauges& gauges = found->second;
  if (fresh) {
    const prometheus::Labels labels = {{"ns", state.pool.id.ns}, {"name", state.pool.id.name}};
    gauges = {&last_.Add(labels), &size_.Add(labels), &free_.Add(labels)};
  }
  gauges.last->Set(std::chrono::duration<double>(now.time_since_epoch()).count());
  if (!state.rules) return;
  const int bits = Width(state.rules->range.family()) - state.rules->range.prefix();
  gauges.size->Set(std::ldexp(1.0, bits));
  gauges.free->Set(Amount(state.space->FreeAddresses()));
}

void Metrics::Forget(const std::string& key) {
  const auto found = pools_.extract(key);
  if (!found) return;
  last_.Remove(found.mapped().last);
  size_.Remove(found.mapped().size);
  free_.Remove(found.mapped().free);
}

void Metrics::ForgetAll() {
  while (!pools_.empty()) Forget(std::string(pools_.begin()->first));
}

void Metrics::CountClaims(const std::string& phase, double count) {
  claims_.Add({{"phase", phase}}).Set(count);
}

}  // namespace berth::ipam
