#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/accept.h"
#include "kube/memory/value.h"

namespace berth::kube::memory {

struct Version;

// apiVersion and kind first, then the others.
std::string EncodeObject(const Value& value);

// An object as it was written once, and its text.
struct Object {
  explicit Object(Value value);

  std::string_view ns() const { return TextAt(value, "metadata", "namespace"); }
  std::string_view name() const { return TextAt(value, "metadata", "name"); }
  std::string_view uid() const { return TextAt(value, "metadata", "uid"); }
  bool deleting() const { return Find(value, "metadata", "deletionTimestamp") != nullptr; }
  // For who reads it as Json: made of the text once. Not thread-safe.
  const Json& document() const;

  const Value value;
  const std::string text;
  const std::uint64_t version;  // metadata.resourceVersion

 private:
  mutable std::optional<Json> document_;
};
using ObjectPtr = std::shared_ptr<const Object>;

// Where an object stands among those of its resource: "namespace/name", or "name". Lists are in the
// order of these, as they are in etcd's.
std::string KeyOf(std::string_view ns, std::string_view name);

enum class ChangeType : std::uint8_t { kAdded, kModified, kDeleted };

struct Change {
  ChangeType type = ChangeType::kAdded;
  std::uint64_t version = 0;
  std::string key;
  ObjectPtr object;    // of a deletion: the last state, with the deletion's version
  ObjectPtr previous;  // null when there was none

  // Lines of watches that tell of it, by what they look like; see watch.h.
  struct Line {
    ChangeType type;
    std::shared_ptr<const Version> version;
    Form form;
    bool columns;
    std::shared_ptr<const std::string> text;
  };
  mutable std::vector<Line> lines;
};

// The objects of one resource and what happened to them lately.
class Collection {
 public:
  // `version` is the server's as the collection begins: there was nothing before it.
  Collection(std::size_t history, std::uint64_t version) : limit_(history), first_(version) {}

  // O(log n).
  ObjectPtr Find(std::string_view key) const;
  std::size_t size() const { return objects_.size(); }

  // `object` carries the new version, also where it is removed. O(log n).
  const Change& Put(std::string key, ObjectPtr object);
  const Change& Remove(const std::string& key, ObjectPtr last);

  // The objects whose key is `start` or later and begins with `prefix`, in order, until `visit`
  // returns false. As they were at `version`, which must be in the history; none: as they are.
  // O(log n + visited + changes since).
  using Visit = std::function<bool(const std::string& key, const ObjectPtr& object)>;
  void Each(std::string_view prefix, std::string_view start, std::optional<std::uint64_t> version,
            const Visit& visit) const;

  // The earliest version that changes are known since.
  std::uint64_t first() const { return first_; }
  // The changes after `version`, oldest first.
  std::deque<Change>::const_iterator After(std::uint64_t version) const;
  std::deque<Change>::const_iterator End() const { return history_.end(); }

  // Shows every object as `read` gives it, as if it had always been so: no change, no version.
  void Rewrite(const std::function<ObjectPtr(const ObjectPtr& object)>& read);

  void Forget(std::uint64_t present);

 private:
  using Objects = std::map<std::string, ObjectPtr, std::less<>>;

  const Change& Record(Change change);

  std::size_t limit_;
  std::uint64_t first_;
  Objects objects_;
  std::deque<Change> history_;
};

}  // namespace berth::kube::memory
