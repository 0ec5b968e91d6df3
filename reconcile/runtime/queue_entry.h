#pragma once

#include <cstdint>
#include <string>

#include "async/executor.h"

namespace berth::runtime {

// The lower value goes first.
enum class Priority : std::uint8_t {
  kFresh,   // something has changed: served first
  kResync,  // nothing is known to have changed: served when nothing fresh waits
};

namespace internal {

struct Link {
  Link* previous = this;
  Link* next = this;
};

// All that a work queue knows of one key. Who waits is in a list, and so is who is worked on; who
// was added again while worked on is only marked.
struct Entry : Link {
  static constexpr std::uint32_t kNotDelayed = UINT32_MAX;

  Entry* chain = nullptr;  // the next in its bucket of the table, or of those free
  std::size_t hash = 0;
  std::string key;
  async::TimePoint added;  // when it began to wait
  async::TimePoint taken;  // when it was handed out
  std::uint32_t heap_position = kNotDelayed;
  std::uint32_t failures = 0;
  bool dirty = false;  // is to be handed out, now or once it is no longer worked on
  bool processing = false;
  Priority priority = Priority::kFresh;  // it is to be handed out with
  Priority held_priority = Priority::kFresh;
  Priority delayed_priority = Priority::kFresh;

  bool delayed() const { return heap_position != kNotDelayed; }
  bool idle() const { return !dirty && !processing && !delayed() && failures == 0; }
};

// A doubly linked list of entries that it does not own. Every call is O(1).
class EntryList {
 public:
  EntryList() = default;
  EntryList(const EntryList&) = delete;
  EntryList& operator=(const EntryList&) = delete;

  bool empty() const { return ends_.next == &ends_; }
  Entry& front() const { return *static_cast<Entry*>(ends_.next); }

  void PushBack(Entry& entry) {
    entry.previous = ends_.previous;
    entry.next = &ends_;
    ends_.previous = ends_.previous->next = &entry;
    ++size_;
  }
  void Remove(Entry& entry) {
    entry.previous->next = entry.next;
    entry.next->previous = entry.previous;
    --size_;
  }
  std::size_t size() const { return size_; }

  // O(n).
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (const Link* at = ends_.next; at != &ends_; at = at->next) {
      visit(static_cast<const Entry&>(*at));
    }
  }

 private:
  Link ends_;
  std::size_t size_ = 0;
};

}  // namespace internal
}  // namespace berth::runtime
