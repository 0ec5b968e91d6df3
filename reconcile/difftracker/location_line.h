#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "async/executor.h"
#include "http/error.h"
#include "reconcile/difftracker/address_table.h"

namespace berth::difftracker {

// One request about locations: all are read, or some are written.
struct LocationWork {
  std::uint64_t generation = 0;
  bool read = false;
  std::vector<cloud::LocationUpdate> updates;  // of a write
};

// The requests about locations, one at a time: writes of what differs, and reads. After a write
// whose outcome is not known nothing is written before a read. A write that the cloud refuses is
// halved until the address that it does not take is alone; that one is parked.
class LocationLine {
 public:
  // This many refused addresses in a row of one request park the rest of it: they are many, or it
  // is not for a single one. The rest comes again first, so that every round finds others.
  static constexpr int kMostRefused = 8;
  static constexpr async::Duration kRestPause = std::chrono::minutes(2);
  static constexpr async::Duration kLongestReadPause = std::chrono::minutes(1);

  struct Options {
    std::function<double()> random;
    std::size_t addresses_of_request = cloud::ServiceGateway::kMostAddresses;
    async::Duration sync_pause = std::chrono::seconds(1);
    async::Duration drift_interval = std::chrono::minutes(10);
  };

  LocationLine(Options options, AddressTable& table);

  void Start(async::TimePoint now);
  // The next request, if none is under way and one is due. O(its addresses).
  std::optional<LocationWork> Take(async::TimePoint now);
  void Synced(std::uint64_t generation, const Result<void>& result, async::TimePoint now);
  // True if the mirror was replaced. O(all).
  bool Read(std::uint64_t generation, const Result<std::vector<cloud::Location>>& locations,
            async::TimePoint now);
  void RequestRead() { read_requested_ = true; }
  bool reading() const { return under_way_ == UnderWay::kRead; }
  std::optional<async::TimePoint> next_wake(async::TimePoint now) const;

  std::string Dump(async::TimePoint now) const;
  std::uint64_t bisects() const { return bisects_; }
  std::uint64_t drift_found() const { return drift_found_; }

 private:
  enum class UnderWay : std::uint8_t { kNothing, kSync, kRead };

  bool ReadIsDue(async::TimePoint now) const;
  LocationWork BeginRead(async::TimePoint now);
  std::optional<LocationWork> BeginSync(std::vector<cloud::LocationUpdate> updates,
                                        async::TimePoint now);
  void Refused(const Error& error, async::TimePoint now);
  void BackOff(const Error& error, async::TimePoint now);

  const Options options_;
  AddressTable& table_;
  UnderWay under_way_ = UnderWay::kNothing;
  std::uint64_t generation_ = 0;
  std::vector<AddressTable::Part> parts_;  // of a refused request, the next one last
  int refused_ = 0;                        // addresses in a row
  int failures_ = 0;                       // in a row
  bool must_read_ = false;                 // before the next write
  bool read_requested_ = false;
  bool last_was_sync_ = false;
  async::TimePoint began_;
  async::TimePoint not_before_;  // a request of any kind
  async::TimePoint sync_at_;
  async::TimePoint read_at_;
  async::TimePoint drift_at_;
  std::uint64_t bisects_ = 0;
  std::uint64_t drift_found_ = 0;
};

}  // namespace berth::difftracker
