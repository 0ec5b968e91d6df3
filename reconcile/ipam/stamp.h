#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reconcile/ipam/cidr.h"

namespace berth::ipam {

// The content of a stamp: one block of one pool, reserved under a token.
struct Stamp {
  Cidr block;
  std::uint64_t token = 0;
};

// The value of the allocation annotation, "10.0.0.0/24 TOKEN MAC": what the webhook reserved for a
// claim, signed so that nobody can write one for themselves or move it to another claim. The name
// is empty where the API server has yet to generate it.
std::string WriteStamp(const Stamp& stamp, std::string_view key, std::string_view ns,
                       std::string_view name, std::string_view pool);
// None unless it was written with this key, for this claim.
std::optional<Stamp> ReadStamp(std::string_view text, std::string_view key, std::string_view ns,
                               std::string_view name, std::string_view pool);

}  // namespace berth::ipam
