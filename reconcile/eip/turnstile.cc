#include "reconcile/eip/turnstile.h"

namespace berth::eip {

bool Turnstile::Enter(const std::string& key) {
  if (inside_.contains(key)) return true;
  if (inside_.size() < places_) {
    inside_.insert(key);
    return true;
  }
  if (lined_up_.insert(key).second) line_.push_back(key);
  return false;
}

void Turnstile::Leave(const std::string& key) {
  if (inside_.erase(key) == 0) return;
  while (!line_.empty() && inside_.size() < places_) {
    const std::string next = std::move(line_.front());
    line_.pop_front();
    lined_up_.erase(next);
    inside_.insert(next);
    call_(next);
  }
}

}  // namespace berth::eip
