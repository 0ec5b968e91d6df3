#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "reconcile/ipam/context.h"

namespace berth::ipam {

// SubnetPoolClaims become child pools: a SubnetClaim of the parent for the block, then a pool with
// the block as its range. Both have names that follow from the claim, so that a second try finds
// what the first one made. The end is the other way round: the child pool, which waits for its
// Subnets; then the block's claim, and with it the parent's block.
class PoolClaimReconciler {
 public:
  // `on_making` is told before a pool is made of a claim's block.
  PoolClaimReconciler(Context& context,
                      std::function<void(const Claim& claim, const Cidr& block)> on_making)
      : context_(context), on_making_(std::move(on_making)) {}

  async::Task<Outcome> Reconcile(std::string key);

 private:
  async::Task<Outcome> Bind(PoolClaim claim);
  async::Task<Outcome> Refused(PoolClaim claim, kube::Error error);
  async::Task<kube::Result<Claim>> BlockClaim(PoolClaim claim);
  async::Task<Step> MakeChild(PoolClaim claim, std::string cidr);
  async::Task<Outcome> End(PoolClaim claim);
  async::Task<kube::Result<bool>> Gone(const kube::Resource* resource, PoolClaim claim,
                                       std::string name);
  async::Task<Step> AllowDelete(PoolClaim claim);
  async::Task<Step> SetFinalizer(PoolClaim* claim, bool wanted);
  async::Task<Outcome> Tell(PoolClaim claim, Report report, async::Duration again = {});
  std::string ClaimBody(const PoolClaim& claim) const;
  std::string PoolBody(const PoolClaim& claim, const std::string& cidr) const;

  Context& context_;
  const std::function<void(const Claim&, const Cidr&)> on_making_;
  // Until when something that was asked for on behalf of a claim may still come to be, by uid.
  std::map<std::string, async::TimePoint> settled_;
};

}  // namespace berth::ipam
