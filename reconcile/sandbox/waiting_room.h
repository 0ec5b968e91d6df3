#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace berth::sandbox {

// Sandboxes that found no slot, the oldest first. One is woken at a time; it wakes the next once it
// knows that there may be more slots, so that a free slot costs no pass over all that wait. O(log
// n) each.
class WaitingRoom {
 public:
  explicit WaitingRoom(std::function<void(const std::string& key)> wake) : wake_(std::move(wake)) {}

  void Enter(const std::string& pool, const std::string& key, std::int64_t created) {
    Leave(key);
    pools_[pool].emplace(created, key);
    places_[key] = {pool, created};
  }
  void Leave(const std::string& key) {
    const auto place = places_.find(key);
    if (place == places_.end()) return;
    const auto pool = pools_.find(place->second.first);
    pool->second.erase({place->second.second, key});
    if (pool->second.empty()) pools_.erase(pool);
    places_.erase(place);
  }

  // Wakes the first of the pool that waits.
  void WakeFirst(const std::string& pool) {
    const auto found = pools_.find(pool);
    if (found != pools_.end()) wake_(found->second.begin()->second);
  }
  // Wakes the one behind `key`, which stays where it is.
  void WakeNext(const std::string& key) {
    const auto place = places_.find(key);
    if (place == places_.end()) return;
    const auto& pool = pools_.at(place->second.first);
    const auto next = pool.upper_bound({place->second.second, key});
    if (next != pool.end()) wake_(next->second);
  }
  void WakeAll(const std::string& pool) {
    const auto found = pools_.find(pool);
    if (found == pools_.end()) return;
    for (const auto& [created, key] : found->second) wake_(key);
  }

  bool contains(const std::string& key) const { return places_.contains(key); }
  std::size_t size() const { return places_.size(); }

 private:
  const std::function<void(const std::string& key)> wake_;
  std::unordered_map<std::string, std::set<std::pair<std::int64_t, std::string>>> pools_;
  std::unordered_map<std::string, std::pair<std::string, std::int64_t>> places_;
};

}  // namespace berth::sandbox
