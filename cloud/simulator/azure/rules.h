#pragma once

#include <string>
#include <vector>

#include "cloud/simulator/azure/wire.h"

namespace berth::cloud::simulator::azure {

inline constexpr std::string_view kPublicIps = "publicipaddresses";
inline constexpr std::string_view kLoadBalancers = "loadbalancers";
inline constexpr std::string_view kNatGateways = "natgateways";

// A type as Azure writes it: "publicIPAddresses".
std::string_view Spelled(std::string_view type);

// Checks the body of a PUT by itself: members, ranges, rules that meet each other. `id` is the
// resource's.
Check CheckBody(std::string_view type, const std::string& id, const Json& body);

// The IDs of the resources that the body refers to.
std::vector<std::string> ReferencesIn(std::string_view type, const Json& body);

// The error of a DELETE of a resource that others refer to.
Refusal InUse(std::string_view type, const std::string& name);

// The member of an object; null for none, and when it is no object.
const Json& At(const Json& object, std::string_view member);
std::string TextAt(const Json& object, std::string_view member);

}  // namespace berth::cloud::simulator::azure
