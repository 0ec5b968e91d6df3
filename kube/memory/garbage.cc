#include "kube/memory/garbage.h"

#include <algorithm>

#include "kube/memory/definition.h"
#include "kube/memory/deletion.h"
#include "kube/memory/watch.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

const Value* References(const Object* object) {
  return object ? memory::Find(object->value, "metadata", "ownerReferences") : nullptr;
}

std::vector<std::string_view> OwnerUids(const Object* object) {
  std::vector<std::string_view> uids;
  if (const Value* references = References(object)) {
    for (const Value& reference : references->array_range())
      uids.push_back(TextAt(reference, "uid"));
  }
  return uids;
}

bool HasFinalizer(const Object& object, std::string_view name) {
  const Value* finalizers = memory::Find(object.value, "metadata", "finalizers");
  return finalizers && std::ranges::any_of(finalizers->array_range(), [&](const Value& finalizer) {
           return finalizer.as_string_view() == name;
         });
}

Value WithoutFinalizer(const Object& object, std::string_view name) {
  Value rest = Value::Array();
  for (const Value& finalizer :
       memory::Find(object.value, "metadata", "finalizers")->array_range()) {
    if (finalizer.as_string_view() != name) rest.push_back(finalizer);
  }
  Value metadata = Value::Object();
  metadata.insert_or_assign("finalizers", std::move(rest));
  return metadata;
}

bool Blocks(const Object& dependent, std::string_view owner) {
  for (const Value& reference : References(&dependent)->array_range()) {
    const Value* flag = memory::Find(reference, "blockOwnerDeletion");
    if (TextAt(reference, "uid") == owner && flag && flag->is_bool() && flag->as<bool>())
      return true;
  }
  return false;
}

std::string PathOf(const Resource& resource, const Object& object) {
  const Version& version = resource.stored();
  std::string path = version.group.empty() ? "/api/" : "/apis/" + version.group + "/";
  path += version.name + "/";
  if (resource.namespaced) path += Format("namespaces/{}/", object.ns());
  return path + Format("{}/{}", resource.plural, object.name());
}

bool IsNamespaces(const Resource& resource) {
  return resource.group.empty() && resource.plural == "namespaces";
}
bool IsDefinitions(const Resource& resource) {
  return resource.group == kDefinitionsGroup && resource.plural == kDefinitions;
}

}  // namespace

Garbage::Garbage(Cluster& cluster, Send send) : cluster_(cluster), send_(std::move(send)) {
  cluster_.AddListener(
      [this](Resource& resource, const Change& change) { Notice(resource, change); });
}

void Garbage::Enqueue(const Where& where) {
  if (queued_.insert(where).second) queue_.push_back(where);
}

// ---- What changes concern

void Garbage::Notice(const Resource& resource, const Change& change) {
  const Where where{resource.group, resource.plural, change.key};
  const std::string uid(change.object->uid());
  if (change.type == ChangeType::kAdded) present_[uid] = where;
  if (change.type == ChangeType::kDeleted) present_.erase(uid);
  if (References(change.object.get()) || References(change.previous.get()))
    NoticeOwners(where, change);
  if (change.type == ChangeType::kDeleted) {
    if (const auto left = dependents_.find(uid); left != dependents_.end()) {
      for (const Where& dependent : left->second) Enqueue(dependent);
    }
    NoticeEnd(resource, change);
  } else if (change.object->deleting()) {
    Enqueue(where);
  }
}

void Garbage::NoticeOwners(const Where& where, const Change& change) {
  for (const auto uid : OwnerUids(change.previous.get())) {
    const auto found = dependents_.find(uid);
    if (found == dependents_.end()) continue;
    found->second.erase(where);
    if (found->second.empty()) dependents_.erase(found);
    // An owner may have waited for this.
    if (const auto owner = present_.find(uid); owner != present_.end()) {
      if (const ObjectPtr object = Find(owner->second); object && object->deleting())
        Enqueue(owner->second);
    }
  }
  if (change.type == ChangeType::kDeleted) return;
  for (const auto uid : OwnerUids(change.object.get())) dependents_[std::string(uid)].insert(where);
  Enqueue(where);
}

