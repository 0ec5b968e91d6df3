#include "reconcile/eni/gate.h"

namespace berth::eni {

bool Gate::Enter(std::uint64_t task) {
  if (inside_.contains(task)) return true;
  if (inside_.size() >= places_) {
    line_.insert(task);
    return false;
  }
  Occupy(task);
  return true;
}

void Gate::Occupy(std::uint64_t task) {
  line_.erase(task);
  inside_.insert(task);
}

std::optional<std::uint64_t> Gate::Leave(std::uint64_t task) {
  line_.erase(task);
  if (inside_.erase(task) == 0 || inside_.size() >= places_ || line_.empty()) return std::nullopt;
  const std::uint64_t next = *line_.begin();
  line_.erase(line_.begin());
  inside_.insert(next);
  return next;
}

}  // namespace berth::eni
