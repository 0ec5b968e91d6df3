#include "reconcile/ipam/preflight.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "log/format.h"
#include "reconcile/ipam/given_back.h"
#include "reconcile/ipam/wish.h"

namespace berth::ipam {
namespace {

std::string PoolAdvice(std::string_view reason) {
  if (reason == "PoolOverlap")
    return "make one of the two the other's parent (spec.parentRef), or move the claims of one to "
           "another range and delete it; blocks that are allocated stay";
  if (reason == "ParentNotFound") return "create the parent, or remove the reference to it";
  if (reason == "OutsideParent") return "enlarge the parent, or recreate the pool inside it";
  if (reason == "ParentNotReady") return "see that pool";
  return "correct the pool's spec";
}

std::string ClaimAdvice(std::string_view reason) {
  if (reason == "ClusterIDConflict")
    return "delete one of the two, or recreate it with another clusterID";
  if (reason == "PoolNotFound") return "create the pool, or delete the claim";
  if (reason == "PoolNotReady") return "see that pool";
  if (reason == "PoolExhausted") return "enlarge the pool, or delete claims";
  return "delete the claim, or recreate it for another block";
}

class Forecast {
 public:
  Forecast(async::Executor& executor, const Inventory& inventory,
           const std::vector<std::string>& unchecked)
      : inventory_(inventory),
        unchecked_(unchecked),
        space_(executor, {.on_figures = [](const std::string&) {},
                          .on_room = [](const std::string&) {},
                          .on_placement = [](const std::string&) {}}) {
    std::vector<const Pool*> pools;
    for (const auto& [pool, label, ref] : inventory.pools) {
      pools.push_back(&pool);
      if (!pool.owner_uid.empty()) has_pool_.insert(pool.owner_uid);
    }
    std::vector<const Subnet*> subnets;
    subnets.reserve(inventory.subnets.size());
    for (const SubnetProposal& proposal : inventory.subnets) subnets.push_back(&proposal.subnet);
    for (const Claim& claim : inventory.claims) {
      claims_.emplace(claim.id.Key(), &claim);
      if (!claim.owner_uid.empty()) has_claim_.insert(claim.owner_uid);
    }
    space_.Rebuild(pools, subnets);
    for (const Subnet* subnet : subnets) {
      if (IsGivenBack(*subnet, ClaimOf(*subnet))) space_.Rest(*subnet);
    }
  }

  std::vector<runtime::Finding> Take() {
    for (const PoolProposal& pool : inventory_.pools) LookAt(pool);
    for (const SubnetProposal& subnet : inventory_.subnets) LookAt(subnet.subnet);
    LookAtClaims();
    for (const PoolClaim& claim : inventory_.pool_claims) LookAt(claim);
    return std::move(findings_);
  }

 private:
  void Add(const kube::Resource& resource, const Identity& id, std::string what,
           std::string advice) {
    findings_.push_back(
        {Format("{} {}", resource.kind, id.Key()), std::move(what), std::move(advice)});
  }

  // The claim of the name in spec.claimRef, whatever its uid.
  const Claim* ClaimOf(const Subnet& subnet) const {
    const auto found = claims_.find(KeyBeside(subnet.id.Key(), subnet.claim_name));
    return found == claims_.end() ? nullptr : found->second;
  }

  void LookAt(const PoolProposal& proposal);
  void LookAt(const Subnet& subnet);
  void LookAtClaims();
  void LookAt(const Claim& claim);
  void LookAt(const PoolClaim& claim);