// The end of an object may be what its namespace or its definition waited for.
void Garbage::NoticeEnd(const Resource& resource, const Change& change) {
  if (const auto ns = change.object->ns(); !ns.empty()) {
    const Where where{"", "namespaces", std::string(ns)};
    if (const ObjectPtr object = Find(where); object && object->deleting()) Enqueue(where);
  }
  if (resource.terminating) {
    Enqueue({std::string(kDefinitionsGroup), std::string(kDefinitions),
             resource.plural + "." + resource.group});
  }
}

// ---- Steps

ObjectPtr Garbage::Find(const Where& where) const {
  const auto resource = cluster_.registry().Find(where.group, where.plural);
  return resource ? resource->objects.Find(where.key) : nullptr;
}

bool Garbage::Step() {
  while (!queue_.empty()) {
    const Where where = std::move(queue_.front());
    queue_.pop_front();
    queued_.erase(where);
    if (Process(where)) return true;
  }
  return false;
}

void Garbage::Retry() {
  refused_.clear();
  for (const Where& where : std::exchange(askers_, {})) Enqueue(where);
}

bool Garbage::Process(const Where& where) {
  const auto resource = cluster_.registry().Find(where.group, where.plural);
  const ObjectPtr object = resource ? resource->objects.Find(where.key) : nullptr;
  if (!object) return false;
  if (!object->deleting()) return ProcessOwned(where, where, *resource, *object);
  if (IsNamespaces(*resource)) return EndNamespace(where, *resource, *object);
  if (IsDefinitions(*resource)) return EndDefinition(where, *resource, *object);
  return ProcessDeleting(where, *resource, *object);
}

// An object that waits for what becomes of its dependents.
bool Garbage::ProcessDeleting(const Where& where, const Resource& resource, const Object& object) {
  const bool orphan = HasFinalizer(object, kOrphanFinalizer);
  if (!orphan && !HasFinalizer(object, kForegroundFinalizer)) return false;
  const auto found = dependents_.find(object.uid());
  const std::set<Where> dependents = found == dependents_.end() ? std::set<Where>() : found->second;
  bool blocked = false;
  for (const Where& at : dependents) {
    const auto kind = cluster_.registry().Find(at.group, at.plural);
    const ObjectPtr dependent = Find(at);
    if (!dependent) continue;
    if (orphan && refused_.contains(at)) return false;
    if (orphan) {
      Value rest = Value::Array();
      for (const Value& reference : References(dependent.get())->array_range()) {
        if (TextAt(reference, "uid") != object.uid()) rest.push_back(reference);
      }
      Value metadata = Value::Object();
      metadata.insert_or_assign("ownerReferences", std::move(rest));
      Patch(where, at, *kind, *dependent, std::move(metadata));
      Enqueue(where);
      return true;
    }
    if (!dependent->deleting() && ProcessOwned(where, at, *kind, *dependent)) {
      Enqueue(where);
      return true;
    }
    blocked = blocked || Blocks(*dependent, object.uid());
  }
  if (blocked || refused_.contains(where)) return false;
  Patch(where, where, resource, object,
        WithoutFinalizer(object, orphan ? kOrphanFinalizer : kForegroundFinalizer));
  return true;
}

Garbage::Owners Garbage::Classify(const Object& object) const {
  Owners owners{Value::Array(), Value::Array(), Value::Array()};
  for (const Value& reference : References(&object)->array_range()) {
    const auto found = present_.find(TextAt(reference, "uid"));
    const ObjectPtr owner = found == present_.end() ? nullptr : Find(found->second);
    // Nobody is owned from another namespace.
    if (!owner || (!owner->ns().empty() && owner->ns() != object.ns())) {
      owners.dangling.push_back(reference);
    } else if (owner->deleting() && HasFinalizer(*owner, kForegroundFinalizer)) {
      owners.waiting.push_back(reference);
    } else {
      owners.solid.push_back(reference);
    }
  }
  return owners;
}

