
#include "kube/memory/discovery.h"
#include "kube/memory/reviews.h"

namespace berth::kube::memory {
namespace {

Value KindOf(std::string_view group, std::string_view version, std::string_view kind) {
  Value value = Value::Object();
  value.insert_or_assign("group", group);
  value.insert_or_assign("version", version);
  value.insert_or_assign("kind", kind);
  return value;
}

// Built-in kinds leave it to the reader where they are.
Value KindOf(const View& view) {
  if (!view.resource->custom) return KindOf("", "", view.resource->kind);
  return KindOf(view.version->group, view.version->name, view.resource->kind);
}

Value StatusEntry(const View& view) {
  Value entry = Value::Object();
  entry.insert_or_assign("subresource", "status");
  entry.insert_or_assign("responseKind", KindOf(view));
  entry.insert_or_assign("verbs", Value(std::vector<std::string>{"get", "patch", "update"}));
  return entry;
}

Value Entry(const View& view) {
  const Resource& resource = *view.resource;
  Value entry = Value::Object();
  entry.insert_or_assign("resource", resource.plural);
  entry.insert_or_assign("singularResource", resource.singular);
  entry.insert_or_assign("responseKind", KindOf(view));
  entry.insert_or_assign("scope", resource.namespaced ? "Namespaced" : "Cluster");
  entry.insert_or_assign("verbs", Value(VerbsOf(resource)));
  if (!resource.short_names.empty())
    entry.insert_or_assign("shortNames", Value(resource.short_names));
  if (!resource.categories.empty())
    entry.insert_or_assign("categories", Value(resource.categories));
  if (view.version->has_status)
    entry.insert_or_assign("subresources", Value::Array({StatusEntry(view)}));
  return entry;
}

Value ReviewEntry(const ReviewKind& kind) {
  Value entry = Value::Object();
  entry.insert_or_assign("resource", kind.plural);
  entry.insert_or_assign("singularResource", kind.plural.substr(0, kind.plural.size() - 1));
  entry.insert_or_assign("responseKind", KindOf("", "", kind.kind));
  entry.insert_or_assign("scope", kind.namespaced ? "Namespaced" : "Cluster");
  entry.insert_or_assign("verbs", Value(std::vector<std::string>{"create"}));
  return entry;
}

Value ResourcesOf(const Registry& registry, std::string_view group, std::string_view version) {
  Value resources = Value::Array();
  for (const auto& [key, view] : registry.views()) {
    if (view.version->group == group && view.version->name == version)
      resources.push_back(Entry(view));
  }
  for (const ReviewKind& kind : ReviewKinds()) {
    if (kind.group == group && version == "v1") resources.push_back(ReviewEntry(kind));
  }
  return resources;
}

Value VersionEntry(std::string_view version, Value resources) {
  Value entry = Value::Object();
  entry.insert_or_assign("version", version);
  entry.insert_or_assign("resources", std::move(resources));
  entry.insert_or_assign("freshness", "Current");
  return entry;
}

Value GroupEntry(std::string_view group, Value versions) {
  Value entry = Value::Object();
  Value& metadata = ObjectAt(entry, "metadata");
  if (!group.empty()) metadata.insert_or_assign("name", group);
  entry.insert_or_assign("versions", std::move(versions));
  return entry;
}

Value ListOf(Value groups) {
  Value list = Value::Object();
  list.insert_or_assign("kind", "APIGroupDiscoveryList");
  list.insert_or_assign("apiVersion", "apidiscovery.k8s.io/v2");
  ObjectAt(list, "metadata");
  list.insert_or_assign("items", std::move(groups));
  return list;
}

}  // namespace

Value AggregatedCore(const Registry& registry) {
  Value version = VersionEntry("v1", ResourcesOf(registry, "", "v1"));
  return ListOf(Value::Array({GroupEntry("", Value::Array({std::move(version)}))}));
}

Value AggregatedGroupList(const Registry& registry, const AggregatedGroups& aggregated) {
  Value groups = Value::Array();
  for (const auto& [group, versions] : ServedVersions(registry, aggregated)) {
    if (group.empty()) continue;
    const auto elsewhere = aggregated.find(group);
    if (elsewhere != aggregated.end() && elsewhere->second.resources.is_null())
      return Value::null();
    Value entries = Value::Array();
    for (const std::string& version : versions) {
      entries.push_back(VersionEntry(version, elsewhere != aggregated.end()
                                                  ? elsewhere->second.resources
                                                  : ResourcesOf(registry, group, version)));
    }
    groups.push_back(GroupEntry(group, std::move(entries)));
  }
  return ListOf(std::move(groups));
}

}  // namespace berth::kube::memory
