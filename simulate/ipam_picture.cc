// The whole state, and how it must be once all is settled.
#include "simulate/ipam_picture.h"

#include <algorithm>
#include <set>
#include <utility>

#include "log/format.h"
#include "simulate/ipam_objects.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using ipam::Cidr;

// A user may name a claim in a Subnet of his own; that does not make it the claim's.
bool MadeByBerth(const Json& subnet) {
  return Text(Part(subnet["metadata"], "labels"), "plexaubnet.io/ipam") == "true";
}

std::string ParentOf(const Json& pool) {
  const std::string parent = Text(Part(pool, "spec"), "parentRef");
  if (!parent.empty()) return parent;
  return Text(Part(pool["metadata"], "labels"), ipam::kParentLabel);
}

// How many blocks of a size the naive way finds free.
std::int64_t CountFree(const Cidr& range, int prefix,
                       const std::function<bool(const Cidr&)>& used) {
  if (prefix < range.prefix() || prefix > Width(range.family())) return 0;
  std::int64_t free = 0;
  const ipam::Address step = ipam::Address{1} << (Width(range.family()) - prefix);
  for (ipam::Address at = range.First(); at <= range.Last(); at += step) {
    free += !used(Cidr(range.family(), at, prefix));
  }
  return free;
}

}  // namespace

std::string IpamPicture::Collection(std::string_view ns, std::string_view plural) {
  return Format("/apis/plexaubnet.io/v1alpha1/namespaces/{}/{}", ns, plural);
}

IpamPicture::IpamPicture(World& world, std::string ns) : ns_(std::move(ns)) {
  for (const Json& pool : world.List(Collection(ns_, "subnetpools"))) {
    pools_.emplace(NameOf(pool), pool);
  }
  subnets_ = world.List(Collection(ns_, "subnets"));
  claims_ = world.List(Collection(ns_, "subnetclaims"));
  pool_claims_ = world.List(Collection(ns_, "subnetpoolclaims"));
  for (const Json& subnet : subnets_) {
    const Json& spec = Part(subnet, "spec");
    const auto cidr = Cidr::Parse(Text(spec, "cidr"));
    if (!cidr || !cidr->IsCanonical()) continue;
    blocks_.push_back({.name = NameOf(subnet),
                       .uid = UidOf(subnet),
                       .pool = Text(spec, "poolRef"),
                       .cluster = Text(spec, "clusterID"),
                       .claim_uid = MadeByBerth(subnet) ? Text(Part(spec, "claimRef"), "uid") : "",
                       .named_uid = Text(Part(spec, "claimRef"), "uid"),
                       .phase = Text(Part(subnet, "status"), "phase"),
                       .deleting = Deleting(subnet),
                       .cidr = *cidr});
  }
}

bool IpamPicture::IsAncestor(const std::string& ancestor, std::string pool) const {
  for (int i = 0; i < 10; ++i) {
    const auto found = pools_.find(pool);
    if (found == pools_.end()) return false;
    pool = ParentOf(found->second);
    if (pool == ancestor) return true;
  }
  return false;
}

std::optional<Cidr> IpamPicture::RangeOf(const std::string& pool) const {
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return std::nullopt;
  const auto range = Cidr::Parse(Text(Part(found->second, "spec"), "cidr"));
  return range ? std::optional(range->Canonical()) : std::nullopt;
}

// Whether somebody else has a right to a part of the block.
bool IpamPicture::Used(const std::string& pool, const Cidr& block, bool with_children) const {
  // Blocks of children that are not in their place, and of pools whose range was moved, are held in
  // others, too.
  const bool held = std::ranges::any_of(blocks_, [&](const Block& other) {
    return (other.pool == pool || with_children) && other.cidr.Overlaps(block) &&
           (other.deleting || other.phase != "Failed");
  });
  if (held || !with_children) return held;
  return std::ranges::any_of(pools_, [&](const auto& child) {
    const auto range = RangeOf(child.first);
    return ParentOf(child.second) == pool && range && range->Overlaps(block);
  });
}

