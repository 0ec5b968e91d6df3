#include "kube/memory/resource.h"

#include "kube/memory/watch.h"

namespace berth::kube::memory {
namespace {

std::string Joined(std::string_view a, std::string_view b) {
  std::string text;
  text.reserve(a.size() + 1 + b.size());
  return text.append(a).append("/").append(b);
}

}  // namespace

// Here, where Watch is known in full.
Resource::Resource(std::size_t history, std::uint64_t version) : objects(history, version) {}
Resource::~Resource() = default;

Value FromStored(const Resource& resource, const Version& version, const Value& stored) {
  if (&version == &resource.stored()) return stored;
  if (version.from_stored) return version.from_stored(stored);
  Value converted = stored;
  converted.insert_or_assign("apiVersion", version.api_version);
  return converted;
}

Value ToStored(const View& view, Value object) {
  if (view.is_stored()) return object;
  if (view.version->to_stored) return view.version->to_stored(object);
  const Version& stored = view.resource->stored();
  object.insert_or_assign("apiVersion", stored.api_version);
  if (stored.schema) {
    stored.schema->Prune(object, nullptr);
    stored.schema->Default(object);
  }
  return object;
}

void Registry::Add(const std::shared_ptr<Resource>& resource) {
  RemoveViews(*resource);
  for (const auto& version : resource->versions) {
    if (version->served)
      views_[Joined(Joined(version->group, version->name), resource->plural)] = {resource, version};
  }
  resources_[Joined(resource->group, resource->plural)] = resource;
}

void Registry::Remove(Resource& resource) {
  resource.gone = true;
  RemoveViews(resource);
  resources_.erase(Joined(resource.group, resource.plural));
}

void Registry::RemoveViews(const Resource& resource) {
  std::erase_if(views_, [&](const auto& view) { return view.second.resource.get() == &resource; });
}

View Registry::Find(std::string_view group, std::string_view version,
                    std::string_view plural) const {
  const auto found = views_.find(Joined(Joined(group, version), plural));
  return found == views_.end() ? View() : found->second;
}

std::shared_ptr<Resource> Registry::Find(std::string_view group, std::string_view plural) const {
  const auto found = resources_.find(Joined(group, plural));
  return found == resources_.end() ? nullptr : found->second;
}

}  // namespace berth::kube::memory
