#include <algorithm>
#include <utility>

#include "log/format.h"
#include "reconcile/ipam/admission.h"

// The rules for what is asked of pools: claims, Subnets, claims of pools.
namespace berth::ipam {
namespace {

constexpr const char* kPoolField = "spec.poolRef";
constexpr const char* kCidrField = "spec.cidr";
constexpr const char* kSizeField = "spec.blockSize";
constexpr const char* kRequestField = "spec.requestedCIDR";

// The pool that an object refers to. A pool may come later than what refers to it.
const Space::PoolState* CheckPoolRef(Verdict& verdict, const char* field, const Identity& id,
                                     std::string_view name, const Knowledge& known) {
  if (name.empty()) {
    verdict.Required(field, "the name of a SubnetPool of the namespace");
    return nullptr;
  }
  if (!known.space) return nullptr;
  const Space::PoolState* pool = known.space->Find(KeyBeside(id.Key(), name));
  if (!pool) verdict.warnings.push_back(Format("{}: there is no pool \"{}\" yet", field, name));
  return pool;
}

const PoolRules* RulesFor(const Space::PoolState* pool) {
  return pool && pool->rules ? &*pool->rules : nullptr;
}

void CheckSize(Verdict& verdict, const char* field, int size, const PoolRules* rules) {
  const int least = rules ? std::max(rules->min_block, rules->range.prefix()) : 0;
  const int most = rules ? rules->max_block : Width(Family::kIpv6);
  if (size < least || size > most)
    verdict.Invalid(field, size,
                    rules ? Format("the pool gives out blocks from /{} to /{}", least, most)
                          : Format("must be from {} to {}", least, most));
}

void CheckRequested(Verdict& verdict, const Claim& claim, const PoolRules* rules) {
  const auto block = CheckCidr(verdict, kRequestField, claim.requested, "");
  if (!block || !rules) return;
  if (!rules->range.Contains(*block))
    return verdict.Invalid(
        kRequestField, claim.requested,
        Format("not inside the pool \"{}\", {}", claim.pool, rules->range.ToString()));
  if (block->prefix() < rules->min_block || block->prefix() > rules->max_block)
    verdict.Invalid(kRequestField, claim.requested,
                    Format("the pool gives out prefix lengths from {} to {}", rules->min_block,
                           rules->max_block));
}

std::optional<Cidr> KeptBlock(const Claim& claim, const Space::PoolState* pool) {
  return pool ? KeptFor(pool->pool, claim.id.name) : std::nullopt;
}

void CheckClaimSize(Verdict& verdict, const Claim& claim, int size, const Space::PoolState* pool) {
  const auto kept = claim.requested.empty() ? KeptBlock(claim, pool) : std::nullopt;
  if (!kept) return CheckSize(verdict, kSizeField, size, RulesFor(pool));
  if (kept->prefix() != size)
    verdict.Invalid(kSizeField, size,
                    Format("the pool keeps {} for this claim: leave the size out, or ask for {}",
                           kept->ToString(), kept->prefix()));
}

Verdict CheckClaim(const Claim& claim, const Knowledge& known) {
  Verdict verdict;
  const Space::PoolState* pool = CheckPoolRef(verdict, kPoolField, claim.id, claim.pool, known);
  const PoolRules* rules = RulesFor(pool);
  CheckClusterId(verdict, claim.cluster);
  if (claim.block_size && !claim.requested.empty())
    verdict.Forbidden(kRequestField,
                      Format("may not be given together with spec.blockSize, which is {}; Berth "
                             "fills it in when a claim names neither: set it to null",
                             *claim.block_size));
  if (claim.block_size) CheckClaimSize(verdict, claim, *claim.block_size, pool);
  if (!claim.requested.empty()) CheckRequested(verdict, claim, rules);
  return verdict;
}

// Whether the claim has a Subnet of the clusterID that it had, whatever its status says.
bool HasSubnet(const Claim& before, const Knowledge& known) {
  if (!known.space) return false;
  const Owner owner = Fingerprint(before.id.uid);
  const auto bindings = known.space->BindingsOfClaim(before.PoolKey(), owner);
  return std::ranges::any_of(bindings, [&](const Space::Binding* held) {
    return held->subnet != 0 &&
           !known.space->IsOfAnotherCluster(before.PoolKey(), before.cluster, owner, held->block);
  });
}

void CheckClaimChange(Verdict& verdict, const Claim& now, const Claim& before,
                      const Knowledge& known) {
  verdict.Immutable(kPoolField, before.pool, now.pool);
  if (now.stamp != before.stamp && !now.stamp.empty())
    verdict.Forbidden(Format("metadata.annotations[{}]", kStampAnnotation),
                      "is set when the claim is created; it can only be removed");
  // Its Subnet may be there although its status does not say so, and has the clusterID of then.
  if (before.Bound() || !before.allocated.empty() || HasSubnet(before, known))
    verdict.Immutable("spec.clusterID", before.cluster, now.cluster);
  if (!before.Bound()) return;
  verdict.Immutable(kRequestField, before.requested, now.requested);
  // A manifest that leaves it out, as it did before Berth filled it in, changes nothing.
  if (now.block_size) verdict.Immutable(kSizeField, before.block_size, now.block_size);
}

// Says what would become of the claim. No error: it waits for its block, and space may appear.
void Foresee(Verdict& verdict, const Claim& claim, const Knowledge& known) {
  // A claim with a stamp has a block: the very one that would seem to be in the way.
  if (!verdict.allowed() || !known.space || !claim.stamp.empty()) return;
  const Space::PoolState* pool = known.space->Find(claim.PoolKey());
  if (!pool || !pool->rules) return;
  Wish wish{.claim = claim.id.name, .cluster = claim.cluster, .owner = Fingerprint(claim.id.uid)};
  if (const auto exact = Cidr::Parse(claim.requested)) {
    wish.exact = *exact;
  } else {
    wish.size = claim.block_size;
  }
  const auto checked = known.space->Check(claim.PoolKey(), wish);
  if (!checked) verdict.warnings.push_back("the claim will wait: " + checked.error().message);
}

// Whether the hold is in the way of this Subnet: not when it is its own, or waits for it.
bool InTheWay(const Hold& hold, const Subnet& subnet, const Cidr& block) {
  if (hold.block != block) return true;
  if (!subnet.id.uid.empty() && hold.owner == Fingerprint(subnet.id.uid)) return false;
  if (subnet.claim_uid.empty()) return true;
  // The Subnet that a child pool stands on may come after it, as when both are restored.
  return hold.use != Use::kChild && hold.owner != Fingerprint(subnet.claim_uid);
}

std::string_view HolderOf(const Hold& hold) {
  switch (hold.use) {
    case Use::kSubnet:
      return "another Subnet holds";
    case Use::kReserved:
      return "is reserved";
    case Use::kChild:
      return "a child pool holds";
    case Use::kForeign:
      return "another pool has given out";
  }
  std::unreachable();
}

Verdict CheckSubnet(const SubnetProposal& proposal, const Knowledge& known) {
  Verdict verdict;
  const Subnet& subnet = proposal.subnet;
  const Space::PoolState* pool = CheckPoolRef(verdict, kPoolField, subnet.id, subnet.pool, known);
  CheckClusterId(verdict, subnet.cluster);
  const auto block = CheckCidr(verdict, kCidrField, proposal.cidr, "the block, as in 10.0.0.0/24");
  const PoolRules* rules = RulesFor(pool);
  if (!block || !pool) return verdict;
  if (rules && !rules->range.Contains(*block)) {
    verdict.Invalid(kCidrField, proposal.cidr,
                    Format("not inside the pool \"{}\", {}", subnet.pool, rules->range.ToString()));
    return verdict;
  }
  const auto hold = pool->space->Overlapping(*block);
  if (hold && InTheWay(*hold, subnet, *block))
    verdict.Invalid(kCidrField, proposal.cidr,
                    Format("overlaps {}, which {}", hold->block.ToString(), HolderOf(*hold)));
  // Of pools that overlap, which admission did not see.
  const auto beside = hold ? std::nullopt : known.space->GivenBeside(pool->key, *block);
  if (beside)
    verdict.Invalid(kCidrField, proposal.cidr,
                    Format("overlaps {} of the pool \"{}\", which overlaps this one",
                           beside->block.ToString(), beside->pool->pool.id.name));
  return verdict;
}

Verdict CheckPoolClaim(const PoolClaim& claim, const Knowledge& known) {
  Verdict verdict;
  const PoolRules* rules =
      RulesFor(CheckPoolRef(verdict, "spec.parentPoolRef", claim.id, claim.parent, known));
  CheckSize(verdict, "spec.desiredBlockSize", claim.block_size, rules);
  if (rules && claim.block_size == rules->range.prefix())
    verdict.Invalid("spec.desiredBlockSize", claim.block_size,
                    Format("must be greater than {}, the prefix length of the parent pool, {}",
                           rules->range.prefix(), rules->range.ToString()));
  return verdict;
}

}  // namespace

kube::Result<SubnetProposal> SubnetProposal::From(kube::JsonView object) {
  auto subnet = Subnet::From(object);
  if (!subnet) return std::unexpected(std::move(subnet.error()));
  return SubnetProposal{.subnet = std::move(*subnet),
                        .cidr = std::string(object["spec"]["cidr"].StringOr(""))};
}

Verdict JudgeClaim(const Claim& now, const Claim* before, const Knowledge& known) {
  Verdict verdict = CheckClaim(now, known);
  if (before) {
    verdict.Ratchet(CheckClaim(*before, known));
    CheckClaimChange(verdict, now, *before, known);
  } else {
    Foresee(verdict, now, known);
  }
  return verdict;
}

Verdict JudgeSubnet(const SubnetProposal& now, const SubnetProposal* before,
                    const Knowledge& known) {
  Verdict verdict = CheckSubnet(now, known);
  if (!before) return verdict;
  verdict.Ratchet(CheckSubnet(*before, known));
  return verdict;
}

Verdict JudgePoolClaim(const PoolClaim& now, const PoolClaim* before, const Knowledge& known) {
  Verdict verdict = CheckPoolClaim(now, known);
  if (!before) return verdict;
  verdict.Ratchet(CheckPoolClaim(*before, known));
  verdict.Immutable("spec.parentPoolRef", before->parent, now.parent);
  verdict.Immutable("spec.desiredBlockSize", std::optional(before->block_size),
                    std::optional(now.block_size));
  return verdict;
}

std::optional<int> DefaultBlockSize(const Claim& claim, const Knowledge& known) {
  if (claim.block_size || !claim.requested.empty() || !known.space) return std::nullopt;
  const Space::PoolState* pool = known.space->Find(claim.PoolKey());
  const PoolRules* rules = RulesFor(pool);
  if (!rules) return std::nullopt;
  const auto kept = KeptBlock(claim, pool);
  return kept ? kept->prefix() : rules->default_block;
}

}  // namespace berth::ipam
