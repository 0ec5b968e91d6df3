#pragma once

#include "cloud/simulator/aliyun/product.h"

// Refusals of calls that the state of an ENI does not allow.
namespace berth::cloud::simulator {

inline constexpr std::size_t kMostIpv4 = 50;  // of an ENI without an instance; with prefixes
inline constexpr std::size_t kMostIpv6 = 10;

inline std::unexpected<Refusal> WrongEniState() {
  return Refuse(400, "InvalidOperation.InvalidEniState",
                "The operation is not allowed in the current ENI state.");
}
inline std::unexpected<Refusal> TooManyIpv4() {
  return Refuse(403, "InvalidOperation.Ipv4CountExceeded",
                "The IPv4 addresses of the ENI exceed the limit.");
}
inline std::unexpected<Refusal> TooManyIpv6() {
  return Refuse(403, "InvalidOperation.Ipv6CountExceeded",
                "The IPv6 addresses of the ENI exceed the limit.");
}

}  // namespace berth::cloud::simulator
