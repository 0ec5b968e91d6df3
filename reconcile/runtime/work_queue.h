#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

// The work queue every controller reads its keys from, with client-go's semantics: a key waits once
// however often it is added, is never handed out twice at a time, and is handed out again if it was
// added while it was being worked on. Plain and synchronous: no clock, no lock, no thread; the
// caller passes the time and calls from one thread.
namespace berth::runtime {

using TimePoint = std::chrono::steady_clock::time_point;

struct BackOff {
  std::chrono::milliseconds base{50};
  std::chrono::milliseconds max{30'000};
  double factor = 1.5;
};

struct WorkQueueStats {
  std::size_t depth = 0;       // ready to be taken
  std::size_t processing = 0;  // taken and not done
  std::size_t delayed = 0;     // waiting for their time
  std::uint64_t adds = 0;
  std::uint64_t retries = 0;
  std::optional<TimePoint> oldest;  // when the longest waiting ready key became ready
};

class WorkQueue {
 public:
  explicit WorkQueue(std::string name, BackOff back_off = {})
      : name_(std::move(name)), back_off_(back_off) {}

  const std::string& name() const { return name_; }

  // O(1) amortised.
  void Add(const std::string& key, TimePoint now);

  // Ready at `now + delay`; the earliest of several delays for one key counts. O(log n).
  void AddAfter(const std::string& key, TimePoint now, std::chrono::milliseconds delay);

  // After a failure: delayed by base × factor^failures, at most max. O(log n).
  void AddRateLimited(const std::string& key, TimePoint now);

  // Ends a key's failure history. O(1).
  void Forget(const std::string& key) { failures_.erase(key); }

  // The next ready key, now being processed until Done; none when nothing is ready. O(log n) for
  // delayed keys come due.
  std::optional<std::string> Get(TimePoint now);

  // Every key from Get is owed one Done. O(1) amortised.
  void Done(const std::string& key, TimePoint now);

  // When the next delayed key becomes ready. O(1).
  std::optional<TimePoint> NextDue() const;

  WorkQueueStats Stats() const;

 private:
  struct State {
    bool dirty = false;  // waits in ready_, or was added again while processing
    bool processing = false;
  };
  struct Ready {
    std::string key;
    TimePoint since;
  };

  void PromoteDue(TimePoint now);
  void Enqueue(const std::string& key, TimePoint since);

  std::string name_;
  BackOff back_off_;
  std::deque<Ready> ready_;
  std::unordered_map<std::string, State> states_;
  std::multimap<TimePoint, std::string> delayed_;
  std::unordered_map<std::string, std::multimap<TimePoint, std::string>::iterator> delayed_by_key_;
  std::unordered_map<std::string, int> failures_;
  std::size_t processing_ = 0;
  std::uint64_t adds_ = 0;
  std::uint64_t retries_ = 0;
};

}  // namespace berth::runtime
