#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "async/executor.h"
#include "async/token_bucket.h"
#include "reconcile/runtime/delay_heap.h"
#include "reconcile/runtime/entry_table.h"
#include "reconcile/runtime/queue_entry.h"

namespace berth::runtime {

using async::Duration;
using async::TimePoint;

// How long a key waits after it failed: base × factor^(failures before), at most max.
struct BackOff {
  Duration base = std::chrono::milliseconds(50);
  Duration max = std::chrono::seconds(30);
  double factor = 1.5;
};

// How often keys come again after failures, all together: one each interval, `burst` at once.
struct RetryRate {
  Duration interval = std::chrono::milliseconds(100);
  int burst = 100;
};

struct WorkQueueStats {
  std::size_t depth = 0;            // ready to be taken
  std::size_t resync = 0;           // of these, only because of a resync
  std::size_t processing = 0;       // taken and not done
  std::size_t delayed = 0;          // waiting for their time
  std::uint64_t adds = 0;           // a key that waited already is not counted again
  std::uint64_t retries = 0;        // after a failure
  std::uint64_t delays = 0;         // for a later time, retries among them
  std::optional<TimePoint> oldest;  // since when the next key, of either priority, has waited
  Duration unfinished{};            // how long the keys being processed have been, added up
  Duration longest{};               // how long the first of them has been
};

// The work queue every controller takes its keys from, with client-go's semantics: a key waits once
// however often it is added, is never handed out twice at a time, and is handed out again if it was
// added while it was worked on. Of two priorities, fresh keys go first, in the order they came;
// resync keys are served when no fresh one waits, however long that takes.
// Plain and synchronous: no clock, no lock, no thread; the caller passes the time. It knows a key
// while it waits, is worked on, is delayed or has failures. Its memory is that of the most keys
// known at one time; once warm, nothing allocates.
class WorkQueue {
 public:
  // A key that was handed out. Copied freely; good until it is given to Done.
  class Item {
   public:
    const std::string& key() const { return entry_->key; }
    Priority priority() const { return entry_->held_priority; }
    std::uint32_t failures() const { return entry_->failures; }
    // When it was handed out, and how long it had waited then since it was added or came due.
    TimePoint taken() const { return entry_->taken; }
    Duration waited() const { return waited_; }

   private:
    friend class WorkQueue;
    Item(internal::Entry& entry, Duration waited) : entry_(&entry), waited_(waited) {}
    internal::Entry* entry_;
    Duration waited_;
  };

  explicit WorkQueue(std::string name, BackOff back_off = {}, RetryRate retry_rate = {})
      : name_(std::move(name)),
        back_off_(back_off),
        bucket_(retry_rate.interval, retry_rate.burst) {}

  const std::string& name() const { return name_; }

  // A key that waits for a resync and is added fresh joins the fresh ones, last. O(1) amortised.
  void Add(std::string_view key, TimePoint now, Priority priority = Priority::kFresh) {
    MarkDirty(entries_.At(key), now, priority);
  }

  // Adds the key at `now + delay`. Of several delays for one key the earliest counts, and of their
  // priorities the higher. A key added in the meantime comes again at its time. O(log n).
  void AddAfter(std::string_view key, TimePoint now, Duration delay,
                Priority priority = Priority::kFresh);

  // The next key, being worked on until Done; none when nothing is ready. O(1), and O(log n) for
  // each delayed key that has come due.
  std::optional<Item> Get(TimePoint now);

  // The functions below are for the item's holder; every item is owed one Done, its last use. O(1).
  void Done(Item item);

  // After a failure: adds the key, with the priority it had, after the longest of its back-off, the
  // time all keys' retries together allow, and `at_least`. O(log n).
  void AddRateLimited(Item item, TimePoint now, Duration at_least = {});

  // After a success: the next failure is the first again. O(1).
  void Forget(Item item) { item.entry_->failures = 0; }

  // When the next delayed key becomes ready. O(1).
  std::optional<TimePoint> NextDue() const;

  // O(processing).
  WorkQueueStats Stats(TimePoint now) const;
  // How many keys are known. O(1).
  std::size_t size() const { return entries_.size(); }

 private:
  using Entry = internal::Entry;
  using EntryList = internal::EntryList;

  EntryList& Waiting(Priority priority) { return priority == Priority::kFresh ? fresh_ : resync_; }
  void MarkDirty(Entry& entry, TimePoint now, Priority priority);
  void Delay(Entry& entry, TimePoint now, Duration delay, Priority priority);
  void PromoteDue(TimePoint now);

  const std::string name_;
  const BackOff back_off_;
  async::TokenBucket bucket_;
  internal::EntryTable entries_;
  internal::DelayHeap delayed_;
  EntryList fresh_;
  EntryList resync_;
  EntryList processing_;  // in the order they were taken
  std::uint64_t adds_ = 0;
  std::uint64_t retries_ = 0;
  std::uint64_t delays_ = 0;
};

}  // namespace berth::runtime
