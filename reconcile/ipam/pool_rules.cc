#include "reconcile/ipam/pool_rules.h"

#include <algorithm>

#include "log/format.h"

namespace berth::ipam {
namespace {

// IPv4 addresses in the form of IPv6: no object can name a block of them, see Cidr::Parse.
const Cidr kMapped(Family::kIpv6, Address{0xffff} << 32, 96);

// The largest aligned blocks that a range of addresses consists of.
std::vector<Cidr> Cover(Family family, Address first, Address last) {
  std::vector<Cidr> blocks;
  const int width = Width(family);
  while (true) {
    int prefix = width;
    // As large as it is aligned and fits.
    while (prefix > 0) {
      const Cidr larger(family, first, prefix - 1);
      if (!larger.IsCanonical() || larger.Last() > last) break;
      --prefix;
    }
    const Cidr block(family, first, prefix);
    blocks.push_back(block);
    if (block.Last() >= last) return blocks;
    first = block.Last() + 1;
  }
}

std::expected<Address, std::string> ParseAddress(std::string_view text, Family& family) {
  const bool ipv6 = text.contains(':');
  const auto parsed = Cidr::Parse(std::string(text) + (ipv6 ? "/128" : "/32"));
  if (!parsed) return std::unexpected(parsed.error());
  family = parsed->family();
  return parsed->address();
}

std::string Field(std::string_view field, std::string_view why) {
  return Format("{}: {}", field, why);
}

std::expected<void, std::string> AddExclusions(const Pool& pool, PoolRules& rules) {
  const auto add = [&](const std::string& text,
                       std::string_view field) -> std::expected<void, std::string> {
    auto blocks = ParseRange(text);
    if (!blocks) return std::unexpected(Field(field, blocks.error()));
    for (const Cidr& block : *blocks) {
      if (block.family() != rules.range.family()) {
        return std::unexpected(Field(field, text + " is of the other address family"));
      }
    }
    rules.excluded.insert(rules.excluded.end(), blocks->begin(), blocks->end());
    if (rules.excluded.size() > kMaxExcludedBlocks) {
      return std::unexpected(
          Field(field, Format("the ranges come to more than {} blocks", kMaxExcludedBlocks)));
    }
    return {};
  };
  for (const std::string& text : pool.excluded) {
    if (auto added = add(text, "spec.excludedRanges"); !added) return added;
  }
  // Kept from everybody; who they are for takes them past the rules.
  for (const auto& [claim, text] : pool.pre_allocations) {
    if (auto added = add(text, "spec.preAllocations"); !added) return added;
  }
  return {};
}

}  // namespace

std::expected<std::vector<Cidr>, std::string> ParseRange(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) {
    const auto block = Cidr::Parse(text);
    if (!block) return std::unexpected(block.error());
    return std::vector{block->Canonical()};
  }
  Family first_family{};
  Family last_family{};
  const auto first = ParseAddress(text.substr(0, dash), first_family);
  if (!first) return std::unexpected(first.error());
  const auto last = ParseAddress(text.substr(dash + 1), last_family);
  if (!last) return std::unexpected(last.error());
  if (first_family != last_family) {
    return std::unexpected("the range begins in one address family and ends in the other");
  }
  if (*first > *last) return std::unexpected("the range ends before it begins");
  return Cover(first_family, *first, *last);
}

std::optional<Cidr> KeptFor(const Pool& pool, std::string_view claim) {
  const auto kept = pool.pre_allocations.find(claim);
  if (kept == pool.pre_allocations.end()) return std::nullopt;
  const auto block = Cidr::Parse(kept->second);
  return block ? std::optional(block->Canonical()) : std::nullopt;
}

std::expected<PoolRules, std::string> RulesOf(const Pool& pool) {
  const auto range = Cidr::Parse(pool.cidr);
  if (!range) return std::unexpected(Field("spec.cidr", range.error()));
  const int width = Width(range->family());
  const int usual = range->family() == Family::kIpv4 ? 24 : 64;
  // Ranges that users of plexaubnet wrote may have host bits; the range is meant.
  PoolRules rules{.range = range->Canonical(),
                  .strategy = pool.strategy == "Buddy" ? Strategy::kBuddy : Strategy::kLinear,
                  .default_block = 0,
                  .min_block = std::max(pool.min_block.value_or(0), range->prefix()),
                  .max_block = pool.max_block.value_or(width),
                  .excluded = {}};
  if (rules.max_block > width) {
    return std::unexpected(Field("spec.maxBlockSize", "longer than an address"));
  }
  if (rules.max_block < rules.min_block) {
    return std::unexpected(Field("spec.maxBlockSize", Format("shorter than /{}", rules.min_block)));
  }
  rules.default_block =
      std::clamp(pool.default_block.value_or(usual), rules.min_block, rules.max_block);
  if (auto added = AddExclusions(pool, rules); !added) return std::unexpected(added.error());
  if (rules.range.Contains(kMapped)) rules.excluded.push_back(kMapped);
  return rules;
}

}  // namespace berth::ipam
