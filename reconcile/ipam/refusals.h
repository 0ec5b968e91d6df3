#pragma once

#include <string>
#include <unordered_map>

#include "async/executor.h"
#include "reconcile/ipam/objects.h"
#include "reconcile/runtime/work_queue.h"

namespace berth::ipam {

// Objects for which the API server, or a policy, refused to create something: no event tells when
// it will not any more, and events of any other kind must not cause another attempt. Each object
// waits by itself, longer after every refusal, as a key of a work queue does. An object with
// another spec, or another uid, does not wait. One entry for an object that was refused, until it
// is forgotten.
class Refusals {
 public:
  struct Refusal {
    std::string uid;
    std::int64_t generation = 0;
    std::string message;
    async::Duration wait{};
    async::TimePoint until;
  };

  // The last refusal, while the object has to wait; none when it may be tried. O(1).
  const Refusal* Waiting(const Identity& id, async::TimePoint now) const;
  // One more refusal, in the words of `message`.
  const Refusal& Note(const Identity& id, std::string message, async::TimePoint now);
  void Forget(const std::string& key) { refusals_.erase(key); }
  std::size_t size() const { return refusals_.size(); }

 private:
  std::unordered_map<std::string, Refusal> refusals_;  // by the object's key
};

// A sentence about the refusal of an object: the API server's words, cut, and what can be done.
std::string ExplainRefusal(std::string_view kind, std::string_view name, const kube::Error& error);

}  // namespace berth::ipam
