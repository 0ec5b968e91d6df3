#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::difftracker {

// Load balancers are named after the UIDs of their Services, NAT gateways after egresses, in one
// name space of the gateway.
inline constexpr std::string_view kDefaultNatGateway = "default-natgw";  // Azure's own

enum class EgressRefusal : std::uint8_t {
  kInvalid,   // not a name that Azure takes, or shaped as the UID of a Service
  kReserved,  // Azure's own
};

// Why an egress (lower case) is refused; none if it may be used.
std::optional<EgressRefusal> CheckEgress(std::string_view egress);
bool IsUidShaped(std::string_view name);
std::string LowerCase(std::string_view text);
inline bool IsIpv6(std::string_view address) { return address.contains(':'); }

}  // namespace berth::difftracker
