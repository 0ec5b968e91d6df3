#include "reconcile/eip/metrics.h"

#include <algorithm>
#include <chrono>

namespace berth::eip {
namespace {

prometheus::Gauge& MakeGauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

// Somebody has to act before its address can go, or nothing will.
bool IsStuck(const Object& object) {
  return object.id.deleting != 0 && !object.told_reason.empty() && !object.told_progressing;
}

// An object nobody has looked at yet has not been ready since it was made.
std::int64_t Since(const Object& object) {
  return object.told_since != 0 ? object.told_since : object.id.created;
}

}  // namespace

Metrics::Metrics(prometheus::Registry& registry)
    : not_ready_(MakeGauge(registry, "berth_eip_not_ready", "EIPs that are not Ready.")),
      oldest_(MakeGauge(registry, "berth_eip_oldest_not_ready_seconds",
                        "For how long the EIP that has longest not been Ready has not been; 0 when "
                        "all are.")),
      stuck_(
          MakeGauge(registry, "berth_eip_releases_stuck",
                    "EIPs being deleted whose address cannot be released until somebody acts.")) {
  auto& objects = prometheus::BuildGauge()
                      .Name("berth_eip_objects")
                      .Help(
                          "EIPs, by the status of their address in the cloud; Pending when it "
                          "has none yet, Lost when it is gone.")
                      .Register(registry);
  std::ranges::transform(kStatuses, objects_.begin(), [&](std::string_view status) {
    return &objects.Add({{"status", std::string(status)}});
  });
}

std::size_t Metrics::StatusOf(const Object& object) {
  std::string_view status = object.cloud_status;
  if (status.empty()) status = "Pending";
  if (object.told_reason == "Lost") status = "Lost";
  const auto found = std::ranges::find(kStatuses, status);
  return found == kStatuses.end() ? kStatuses.size() - 1
                                  : static_cast<std::size_t>(found - kStatuses.begin());
}

void Metrics::Put(const std::string& key, const Object& object) {
  Remove(key);
  const Counted as{.status = StatusOf(object),
                   .stuck = IsStuck(object),
                   .ready = object.told_ready,
                   .since = Since(object)};
  counted_.emplace(key, as);
  Count(as, 1);
  if (!as.ready) not_ready_since_.insert(as.since);
}

void Metrics::Remove(const std::string& key) {
  const auto found = counted_.extract(key);
  if (!found) return;
  const Counted& as = found.mapped();
  Count(as, -1);
  if (!as.ready) not_ready_since_.erase(not_ready_since_.find(as.since));
}

void Metrics::Count(const Counted& as, int by) {
  objects_[as.status]->Increment(by);
  if (as.stuck) stuck_.Increment(by);
  if (!as.ready) not_ready_.Increment(by);
}

void Metrics::Show(async::WallTime now) {
  if (not_ready_since_.empty()) return oldest_.Set(0);
  const auto date = std::chrono::duration<double>(now.time_since_epoch()).count();
  oldest_.Set(std::max(date - static_cast<double>(*not_ready_since_.begin()), 0.0));
}

}  // namespace berth::eip
