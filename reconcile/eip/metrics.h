#pragma once

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "async/executor.h"
#include "reconcile/eip/objects.h"

namespace berth::eip {

// How many EIPs there are in which state, kept as they come, change and go: O(log n) each, and
// O(1) for Show; about 150 bytes an object. Every replica has the cache and shows the same: who
// adds replicas up counts each object that often, so take the maximum. On the control thread; the
// registry may be read from any.
class Metrics {
 public:
  explicit Metrics(prometheus::Registry& registry);

  void Put(const std::string& key, const Object& object);
  void Remove(const std::string& key);
  // Brings the age of the oldest up to date; to be called now and then.
  void Show(async::WallTime now);

 private:
  // The cloud's statuses; and statuses of our own before one is known, when the address is gone,
  // and for one that the cloud may add.
  static constexpr std::array<std::string_view, 8> kStatuses = {
      "Available", "Associating", "InUse", "Unassociating",
      "Releasing", "Pending",     "Lost",  "Other"};

  // The labels that an object was counted under: an informer's last word of it may be another.
  struct Counted {
    std::size_t status = 0;
    bool stuck = false;
    bool ready = false;
    std::int64_t since = 0;
  };

  static std::size_t StatusOf(const Object& object);
  void Count(const Counted& as, int by);

  std::array<prometheus::Gauge*, kStatuses.size()> objects_;
  prometheus::Gauge& not_ready_;
  prometheus::Gauge& oldest_;
  prometheus::Gauge& stuck_;
  std::unordered_map<std::string, Counted> counted_;
  std::multiset<std::int64_t> not_ready_since_;
};

}  // namespace berth::eip
