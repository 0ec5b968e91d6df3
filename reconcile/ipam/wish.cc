#include "reconcile/ipam/wish.h"

#include <algorithm>
#include <tuple>

#include "log/format.h"

namespace berth::ipam {

std::optional<Cidr> ToldBlock(const Claim& claim) {
  const auto block = Cidr::Parse(claim.allocated);
  return block && block->IsCanonical() ? std::optional(*block) : std::nullopt;
}

bool MatchesSpec(const Claim& claim, const Cidr& block) {
  if (claim.block_size && *claim.block_size != block.prefix()) return false;
  return claim.requested.empty() || Cidr::Parse(claim.requested) == block;
}

std::optional<Cidr> PromisedBlock(const Claim& claim) {
  const auto told = ToldBlock(claim);
  return told && MatchesSpec(claim, *told) ? told : std::nullopt;
}

std::expected<Wish, Denial> WishOf(const Claim& claim, Owner owner) {
  Wish wish{.claim = claim.id.name,
            .cluster = claim.cluster,
            .size = claim.block_size,
            .exact = std::nullopt,
            .owner = owner,
            .pool_claim = claim.owner_uid};
  if (const auto promised = PromisedBlock(claim)) {
    wish.exact = promised;
    wish.promised = true;
    return wish;
  }
  if (claim.block_size && !claim.requested.empty()) {
    return std::unexpected(
        Denial{"InvalidRequest", "spec.blockSize and spec.requestedCIDR exclude each other"});
  }
  if (!claim.requested.empty()) {
    const auto requested = Cidr::Parse(claim.requested);
    if (!requested || !requested->IsCanonical()) {
      return std::unexpected(
          Denial{"InvalidRequest", Format("spec.requestedCIDR {}: {}", claim.requested,
                                          requested ? "host bits are set" : requested.error())});
    }
    wish.exact = *requested;
  }
  return wish;
}

void SortByRight(std::vector<const Claim*>& claims) {
  std::ranges::sort(claims, {}, [](const Claim* claim) {
    return std::tuple(claim->Lost(), -claim->ready_changed, claim->id.created,
                      std::string_view(claim->id.ns), std::string_view(claim->id.name));
  });
}

std::vector<Space::Promise> PromisesOf(const std::vector<const Claim*>& claims) {
  std::vector<Space::Promise> promises;
  for (const Claim* claim : claims) {
    const auto block = claim->Lost() ? std::nullopt : PromisedBlock(*claim);
    const auto wish = WishOf(*claim, Fingerprint(claim->id.uid));
    if (block && wish) promises.push_back({claim->PoolKey(), *wish, *block});
  }
  return promises;
}

std::expected<Cidr, Denial> AssignTo(Space& space, const Claim& claim, const Wish& wish) {
  auto given = space.Assign(claim.PoolKey(), wish);
  if (!given && wish.promised &&
      (given.error().reason == "RequestedCIDRTaken" || given.error().reason == "InvalidRequest")) {
    given.error() = {std::string(kAllocationLost),
                     Format("its Subnet is gone or Failed, and {}", given.error().message)};
  } else if (!given && wish.promised && claim.Lost()) {
    // Still told as lost: whoever has the block goes first when the pool is back.
    given.error() = {std::string(kAllocationLost),
                     Format("it has lost {}, and {}", claim.allocated, given.error().message)};
  }
  return given;
}

}  // namespace berth::ipam
