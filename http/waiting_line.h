#pragma once

#include <set>
#include <tuple>

#include "http/call.h"

namespace berth::http {

// The calls to a Peer that may not start yet, in the order they will: those `ahead` first, the
// others as they came. Holds no call itself. O(log n).
class WaitingLine {
 public:
  bool empty() const { return by_turn_.empty(); }
  Call& first() const { return **by_turn_.begin(); }
  // The one whose deadline comes first.
  Call& most_urgent() const { return **by_deadline_.begin(); }

  void Add(Call& call) {
    by_turn_.insert(&call);
    by_deadline_.insert(&call);
  }
  // Nothing happens to a call that does not wait.
  void Remove(Call& call) {
    by_turn_.erase(&call);
    by_deadline_.erase(&call);
  }

 private:
  struct ByTurn {
    bool operator()(const Call* a, const Call* b) const {
      return std::tuple(!a->options.ahead, a->id) < std::tuple(!b->options.ahead, b->id);
    }
  };
  struct ByDeadline {
    bool operator()(const Call* a, const Call* b) const {
      return std::tuple(a->deadline, a->id) < std::tuple(b->deadline, b->id);
    }
  };
  std::set<Call*, ByTurn> by_turn_;
  std::set<Call*, ByDeadline> by_deadline_;
};

}  // namespace berth::http
