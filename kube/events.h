#pragma once

#include <prometheus/registry.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "async/executor.h"
#include "async/task.h"
#include "async/token_bucket.h"
#include "json/json.h"
#include "kube/error.h"
#include "kube/lru_map.h"
#include "kube/transport.h"

namespace berth::kube {

// The object of an event. With its uid an event belongs to this very object, not to a later one of
// the same name.
struct ObjectReference {
  std::string api_version;
  std::string kind;
  std::string ns;  // empty for a cluster-wide object
  std::string name;
  std::string uid;
};

enum class EventType { kNormal, kWarning };

// Tells people what happened to an object: `kubectl describe` shows it. Events are a courtesy:
// Record never waits, never fails and never slows the work down. One call at a time goes to the API
// server; what it cannot be told within about two minutes, what comes too fast and what still waits
// when the recorder ends is dropped. The same event again within kWindow counts up the first one's
// series, which is written at most once every kUpdateInterval. On the executor's thread only.
class EventRecorder {
 public:
  static constexpr async::Duration kWindow = std::chrono::minutes(10);
  static constexpr async::Duration kUpdateInterval = std::chrono::minutes(1);
  // New events of one object: so many at once, then one each interval, as client-go's.
  static constexpr int kBurst = 25;
  static constexpr async::Duration kInterval = std::chrono::minutes(5);
  static constexpr std::size_t kMaxWaiting = 1000;  // to be written
  static constexpr std::size_t kMaxKnown = 4096;    // events, and objects, that are remembered
  static constexpr std::size_t kMaxNote = 1024;     // bytes
  static constexpr int kMaxTries = 8;

  struct Options {
    std::string controller;                    // who reports, as in "berth.dev/eip"
    std::string instance;                      // which one of them: the pod's name
    prometheus::Registry* registry = nullptr;  // for the metrics, none without one
  };
  struct Stats {
    std::uint64_t created = 0;
    std::uint64_t updated = 0;  // written again with a higher count
    std::uint64_t dropped = 0;
  };

  // `transport` outlives the recorder.
  EventRecorder(async::Executor& executor, Transport& transport, Options options);
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  // `reason` is why, as in "AddressBound", and `action` what was done or tried, as in "Bind": words
  // of the program. `note` is the sentence people read; what is over kMaxNote is cut. O(log n).
  void Record(const ObjectReference& regarding, EventType type, std::string_view reason,
              std::string_view action, std::string_view note);

  const Stats& stats() const { return stats_; }

 private:
  struct Event;
  using EventPtr = std::shared_ptr<Event>;

  EventPtr Make(const ObjectReference& regarding, Json what) const;
  bool MayCreate(const ObjectReference& regarding);
  void Repeat(const EventPtr& event);
  void Schedule(const EventPtr& event, async::TimePoint when);

  async::Task<void> Run();
  EventPtr TakeDue();
  async::Task<void> Write(EventPtr event);
  void Written(const EventPtr& event, int count);
  void Failed(const EventPtr& event, const Error& error);
  void GiveUp(const Event& event, const Error& error);
  void Count(std::uint64_t& count, const char* result);

  async::Executor& executor_;
  Transport& transport_;
  const Options options_;
  LruMap<EventPtr> known_{kMaxKnown};
  LruMap<async::TokenBucket> buckets_{kMaxKnown};
  std::map<std::pair<async::TimePoint, std::uint64_t>, EventPtr> waiting_;  // by when, then order
  std::uint64_t last_order_ = 0;
  Stats stats_;
  async::Signal signal_;
  async::Handle timer_;
  async::Running running_;
};

}  // namespace berth::kube
