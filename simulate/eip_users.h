#pragma once

#include <functional>
#include <string>
#include <vector>

#include "json/json.h"
#include "simulate/users.h"

namespace berth::simulate {

// EIPs as their users use them. `some_address` is the ID of an address to import.
UserKind EipUsers(std::function<std::string(World&)> some_address,
                  const std::vector<std::string>& addresses,
                  const std::vector<std::string>& packages);

// Whether a spec has a value that the cloud may refuse for good: InvalidConfig is then no lie.
bool MayBeRefused(const Json& spec);

}  // namespace berth::simulate
