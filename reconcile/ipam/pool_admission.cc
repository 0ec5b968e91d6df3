#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "log/format.h"
#include "reconcile/ipam/admission.h"

// The rules for pools.
namespace berth::ipam {
namespace {

constexpr std::size_t kMostNamed = 3;
constexpr const char* kCidrField = "spec.cidr";
constexpr const char* kCidrWanted = "the pool's CIDR, as in 10.0.0.0/16";

std::optional<Cidr> RangeOf(std::string_view cidr) {
  const auto parsed = Cidr::Parse(cidr);
  if (!parsed) return std::nullopt;
  return parsed->Canonical();
}

void CheckSizes(Verdict& verdict, const Pool& pool, const std::optional<Cidr>& range) {
  const int least = range ? range->prefix() : 0;
  const int most = Width(range ? range->family() : Family::kIpv6);
  const std::array<std::pair<const char*, std::optional<int>>, 3> sizes = {
      {{"spec.defaultBlockSize", pool.default_block},
       {"spec.minBlockSize", pool.min_block},
       {"spec.maxBlockSize", pool.max_block}}};
  for (const auto& [field, size] : sizes) {
    if (size && (*size < least || *size > most))
      verdict.Invalid(field, *size,
                      Format("must be from {}, the pool's own prefix length, to {}", least, most));
  }
  const auto below = [&](const char* field, std::optional<int> size, const char* bound_field,
                         std::optional<int> bound) {
    if (size && bound && *size > *bound)
      verdict.Invalid(field, *size, Format("must not be above {}, {}", bound_field, *bound));
  };
  below("spec.minBlockSize", pool.min_block, "spec.maxBlockSize", pool.max_block);
  below("spec.defaultBlockSize", pool.default_block, "spec.maxBlockSize", pool.max_block);
  if (pool.default_block && pool.min_block && *pool.default_block < *pool.min_block)
    verdict.Invalid("spec.defaultBlockSize", *pool.default_block,
                    Format("must not be below spec.minBlockSize, {}", *pool.min_block));
}

// Reads no more ranges than there may be blocks: whatever comes, the work is bounded.
void CheckExclusions(Verdict& verdict, const Pool& pool, const std::optional<Cidr>& range) {
  std::size_t count = pool.excluded.size() + pool.pre_allocations.size();
  for (std::size_t i = 0; i < pool.excluded.size() && count <= kMaxExcludedBlocks; ++i) {
    const std::string field = Format("spec.excludedRanges[{}]", i);
    const auto blocks = ParseRange(pool.excluded[i]);
    if (!blocks) {
      verdict.Invalid(field, pool.excluded[i], blocks.error());
    } else if (range && !blocks->empty() && blocks->front().family() != range->family()) {
      verdict.Invalid(field, pool.excluded[i], "not of the pool's address family");
    }
    if (blocks) count += blocks->size() - 1;
  }
  if (count > kMaxExcludedBlocks)
    verdict.Invalid("spec.excludedRanges", Format("{} ranges", pool.excluded.size()),
                    Format("with spec.preAllocations they come to more than {} blocks; use ranges "
                           "that begin and end at the borders of blocks",
                           kMaxExcludedBlocks));
}

void CheckPreAllocations(Verdict& verdict, const Pool& pool, const std::optional<Cidr>& range) {
  struct Kept {
    Cidr block;
    const std::string* claim;
  };
  if (pool.pre_allocations.size() > kMaxExcludedBlocks)
    return verdict.TooMany("spec.preAllocations", pool.pre_allocations.size(), kMaxExcludedBlocks);
  std::vector<Kept> kept;
  for (const auto& [claim, text] : pool.pre_allocations) {
    const std::string field = Format("spec.preAllocations[{}]", claim);
    const auto block = CheckCidr(verdict, field, text, "the CIDR that the claim gets");
    if (!block) continue;
    if (range && !range->Contains(*block)) {
      verdict.Invalid(field, text, Format("not inside the pool, {}", pool.cidr));
      continue;
    }
    kept.push_back({*block, &claim});
  }
  // Sorted so, what contains a block stands before it, with nothing disjoint in between.
  std::ranges::sort(kept, {}, [](const Kept& one) {
    return std::tuple(one.block.family(), one.block.First(), one.block.prefix());
  });
  const Kept* open = nullptr;
  for (const Kept& one : kept) {
    if (open && open->block.Contains(one.block)) {
      verdict.Invalid(Format("spec.preAllocations[{}]", *one.claim), one.block.ToString(),
                      Format("overlaps {}, which is kept for the claim \"{}\"",
                             open->block.ToString(), *open->claim));
    } else {
      open = &one;
    }
  }
}

// The keys from this parent up, as far as they are known; a circle is walked once.
std::vector<std::string> Ancestors(const Space& space, std::string_view key, std::string parent) {
  std::vector<std::string> keys;
  while (!parent.empty() && keys.size() <= Space::kMostGenerations) {
    std::string above = KeyBeside(key, parent);
    if (std::ranges::contains(keys, above)) break;
    const Space::PoolState* state = space.Find(above);
    keys.push_back(std::move(above));
    parent = state ? state->pool.parent : "";
  }
  return keys;
}

std::string ParentField(const PoolProposal& proposal) {
  if (!proposal.parent_ref.empty()) return "spec.parentRef";
  return Format("metadata.labels[{}]", kParentLabel);
}

std::string_view HolderOf(const Hold& hold) {
  switch (hold.use) {
    case Use::kSubnet:
      return "a Subnet holds";
    case Use::kChild:
      return "another child pool holds";
    default:
      return "is reserved";
  }
}

// Whether the hold is the range of a pool, which CheckOtherPools names.
bool IsARange(const Hold& hold, const Pool& pool, const Space& space) {
  return hold.use == Use::kChild &&
         std::ranges::any_of(space.Overlapping(pool.id.ns, hold.block), [&](const auto* other) {
           return RangeOf(other->pool.cidr) == hold.block;
         });
}

// A child shares addresses with its parent only where the parent has given out none of them, or
// gave them out to be this child's range.
void CheckInsideParent(Verdict& verdict, const Pool& pool, const Cidr& range,
                       const Space::PoolState& parent, const Space& space) {
  const auto outer = RangeOf(parent.pool.cidr);
  if (!outer) return;
  if (!outer->Contains(range))
    return verdict.Invalid(
        kCidrField, pool.cidr,
        Format("not inside the parent pool \"{}\", {}", pool.parent, outer->ToString()));
  parent.space->ForEachOverlapping(range, [&](const Hold& hold) {
    if (!space.IsInTheWay(hold, parent, pool, range) || IsARange(hold, pool, space)) return true;
    verdict.Invalid(
        kCidrField, pool.cidr,
        Format("{} {} of the parent pool \"{}\", which {}{}",
               hold.block == range ? "is" : "overlaps", hold.block.ToString(), pool.parent,
               HolderOf(hold), hold.block == range ? ", and not for this pool" : ""));
    return false;
  });
}

void CheckParent(Verdict& verdict, const PoolProposal& proposal, const std::optional<Cidr>& range,
                 const Knowledge& known) {
  const Pool& pool = proposal.pool;
  if (!proposal.parent_label.empty() && !proposal.parent_ref.empty() &&
      proposal.parent_label != proposal.parent_ref)
    verdict.Invalid(
        "spec.parentRef", proposal.parent_ref,
        Format("the label {} names another parent, \"{}\"", kParentLabel, proposal.parent_label));
  if (pool.parent.empty()) return;
  if (pool.parent == pool.id.name)
    return verdict.Invalid(ParentField(proposal), pool.parent, "a pool cannot be its own parent");
  if (!known.space) return;
  const std::string key = pool.id.Key();
  const Space::PoolState* parent = known.space->Find(KeyBeside(key, pool.parent));
  if (!parent) {
    verdict.warnings.push_back(
        Format("{}: there is no pool \"{}\" yet; until there is, nothing is given out",
               ParentField(proposal), pool.parent));
    return;
  }
  if (std::ranges::contains(Ancestors(*known.space, key, pool.parent), key))
    return verdict.Invalid(ParentField(proposal), pool.parent,
                           Format("a circle: the pool \"{}\" is below this one", pool.parent));
  if (Ancestors(*known.space, key, pool.parent).size() > Space::kMostGenerations)
    return verdict.Invalid(
        ParentField(proposal), pool.parent,
        Format("more than {} pools would be above this one", Space::kMostGenerations));
  if (range) CheckInsideParent(verdict, pool, *range, *parent, *known.space);
}

// Whether one of the pools is above the other, as the proposal has it.
bool IsRelated(const Space& space, const Pool& pool, const Space::PoolState& other,
               const std::vector<std::string>& above) {
  return std::ranges::contains(above, other.key) || space.IsAncestor(pool.id.Key(), other.key);
}

void CheckOtherPools(Verdict& verdict, const Pool& pool, const Cidr& range, const Space& space) {
  const std::string key = pool.id.Key();
  const auto above = Ancestors(space, key, pool.parent);
  if (above.size() > Space::kMostGenerations) return;  // told of its parent
  std::size_t named = 0;
  for (const Space::PoolState* other : space.Overlapping(pool.id.ns, range)) {
    if (other->key == key || IsRelated(space, pool, *other, above)) continue;
    if (++named > kMostNamed) return;
    verdict.Invalid(
        kCidrField, pool.cidr,
        Format("overlaps the pool \"{}\", {}; only a parent and its child share addresses",
               other->pool.id.name, other->pool.cidr));
  }
  for (const auto& [block, holder] : space.Strays(pool.id.ns, range)) {
    const auto& rules = holder->rules;
    const bool outside = !rules || !rules->range.Contains(block);
    // Blocks of a pool of the name that was removed are this pool's.
    const bool own = holder->pool.id.Key() == key;
    if (!outside || own || IsRelated(space, pool, *holder, above)) continue;
    if (++named > kMostNamed) return;
    verdict.Invalid(kCidrField, pool.cidr,
                    Format("overlaps {}, which the pool \"{}\" has given out, outside its range",
                           block.ToString(), holder->pool.id.name));
  }
}

Verdict CheckPool(const PoolProposal& proposal, const Knowledge& known) {
  Verdict verdict;
  const Pool& pool = proposal.pool;
  const auto range = CheckCidr(verdict, kCidrField, pool.cidr, kCidrWanted);
  CheckSizes(verdict, pool, range);
  if (!pool.strategy.empty() && pool.strategy != "Linear" && pool.strategy != "Buddy")
    verdict.NotSupported("spec.strategy", pool.strategy, R"("Linear", "Buddy")");
  CheckExclusions(verdict, pool, range);
  CheckPreAllocations(verdict, pool, range);
  CheckParent(verdict, proposal, range, known);
  if (known.space && range) CheckOtherPools(verdict, pool, *range, *known.space);
  return verdict;
}

// `5 Subnets ("a", "b", "c" and others)`
std::string Counted(std::size_t count, std::string_view what,
                    const std::vector<std::string>& names) {
  std::string text = Format("{} {}{}", count, what, count == 1 ? "" : "s");
  if (names.empty()) return text;
  text += " (";
  for (std::size_t i = 0; i < names.size(); ++i)
    text += Format("{}\"{}\"", i > 0 ? ", " : "", names[i]);
  return text + (count > names.size() ? " and others)" : ")");
}

std::vector<std::string> SubnetNames(const std::string& key, const Space::PoolState& state,
                                     const Knowledge& known) {
  std::vector<std::string> names;
  for (const Subnet* subnet : known.subnets_of(key, kMostNamed + state.resting.size())) {
    if (names.size() == kMostNamed) break;
    if (!state.resting.contains(subnet->id.Key())) names.push_back(subnet->id.name);
  }
  for (const auto& [unplaced, subnet] : state.unplaced) {
    if (names.size() == kMostNamed) break;
    names.push_back(subnet.id.name);
  }
  return names;
}

std::vector<std::string> ChildNames(const std::vector<std::string>& children) {
  std::vector<std::string> names;
  for (const std::string& child : children) {
    if (names.size() == kMostNamed) break;
    names.emplace_back(SplitKey(child).second);
  }
  return names;
}

// The count of the pool's own status, for want of better knowledge.
std::int64_t StatedCount(const Pool& pool) {
  if (pool.status.empty()) return 0;
  kube::JsonDocument document;
  const auto status = document.Parse(pool.status);
  return status ? (*status)["allocatedCount"].Int().value_or(0) : 0;
}

// A block in its grace period is nobody's any more, and goes with its pool.
enum class Counting { kLasting, kReservedAndRestingToo };

// By whom a pool is in use, in words; none when it is not.
std::optional<std::string> Users(const Pool& pool, const Knowledge& known, Counting counting) {
  if (!known.space) {
    const auto stated = StatedCount(pool);
    if (stated <= 0) return std::nullopt;
    return Counted(static_cast<std::size_t>(stated), "Subnet", {});
  }
  const std::string key = pool.id.Key();
  const Space::PoolState* state = known.space->Find(key);
  if (!state) return std::nullopt;
  const auto held = [&](Use use) { return state->space ? state->space->Count(use) : 0; };
  std::string text;
  const auto add = [&](std::size_t count, std::string_view what, auto&& names) {
    if (count == 0) return;
    text += (text.empty() ? "" : " and ") + Counted(count, what, names());
  };
  const std::size_t resting = counting == Counting::kLasting ? state->resting.size() : 0;
  add(held(Use::kSubnet) + state->unplaced.size() - resting, "Subnet",
      [&] { return SubnetNames(key, *state, known); });
  const auto children = known.space->Dependants(*state);
  add(children.size(), "child pool", [&] { return ChildNames(children); });
  if (counting == Counting::kReservedAndRestingToo)
    add(held(Use::kReserved), "reservation", [] { return std::vector<std::string>(); });
  return text.empty() ? std::nullopt : std::optional(std::move(text));
}

void CheckRangeChange(Verdict& verdict, const Pool& now, const Pool& before,
                      const Knowledge& known) {
  const auto to = RangeOf(now.cidr);
  const auto from = RangeOf(before.cidr);
  if (!to || !from || to->Contains(*from)) return;
  if (!from->Contains(*to))
    return verdict.Invalid(
        kCidrField, now.cidr,
        Format("a pool's range can grow or shrink, not move: it is \"{}\"", before.cidr));
  if (const auto users = Users(before, known, Counting::kReservedAndRestingToo))
    verdict.Invalid(kCidrField, now.cidr,
                    Format("cannot shrink from \"{}\" while in use by {}", before.cidr, *users));
}

kube::Status InUse(const kube::Resource& resource, const Identity& id, std::string_view by) {
  // Child pools do not go along.
  const std::string escape =
      by.contains("Subnet") ? Format(
                                  ", or have the Subnets deleted with it by the annotation {}: "
                                  "\"true\"",
                                  kAllowDeleteAnnotation)
                            : "";
  return kube::Forbidden(kGroup, resource.plural, id.name,
                         Format("it is in use by {}; delete these first{}", by, escape));
}

}  // namespace

kube::Result<PoolProposal> PoolProposal::From(kube::JsonView object) {
  auto pool = Pool::From(object);
  if (!pool) return std::unexpected(std::move(pool.error()));
  kube::Result<PoolProposal> proposal(std::in_place, std::move(*pool));
  if (proposal->pool.parent.empty()) return proposal;
  proposal->parent_label = object["metadata"]["labels"][kParentLabel].StringOr("");
  proposal->parent_ref = object["spec"]["parentRef"].StringOr("");
  return proposal;
}

Verdict JudgePool(const PoolProposal& now, const PoolProposal* before, const Knowledge& known) {
  Verdict verdict = CheckPool(now, known);
  if (!before) return verdict;
  verdict.Ratchet(CheckPool(*before, known));
  CheckRangeChange(verdict, now.pool, before->pool, known);
  return verdict;
}

Verdict JudgePoolDeletion(const Pool& pool, const Knowledge& known) {
  Verdict verdict;
  if (pool.allow_delete || pool.id.deleting != 0) return verdict;
  if (const auto users = Users(pool, known, Counting::kLasting))
    verdict.refusal = InUse(kPools, pool.id, *users);
  return verdict;
}

Verdict JudgePoolClaimDeletion(const PoolClaim& claim, const Knowledge& known) {
  Verdict verdict;
  if (claim.allow_delete || claim.id.deleting != 0 || claim.bound_pool.empty() || !known.space)
    return verdict;
  const Space::PoolState* child = known.space->Find(KeyBeside(claim.id.Key(), claim.bound_pool));
  if (!child) return verdict;
  if (const auto users = Users(child->pool, known, Counting::kLasting))
    verdict.refusal =
        InUse(kPoolClaims, claim.id, Format("{} of its pool \"{}\"", *users, claim.bound_pool));
  return verdict;
}

std::optional<int> DefaultBlockSize(const Pool& pool) {
  const auto range = RangeOf(pool.cidr);
  if (!range) return std::nullopt;
  const int usual = range->family() == Family::kIpv4 ? 24 : 64;
  const int within = std::min(std::max(usual, pool.min_block.value_or(0)),
                              pool.max_block.value_or(Width(range->family())));
  return std::max(within, range->prefix());
}

}  // namespace berth::ipam
