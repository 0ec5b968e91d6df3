#pragma once

#include <map>
#include <string>
#include <vector>

#include "reconcile/ipam/context.h"
#include "reconcile/ipam/refusals.h"

namespace berth::ipam {

// The only writer of pools' status: what the seed calls the PoolStatusReconciler. Figures come from
// the Space, so a reconcile costs the same for any number of Subnets. A burst of changes is told
// once it is over; while it lasts, when it is worth a write (kWorthTelling Subnets more or less,
// and kLeastSilence since) or after kLongestSilence. Also the order of deletion: a pool goes after
// its Subnets and its children.
class PoolReconciler {
 public:
  static constexpr async::Duration kQuiet = std::chrono::milliseconds(300);
  // After a write, for a while: a burst that stutters is still one.
  static constexpr async::Duration kQuietInBurst = std::chrono::seconds(2);
  static constexpr async::Duration kBurst = std::chrono::seconds(10);
  static constexpr async::Duration kLeastSilence = std::chrono::seconds(2);
  static constexpr async::Duration kLongestSilence = std::chrono::seconds(30);
  static constexpr std::size_t kWorthTelling = 150;
  // Entries of status.allocatedCIDRs: an object has its bounds.
  static constexpr std::size_t kMostListed = 256;

  explicit PoolReconciler(Context& context) : context_(context) {}

  // To be called when figures have changed, before the key is queued.
  void Changed(const std::string& key);

  async::Task<Outcome> Reconcile(std::string key);

  std::size_t Remembered() const { return untold_.size() + told_.size() + refusals_.size(); }

 private:
  async::Duration Wait(const Space::PoolState& state, const std::string& key) const;
  async::Task<Outcome> Update(std::string key);
  async::Task<Outcome> End(std::string key, Pool pool);
  async::Task<Outcome> Refused(std::string key, Identity pool, kube::Error error);
  async::Task<Outcome> Tell(std::string key, async::Duration again = {});
  std::vector<Identity> SubnetsToDrop(const std::string& key) const;
  async::Task<Step> DropSubnets(std::string key);
  async::Task<Step> SetFinalizer(Pool pool, bool wanted);
  async::Task<Step> Report(std::string key);
  Json StatusOf(const Space::PoolState& state, const Json& before) const;
  Json ConditionsOf(const Space::PoolState& state, const Json& before, bool truncated) const;

  Context& context_;
  // The first change that was not told yet.
  struct Untold {
    async::TimePoint since;
    std::size_t subnets = 0;  // how many there were then
  };
  std::map<std::string, Untold> untold_;          // by pool
  std::map<std::string, async::TimePoint> told_;  // when a pool's status was last written
  // Writes for a pool that somebody refuses; its Ready condition has the words.
  Refusals refusals_;
};

}  // namespace berth::ipam
