// Which pool and which SubnetClaim are a pool claim's own: by its status, by their owner reference,
// or by their name if the reference is lost.
#include <optional>

#include "kube/names.h"
#include "reconcile/ipam/pool_claim_reconciler.h"

namespace berth::ipam {
namespace {

constexpr std::size_t kLongestClusterId = 63;

// The size of the block that the claim asks for.
std::optional<int> SizeOf(const Claim& block) {
  const auto requested = Cidr::Parse(block.requested);
  return requested ? std::optional(requested->prefix()) : block.block_size;
}

}  // namespace

// Whether a pool is the child without its owner reference: it has the child's own name, or its
// range is the claim's block. That the status names it is not enough: users can write the status.
bool PoolClaimReconciler::HasLostOwner(const Pool& pool, const PoolClaim& claim) const {
  if (!pool.owner_uid.empty() || pool.parent != claim.parent) return false;
  bool own = pool.id.name == ChildPoolName(claim.id);
  context_.caches.claims.ForEachIn(context_.caches.claims_by_owner, claim.id.uid,
                                   [&](const std::string&, const Claim& block) {
                                     own |= IsFor(block, claim) && block.allocated == pool.cidr;
                                   });
  return own;
}

// Whether a SubnetClaim is the internal claim without its owner reference. plexaubnet's has the uid
// of the pool claim as its clusterID.
bool PoolClaimReconciler::HasLostOwner(const Claim& block, const PoolClaim& claim) const {
  if (!block.owner_uid.empty() || block.pool != claim.parent || block.id.ns != claim.id.ns ||
      !Fits(block, claim)) {
    return false;
  }
  if (block.cluster == claim.id.uid) return true;
  return block.id.name == ChildClaimName(claim.id) &&
         (block.cluster == ChildPoolName(claim.id) || block.cluster == ClusterOf(claim));
}

// Whether a SubnetClaim asks for the size of the pool claim, or for the range of the child.
bool PoolClaimReconciler::Fits(const Claim& block, const PoolClaim& claim) const {
  if (SizeOf(block) == claim.block_size) return true;
  const Pool* child = ChildOf(claim);
  return child && block.requested == child->cidr;
}

// An internal claim of plexaubnet's that has lost its owner reference: it has another name than
// Berth's, and is found by its Subnet.
const Claim* PoolClaimReconciler::StrayBlockClaimOf(const PoolClaim& claim) const {
  const std::string parent = KeyBeside(claim.id.ns + "/", claim.parent);
  const auto* held = context_.space.BindingOf(parent, claim.id.uid, 0);
  const Subnet* subnet =
      held ? context_.caches.SubnetAt(parent, held->block, held->subnet) : nullptr;
  const Claim* block =
      subnet ? context_.caches.claims.Get(KeyBeside(parent, subnet->claim_name)) : nullptr;
  return block && HasLostOwner(*block, claim) ? block : nullptr;
}

// The child pool. Another one would be made of another block, and leave the users of the first
// behind: of several that the claim owns the one of its status counts.
const Pool* PoolClaimReconciler::ChildOf(const PoolClaim& claim) const {
  const auto& pools = context_.caches.pools;
  const Pool* bound = pools.Get(KeyBeside(claim.id.ns + "/", claim.bound_pool));
  if (bound && IsOwned(*bound, claim)) return bound;  // wherever users have moved it
  const Pool* child = nullptr;
  pools.ForEachIn(context_.caches.pools_by_owner, claim.id.uid,
                  [&](const std::string&, const Pool& pool) {
                    if (!IsFor(pool, claim)) return;
                    if (!child || (child->id.deleting != 0 && pool.id.deleting == 0)) child = &pool;
                  });
  if (child) return child;
  if (bound && HasLostOwner(*bound, claim)) return bound;
  const Pool* usual = pools.Get(KeyBeside(claim.id.ns + "/", ChildPoolName(claim.id)));
  return usual && HasLostOwner(*usual, claim) ? usual : nullptr;
}

// The name of the child pool, or the one to make it under: what users were told, unless somebody
// else's pool has that by now.
std::string PoolClaimReconciler::ChildNameOf(const PoolClaim& claim) const {
  if (const Pool* child = ChildOf(claim)) return child->id.name;
  // Users can write the status, and anything into it.
  const bool free = kube::SubdomainProblems(claim.bound_pool).empty() &&
                    !context_.caches.pools.Get(KeyBeside(claim.id.ns + "/", claim.bound_pool));
  return free ? claim.bound_pool : ChildPoolName(claim.id);
}

// The clusterID of the child's block: the child's name, or the claim's uid if the name is too long.
std::string PoolClaimReconciler::ClusterOf(const PoolClaim& claim) const {
  std::string name = ChildNameOf(claim);
  return name.size() <= kLongestClusterId ? name : claim.id.uid;
}

// Whether a SubnetClaim was made for the claim. Users give owners to claims of their own, too: such
// a claim is not deleted because it cannot become the child. plexaubnet's claims have other names.
bool PoolClaimReconciler::IsBlockClaim(const Claim& block, const PoolClaim& claim) const {
  if (!IsFor(block, claim)) return false;
  if (block.id.name == ChildClaimName(claim.id) || Serves(block, claim)) return true;
  const Pool* child = ChildOf(claim);
  return child && block.allocated == child->cidr;
}

// The SubnetClaim of the child's block. plexaubnet may have made several; the one that the child
// stands on counts.
const Claim* PoolClaimReconciler::BlockClaimOf(const PoolClaim& claim) const {
  const Pool* child = ChildOf(claim);
  const auto rank = [&](const Claim& block) {
    if (block.id.deleting != 0) return 0;
    if (!block.Bound()) return 1;
    return child && block.allocated != child->cidr ? 2 : 3;
  };
  const Claim* best = nullptr;
  context_.caches.claims.ForEachIn(context_.caches.claims_by_owner, claim.id.uid,
                                   [&](const std::string&, const Claim& block) {
                                     if (!IsBlockClaim(block, claim)) return;
                                     if (!best || rank(block) > rank(*best)) best = &block;
                                   });
  return best;
}

// Whether the block that the SubnetClaim asks for can become the child. Users may have edited it.
bool PoolClaimReconciler::Serves(const Claim& block, const PoolClaim& claim) const {
  return Fits(block, claim) && (block.cluster == ClusterOf(claim) || block.cluster == claim.id.uid);
}

}  // namespace berth::ipam
