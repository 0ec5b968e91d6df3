#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "reconcile/difftracker/engine.h"

namespace berth::difftracker {

// The metrics of DiffTracker, with the names and labels of cloud-provider-azure where it has them.
// Only the leading replica has any services. On the control thread; the registry may be read from
// any.
class Metrics {
 public:
  static constexpr std::size_t kMostCodes = 64;  // of errors; others count as "Other"

  explicit Metrics(prometheus::Registry& registry);

  // The gauges of the moment, to be called now and then; null while this replica does not lead:
  // then all are 0. O(services).
  void Show(const Engine* engine, async::TimePoint now);

  void Began(const Operation& operation, async::TimePoint now);
  void Ended(const Operation& operation, const Result<void>& result, async::TimePoint now);
  // The service is not tracked any more.
  void Forgotten(const std::string& service) { begun_.erase(service); }
  void Synced(async::Duration took);
  void FinalizerRecovered() { finalizers_.Increment(); }
  void Parked(std::string_view reason);
  // No replica's work goes on: nothing is under way.
  void Clear() { begun_.clear(); }

 private:
  struct Begun {
    OperationKind kind;
    async::TimePoint when;  // of the first try
  };

  std::string CodeOf(const Error& error);

  prometheus::Family<prometheus::Gauge>& pending_;
  prometheus::Family<prometheus::Gauge>& oldest_;
  prometheus::Family<prometheus::Counter>& operations_;
  prometheus::Family<prometheus::Histogram>& durations_;
  prometheus::Family<prometheus::Histogram>& retries_;
  prometheus::Family<prometheus::Gauge>& tracked_;
  prometheus::Family<prometheus::Counter>& parked_;
  prometheus::Family<prometheus::Gauge>& buffered_;
  prometheus::Gauge& pending_deletions_;
  prometheus::Gauge& blocked_;
  prometheus::Gauge& locations_;
  prometheus::Gauge& addresses_;
  prometheus::Counter& orphans_;
  prometheus::Counter& finalizers_;
  prometheus::Histogram& sync_seconds_;
  prometheus::Counter& bisects_;
  prometheus::Counter& drift_;
  std::uint64_t shown_bisects_ = 0;
  std::uint64_t shown_drift_ = 0;
  const Engine* shown_ = nullptr;
  std::set<std::string> codes_;
  std::map<std::string, Begun> begun_;  // operations that have not succeeded, by service
};

}  // namespace berth::difftracker
