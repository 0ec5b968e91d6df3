#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "async/task.h"

namespace berth::async {

namespace internal {

using IndexedWork = std::function<Task<void>(std::size_t index)>;

inline Task<void> Lane(std::size_t* next, std::size_t count, const IndexedWork* work) {
  while (*next < count) co_await (*work)((*next)++);
}

}  // namespace internal

// Awaits work(0) to work(count - 1), which begin in this order, at most `at_once` of them under way
// at a time. References that `work` holds outlive the task.
inline Task<void> ForEach(std::size_t count, std::size_t at_once, internal::IndexedWork work) {
  if (count == 0) co_return;
  std::size_t next = 0;
  std::size_t open = std::min(at_once, count);
  std::vector<Running> lanes;
  co_await Callback<bool>([&](auto done) {
    const std::size_t begun = open;  // a lane may end before it has begun
    for (std::size_t n = 0; n < begun; ++n) {
      lanes.push_back(Start(internal::Lane(&next, count, &work), [&open, done] {
        if (--open == 0) done(true);
      }));
    }
    return Handle();
  });
}

}  // namespace berth::async