bool IpamPicture::Taken(const Block& block) const {
  const bool child = std::ranges::any_of(pools_, [&](const auto& pool) {
    const auto range = RangeOf(pool.first);
    return ParentOf(pool.second) == block.pool && range && range->Overlaps(block.cidr);
  });
  return child || std::ranges::any_of(blocks_, [&](const Block& other) {
           return other.pool == block.pool && other.uid != block.uid &&
                  other.phase == "Allocated" && other.cidr.Overlaps(block.cidr);
         });
}

// A block in its grace period is nobody's any more.
bool IpamPicture::Rests(const Block& block) const {
  return block.deleting && std::ranges::none_of(claims_, [&](const Json& claim) {
           return UidOf(claim) == block.named_uid && !Deleting(claim);
         });
}

// Whether the reason that a claim in Error gives is true.
IpamPicture::Wrong IpamPicture::CheckReason(const Json& claim) const {
  const Json& spec = Part(claim, "spec");
  const std::string name = NameOf(claim);
  const std::string pool = Text(spec, "poolRef");
  const std::string reason = ReasonOf(claim);
  const auto range = RangeOf(pool);
  // A claim that no pool could serve is told so first.
  const bool exists = pools_.contains(pool);
  // A claim that has lost its block stays told so: see AssignTo.
  const bool first = reason == "InvalidRequest" || reason == "AllocationLost";
  if (exists ? reason == "PoolNotFound" : reason != "PoolNotFound" && !first) {
    return Format("claim {}: {}, and the pool {}", name, reason, exists ? "is" : "is not");
  }
  // A child pool that was moved out of its parent holds its old range until it has another.
  const bool lends = std::ranges::any_of(pools_, [&](const auto& child) {
    return Text(Part(child.second, "spec"), "parentRef") == pool &&
           ReasonOf(child.second) == "OutsideParent";
  });
  if (reason == "PoolExhausted" && range && !lends && !KeepsSome(pools_.at(pool))) {
    const Json& pool_spec = Part(pools_.at(pool), "spec");
    const auto longest = pool_spec.get_value_or<std::int64_t>("maxBlockSize", 128);
    const auto size = spec.get_value_or<std::int64_t>(
        "blockSize", std::min(Number(pool_spec, "defaultBlockSize"), longest));
    if (CountFree(*range, static_cast<int>(size),
                  [&](const Cidr& block) { return Used(pool, block, true); }) > 0) {
      return Format("claim {} is told that {} is exhausted, which it is not", name, pool);
    }
  }
  const auto kept =
      exists ? Cidr::Parse(Text(Part(Part(pools_.at(pool), "spec"), "preAllocations"), name))
             : Cidr::Parse("");
  if (reason == "PoolExhausted" && kept && range && range->Contains(*kept) &&
      !Used(pool, *kept, true)) {
    return Format("claim {} is told that {} is exhausted, which keeps {} for it", name, pool,
                  kept->ToString());
  }
  const auto requested = Cidr::Parse(Text(spec, "requestedCIDR"));
  if (reason == "RequestedCIDRTaken" && requested && range && !lends &&
      !KeepsSome(pools_.at(pool)) && !Used(pool, *requested, true)) {
    return Format("claim {} is told that {} is taken, which it is not", name,
                  requested->ToString());
  }
  if (reason == "ClusterIDConflict" && std::ranges::none_of(blocks_, [&](const Block& block) {
        return block.pool == pool && block.cluster == Text(spec, "clusterID") && !Rests(block);
      })) {
    return Format("claim {} is told of a conflict that there is not", name);
  }
  return std::nullopt;
}

