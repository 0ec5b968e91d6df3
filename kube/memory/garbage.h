#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kube/memory/cluster.h"

namespace berth::kube::memory {

// The controller manager's work on deletions, one step at a time: the deletion of objects whose
// owners are gone, the finalizers "orphan" and "foregroundDeletion", and the ends of namespaces and
// of CustomResourceDefinitions. It learns of every change and looks only at what a change concerns.
class Garbage {
 public:
  // Carries out a request, with its admission, and gives the status code, perhaps later.
  using Send = std::function<void(const Request& request, std::function<void(int code)> done)>;

  // Listens to the cluster from now on; both outlive it.
  Garbage(Cluster& cluster, Send send);

  // One step; false when there is nothing to do. O(log n), or O(what an ending namespace holds).
  bool Step();
  // Refused steps are tried again.
  void Retry();

 private:
  struct Where {
    std::string group, plural, key;
    auto operator<=>(const Where&) const = default;
  };
  struct Owners {  // of an object, by what became of them
    Value solid, dangling, waiting;
  };

  void Notice(const Resource& resource, const Change& change);
  void NoticeOwners(const Where& where, const Change& change);
  void NoticeEnd(const Resource& resource, const Change& change);
  void Enqueue(const Where& where);

  bool Process(const Where& where);
  bool ProcessDeleting(const Where& where, const Resource& resource, const Object& object);
  bool ProcessOwned(const Where& asker, const Where& where, const Resource& resource,
                    const Object& object);
  bool EndNamespace(const Where& where, Resource& namespaces, const Object& ns);
  bool EndDefinition(const Where& where, Resource& definitions, const Object& definition);
  Owners Classify(const Object& object) const;
  ObjectPtr Find(const Where& where) const;

  // `asker` is tried again when the request is refused.
  void Delete(const Where& asker, const Where& where, const Resource& resource,
              const Object& object, std::string_view policy);
  void Patch(const Where& asker, const Where& where, const Resource& resource, const Object& object,
             Value metadata);
  void SendAbout(const Where& asker, const Where& where, const Request& request);

  Cluster& cluster_;
  Send send_;
  std::map<std::string, Where, std::less<>> present_;               // by uid
  std::map<std::string, std::set<Where>, std::less<>> dependents_;  // by the owner's uid
  std::deque<Where> queue_;
  std::set<Where> queued_;
  std::set<Where> refused_;  // not asked for again
  std::set<Where> askers_;   // until the next Retry, when these are tried again
};

}  // namespace berth::kube::memory
