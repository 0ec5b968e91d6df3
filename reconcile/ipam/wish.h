#pragma once

#include <expected>
#include <optional>
#include <vector>

#include "reconcile/ipam/objects.h"
#include "reconcile/ipam/space.h"

// A claim's request for a block, as a Space takes it.
namespace berth::ipam {

// The block that the claim's status names.
std::optional<Cidr> ToldBlock(const Claim& claim);
// False for a block that the claim got before its spec was changed.
bool MatchesSpec(const Claim& claim, const Cidr& block);
// The block that the claim was told of and still asks for: it gets this one again, or none.
std::optional<Cidr> PromisedBlock(const Claim& claim);

// Sorts claims by their right where several were told of one block: claims that have lost it come
// last, and of the others the one that was Ready last comes first.
void SortByRight(std::vector<const Claim*>& claims);
// The rights of the claims to those blocks, in their order; none for a claim that has lost its own.
std::vector<Space::Promise> PromisesOf(const std::vector<const Claim*>& claims);

// `owner` is the Fingerprint of the claim's uid. Denied when the spec cannot be read.
std::expected<Wish, Denial> WishOf(const Claim& claim, Owner owner);

// Space::Assign for the claim; a promised block that somebody else has is AllocationLost.
std::expected<Cidr, Denial> AssignTo(Space& space, const Claim& claim, const Wish& wish);

}  // namespace berth::ipam