// The status of a Bound claim names a block of its own, and says so if that is not what its spec
// asks for.
IpamPicture::Wrong IpamPicture::CheckBound(const Json& claim) const {
  const Json& spec = Part(claim, "spec");
  const std::string told = Text(Part(claim, "status"), "allocatedCIDR");
  const auto own = std::ranges::find_if(blocks_, [&](const Block& block) {
    return block.named_uid == UidOf(claim) && block.pool == Text(spec, "poolRef") &&
           block.cidr.ToString() == told;
  });
  if (own == blocks_.end())
    return Format("claim {} is Bound to {}, which is not its own", NameOf(claim), told);
  const std::string requested = Text(spec, "requestedCIDR");
  const auto size = spec.get_value_or<int>("blockSize", own->cidr.prefix());
  const bool fits = size == own->cidr.prefix() && (requested.empty() || requested == told);
  const std::string message = Text(ConditionOf(claim, "Ready"), "message");
  if (fits == message.contains("spec asks for another block")) {
    return Format("claim {} is Bound to {}, and its message is not true", NameOf(claim), told);
  }
  const bool same = own->cluster == Text(spec, "clusterID");
  if (same == message.contains("spec has another clusterID")) {
    return Format("claim {} is Bound to {} of cluster {}, and its message is not true",
                  NameOf(claim), told, own->cluster);
  }
  return std::nullopt;
}

// A Subnet that has failed has something in its way.
IpamPicture::Wrong IpamPicture::CheckWaiting(const Block& block) const {
  const auto pool = pools_.find(block.pool);
  if (block.phase != "Failed" || block.deleting || pool == pools_.end()) return std::nullopt;
  const auto range = RangeOf(block.pool);
  const std::string reason = ReasonOf(pool->second);
  if (!range || !range->Contains(block.cidr) || !ParentOf(pool->second).empty() ||
      (reason != "Ready" && reason != "PoolOverlap") || Used(block.pool, block.cidr, true)) {
    return std::nullopt;
  }
  // A child pool that is not in its place keeps the range that it had before.
  const bool lends = std::ranges::any_of(pools_, [&](const auto& child) {
    return ParentOf(child.second) == block.pool && ReasonOf(child.second) != "Ready";
  });
  if (lends) return std::nullopt;
  return Format("Subnet {} has failed, and nothing is in its way", block.name);
}

IpamPicture::Wrong IpamPicture::CheckClaim(const Json& claim, bool held) const {
  const std::string name = NameOf(claim);
  const std::string phase = Text(Part(claim, "status"), "phase");
  if (Deleting(claim)) return "claim " + name + " is still being deleted";
  if (phase == "Bound") {
    if (!held) return "claim " + name + " is Bound and has no Subnet";
    const std::string stamp = Text(Part(claim["metadata"], "annotations"), ipam::kStampAnnotation);
    if (!stamp.empty() && stamp != "forged") {
      return "claim " + name + " still has its stamp";
    }
    return CheckBound(claim);
  }
  if (phase != "Error") return Format("claim {} is {}", name, phase);
  if (held) return "claim " + name + " is in Error and has a Subnet";
  return CheckReason(claim);
}

bool IpamPicture::IsBoundElsewhere(const Block& block) const {
  const auto claim = std::ranges::find(claims_, block.claim_uid, UidOf);
  if (claim == claims_.end()) return false;
  const Json& status = Part(*claim, "status");
  return Text(status, "phase") == "Bound" && Text(status, "allocatedCIDR") != block.cidr.ToString();
}

