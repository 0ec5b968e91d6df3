#pragma once

#include <cstdint>
#include <vector>

#include "async/executor.h"
#include "reconcile/runtime/queue_entry.h"

namespace berth::runtime::internal {

// The entries of a work queue that wait for their time, the earliest first, and of those due at the
// same time the one that came first. An entry knows its place, so that it can be moved forward.
class DelayHeap {
 public:
  bool empty() const { return nodes_.empty(); }
  std::size_t size() const { return nodes_.size(); }
  // The time of the first entry; there must be one. O(1).
  async::TimePoint due() const { return nodes_.front().due; }

  // An entry that waits already keeps the earlier time. O(log n).
  void Add(Entry& entry, async::TimePoint due);
  // The first, no longer delayed. O(log n).
  Entry& Pop();

 private:
  struct Node {
    async::TimePoint due;
    std::uint64_t order;
    Entry* entry;
    bool operator<(const Node& other) const {
      return due != other.due ? due < other.due : order < other.order;
    }
  };

  void Place(std::size_t position, const Node& node);
  void MoveUp(std::size_t position, const Node& node);
  void MoveDown(const Node& node);

  std::vector<Node> nodes_;
  std::uint64_t last_order_ = 0;
};

}  // namespace berth::runtime::internal
