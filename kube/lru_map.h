#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace berth::kube {

// A map from text that holds `capacity` values at most: one more takes the place of the one that
// was asked for the longest time ago. Every call is O(1).
template <typename Value>
class LruMap {
 public:
  explicit LruMap(std::size_t capacity) : capacity_(capacity) {}

  // None when it is not there. Good until the next Put.
  Value* Find(std::string_view key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    values_.splice(values_.end(), values_, found->second);
    return &found->second->second;
  }

  // In place of what the key may have had.
  Value& Put(std::string key, Value value) {
    Erase(key);
    if (values_.size() >= capacity_) Erase(values_.front().first);
    values_.emplace_back(std::move(key), std::move(value));
    index_.emplace(values_.back().first, std::prev(values_.end()));
    return values_.back().second;
  }

  void Erase(std::string_view key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return;
    const auto value = found->second;
    index_.erase(found);  // first: its key is the value's
    values_.erase(value);
  }

  std::size_t size() const { return values_.size(); }

 private:
  using Values = std::list<std::pair<const std::string, Value>>;

  std::size_t capacity_;
  Values values_;  // the one used last is last
  std::unordered_map<std::string_view, typename Values::iterator> index_;
};

}  // namespace berth::kube
