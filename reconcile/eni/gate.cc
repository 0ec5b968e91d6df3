#include "reconcile/eni/gate.h"

namespace berth::eni {

bool Gate::Enter(std::uint64_t task) {
  if (inside_.contains(task)) return true;
  if (inside_.size() < places_) {
    line_.erase(task);
    return inside_.insert(task).second;
  }
  line_.insert(task);
  return false;
}

std::optional<std::uint64_t> Gate::Leave(std::uint64_t task) {
  line_.erase(task);
  if (inside_.erase(task) == 0 || line_.empty()) return std::nullopt;
  const std::uint64_t next = *line_.begin();
  line_.erase(line_.begin());
  inside_.insert(next);
  return next;
}

}  // namespace berth::eni
