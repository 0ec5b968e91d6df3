#pragma once

#include <expected>
#include <vector>

#include "kube/memory/call.h"
#include "kube/memory/cluster.h"
#include "kube/memory/server.h"

// The verbs that change nothing: get, list and watch.
namespace berth::kube::memory {

// The objects of a list, and how it is answered.
struct Listing {
  std::vector<ObjectPtr> objects;
  Response response;
};

// O(log n).
Response Get(const Cluster& cluster, const Call& call);
// O(objects of the namespace); of an earlier version, also O(changes since).
std::expected<Listing, Response> List(const Cluster& cluster, const Call& call);
// O(what it begins with).
std::expected<async::Handle, Response> StartWatch(Cluster& cluster, const Call& call,
                                                  Server::Watcher watcher);

}  // namespace berth::kube::memory
