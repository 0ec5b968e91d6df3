#pragma once

#include <charconv>
#include <chrono>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "async/executor.h"
#include "kube/informer.h"

namespace berth::runtime {

// Whether a version is older than another; versions of one resource are comparable numbers.
inline bool IsOlder(std::string_view version, std::string_view than) {
  std::uint64_t left = 0;
  std::uint64_t right = 0;
  std::from_chars(version.data(), version.data() + version.size(), left);
  std::from_chars(than.data(), than.data() + than.size(), right);
  return left < right;
}

// A cache that knows what its owner has written before the watch has brought it back: without it a
// reconcile that comes too soon would repeat itself, and fail for a conflict with its own write.
// A noted object counts until the watch has caught up, at most kLongest. T has an Identity `id`.
// Lives as long as the informer.
template <typename T>
class Overlay {
 public:
  static constexpr async::Duration kLongest = std::chrono::seconds(60);

  Overlay(async::Executor& executor, kube::Informer<T>& informer)
      : executor_(executor), informer_(informer) {
    informer.AddHandler(
        {.on_add = [this](const std::string& key, const T& now) { CatchUp(key, now); },
         .on_update = [this](const std::string& key, const T&, const T& now) { CatchUp(key, now); },
         .on_delete =
             [this](const std::string& key, const T& last) {
               const auto found = noted_.find(key);
               if (found != noted_.end() && found->second.object.id.uid == last.id.uid) {
                 noted_.erase(found);
               }
             }});
  }

  // Good until the next turn of the executor. O(1).
  const T* Get(const std::string& key) {
    const T* cached = informer_.Get(key);
    const auto found = noted_.find(key);
    if (found == noted_.end()) return cached;
    if (executor_.Now() - found->second.when > kLongest) {
      noted_.erase(found);
      return cached;
    }
    return &found->second.object;
  }

  // The answer to a write.
  void Note(T object) {
    const std::string key = object.id.Key();
    const T* cached = informer_.Get(key);
    // A watch that is past this version has brought a later one, or the end of the object.
    const std::string& seen = cached ? cached->id.version : informer_.status().version;
    if (!IsOlder(seen, object.id.version)) return;
    noted_.insert_or_assign(key, Noted{std::move(object), executor_.Now()});
  }

  void Clear() { noted_.clear(); }
  std::size_t size() const { return noted_.size(); }

 private:
  struct Noted {
    T object;
    async::TimePoint when;
  };

  void CatchUp(const std::string& key, const T& now) {
    const auto found = noted_.find(key);
    if (found != noted_.end() && !IsOlder(now.id.version, found->second.object.id.version)) {
      noted_.erase(found);
    }
  }

  async::Executor& executor_;
  kube::Informer<T>& informer_;
  std::unordered_map<std::string, Noted> noted_;
};

}  // namespace berth::runtime
