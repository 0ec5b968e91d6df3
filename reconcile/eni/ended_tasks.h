#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "reconcile/eni/task_record.h"

namespace berth::eni {

// Tasks that have ended and are only shown, the latest of each ENI: for so long, and no more than
// so many, the latest. O(log n).
class EndedTasks {
 public:
  EndedTasks(async::Duration shown, std::size_t most) : shown_(shown), most_(most) {}

  // Without its result. The ENIs whose task had to go for it.
  std::vector<std::string> Add(Task task, async::TimePoint now);
  // Whether there was one.
  bool Remove(const std::string& eni) { return tasks_.erase(eni) > 0; }
  // The ENIs whose task is not shown any longer.
  std::vector<std::string> Expire(async::TimePoint now);
  // Null for none.
  const Task* Find(const std::string& eni) const;
  std::size_t size() const { return tasks_.size(); }

 private:
  struct Added {
    async::TimePoint at;
    TaskId id;
  };
  void DropFirst(std::vector<std::string>& dropped);

  const async::Duration shown_;
  const std::size_t most_;
  std::map<std::string, Task> tasks_;
  std::deque<Added> order_;  // also those that were removed or replaced since
};

}  // namespace berth::eni
