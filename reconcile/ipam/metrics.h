#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <map>
#include <string>

#include "async/executor.h"
#include "reconcile/ipam/space.h"

namespace berth::ipam {

// The metrics of pools and claims, under the names that plexaubnet's dashboards know. Every call
// is O(log pools). The registry may be read from any thread.
class Metrics {
 public:
  enum class Trigger { kCreate, kUpdate, kDelete };

  explicit Metrics(prometheus::Registry& registry);

  // An event has put a pool's status up for recounting.
  void Requeued(Trigger trigger);
  void Began() { inflight_.Increment(); }
  void Ended(bool succeeded, async::Duration took);
  // A pool's status is up to date as of `now`.
  void Reported(const std::string& key, const Space::PoolState& state, async::WallTime now);
  // A pool is gone, and so are its series.
  void Forget(const std::string& key);
  void ForgetAll();
  void CountClaims(const std::string& phase, double count);

 private:
  struct PoolGauges {
    prometheus::Gauge* last;
    prometheus::Gauge* size;
    prometheus::Gauge* free;
  };

  prometheus::Family<prometheus::Counter>& requeues_;
  prometheus::Family<prometheus::Histogram>& durations_;
  prometheus::Family<prometheus::Gauge>& last_;
  prometheus::Family<prometheus::Gauge>& size_;
  prometheus::Family<prometheus::Gauge>& free_;
  prometheus::Family<prometheus::Gauge>& claims_;
  prometheus::Counter& created_;
  prometheus::Counter& updated_;
  prometheus::Counter& deleted_;
  prometheus::Histogram& success_;
  prometheus::Histogram& error_;
  prometheus::Gauge& inflight_;
  std::map<std::string, PoolGauges> pools_;
};

}  // namespace berth::ipam
