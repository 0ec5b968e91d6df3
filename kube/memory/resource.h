#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/memory/collection.h"
#include "kube/memory/json_path.h"
#include "kube/memory/metadata.h"
#include "kube/memory/schema.h"

namespace berth::kube::memory {

struct Watch;

// A column of kubectl's table, after Name.
struct Column {
  std::string name;
  std::string type;  // string, integer, number, boolean; date: an age
  std::string format;
  std::string description;
  int priority = 0;
  JsonPath path;
  // For built-in kinds, in the path's place; `now` is in Unix seconds.
  Value (*make)(const Value& object, std::int64_t now) = nullptr;
};

// A field that lists and watches can be narrowed by.
struct SelectableField {
  std::string name;
  std::string path;  // in the stored version
};

// One version of a resource as it is served.
struct Version {
  std::string group;
  std::string name;                      // "v1alpha1"
  std::string api_version;               // "group/v1alpha1"
  std::shared_ptr<const Schema> schema;  // null: anything goes
  Value schema_document;                 // as it was written, for OpenAPI
  std::vector<Column> columns;
  bool name_column = true;                         // begins with the name
  std::vector<SelectableField> selectable_fields;  // besides metadata.name and metadata.namespace
  bool has_status = false;                         // as a subresource
  bool served = true;
  // From and to the stored version. Null: they differ in apiVersion at most.
  Value (*from_stored)(const Value& object) = nullptr;
  Value (*to_stored)(const Value& object) = nullptr;
  // Further rules of the version for a new object as it is stored, beyond the kind's.
  void (*validate_new)(const Value& object, Causes& causes) = nullptr;
};

// Work of kube-apiserver's code for a kind beyond its schema. Null: none.
struct Rules {
  // The decoder's refusal, in its words.
  std::optional<std::string> (*decode)(const Value& object) = nullptr;
  // Sets what the server sets, before validation; `old` is null at a creation.
  void (*prepare)(Value& object, const Value* old) = nullptr;
  void (*validate)(const Value& object, const Value* old, Causes& causes) = nullptr;
  Problems (*name_problems)(std::string_view name) = SubdomainProblems;
  // Marks an object for an end that somebody else brings about; see garbage.h.
  void (*begin_deletion)(Value& object, const std::string& date) = nullptr;
  // The seconds from a deletion with these options to the object's end. Null: it ends at once.
  std::int64_t (*grace_period)(const Value& object, const Value& options) = nullptr;
};

// A kind of objects, the objects, and who watches them.
struct Resource {
  std::string group;
  std::string plural;
  std::string singular;
  std::string kind;
  std::string list_kind;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  bool namespaced = true;
  bool custom = false;               // defined by a CustomResourceDefinition
  bool has_generation = false;       // counts changes of its spec
  bool unconditional_update = true;  // PUT without a resourceVersion
  bool create_on_update = false;     // PUT of what is not there
  bool deletes_collection = true;
  bool returns_deleted = false;       // a deletion answers with the object, not with a Status
  bool selects_known_fields = false;  // says so when asked for others
  // The first is the one that is stored. Requests under way keep theirs while it is replaced.
  std::vector<std::shared_ptr<const Version>> versions;
  Rules rules;

  Collection objects;
  std::vector<std::shared_ptr<Watch>> watches;
  std::int64_t served_generation = 0;  // of its definition
  bool publishing = false;             // the list of watches is being walked
  bool terminating = false;            // its definition is being deleted
  bool gone = false;  // no longer served; whoever still holds it finds nothing there

  Resource(std::size_t history, std::uint64_t version);
  ~Resource();
  const Version& stored() const { return *versions.front(); }
};

// A resource in one of its versions: what a path names.
struct View {
  std::shared_ptr<Resource> resource;
  std::shared_ptr<const Version> version;

  explicit operator bool() const { return resource != nullptr; }
  bool is_stored() const { return version == resource->versions.front(); }
};

// The object as the version has it. O(size), unless it is the stored version.
Value FromStored(const Resource& resource, const Version& version, const Value& stored);
Value ToStored(const View& view, Value object);

// The resources, found by group, version and plural.
class Registry {
 public:
  using Resources = std::map<std::string, std::shared_ptr<Resource>, std::less<>>;
  using Views = std::map<std::string, View, std::less<>>;

  // Or serves it anew, after a change of its versions.
  void Add(const std::shared_ptr<Resource>& resource);
  void Remove(Resource& resource);

  // O(log n).
  View Find(std::string_view group, std::string_view version, std::string_view plural) const;
  std::shared_ptr<Resource> Find(std::string_view group, std::string_view plural) const;
  const Resources& all() const { return resources_; }  // by "group/plural"
  const Views& views() const { return views_; }        // by "group/version/plural"

 private:
  void RemoveViews(const Resource& resource);

  Resources resources_;
  Views views_;
};

}  // namespace berth::kube::memory
