#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reconcile/ipam/context.h"
#include "reconcile/ipam/refusals.h"

namespace berth::ipam {

// The life of Subnets: their phase follows from the Space; one whose claim is gone is deleted; one
// that is being deleted rests as long as its pool's grace period says.
class SubnetReconciler {
 public:
  // `on_gone` is told of a Subnet that went before the watch had brought it.
  SubnetReconciler(Context& context, std::function<void(const Subnet&)> on_gone)
      : context_(context), on_gone_(std::move(on_gone)) {}

  async::Task<Outcome> Reconcile(std::string key);

  // A Subnet that was made just now and that the watch has yet to bring: should it be gone again
  // before the watch tells of it, nobody else would notice. When to look for it.
  async::Duration Made(const Subnet& subnet);
  // The grace period of this one ends now: its cluster wants the block back, for this claim. False
  // when that was said before. The key is to be queued.
  bool EndRest(const std::string& key, const std::string& claim) {
    return wanted_.emplace(key, claim).second;
  }
  // The Subnet is gone: the key of the claim that waited for that, if one did.
  std::optional<std::string> TakeWanted(const std::string& key);
  // The watch has told of this one.
  void Seen(const Subnet& subnet);
  // A Subnet that the watch has yet to bring; none if it has, or there is none.
  const Subnet* UnseenAt(const std::string& key) const;
  // The Subnets of a pool that the watch has yet to bring. O(all such Subnets).
  std::vector<const Subnet*> UnseenOf(const std::string& pool) const;

  std::size_t Remembered() const { return unseen_.size() + wanted_.size() + refusals_.size(); }

 private:
  async::Task<Outcome> LookFor(std::string key, Subnet made);
  bool IsWanted(const std::string& subnet);
  async::Duration RestOf(const Subnet& subnet);
  async::Task<Outcome> End(Subnet subnet);
  async::Task<Outcome> DropOrphan(Subnet subnet);
  // Deletes it; `why` is told beside a refusal.
  async::Task<Outcome> Drop(Subnet subnet, std::string why);
  async::Task<Step> Adopt(Subnet subnet, Identity claim);
  async::Task<Outcome> Refused(Subnet subnet, kube::Error error);
  async::Task<Outcome> Report(Subnet subnet);

  Context& context_;
  const std::function<void(const Subnet&)> on_gone_;
  struct Unseen {
    Subnet subnet;
    async::TimePoint due;
  };
  std::map<std::string, Unseen> unseen_;       // by key
  std::map<std::string, std::string> wanted_;  // those of EndRest, until they are gone
  Refusals refusals_;                          // of the deletion or the change of a Subnet
};

}  // namespace berth::ipam
