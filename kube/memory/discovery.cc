#include "kube/memory/discovery.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "kube/memory/reviews.h"

namespace berth::kube::memory {
namespace {

Value Strings(const std::vector<std::string>& strings) {
  Value list = Value::Array();
  for (const std::string& text : strings) list.push_back(text);
  return list;
}

std::string Joined(std::string_view group, std::string_view version) {
  std::string text(group);
  return text.append(group.empty() ? "" : "/").append(version);
}

Value GroupEntry(const std::string& group, const std::vector<std::string>& versions) {
  const auto entry = [&](const std::string& version) {
    Value value = Value::Object();
    value.insert_or_assign("groupVersion", Joined(group, version));
    value.insert_or_assign("version", version);
    return value;
  };
  Value list = Value::Array();
  for (const std::string& version : versions) list.push_back(entry(version));
  Value value = Value::Object();
  value.insert_or_assign("name", group);
  value.insert_or_assign("versions", std::move(list));
  value.insert_or_assign("preferredVersion", entry(versions.front()));
  return value;
}

Value Entry(const Resource& resource) {
  Value entry = Value::Object();
  entry.insert_or_assign("name", resource.plural);
  entry.insert_or_assign("singularName", resource.singular);
  entry.insert_or_assign("namespaced", resource.namespaced);
  entry.insert_or_assign("kind", resource.kind);
  entry.insert_or_assign("verbs", Strings(VerbsOf(resource)));
  if (!resource.short_names.empty())
    entry.insert_or_assign("shortNames", Strings(resource.short_names));
  if (!resource.categories.empty())
    entry.insert_or_assign("categories", Strings(resource.categories));
  return entry;
}

Value StatusEntry(const Resource& resource) {
  Value entry = Value::Object();
  entry.insert_or_assign("name", resource.plural + "/status");
  entry.insert_or_assign("singularName", "");
  entry.insert_or_assign("namespaced", resource.namespaced);
  entry.insert_or_assign("kind", resource.kind);
  entry.insert_or_assign("verbs", Strings({"get", "patch", "update"}));
  return entry;
}

Value ReviewEntry(const ReviewKind& kind) {
  Value entry = Value::Object();
  entry.insert_or_assign("name", kind.plural);
  entry.insert_or_assign("singularName", kind.plural.substr(0, kind.plural.size() - 1));
  entry.insert_or_assign("namespaced", kind.namespaced);
  entry.insert_or_assign("kind", kind.kind);
  entry.insert_or_assign("verbs", Strings({"create"}));
  return entry;
}

Value Document(std::string_view kind) {
  Value document = Value::Object();
  document.insert_or_assign("kind", kind);
  document.insert_or_assign("apiVersion", "v1");
  return document;
}

// "v2beta3" as (stability, major, minor); names of another form come last, by their letters.
std::tuple<int, int, int> Rank(std::string_view version) {
  if (!version.starts_with('v')) return {0, 0, 0};
  version.remove_prefix(1);
  const auto number = [&] {
    int value = 0;
    const auto end = std::from_chars(version.data(), version.data() + version.size(), value).ptr;
    version.remove_prefix(static_cast<std::size_t>(end - version.data()));
    return value;
  };
  const int major = number();
  if (version.empty()) return {3, major, 0};
  const int stability = version.starts_with("beta") ? 2 : version.starts_with("alpha") ? 1 : 0;
  version.remove_prefix(stability == 2 ? 4 : stability == 1 ? 5 : 0);
  return {stability, major, number()};
}

}  // namespace

bool IsPreferred(std::string_view version, std::string_view to) {
  const auto a = Rank(version), b = Rank(to);
  return a != b ? a > b : version < to;
}

std::vector<std::string> VerbsOf(const Resource& resource) {
  static const std::vector<std::string> kCustom = {"delete", "deletecollection", "get",    "list",
                                                   "patch",  "create",           "update", "watch"};
  static const std::vector<std::string> kBuiltin = {
      "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  std::vector<std::string> verbs = resource.custom ? kCustom : kBuiltin;
  if (!resource.deletes_collection) std::erase(verbs, "deletecollection");
  return verbs;
}

std::map<std::string, std::vector<std::string>> ServedVersions(const Registry& registry,
                                                               const AggregatedGroups& aggregated) {
  std::map<std::string, std::vector<std::string>> groups;
  for (const auto& [key, view] : registry.views()) {
    auto& versions = groups[view.version->group];
    if (std::ranges::find(versions, view.version->name) == versions.end())
      versions.push_back(view.version->name);
  }
  for (const ReviewKind& kind : ReviewKinds()) groups[std::string(kind.group)] = {"v1"};
  for (const auto& [name, group] : aggregated) groups[name] = {group.version};
  for (auto& [group, versions] : groups) std::ranges::sort(versions, IsPreferred);
  return groups;
}

Value CoreVersions() {
  Value document = Value::Object();
  document.insert_or_assign("kind", "APIVersions");
  document.insert_or_assign("versions", Strings({"v1"}));
  document.insert_or_assign("serverAddressByClientCIDRs", Value::Array());
  return document;
}

Value Groups(const Registry& registry, const AggregatedGroups& aggregated) {
  Value groups = Value::Array();
  for (const auto& [group, versions] : ServedVersions(registry, aggregated)) {
    if (!group.empty()) groups.push_back(GroupEntry(group, versions));
  }
  Value document = Document("APIGroupList");
  document.insert_or_assign("groups", std::move(groups));
  return document;
}

Value Group(const Registry& registry, const AggregatedGroups& aggregated, std::string_view group) {
  const auto served = ServedVersions(registry, aggregated);
  const auto found = served.find(std::string(group));
  if (group.empty() || found == served.end()) return Value::null();
  Value document = GroupEntry(found->first, found->second);
  document.insert_or_assign("kind", "APIGroup");
  document.insert_or_assign("apiVersion", "v1");
  return document;
}

Value Resources(const Registry& registry, std::string_view group, std::string_view version) {
  Value resources = Value::Array();
  for (const auto& [key, view] : registry.views()) {
    if (view.version->group != group || view.version->name != version) continue;
    resources.push_back(Entry(*view.resource));
    if (view.version->has_status) resources.push_back(StatusEntry(*view.resource));
  }
  for (const ReviewKind& kind : ReviewKinds()) {
    if (kind.group == group && version == "v1") resources.push_back(ReviewEntry(kind));
  }
  if (resources.empty()) return Value::null();
  Value document = Document("APIResourceList");
  document.insert_or_assign("groupVersion", Joined(group, version));
  document.insert_or_assign("resources", std::move(resources));
  return document;
}

}  // namespace berth::kube::memory
