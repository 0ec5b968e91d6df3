#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reconcile/ipam/claim_reconciler.h"
#include "reconcile/ipam/context.h"
#include "reconcile/ipam/refusals.h"

namespace berth::ipam {

// How soon to look again at what another controller has to do first; events come sooner.
inline constexpr auto kLookAgain = std::chrono::seconds(10);

// Pools and SubnetClaims.
template <typename T>
bool IsOwned(const T& object, const PoolClaim& claim) {
  return object.owner_uid == claim.id.uid;
}

// Made for this claim, and to go with it. Users give owners to pools and claims of their own, too.
inline bool IsFor(const Pool& pool, const PoolClaim& claim) {
  return IsOwned(pool, claim) && pool.parent == claim.parent && pool.id.ns == claim.id.ns;
}
inline bool IsFor(const Claim& block, const PoolClaim& claim) {
  return IsOwned(block, claim) && block.pool == claim.parent && block.id.ns == claim.id.ns;
}

// SubnetPoolClaims become child pools: a SubnetClaim of the parent for the block, then a pool with
// the block as its range. Both have names that follow from the claim, so that a second try finds
// what the first one made. What plexaubnet made has other names: a child pool is known by the
// claim's status, then by its owner, and a block's claim by its owner. The end is the other way
// round: the child pool, which waits for its Subnets; then the block's claim, and with it the
// parent's block.
class PoolClaimReconciler {
 public:
  // `claims` keeps a block for as long as a pool is being made of it.
  PoolClaimReconciler(Context& context, ClaimReconciler& claims)
      : context_(context), claims_(claims) {}

  async::Task<Outcome> Reconcile(std::string key);

  // Something of it was refused and is not tried again yet.
  bool BacksOff(const PoolClaim& claim) const;

  std::size_t Remembered() const { return refusals_.size() + settled_.size(); }

 private:
  async::Task<Outcome> Bind(PoolClaim claim);
  async::Task<Outcome> BindTo(PoolClaim claim, Claim block);
  async::Task<Outcome> Refused(PoolClaim claim, kube::Error error);
  async::Task<kube::Result<Claim>> BlockClaim(PoolClaim claim);
  async::Task<kube::Result<std::string>> StrayOrNew(PoolClaim claim);
  async::Task<Step> MakeChild(PoolClaim claim, Claim block);
  async::Task<Step> AdoptChild(PoolClaim claim);
  async::Task<kube::Result<Pool>> ReadChild(PoolClaim claim);
  async::Task<Step> Adopt(const kube::Resource* resource, PoolClaim claim, Identity id,
                          std::string object);
  async::Task<Outcome> DropBlockClaim(PoolClaim claim, Identity block, Report report,
                                      bool made_again = false);
  async::Task<Outcome> End(PoolClaim claim);
  // Tells what a claim that is being deleted waits for.
  async::Task<Outcome> TellEnding(PoolClaim claim, std::string message, async::Duration again);
  async::Task<kube::Result<bool>> ChildrenGone(PoolClaim claim);
  async::Task<kube::Result<bool>> BlocksGone(PoolClaim claim);
  async::Task<kube::Result<bool>> Gone(const kube::Resource* resource, PoolClaim claim,
                                       std::string name);
  async::Task<Step> AllowDelete(PoolClaim claim);
  async::Task<Step> SetFinalizer(PoolClaim* claim, bool wanted);
  async::Task<Outcome> Tell(PoolClaim claim, Report report, async::Duration again = {});
  async::Duration OpenFor(const PoolClaim& claim) const;
  const Pool* ChildOf(const PoolClaim& claim) const;
  bool HasLostOwner(const Pool& pool, const PoolClaim& claim) const;
  bool HasLostOwner(const Claim& block, const PoolClaim& claim) const;
  const Claim* StrayBlockClaimOf(const PoolClaim& claim) const;
  std::string ChildNameOf(const PoolClaim& claim) const;
  std::string ClusterOf(const PoolClaim& claim) const;
  std::set<std::string> ChildNames(const PoolClaim& claim) const;
  bool IsBlockClaim(const Claim& block, const PoolClaim& claim) const;
  const Claim* BlockClaimOf(const PoolClaim& claim) const;
  bool Serves(const Claim& block, const PoolClaim& claim) const;
  bool Fits(const Claim& block, const PoolClaim& claim) const;
  std::string Difference(const Claim& block, const PoolClaim& claim, bool on_create) const;
  std::string ClaimBody(const PoolClaim& claim) const;
  std::string PoolBody(const PoolClaim& claim, const std::string& cidr) const;
  async::Task<kube::Result<std::string>> Create(const kube::Resource* resource, PoolClaim claim,
                                                std::string name, std::string body);

  Context& context_;
  ClaimReconciler& claims_;
  Refusals refusals_;
  // Until when something that was asked for without an answer on behalf of a claim may still come
  // to be, by uid.
  std::map<std::string, async::TimePoint> settled_;
};

}  // namespace berth::ipam