IpamPicture::Wrong IpamPicture::CheckClaims(const std::set<std::string>& by_hand) const {
  std::set<std::string> uids;
  std::set<std::pair<std::string, std::string>> held;  // claim and pool
  for (const Json& claim : claims_) uids.insert(UidOf(claim));
  for (const Block& block : blocks_) {
    if (block.claim_uid.empty()) continue;
    // A Subnet that is being deleted may rest, for as long as its pool says.
    if (block.deleting) {
      held.emplace(block.claim_uid, block.pool);
      continue;
    }
    if (!uids.contains(block.claim_uid)) return "Subnet " + block.name + " is of no claim";
    const auto range = RangeOf(block.pool);
    if (block.phase != "Allocated") {
      // Its pool was replaced by another one of the name.
      if (!range || !range->Contains(block.cidr) || Taken(block)) continue;
      return Format("Subnet {} is {}", block.name, block.phase);
    }
    // A user restores a Subnet that the claim had before.
    if (by_hand.contains(block.uid) && IsBoundElsewhere(block)) continue;
    if (!held.emplace(block.claim_uid, block.pool).second) {
      return "two Subnets are of the claim of " + block.name;
    }
  }
  for (const Json& claim : claims_) {
    const std::string uid = UidOf(claim);
    // A user's Subnet that names the claim may be what it is Bound to.
    const bool bound = Text(Part(claim, "status"), "phase") == "Bound";
    const bool has = held.contains({uid, Text(Part(claim, "spec"), "poolRef")}) ||
                     (bound && std::ranges::contains(blocks_, uid, &Block::named_uid));
    if (auto wrong = CheckClaim(claim, has)) return wrong;
  }
  return std::nullopt;
}

IpamPicture::Wrong IpamPicture::CheckPool(const std::string& name, const Json& pool) const {
  const Json& status = Part(pool, "status");
  const auto of_pool = [&](const Block& block) { return block.pool == name; };
  const auto child = [&](const auto& other) { return ParentOf(other.second) == name; };
  // A pool waits for its Subnets whether their cidr can be read or not.
  const auto names_pool = [&](const Json& subnet) {
    return Text(Part(subnet, "spec"), "poolRef") == name;
  };
  if (Deleting(pool) && std::ranges::none_of(subnets_, names_pool) &&
      std::ranges::none_of(pools_, child)) {
    return "pool " + name + " is still being deleted";
  }
  const auto count = std::ranges::count_if(
      blocks_, [&](const Block& block) { return of_pool(block) && block.phase == "Allocated"; });
  // A Subnet that rests holds its block, whatever its status says.
  const auto untold = std::ranges::count_if(blocks_, [&](const Block& block) {
    return of_pool(block) && block.deleting && block.phase != "Allocated";
  });
  const auto shown = Number(status, "allocatedCount");
  if (shown < count || shown > count + untold) {
    return Format("pool {} shows {} blocks and has {}", name, shown, count);
  }
  if (Number(status, "observedGeneration") != Number(pool["metadata"], "generation")) {
    return "pool " + name + " has a status of an earlier generation";
  }
  if (KeepsSome(pool) || ReasonOf(pool) == "InvalidSpec") return std::nullopt;
  const auto cidr = Cidr::Parse(Text(Part(pool, "spec"), "cidr"));
  if (!cidr) return "pool " + name + " has no range";
  const Cidr& range = *cidr;
  const Json& free = Part(status, "freeCountBySize");
  const auto longest = Part(pool, "spec").get_value_or<int>("maxBlockSize", Width(range.family()));
  for (int prefix = range.prefix(); prefix <= std::min(longest, range.prefix() + 6); ++prefix) {
    const auto blocks_free =
        CountFree(range, prefix, [&](const Cidr& block) { return Used(name, block, false); });
    const auto told = Number(free, Format("/{}", prefix));
    if (told != blocks_free) {
      return Format("pool {} shows {} free /{} and has {}", name, told, prefix, blocks_free);
    }
  }
  return std::nullopt;
}

