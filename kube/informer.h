#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "async/task.h"
#include "kube/reflector.h"
#include "log/log.h"

namespace berth::kube {

// "namespace/name", or "name" for what has no namespace: how caches and work queues name an object.
inline std::string KeyOf(JsonView object) {
  const JsonView metadata = object["metadata"];
  std::string key(metadata["namespace"].StringOr(""));
  if (!key.empty()) key += '/';
  return key.append(metadata["name"].StringOr(""));
}

// The API server's objects of one kind as projections: of each object the fields that somebody
// uses, as a T, and nothing of its document. T has `static Result<T> From(JsonView object)`. An
// object that From refuses is logged, counted, and stays as it was known before.
// Handlers hear of every change after it is in the cache, in the API server's order, on the
// executor's thread; they should only queue keys. Several changes may arrive as one when a watch
// was interrupted; what was deleted meanwhile is told as deleted in its last known state.
template <typename T>
class Informer : private Reflector::Sink {
 public:
  struct Handler {
    std::function<void(const std::string& key, const T& now)> on_add;
    std::function<void(const std::string& key, const T& before, const T& now)> on_update;
    std::function<void(const std::string& key, const T& last)> on_delete;
    std::function<void()> on_whole = nullptr;  // a whole state has been taken over
  };
  // The values that an object is found under.
  using IndexBy = std::function<std::vector<std::string>(const T&)>;

  Informer(async::Executor& executor, Transport& transport, Reflector::Options options)
      : reflector_(executor, transport, std::move(options), *this) {}

  // Before Start() only. The number to look up by.
  std::size_t AddIndex(IndexBy by) {
    indexes_.push_back({std::move(by), {}});
    return indexes_.size() - 1;
  }

  // Objects that are cached already are told as added.
  void AddHandler(Handler handler) {
    handlers_.push_back(std::move(handler));
    for (const auto& [key, entry] : entries_) handlers_.back().on_add(key, entry.object);
  }

  // Follows the API server from now on, until the informer is destroyed.
  void Start() { running_ = async::Start(reflector_.Run()); }

  // Reads the whole state again, now; see Reflector::Refresh. `on_whole` of handlers tells of it.
  void Refresh() { reflector_.Refresh(); }
  bool fresh() const { return reflector_.fresh(); }

  // The whole state was seen once, and all handlers have been told.
  bool HasSynced() const { return reflector_.status().synced; }
  const Reflector::Status& status() const { return reflector_.status(); }
  std::uint64_t refused() const { return refused_; }

  // O(1). Good until the next turn of the executor.
  const T* Get(const std::string& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second.object;
  }
  std::size_t size() const { return entries_.size(); }

  // visit(const std::string& key, const T&), in no particular order. O(n).
  template <typename Visit>
  void ForEach(Visit&& visit) const {
    for (const auto& [key, entry] : entries_) visit(key, entry.object);
  }

  // Objects with `value` in an index, by key. O(log n + matches).
  template <typename Visit>
  void ForEachIn(std::size_t index, const std::string& value, Visit&& visit) const {
    const auto found = indexes_[index].values.find(value);
    if (found == indexes_[index].values.end()) return;
    for (const Node* node : found->second) visit(node->first, node->second.object);
  }
  std::size_t CountIn(std::size_t index, const std::string& value) const {
    const auto found = indexes_[index].values.find(value);
    return found == indexes_[index].values.end() ? 0 : found->second.size();
  }

 private:
  struct Entry {
    T object;
    std::uint64_t version = 0;  // a hash of its resourceVersion
    std::uint32_t epoch = 0;    // of the last state it was part of
  };
  using Entries = std::unordered_map<std::string, Entry>;
  using Node = Entries::value_type;
  struct ByKey {
    bool operator()(const Node* left, const Node* right) const {
      return left->first < right->first;
    }
  };
  struct Index {
    IndexBy by;
    std::unordered_map<std::string, std::set<const Node*, ByKey>> values;
  };

  void BeginReplace() override { ++epoch_; }

  void EndReplace() override {
    std::vector<std::string> gone;
    for (const auto& [key, entry] : entries_) {
      if (entry.epoch != epoch_) gone.push_back(key);
    }
    std::ranges::sort(gone);
    for (const std::string& key : gone) Drop(key);
    for (const Handler& handler : handlers_) {
      if (handler.on_whole) handler.on_whole();
    }
  }

  void Put(JsonView view) override {
    std::string key = KeyOf(view);
    const std::uint64_t version =
        std::hash<std::string_view>()(view["metadata"]["resourceVersion"].StringOr(""));
    const auto found = entries_.find(key);
    if (found != entries_.end() && found->second.version == version) {  // listed again, unchanged
      found->second.epoch = epoch_;
      return;
    }
    auto object = T::From(view);
    if (!object) {
      ++refused_;
      log::Warn("object not understood", {{"key", key}, {"error", object.error().message}});
      if (found != entries_.end()) found->second.epoch = epoch_;
      return;
    }
    if (found == entries_.end()) {
      const Node& node =
          *entries_.emplace(std::move(key), Entry{std::move(*object), version, epoch_}).first;
      Enter(node);
      for (const Handler& handler : handlers_) handler.on_add(node.first, node.second.object);
      return;
    }
    Leave(*found);
    const T before = std::exchange(found->second.object, std::move(*object));
    found->second.version = version;
    found->second.epoch = epoch_;
    Enter(*found);
    for (const Handler& handler : handlers_) {
      handler.on_update(found->first, before, found->second.object);
    }
  }

  void Remove(JsonView view) override {
    // A deletion brings the object's last state; when it is not understood, the known one stands.
    const std::string key = KeyOf(view);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    if (auto last = T::From(view)) {
      Leave(*found);
      found->second.object = std::move(*last);
      Enter(*found);
    }
    Drop(key);
  }

  void Drop(const std::string& key) {
    const auto found = entries_.find(key);
    Leave(*found);
    const auto last = entries_.extract(found);
    for (const Handler& handler : handlers_) handler.on_delete(last.key(), last.mapped().object);
  }

  void Enter(const Node& node) {
    for (Index& index : indexes_) {
      for (std::string& value : index.by(node.second.object)) {
        index.values[std::move(value)].insert(&node);
      }
    }
  }

  void Leave(const Node& node) {
    for (Index& index : indexes_) {
      for (const std::string& value : index.by(node.second.object)) {
        const auto found = index.values.find(value);
        if (found == index.values.end()) continue;  // named twice by the same object
        found->second.erase(&node);
        if (found->second.empty()) index.values.erase(found);
      }
    }
  }

  Entries entries_;
  std::vector<Index> indexes_;
  std::vector<Handler> handlers_;
  std::uint32_t epoch_ = 0;
  std::uint64_t refused_ = 0;
  Reflector reflector_;
  async::Running running_;
};

}  // namespace berth::kube
