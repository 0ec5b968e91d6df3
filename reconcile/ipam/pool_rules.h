#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reconcile/ipam/allocator.h"
#include "reconcile/ipam/objects.h"

namespace berth::ipam {

// Exclusions and pre-allocations of a pool may come to so many blocks.
inline constexpr std::size_t kMaxExcludedBlocks = 4096;

// A pool's spec as rules, or what is wrong with it: "spec.field: why".
std::expected<PoolRules, std::string> RulesOf(const Pool& pool);
// "10.0.0.0/24" or "10.0.0.5-10.0.0.9" as blocks of the family.
std::expected<std::vector<Cidr>, std::string> ParseRange(std::string_view text);

// The block that the pool keeps for the claim of this name (spec.preAllocations).
std::optional<Cidr> KeptFor(const Pool& pool, std::string_view claim);

}  // namespace berth::ipam
