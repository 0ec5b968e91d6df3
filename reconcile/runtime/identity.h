#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"
#include "kube/api.h"
#include "kube/events.h"
#include "kube/json_view.h"

namespace berth::runtime {

// Which object it is and in which state of its life: what reconcilers of every kind go by.
struct Identity {
  std::string ns;  // empty for an object of the whole cluster
  std::string name;
  std::string uid;
  std::string version;
  std::int64_t generation = 0;
  std::int64_t created = 0;   // Unix seconds
  std::int64_t deleting = 0;  // since when; 0 when it is not
  bool finalizer = false;     // ours is among its finalizers
  std::vector<std::string> other_finalizers;

  static Identity From(kube::JsonView object, std::string_view our_finalizer);
  // "ns/name", or "name": as kube::KeyOf.
  std::string Key() const { return ns.empty() ? name : ns + "/" + name; }
  kube::ObjectReference Reference(const kube::Resource& resource) const;
};

// The key of another object of the namespace that a key is in.
std::string KeyBeside(std::string_view key, std::string_view name);
// "ns/name" taken apart; the namespace of "name" is empty.
std::pair<std::string_view, std::string_view> SplitKey(std::string_view key);

// {"metadata": {"resourceVersion": version}}: a patch that fails if somebody else wrote since.
Json PatchOf(const Identity& id);
// The finalizers that are not ours, and this one unless it is empty.
Json FinalizersOf(const Identity& id, std::string_view ours);

// Nothing to be done about an error that only says what was wanted: it is gone.
bool IsGone(const kube::Error& error);

}  // namespace berth::runtime
