#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace berth::apis {

// Answers that stay good for a short while, at most `capacity` of them. Thread-safe; O(1) but for
// making room.
template <typename Value>
class ExpiringCache {
 public:
  using Clock = std::chrono::steady_clock;

  ExpiringCache(std::size_t capacity, std::chrono::milliseconds lifetime)
      : capacity_(capacity), lifetime_(lifetime) {}

  std::optional<Value> Get(const std::string& key, Clock::time_point now = Clock::now()) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.expires <= now) return std::nullopt;
    return found->second.value;
  }

  void Put(const std::string& key, Value value, Clock::time_point now = Clock::now()) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= capacity_ && !entries_.contains(key)) MakeRoom(now);
    entries_.insert_or_assign(key, Entry{std::move(value), now + lifetime_});
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  struct Entry {
    Value value;
    Clock::time_point expires;
  };

  // Most of a full cache of short-lived answers has expired; where not, any one may go.
  void MakeRoom(Clock::time_point now) {
    std::erase_if(entries_, [&](const auto& entry) { return entry.second.expires <= now; });
    if (entries_.size() >= capacity_) entries_.erase(entries_.begin());
  }

  const std::size_t capacity_;
  const std::chrono::milliseconds lifetime_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace berth::apis