// An object with owners: it stays for one that stays, or goes with the last of them.
bool Garbage::ProcessOwned(const Where& asker, const Where& where, const Resource& resource,
                           const Object& object) {
  if (!References(&object) || refused_.contains(where)) return false;
  const Owners owners = Classify(object);
  if (owners.dangling.empty() && owners.waiting.empty()) return false;
  if (!owners.solid.empty()) {
    Value metadata = Value::Object();
    metadata.insert_or_assign("ownerReferences", owners.solid);
    Patch(asker, where, resource, object, std::move(metadata));
    return true;
  }
  const bool has_dependents = dependents_.contains(object.uid());
  Delete(asker, where, resource, object,
         !owners.waiting.empty() && has_dependents ? "Foreground" : "Background");
  return true;
}

bool Garbage::EndNamespace(const Where& where, Resource& namespaces, const Object& ns) {
  const std::string prefix = where.key + "/";
  bool empty = true;
  for (const auto& [name, resource] : cluster_.registry().all()) {
    if (!resource->namespaced) continue;
    ObjectPtr next;
    resource->objects.Each(
        prefix, "", std::nullopt, [&](const std::string& key, const ObjectPtr& object) {
          empty = false;
          const bool refused = refused_.contains({resource->group, resource->plural, key});
          if (!object->deleting() && !refused) next = object;
          return !next;
        });
    if (!next) continue;
    Enqueue(where);
    Delete(where, {resource->group, resource->plural, prefix + std::string(next->name())},
           *resource, *next, "Background");
    return true;
  }
  if (!empty || memory::Find(ns.value, "metadata", "finalizers")) return false;
  cluster_.Remove(namespaces, where.key);
  return true;
}

bool Garbage::EndDefinition(const Where& where, Resource& definitions, const Object& definition) {
  const auto resource = DefinedBy(cluster_, definition.value);
  if (resource) {
    resource->terminating = true;
    if (NoteDeletionInProgress(cluster_, definition)) return true;
    ObjectPtr next;
    resource->objects.Each(
        "", "", std::nullopt, [&](const std::string& key, const ObjectPtr& object) {
          const bool refused = refused_.contains({resource->group, resource->plural, key});
          if (!object->deleting() && !refused) next = object;
          return !next;
        });
    if (next) {
      Enqueue(where);
      Delete(where, {resource->group, resource->plural, KeyOf(next->ns(), next->name())}, *resource,
             *next, "Background");
      return true;
    }
    if (resource->objects.size() > 0) return false;
    cluster_.registry().Remove(*resource);
    EndWatches(*resource);
  }
  cluster_.Remove(definitions, where.key);
  return true;
}

// ---- Requests

void Garbage::Delete(const Where& asker, const Where& where, const Resource& resource,
                     const Object& object, std::string_view policy) {
  // The object's own finalizer goes first.
  if (HasFinalizer(object, kOrphanFinalizer)) policy = "Orphan";
  if (HasFinalizer(object, kForegroundFinalizer)) policy = "Foreground";
  SendAbout(asker, where,
            {.method = Method::kDelete,
             .path = PathOf(resource, object),
             .body = Format(R"({{"kind":"DeleteOptions","apiVersion":"v1",)"
                            R"("preconditions":{{"uid":"{}"}},"propagationPolicy":"{}"}})",
                            object.uid(), policy)});
}

void Garbage::Patch(const Where& asker, const Where& where, const Resource& resource,
                    const Object& object, Value metadata) {
  metadata.insert_or_assign("uid", object.uid());
  Value patch = Value::Object();
  patch.insert_or_assign("metadata", std::move(metadata));
  SendAbout(asker, where,
            {.method = Method::kPatch,
             .path = PathOf(resource, object),
             .body = patch.to_string(),
             .content_type = "application/merge-patch+json"});
}

void Garbage::SendAbout(const Where& asker, const Where& where, const Request& request) {
  send_(request, [this, asker, where](int code) {
    // Gone or changed meanwhile: the change itself has brought it back into the queue.
    if (code < 300 || code == 404 || code == 409) return;
    refused_.insert(where);
    askers_.insert(asker);
  });
}

}  // namespace berth::kube::memory
