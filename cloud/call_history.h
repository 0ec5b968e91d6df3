#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/call_log.h"

namespace berth::cloud {

// Totals and latest calls of one action.
struct ActionHistory {
  std::string action;
  std::uint64_t calls = 0;
  std::uint64_t errors = 0;                    // the throttled ones among them
  std::uint64_t throttled = 0;                 // by the cloud
  std::map<std::string, std::uint64_t> codes;  // how often each code was the answer
  std::deque<CallRecord> recent;               // the newest last
  std::optional<CallRecord> last_error;        // also when it is no longer recent

  // The median of the recent calls that were sent; zero when there was none. O(kRecent).
  async::Duration Latency() const;
};

// This process's calls to clouds: totals and the latest calls of every action, and metrics.
// Bounded: beyond kMostActions, and beyond kMostCodes of one of them, everything counts as kOther;
// texts are cut. A call costs O(log n). Of the control thread; the registry may be read from any.
class CallHistory : public CallObserver {
 public:
  static constexpr std::size_t kMostActions = 64;
  static constexpr std::size_t kMostCodes = 32;
  static constexpr std::size_t kRecent = 20;
  static constexpr std::string_view kOther = "Other";

  // Without a registry there are no metrics; one that is given outlives this.
  explicit CallHistory(prometheus::Registry* registry = nullptr);

  void Called(const CallRecord& call) override;

  // The actions that were called since this was last asked, by name.
  std::vector<const ActionHistory*> TakeDirty();
  // None for an action that was never called. Good as long as this.
  const ActionHistory* Find(std::string_view action) const;

 private:
  struct Entry {
    ActionHistory history;
    prometheus::Histogram* duration = nullptr;
    prometheus::Histogram* turn_wait = nullptr;
    prometheus::Counter* throttled = nullptr;
  };

  Entry& EntryOf(const std::string& action);
  void Count(Entry& entry, const CallRecord& call);

  std::map<std::string, Entry, std::less<>> actions_;
  std::set<std::string, std::less<>> dirty_;
  prometheus::Family<prometheus::Counter>* calls_ = nullptr;
  prometheus::Family<prometheus::Histogram>* durations_ = nullptr;
  prometheus::Family<prometheus::Counter>* throttles_ = nullptr;
  prometheus::Family<prometheus::Histogram>* turn_waits_ = nullptr;
};

}  // namespace berth::cloud
