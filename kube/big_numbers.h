#pragma once

#include <string>
#include <string_view>

namespace berth::kube {

// A JSON text whose whole numbers that fit no 64 bits are written with a fraction,
// "18446744073709551616.0", so that simdjson reads them as doubles: Go writes doubles without one.
// Text that isn't JSON stays that. O(length).
std::string WithFractions(std::string_view text);

}  // namespace berth::kube
