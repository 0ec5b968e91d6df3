#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kube/memory/resource.h"
#include "kube/memory/server.h"

namespace berth::kube::memory {

// The state that the parts of the server share, and the one place where objects change.
class Cluster {
 public:
  explicit Cluster(Server::Options options) : options_(std::move(options)) {}

  Registry& registry() { return registry_; }
  const Registry& registry() const { return registry_; }
  std::uint64_t version() const { return version_; }
  std::size_t history() const { return options_.history; }

  async::WallTime Now() const { return options_.now(); }
  std::int64_t UnixNow() const;
  std::string Date() const;  // RFC 3339
  std::uint64_t Random() { return options_.random(); }
  std::string NewUid();
  // Five characters, as the API server appends to generateName.
  std::string NewSuffix();

  // Gives the object the next version, keeps it and tells the watches. O(log n + watches).
  ObjectPtr Put(Resource& resource, const std::string& key, Value object);
  // Ends an object that is there; the last state carries the version of its end.
  ObjectPtr Remove(Resource& resource, const std::string& key);

  // Called after every change, before Put and Remove return. It must not change objects.
  using Listener = std::function<void(Resource& resource, const Change& change)>;
  void AddListener(Listener listener) { listeners_.push_back(std::move(listener)); }

 private:
  void Announce(Resource& resource, const Change& change);

  Server::Options options_;
  Registry registry_;
  std::uint64_t version_ = 0;
  std::vector<Listener> listeners_;
};

}  // namespace berth::kube::memory
