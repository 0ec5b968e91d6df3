#include "reconcile/difftracker/location_line.h"

#include <algorithm>
#include <utility>

#include "reconcile/difftracker/pause.h"

namespace berth::difftracker {

LocationLine::LocationLine(Options options, AddressTable& table)
    : options_(std::move(options)), table_(table) {}

void LocationLine::Start(async::TimePoint now) {
  not_before_ = sync_at_ = read_at_ = now;
  drift_at_ = now + options_.drift_interval;
  read_requested_ = false;
}

bool LocationLine::ReadIsDue(async::TimePoint now) const {
  return must_read_ || (read_requested_ && now >= read_at_) || now >= drift_at_;
}

std::optional<LocationWork> LocationLine::Take(async::TimePoint now) {
  table_.Unpark(now);
  if (under_way_ != UnderWay::kNothing || now < not_before_) return std::nullopt;
  if (must_read_) return BeginRead(now);
  while (!parts_.empty()) {
    const AddressTable::Part part = std::move(parts_.back());
    parts_.pop_back();
    if (auto work = BeginSync(table_.BuildPart(part), now)) return work;
  }
  // Reads and writes take turns when both are due.
  if (ReadIsDue(now) && last_was_sync_) return BeginRead(now);
  if (table_.HasPending() && now >= sync_at_) {
    refused_ = 0;
    if (auto work = BeginSync(table_.Build(options_.addresses_of_request), now)) return work;
  }
  if (ReadIsDue(now)) return BeginRead(now);
  return std::nullopt;
}

LocationWork LocationLine::BeginRead(async::TimePoint now) {
  under_way_ = UnderWay::kRead;
  began_ = now;
  read_requested_ = false;
  last_was_sync_ = false;
  drift_at_ = now + options_.drift_interval;
  return {.generation = ++generation_, .read = true, .updates = {}};
}

std::optional<LocationWork> LocationLine::BeginSync(std::vector<cloud::LocationUpdate> updates,
                                                    async::TimePoint now) {
  if (updates.empty()) return std::nullopt;
  under_way_ = UnderWay::kSync;
  sync_at_ = now + options_.sync_pause;
  last_was_sync_ = true;
  return LocationWork{.generation = ++generation_, .read = false, .updates = std::move(updates)};
}

void LocationLine::Synced(std::uint64_t generation, const Result<void>& result,
                          async::TimePoint now) {
  if (under_way_ != UnderWay::kSync || generation != generation_) return;
  under_way_ = UnderWay::kNothing;
  if (result) {
    failures_ = 0;
    refused_ = 0;
    return table_.Confirm(now);
  }
  const Error& error = result.error();
  if (error.error_class == ErrorClass::kAmbiguous) {
    table_.Doubt(error.message);
    parts_.clear();
    must_read_ = true;
    return BackOff(error, now);
  }
  const bool passes = cloud::IsQuota(error) || cloud::IsForbidden(error);
  if (error.error_class == ErrorClass::kTerminal && !passes) return Refused(error, now);
  table_.Abandon(error.message);
  BackOff(error, now);
}

void LocationLine::Refused(const Error& error, async::TimePoint now) {
  AddressTable::Part part = table_.Changes();
  table_.Abandon(error.message);
  if (part.empty()) return;
  if (part.size() > 1) {
    const auto middle = part.begin() + static_cast<std::ptrdiff_t>(part.size() / 2);
    parts_.emplace_back(middle, part.end());
    parts_.emplace_back(part.begin(), middle);
    ++bisects_;
    return;
  }
  // Refused addresses do not come back together, nor with the rest.
  const auto pause =
      std::chrono::duration_cast<async::Duration>(kParkPause * (1.2 + 0.6 * options_.random()));
  table_.Park(part, now + pause, error.message);
  if (++refused_ < kMostRefused) return;
  for (const AddressTable::Part& rest : std::exchange(parts_, {})) {
    table_.Park(rest, now + kRestPause, error.message);
  }
}

void LocationLine::BackOff(const Error& error, async::TimePoint now) {
  const bool passes = cloud::IsQuota(error) || cloud::IsForbidden(error);
  const async::Duration pause = passes ? kParkPause : PauseAfter(++failures_, options_.random());
  not_before_ = now + std::max<async::Duration>(pause, error.retry_after);
}

bool LocationLine::Read(std::uint64_t generation,
                        const Result<std::vector<cloud::Location>>& locations,
                        async::TimePoint now) {
  if (under_way_ != UnderWay::kRead || generation != generation_) return false;
  under_way_ = UnderWay::kNothing;
  if (!locations) {
    read_requested_ = true;
    BackOff(locations.error(), now);
    return false;
  }
  failures_ = 0;
  must_read_ = false;
  // A tenth of the time is enough for reads.
  read_at_ = now + std::clamp((now - began_) * 9, options_.sync_pause, kLongestReadPause);
  drift_found_ += table_.Replace(*locations);
  return true;
}

std::optional<async::TimePoint> LocationLine::next_wake(async::TimePoint now) const {
  std::optional<async::TimePoint> wake = table_.next_unpark();
  if (under_way_ != UnderWay::kNothing) return wake;
  async::TimePoint next = drift_at_;
  if (read_requested_) next = std::min(next, read_at_);
  if (table_.HasPending()) next = std::min(next, sync_at_);
  if (must_read_ || !parts_.empty()) next = now;
  next = std::max(next, not_before_);
  return wake ? std::min(*wake, next) : next;
}

}  // namespace berth::difftracker
