#pragma once

#include <vector>

#include "simulate/users.h"

namespace berth::simulate {

// The kinds of Subnet IPAM as their users use them: few names and few addresses, so that objects
// meet.
std::vector<UserKind> IpamUsers();

}  // namespace berth::simulate
