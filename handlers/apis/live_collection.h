#pragma once

#include <deque>
#include <map>
#include <mutex>

#include "handlers/apis/resource.h"

namespace berth::apis {

// A ResourceStore in memory: what the control thread puts in, readers see at once, and watchers
// hear of. History is bounded by count and by bytes; a watcher that falls behind it starts over.
class LiveCollection : public ResourceStore {
 public:
  struct Limits {
    std::size_t events = 8192;
    std::size_t bytes = 16 * 1024 * 1024;
  };
  // The owner's part of an object; the collection adds apiVersion, kind, metadata and versions.
  struct Draft {
    std::string ns;
    std::string name;
    Labels labels;
    std::map<std::string, std::string, std::less<>> fields;
    std::vector<Cell> cells;
    Json content;  // members beside apiVersion, kind and metadata
  };
  using Deleter = std::function<void(const Deletion& deletion, async::Executor& home, Deleted)>;

  // `first_version` is above every version of an earlier process, so that a watch across a restart
  // starts over.
  LiveCollection(ResourceType type, std::uint64_t first_version, Limits limits);
  explicit LiveCollection(ResourceType type) : LiveCollection(std::move(type), Limits()) {}
  LiveCollection(ResourceType type, Limits limits);

  // Adds or changes. Nothing happens when the object is the same already. O(log n + size).
  void Put(Draft draft);
  // False when there is none. O(log n).
  bool Remove(const std::string& ns, const std::string& name);
  // Removes all.
  void Clear();
  // Is called when a client deletes an object of a deletable type; see ResourceStore::Delete.
  // Before serving only.
  void OnDelete(Deleter deleter) { deleter_ = std::move(deleter); }

  const ResourceType& type() const override { return type_; }
  ObjectPtr Get(const std::string& ns, const std::string& name) const override;
  Page List(const std::string& ns, const Filter& filter, const std::optional<ListKey>& start,
            std::size_t limit) const override;
  std::uint64_t version() const override;
  std::optional<std::vector<Event>> Since(std::uint64_t version) const override;
  void Subscribe(Listener listener) override { listeners_.push_back(std::move(listener)); }
  void Delete(const Deletion& deletion, async::Executor& home, Deleted answer) override;

 private:
  struct Entry {
    ObjectPtr object;
    std::size_t fingerprint = 0;  // a hash of what was given, to tell a change from a repetition
    std::int64_t created = 0;
  };

  ObjectPtr Build(const Draft& draft, const std::string& uid, std::int64_t created,
                  std::uint64_t version) const;
  void Record(Event event);
  void RecordEnd(const Entry& entry);
  void Notify() const;

  const ResourceType type_;
  const Limits limits_;
  std::vector<Listener> listeners_;
  Deleter deleter_;

  mutable std::mutex mutex_;
  std::map<ListKey, Entry> entries_;
  std::deque<Event> history_;
  std::size_t history_bytes_ = 0;
  std::uint64_t version_;
  std::uint64_t oldest_;  // events after this version are all in the history
};

}  // namespace berth::apis
