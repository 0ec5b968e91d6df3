#pragma once

#include <expected>
#include <optional>

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

// The right to that block, unless the claim has lost it.
std::optional<Space::Promise> PromiseOf(const Claim& claim);

// `owner` is the Fingerprint of the claim's uid. Denied when the spec cannot be read.
std::expected<Wish, Denial> WishOf(const Claim& claim, Owner owner);

// Space::Assign for the claim; a promised block that somebody else has is AllocationLost.
std::expected<Cidr, Denial> AssignTo(Space& space, const Claim& claim, const Wish& wish);

}  // namespace berth::ipam
