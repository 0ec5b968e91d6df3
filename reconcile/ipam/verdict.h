#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "reconcile/ipam/cidr.h"
#include "reconcile/runtime/verdict.h"

namespace berth::ipam {

using runtime::Verdict;

// The CIDR that the text is in canonical form; otherwise the verdict says what is wrong. `what` is
// for who left it out: "the pool's CIDR, as in 10.0.0.0/16".
std::optional<Cidr> CheckCidr(Verdict& verdict, const std::string& field, std::string_view text,
                              std::string_view what);

// `^[a-z0-9.-]{1,63}$`
void CheckClusterId(Verdict& verdict, std::string_view cluster);

}  // namespace berth::ipam
