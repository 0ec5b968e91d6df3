#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "json/json.h"
#include "kube/json_view.h"
#include "kube/selector.h"
#include "kube/status.h"

// The content of the aggregated API: a resource's type, its objects, and their store.
namespace berth::apis {

inline constexpr const char* kGroup = "live.berth.dev";
inline constexpr const char* kVersion = "v1alpha1";
inline constexpr const char* kGroupVersion = "live.berth.dev/v1alpha1";

// A column of kubectl's table, after Name. Priority 1 is shown by -o wide only.
struct Column {
  std::string name;
  std::string type;  // integer, string, date
  std::string description;
  int priority = 0;
};

// A member of an OpenAPI v3 schema. "string[]" is a list of texts, "integer{}" a map to numbers.
struct Field {
  std::string_view name;
  std::string_view type;
  std::string_view description;
  std::string_view format = "";
};
Json Schema(const Field& field);
Json ObjectSchema(std::string_view description, std::initializer_list<Field> fields);

struct ResourceType {
  ResourceType() = default;
  // As in "PoolUsage", which is one of the "poolusages".
  explicit ResourceType(std::string_view kind);

  std::string plural;
  std::string singular;
  std::string kind;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  bool namespaced = false;
  bool deletable = false;
  bool action = false;  // see Action: create is the only verb
  std::string description;
  std::vector<Column> columns;
  std::vector<std::string> selectable_fields;  // besides metadata.name and metadata.namespace
  Json properties;  // OpenAPI v3 schemas of the members beside apiVersion, kind and metadata
};

// A table cell: a JSON fragment, or a moment shown as an age when the row is written.
struct Cell {
  std::string json = "null";
  std::optional<std::int64_t> since;  // Unix seconds

  static Cell Text(std::string_view text) { return {Json(text).to_string(), std::nullopt}; }
  static Cell Number(std::uint64_t number) { return {std::to_string(number), std::nullopt}; }
  static Cell Age(std::optional<std::int64_t> since) { return {"null", since}; }
};

// The cells of an object, packed: a store has many of them.
class Row {
 public:
  Row() = default;
  // Implicit: a row is made of its cells.
  Row(const std::vector<Cell>& cells);  // NOLINT(google-explicit-constructor)

  // Cells by value.
  class Iterator {
   public:
    explicit Iterator(std::string_view rest) : rest_(rest) {}
    Cell operator*() const;
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return rest_.size() == other.rest_.size(); }

   private:
    std::string_view rest_;
  };
  Iterator begin() const { return Iterator(text_); }
  Iterator end() const { return Iterator({}); }

  // Different for different cells.
  const std::string& text() const { return text_; }

 private:
  std::string text_;  // a line for each cell: its JSON, or its moment after an '@'
};

using kube::Labels;

// Immutable once stored; readers on any thread share it.
struct Object {
  std::string ns;
  std::string name;
  std::string uid;
  std::uint64_t version = 0;
  Labels labels;
  std::map<std::string, std::string, std::less<>> fields;  // of the type's selectable ones
  Row cells;
  std::string metadata;  // JSON
  std::string json;      // the whole object
};

using ObjectPtr = std::shared_ptr<const Object>;

// The value that a field selector compares; none when the object has no such field.
const std::string* FieldOf(const Object& object, const std::string& field);

// The same state under another version, as the event of its end shows it.
Object AtVersion(const Object& object, std::uint64_t version);

enum class EventType : std::uint8_t { kAdded, kModified, kDeleted };

struct Event {
  EventType type = EventType::kAdded;
  std::uint64_t version = 0;
  ObjectPtr object;    // for kDeleted: the last state, with the deletion's version
  ObjectPtr previous;  // before a modification, so that a selector's watcher learns that it left
};

struct ListKey {
  std::string ns;
  std::string name;
  auto operator<=>(const ListKey&) const = default;
};

struct Page {
  std::vector<ObjectPtr> objects;  // by namespace and name
  std::uint64_t version = 0;       // of the collection when it was read
  std::optional<ListKey> next;     // where to go on
  std::size_t remaining = 0;       // objects from there on that pass the filter
};

struct Deletion {
  std::string ns;
  std::string name;
  bool dry_run = false;  // everything is checked, nothing done
};

// A collection that can be read and followed. Thread-safe.
class ResourceStore {
 public:
  using Listener = std::function<void()>;
  using Filter = std::function<bool(const Object&)>;

  virtual ~ResourceStore() = default;

  virtual const ResourceType& type() const = 0;
  virtual ObjectPtr Get(const std::string& ns, const std::string& name) const = 0;

  // Objects that pass, in order, from `start` on, at most `limit` (0: all). An empty namespace
  // means all of them.
  virtual Page List(const std::string& ns, const Filter& filter,
                    const std::optional<ListKey>& start, std::size_t limit) const = 0;

  virtual std::uint64_t version() const = 0;

  // The events after `version`, oldest first; none when the history no longer reaches back that
  // far.
  virtual std::optional<std::vector<Event>> Since(std::uint64_t version) const = 0;

  // `listener` is called after each change, on the changing thread, and must only wake somebody.
  // Before serving only.
  virtual void Subscribe(Listener listener) = 0;

  // Asks for the object's end. Answers once, on `home`, the thread this is called on; perhaps after
  // it has returned. Success means accepted; the object goes when its owner has let it go.
  using Deleted = std::move_only_function<void(std::expected<void, kube::Status>)>;
  virtual void Delete(const Deletion& deletion, async::Executor& home, Deleted answer) = 0;
};

// A resource of which nothing is kept: to create one is to have something done. Thread-safe.
class Action {
 public:
  struct Call {
    std::string ns;
    kube::JsonView object;  // as sent; good until Create returns
    bool dry_run = false;   // everything is checked, nothing done
  };
  // The answer's members beside apiVersion, kind and metadata, which are the caller's.
  struct Outcome {
    Json content;
    std::vector<Cell> cells;
  };
  using Answer = std::move_only_function<void(std::expected<Outcome, kube::Status>)>;

  virtual ~Action() = default;

  // Says `action`.
  virtual const ResourceType& type() const = 0;
  // Answers once, on `home`, the thread this is called on; perhaps after it has returned.
  virtual void Create(const Call& call, async::Executor& home, Answer answer) = 0;
};

}  // namespace berth::apis