  const Inventory& inventory_;
  const std::vector<std::string>& unchecked_;
  Space space_;
  std::map<std::string, const Claim*> claims_;  // by key
  std::set<std::string> has_claim_;             // uids of the pool claims that own a claim
  std::set<std::string> has_pool_;              // and of those that own a pool
  std::vector<runtime::Finding> findings_;
};

void Forecast::LookAt(const PoolProposal& proposal) {
  const Identity& id = proposal.pool.id;
  if (id.deleting != 0) return;
  if (std::ranges::contains(unchecked_, id.ns)) {
    Add(kPools, id,
        Format("the webhooks leave out namespace {}: overlaps and edits of its range are not "
               "refused, and claims get their blocks later than at admission",
               id.ns),
        "move the pool to another namespace, or change webhooks.excludedNamespaces of the chart");
  }
  const auto& problem = space_.Find(id.Key())->problem;
  if (problem) {
    return Add(kPools, id, Format("allocates nothing ({}): {}", problem->reason, problem->message),
               PoolAdvice(problem->reason));
  }
  for (const auto& cause : JudgePool(proposal, nullptr, {.space = &space_}).causes) {
    Add(kPools, id,
        Format("allocates, but could not be created again: {}: {}", cause.field, cause.message),
        "correct it before you restore or recreate it");
  }
}

void Forecast::LookAt(const Subnet& subnet) {
  if (subnet.id.deleting != 0) return;
  if (!subnet.claim_uid.empty()) {
    const Claim* claim = ClaimOf(subnet);
    if (!claim || claim->id.uid != subnet.claim_uid) {
      return Add(kSubnets, subnet.id,
                 Format("is deleted: SubnetClaim {} of spec.claimRef is gone, or is another one "
                        "of the name",
                        subnet.claim_name),
                 "recreate it without spec.claimRef to keep its block");
    }
  }
  const auto placement = space_.PlacementOf(subnet);
  if (placement.phase == SubnetPhase::kAllocated) return;
  Add(kSubnets, subnet.id, Format("becomes {}: {}", Name(placement.phase), placement.message),
      placement.phase == SubnetPhase::kPending ? "create or correct the pool, or delete the Subnet"
                                               : "delete the Subnet, or what is in its way");
}

// In the leader's order: the claims that were told of a block have it before the others choose.
void Forecast::LookAtClaims() {
  std::vector<const Claim*> claims;
  for (const Claim& claim : inventory_.claims) {
    if (claim.id.deleting == 0) claims.push_back(&claim);
  }
  std::ranges::sort(claims, {}, [](const Claim* claim) {
    return std::tuple(!PromisedBlock(*claim), claim->id.created, claim->id.Key());
  });
  for (const Claim* claim : claims) LookAt(*claim);
}

void Forecast::LookAt(const Claim& claim) {
  const Owner owner = Fingerprint(claim.id.uid);
  const auto told = ToldBlock(claim);
  const auto* held = space_.BindingOf(claim.PoolKey(), claim.cluster, owner, told);
  if (held && held->claim == owner) {
    if (told && *told != held->block) {
      Add(kClaims, claim.id,
          Format("its status names {}, but its Subnet has {}, which the status will name",
                 told->ToString(), held->block.ToString()),
          "find out which of the two the cluster uses");
    }
    return;
  }
  const auto wish = WishOf(claim, owner);
  const auto given = wish ? AssignTo(space_, claim, *wish) : std::unexpected(wish.error());
  if (!given) {
    return Add(
        kClaims, claim.id,
        Format(
            "is in Error ({}){}: {}", given.error().reason,
            told ? Format(" and loses {}, which no Subnet of its own has", told->ToString()) : "",
            given.error().message),
        ClaimAdvice(given.error().reason));
  }
  if (told) {
    Add(kClaims, claim.id,
        Format("is bound to {}, which no Subnet has: a Subnet is created for {}", told->ToString(),
               given->ToString()),
        "delete the claim if its cluster does not use the block");
  }
}

void Forecast::LookAt(const PoolClaim& claim) {
  if (claim.id.deleting != 0) return;
  const std::string key = claim.id.Key();
  const bool has_child = has_pool_.contains(claim.id.uid);
  const bool is_bound = space_.Find(KeyBeside(key, claim.bound_pool)) != nullptr;
  const std::string parent = KeyBeside(key, claim.parent);
  if (!space_.Find(parent)) {
    return Add(kPoolClaims, claim.id,
               Format("there is no SubnetPool {}, its spec.parentPoolRef", claim.parent),
               "create the pool, or delete the pool claim");
  }
  if (!claim.bound_pool.empty() && !is_bound) {
    return Add(kPoolClaims, claim.id,
               Format("its SubnetPool {} is gone{}", claim.bound_pool,
                      has_child ? ": it is bound to the pool that it owns"
                                : ": an empty pool is created in its place"),
               "delete the pool claim if nobody needs the pool");
  }
  if (is_bound || has_child) return;
  const auto causes = JudgePoolClaim(claim, nullptr, {.space = &space_}).causes;
  for (const auto& cause : causes) {
    Add(kPoolClaims, claim.id, Format("is in Error: {}: {}", cause.field, cause.message),
        "recreate the pool claim with a size that the parent has");
  }
  if (!causes.empty() || has_claim_.contains(claim.id.uid)) return;
  const std::string name = ChildClaimName(claim.id);
  const auto given = space_.Assign(parent, {.claim = name,
                                            .cluster = name,
                                            .size = claim.block_size,
                                            .exact = std::nullopt,
                                            .owner = Fingerprint(claim.id.uid)});
  if (!given) {
    Add(kPoolClaims, claim.id, Format("gets no block of its parent: {}", given.error().message),
        ClaimAdvice(given.error().reason));
  }
}

}  // namespace

async::Task<kube::Result<Inventory>> ReadInventory(kube::Api api) {
  auto pools = co_await runtime::ReadAll<PoolProposal>(api, kPools);
  if (!pools) co_return std::unexpected(pools.error());
  auto subnets = co_await runtime::ReadAll<SubnetProposal>(api, kSubnets);
  if (!subnets) co_return std::unexpected(subnets.error());
  auto claims = co_await runtime::ReadAll<Claim>(api, kClaims);
  if (!claims) co_return std::unexpected(claims.error());
  auto pool_claims = co_await runtime::ReadAll<PoolClaim>(api, kPoolClaims);
  if (!pool_claims) co_return std::unexpected(pool_claims.error());
  co_return Inventory{std::move(*pools), std::move(*subnets), std::move(*claims),
                      std::move(*pool_claims)};
}

std::vector<runtime::Finding> Foresee(async::Executor& executor, const Inventory& inventory,
                                      const std::vector<std::string>& unchecked) {
  return Forecast(executor, inventory, unchecked).Take();
}

}  // namespace berth::ipam