IpamPicture::Wrong IpamPicture::CheckPoolClaims() const {
  std::set<std::string> uids;
  for (const Json& claim : pool_claims_) {
    const std::string phase = Text(Part(claim, "status"), "phase");
    const std::string bound = Text(Part(claim, "status"), "boundPoolName");
    uids.insert(UidOf(claim));
    if (Deleting(claim)) {
      // It may wait for who uses its pool.
      if (std::ranges::none_of(
              pools_, [&](const auto& pool) { return OwnerOf(pool.second) == UidOf(claim); })) {
        return NameOf(claim) + " is still being deleted";
      }
      continue;
    }
    // Its pool may be deleted, and wait for those who use it.
    const auto pool_of = pools_.find(bound);
    const bool ends = pool_of != pools_.end() && Deleting(pool_of->second);
    if (phase != "Bound" && phase != "Error" && !ends)
      return Format("{} is {}", NameOf(claim), phase);
    // A child that was made before its parent was moved away keeps its block.
    if (ReasonOf(claim) == "InvalidRequest" && pool_of == pools_.end()) {
      const auto block = std::ranges::find_if(claims_, [&](const Json& one) {
        return OwnerOf(one) == UidOf(claim) && NameOf(one) == ipam::ChildClaimName(MakerOf(one)) &&
               Text(Part(one, "status"), "phase") == "Bound";
      });
      if (block != claims_.end()) {
        return Format("{} cannot be served, and {} is Bound", NameOf(claim), NameOf(*block));
      }
    }
    if (phase != "Bound") continue;
    if (!pools_.contains(bound)) return NameOf(claim) + " is Bound to no pool";
    const Json& pool = pools_.at(bound);
    const std::string owner = OwnerOf(pool);
    // An owner may be lost; the claim's status is believed then.
    if (owner != UidOf(claim) &&
        (!owner.empty() || ParentOf(pool) != Text(Part(claim, "spec"), "parentPoolRef"))) {
      return Format("{} is Bound to pool {}, which is not its own", NameOf(claim), bound);
    }
    // The parent's own base may have the same range: the child was grown over the whole parent.
    const auto base = std::ranges::find_if(blocks_, [&](const Block& block) {
      return block.phase == "Allocated" && block.pool == ParentOf(pool) &&
             block.cidr == RangeOf(bound) && IsBaseOf(block, bound);
    });
    if (base == blocks_.end()) continue;
    if (owner.empty()) return Format("pool {} of {} has no owner", bound, NameOf(claim));
    if (Text(ConditionOf(pool, "Ready"), "message").contains("a Subnet has, and not for this"))
      return Format("pool {} of {} does not have its own block", bound, NameOf(claim));
  }
  for (const auto& [name, pool] : pools_) {
    const std::string owner = OwnerOf(pool);
    // A pool that is restored after its claim has gone is deleted, and waits for its Subnets.
    if (!owner.empty() && !uids.contains(owner) && !Deleting(pool)) {
      return "pool " + name + " is of no pool claim";
    }
  }
  return std::nullopt;
}

// Nothing is left of a pool claim that is gone, with an owner reference or without, unless users
// have edited it.
IpamPicture::Wrong IpamPicture::CheckInternal(const InternalClaims& internal) const {
  for (const Json& claim : claims_) {
    const auto made = internal.find(UidOf(claim));
    if (made == internal.end() || Number(claim["metadata"], "generation") != 1) continue;
    const std::string owner = OwnerOf(claim);
    if (!owner.empty() && owner != made->second.uid) continue;
    if (!std::ranges::contains(pool_claims_, made->second.uid, UidOf)) {
      return Format("SubnetClaim {} is of a pool claim that is gone", NameOf(claim));
    }
  }
  return std::nullopt;
}

IpamPicture::Wrong IpamPicture::CheckAll(const std::set<std::string>& by_hand,
                                         const InternalClaims& internal) const {
  if (auto wrong = CheckInternal(internal)) return wrong;
  if (auto wrong = CheckClaims(by_hand)) return wrong;
  for (const Block& block : blocks_) {
    if (auto wrong = CheckWaiting(block)) return wrong;
  }
  for (const auto& [name, pool] : pools_) {
    if (auto wrong = CheckPool(name, pool)) return wrong;
    if (auto wrong = CheckChild(name, pool)) return wrong;
  }
  return CheckPoolClaims();
}

IpamPicture::Wrong IpamPicture::CheckEmpty() const {
  for (const auto* objects : {&subnets_, &claims_, &pool_claims_}) {
    if (!objects->empty()) return Format("{}/{} is still there", ns_, NameOf((*objects)[0]));
  }
  if (!pools_.empty()) return Format("pool {}/{} is still there", ns_, pools_.begin()->first);
  return std::nullopt;
}

}  // namespace berth::simulate
