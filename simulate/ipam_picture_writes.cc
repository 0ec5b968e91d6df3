// Checks of a single write. The state may be on its way; what is given out must be right at once.
#include <algorithm>
#include <utility>

#include "log/format.h"
#include "simulate/ipam_objects.h"
#include "simulate/ipam_picture.h"
#include "simulate/ipam_stories.h"

namespace berth::simulate {
namespace {

using ipam::Cidr;

bool IsNamedByBerth(const IpamPicture::Block& block) {
  return block.name == ipam::SubnetName(block.pool, block.cidr) ||
         block.name == ipam::OtherSubnetName(block.pool, block.cidr);
}

// A claim of a story that users have not edited since.
bool WasToldLast(const Json& claim) {
  return Part(claim["metadata"], "annotations").contains(kToldLast) &&
         Number(claim["metadata"], "generation") == 1;
}

}  // namespace

// The block is what a pool claim got for this pool, or for one above it.
bool IpamPicture::IsBaseOf(const Block& block, const std::string& pool) const {
  const auto range = RangeOf(pool);
  if (!range || !block.cidr.Contains(*range) || !IsAncestor(block.pool, pool)) return false;
  const auto claim =
      std::ranges::find_if(claims_, [&](const Json& one) { return UidOf(one) == block.named_uid; });
  return std::ranges::any_of(pools_, [&](const auto& base) {
    if (base.first != pool && !IsAncestor(base.first, pool)) return false;
    const ipam::Identity maker = MakerOf(base.second);
    if (block.cluster == maker.uid) return true;  // plexaubnet made it for the uid
    // Users took the owner off the pool; the status of the pool claim names it still.
    const auto bound = std::ranges::find(pool_claims_, block.cluster, UidOf);
    if (maker.uid.empty() && bound != pool_claims_.end() &&
        Text(Part(*bound, "status"), "boundPoolName") == base.first) {
      return true;
    }
    if (block.cluster != base.first) return false;
    // A user's claim may have the name of the pool as its clusterID.
    return maker.uid.empty() || claim == claims_.end() || OwnerOf(*claim) == maker.uid ||
           NameOf(*claim) == ipam::ChildClaimName(maker);
  });
}

// The block is of a pool claim's own SubnetClaim, and was the base of the pool, or of one above it,
// before users edited the clusterID that tells. The pool gives nothing out from now on.
bool IpamPicture::WasBaseOf(const Block& block, const std::string& pool) const {
  const auto claim = std::ranges::find(claims_, block.named_uid, UidOf);
  if (claim == claims_.end() || Number((*claim)["metadata"], "generation") == 1) return false;
  const auto maker = std::ranges::find(pool_claims_, OwnerOf(*claim), UidOf);
  if (maker == pool_claims_.end()) return false;
  const std::string base = Text(Part(*maker, "status"), "boundPoolName");
  return (base == pool || IsAncestor(base, pool)) && block.cidr == RangeOf(base) &&
         Text(Part(*maker, "spec"), "parentPoolRef") == block.pool;
}

IpamPicture::Wrong IpamPicture::CheckMove(const Json& claim,
                                          std::map<std::string, std::string>& told) const {
  const Json& status = Part(claim, "status");
  const bool of_pool = Text(claim, "kind") == "SubnetPoolClaim";
  const std::string now = Text(status, of_pool ? "boundPoolName" : "allocatedCIDR");
  const std::string before = std::exchange(told[UidOf(claim)], now);
  if (before.empty() || before == now) return std::nullopt;
  const auto pool = pools_.find(before);
  const bool has_pool = of_pool && pool != pools_.end() && !Deleting(pool->second) &&
                        OwnerOf(pool->second) == UidOf(claim);
  const bool has_block = std::ranges::any_of(blocks_, [&](const Block& block) {
    return block.named_uid == UidOf(claim) && block.cidr.ToString() == before &&
           block.pool == Text(Part(claim, "spec"), "poolRef") && block.phase == "Allocated" &&
           !block.deleting && pools_.contains(block.pool);  // without a pool it is Pending soon
  });
  if (!has_pool && !has_block) return std::nullopt;
  return Format("{} went from {}, which it still has, to {}", NameOf(claim), before, now);
}

// A claim without a size is not denied the block that its pool keeps for it.
IpamPicture::Wrong IpamPicture::CheckUnsized(const Json& claim) const {
  const std::string reason = ReasonOf(claim);
  if (reason != "RequestedCIDRTaken" && reason != "InvalidRequest") return std::nullopt;
  const auto first = [](const Json& object) {
    return Number(object["metadata"], "generation") == 1;
  };
  const auto pool = pools_.find(Text(Part(claim, "spec"), "poolRef"));
  const bool told = Part(claim, "status").contains("allocatedCIDR");  // of another block
  if (pool == pools_.end() || told || !first(claim) || !first(pool->second) ||
      !Part(claim["metadata"], "annotations").contains(kUnsized)) {
    return std::nullopt;
  }
  const auto kept =
      Cidr::Parse(Text(Part(Part(pool->second, "spec"), "preAllocations"), NameOf(claim)));
  if (!kept || Used(pool->first, *kept, true)) return std::nullopt;
  return Format("claim {} is told {}, and {} is kept for it", NameOf(claim), reason,
                kept->ToString());
}

// The claim that was told of a block last is told that it is lost: not because a claim that was
// told before has it.
IpamPicture::Wrong IpamPicture::CheckLost(const Json& claim,
                                          std::map<std::string, std::string>& told) const {
  if (!WasToldLast(claim) || ReasonOf(claim) != "AllocationLost") return std::nullopt;
  const std::string lost = std::exchange(told[UidOf(claim)], "");
  const auto block = Cidr::Parse(lost);
  const auto other = std::ranges::find_if(blocks_, [&](const Block& one) {
    return block && one.pool == Text(Part(claim, "spec"), "poolRef") && !one.claim_uid.empty() &&
           one.claim_uid != UidOf(claim) && one.cidr.Overlaps(*block);
  });
  if (other == blocks_.end()) return std::nullopt;
  return Format("claim {} lost {}, which it was told of last, to {}", NameOf(claim), lost,
                other->name);
}

// A user's Subnet, in a pool that nobody has edited, is not given the block of the claim that was
// told of it last.
IpamPicture::Wrong IpamPicture::CheckByHand(const Block& block,
                                            const std::map<std::string, std::string>& told) const {
  const auto pool = pools_.find(block.pool);
  if (block.phase != "Allocated" || !block.named_uid.empty() || pool == pools_.end() ||
      Number(pool->second["metadata"], "generation") != 1 || KeepsSome(pool->second)) {
    return std::nullopt;
  }
  for (const Json& claim : claims_) {
    const auto known = told.find(UidOf(claim));
    const auto promised = Cidr::Parse(known == told.end() ? "" : known->second);
    // A claim that was told of its loss waits like the Subnet.
    if (ReasonOf(claim) == "AllocationLost") continue;
    if (!WasToldLast(claim) || Deleting(claim) || !promised || !promised->Overlaps(block.cidr) ||
        Text(Part(claim, "spec"), "poolRef") != block.pool) {
      continue;
    }
    return Format("Subnet {} was told that it has {}, and claim {} was told of {}", block.name,
                  block.cidr.ToString(), NameOf(claim), promised->ToString());
  }
  return std::nullopt;
}

IpamPicture::Wrong IpamPicture::CheckPlaced(const Block& block) const {
  if (block.phase != "Allocated") return std::nullopt;
  // Pools that overlap by mistake hold what users write into them.
  const auto own = RangeOf(block.pool);
  const bool astray = own && !own->Contains(block.cidr);
  // The block that the pool was made of, before it or its parent was moved away; plexaubnet gave it
  // the uid of the pool claim as its clusterID.
  const auto made_of = [this](const Block& inner, const Block& base) {
    const auto pool = pools_.find(inner.pool);
    return base.cidr.Contains(inner.cidr) &&
           (base.cluster == inner.pool ||
            (pool != pools_.end() && base.cluster == OwnerOf(pool->second)));
  };
  for (const Block& other : blocks_) {
    if (other.uid == block.uid || other.phase != "Allocated" || !other.cidr.Overlaps(block.cidr) ||
        (!astray && other.pool != block.pool)) {
      continue;
    }
    if (made_of(block, other) || made_of(other, block)) continue;
    return Format("Subnets {} and {} were told that they have {} and {}", block.name, other.name,
                  block.cidr.ToString(), other.cidr.ToString());
  }
  for (const auto& [name, pool] : pools_) {
    const auto range = RangeOf(name);
    const bool gives =
        ReasonOf(pool) == "Ready" && Number(Part(pool, "status"), "observedGeneration") ==
                                         Number(pool["metadata"], "generation");
    // By spec alone: a label does not change the generation, and the status may be older.
    const bool below = Text(Part(pool, "spec"), "parentRef") == block.pool;
    if (!gives || !below || !range || !range->Overlaps(block.cidr)) continue;
    if (IsBaseOf(block, name) || WasBaseOf(block, name)) continue;
    return Format("Subnet {} was told that it has {}, a part of pool {}, which is Ready",
                  block.name, block.cidr.ToString(), name);
  }
  return std::nullopt;
}

IpamPicture::Wrong IpamPicture::CheckRivals(std::string_view subnet,
                                            const std::set<std::string>& tampered) const {
  const auto block = std::ranges::find(blocks_, subnet, &Block::name);
  if (block == blocks_.end() || block->phase != "Allocated" || tampered.contains(block->uid) ||
      !pools_.contains(block->pool)) {
    return std::nullopt;
  }
  // The block that a pool was made of, before users took its parent away.
  const auto is_base = [this](const Block& base, const Block& inner) {
    const auto pool = pools_.find(inner.pool);
    return base.cluster == inner.pool || base.cluster == OwnerOf(pool->second);
  };
  for (const Block& other : blocks_) {
    if (other.pool == block->pool || other.phase != "Allocated" ||
        !other.cidr.Overlaps(block->cidr) || tampered.contains(other.uid) ||
        !pools_.contains(other.pool) || IsAncestor(other.pool, block->pool) ||
        IsAncestor(block->pool, other.pool) || is_base(*block, other) || is_base(other, *block)) {
      continue;
    }
    return Format("Subnets {} and {} of two pools were told that they have {} and {}", block->name,
                  other.name, block->cidr.ToString(), other.cidr.ToString());
  }
  return std::nullopt;
}

IpamPicture::Wrong IpamPicture::CheckStatus(std::string_view plural, std::string_view name,
                                            std::map<std::string, std::string>& told) const {
  if (plural == "subnets") {
    const auto block = std::ranges::find(blocks_, name, &Block::name);
    if (block == blocks_.end()) return std::nullopt;
    if (auto wrong = CheckByHand(*block, told)) return wrong;
    return CheckPlaced(*block);
  }
  for (const Json& claim : plural == "subnetclaims" ? claims_ : pool_claims_) {
    if (NameOf(claim) != name || plural == "subnetpools") continue;
    if (auto wrong = CheckUnsized(claim)) return wrong;
    if (auto wrong = CheckLost(claim, told)) return wrong;
    return CheckMove(claim, told);
  }
  return std::nullopt;
}

// A pool that gives out blocks shares addresses with no block of a pool above it but its base.
IpamPicture::Wrong IpamPicture::CheckChild(const std::string& name, const Json& pool) const {
  const auto range = RangeOf(name);
  if (!range || ReasonOf(pool) != "Ready") return std::nullopt;
  for (const Block& block : blocks_) {
    if (block.phase != "Allocated" || !block.cidr.Overlaps(*range) || IsBaseOf(block, name) ||
        !IsAncestor(block.pool, name)) {
      continue;
    }
    return Format("pool {} is Ready, and {} of pool {} above it is in its range", name, block.name,
                  block.pool);
  }
  return std::nullopt;
}

// The pool keeps a part of a claim's block for another claim: a Subnet of it is not made again.
bool IpamPicture::KeepsForOther(const std::string& pool, const std::string& claim,
                                const Cidr& block) const {
  const auto found = pools_.find(pool);
  if (found == pools_.end()) return false;
  const Json& kept = Part(Part(found->second, "spec"), "preAllocations");
  return std::ranges::any_of(kept.object_range(), [&](const auto& one) {
    const auto other = Cidr::Parse(one.value().template as<std::string>());
    return one.key() != claim && other && other->Overlaps(block);
  });
}

// A claim that was told of a block and asks for it still has a right to it, with a Subnet or
// without, unless it was told that the block is lost. A pool may keep the block for another claim.
IpamPicture::Wrong IpamPicture::CheckPromised(
    const Block& made, const std::map<std::string, std::string>& told) const {
  const auto owner = std::ranges::find(claims_, made.named_uid, UidOf);
  if (owner != claims_.end() && WasToldLast(*owner)) return std::nullopt;
  for (const Json& claim : claims_) {
    const Json& spec = Part(claim, "spec");
    const auto known = told.find(UidOf(claim));
    const std::string block = Text(Part(claim, "status"), "allocatedCIDR");
    const auto promised = Cidr::Parse(block);
    if (UidOf(claim) == made.named_uid || Deleting(claim) || Text(spec, "poolRef") != made.pool ||
        known == told.end() || known->second != block || !promised ||
        !promised->Overlaps(made.cidr)) {
      continue;
    }
    const auto size = Number(spec, "blockSize");
    const std::string requested = Text(spec, "requestedCIDR");
    if (Text(ConditionOf(claim, "Ready"), "reason") == "AllocationLost") continue;
    if (KeepsForOther(made.pool, NameOf(claim), *promised)) continue;
    if ((size > 0 && size != promised->prefix()) || (!requested.empty() && requested != block)) {
      continue;
    }
    return Format("Subnet {} was made, and claim {} was told of {}", made.name, NameOf(claim),
                  block);
  }
  return std::nullopt;
}

IpamPicture::Wrong IpamPicture::CheckNew(const std::string& subnet,
                                         const std::map<std::string, std::string>& told) const {
  const auto made = std::ranges::find(blocks_, subnet, &Block::name);
  if (made == blocks_.end() || made->claim_uid.empty()) return std::nullopt;
  if (auto wrong = CheckPromised(*made, told)) return wrong;
  for (const Block& other : blocks_) {
    if (other.uid == made->uid || other.claim_uid.empty() || !other.cidr.Overlaps(made->cidr)) {
      continue;
    }
    if (IsBaseOf(other, made->pool) || IsBaseOf(*made, other.pool)) continue;
    if (WasBaseOf(*made, other.pool)) continue;
    // A user can write the label, too, and a watch that is behind does not bring the Subnet in
    // time.
    if (!IsNamedByBerth(other)) continue;
    // The base of the Subnet's own pool, which was grown since.
    const auto base = std::ranges::find(claims_, other.named_uid, UidOf);
    const auto grown = pools_.find(made->pool);
    const bool own = other.cluster == made->pool ||
                     (grown != pools_.end() && other.cluster == OwnerOf(grown->second));
    if (own && base != claims_.end() && !OwnerOf(*base).empty()) continue;
    // The base of a pool that was removed a moment ago and will be made again, or that was grown.
    const auto pool = pools_.find(other.pool);
    if (made->cluster == other.pool ||
        (pool != pools_.end() && made->cluster == OwnerOf(pool->second))) {
      continue;
    }
    // Users took the owner off that pool; the status of the pool claim names it still.
    const auto maker = std::ranges::find(pool_claims_, made->cluster, UidOf);
    if (maker != pool_claims_.end() &&
        Text(Part(*maker, "status"), "boundPoolName") == other.pool) {
      continue;
    }
    return Format("Subnet {} of pool {} was made, and {} of pool {} overlaps it: {} and {}",
                  made->name, made->pool, other.name, other.pool, made->cidr.ToString(),
                  other.cidr.ToString());
  }
  return std::nullopt;
}

IpamPicture::Wrong IpamPicture::CheckDeletion(std::string_view path) const {
  const auto slash = path.find('/');
  const std::string name(path.substr(slash + 1));
  const auto pool = pools_.find(name);
  const auto claim = std::ranges::find(claims_, name, NameOf);
  const bool is_pool = path.substr(0, slash) == "subnetpools";
  const Json* deleted = is_pool ? (pool == pools_.end() ? nullptr : &pool->second)
                                : (claim == claims_.end() ? nullptr : &*claim);
  if (!deleted || !OwnerOf(*deleted).empty()) return std::nullopt;
  return Format("{} was deleted, which was made for no pool claim", path);
}

}  // namespace berth::simulate
