#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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
    std::vector<Cidr> blocks = {};  // of the last Subnets that were refused
    std::optional<Cidr> told = {};  // the block that `message` is about
  };
  // So many blocks are passed over; then the first is tried again.
  static constexpr std::size_t kMostBlocks = 16;

  // The last refusal, while the object has to wait; none when it may be tried. O(1).
  const Refusal* Waiting(const Identity& id, async::TimePoint now) const;
  // One more refusal, in the words of `message`.
  const Refusal& Note(const Identity& id, std::string message, async::TimePoint now);
  bool Knows(const std::string& key) const { return refusals_.contains(key); }
  // The block of a Subnet that was refused; with `pass_over` the next try is with another. The
  // sentence to tell: if only the Subnet is another one than last time, the earlier sentence, so
  // that a status is not written at every try.
  std::string NoteBlock(const Identity& id, const std::string& pool, const Cidr& block,
                        const std::string& message, bool pass_over);
  // The blocks to pass over. O(1).
  std::vector<Cidr> Blocks(const Identity& id) const;
  void Forget(const std::string& key) { refusals_.erase(key); }
  std::size_t size() const { return refusals_.size(); }

 private:
  std::unordered_map<std::string, Refusal> refusals_;  // by the object's key
};

// Whether another object of the kind may be admitted: the refusal is not for a quota, a permission,
// a namespace that is being deleted or a webhook that cannot be called.
bool MayAdmitAnother(std::string_view message);

// The error as a refusal, kTerminal, if a webhook of others cannot be called: the write was
// certainly not carried out, and users would not see a failure that is retried as a passing one. As
// it is otherwise.
kube::Error WithWebhooksAsRefusals(kube::Error error);

// A sentence about the refusal of an object: the API server's words, cut, and what can be done.
std::string ExplainRefusal(std::string_view kind, std::string_view name, const kube::Error& error,
                           std::string_view refused = "created");
// The error with that sentence, if it is a refusal or a webhook cannot be called; as it is
// otherwise.
kube::Error Explained(kube::Error error, std::string_view kind, std::string_view name,
                      std::string_view refused);

}  // namespace berth::ipam
