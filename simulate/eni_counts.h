#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "json/json.h"
#include "simulate/eni_nodes.h"
#include "simulate/objects.h"

// Counts of a Node's spec and status, for the checks of the ENI scenario.
namespace berth::simulate {

inline int CountIn(const Json& object, std::string_view member) {
  return object.get_value_or<int>(member, 0);
}

inline bool HasFlag(const Json& object, std::string_view member) {
  return object.get_value_or<bool>(member, false);
}

// The ENIs that the flavors allow.
inline int MostEnis(const Json& spec) {
  int all = 0;
  const Json& flavors = Part(spec, "flavor");
  for (const Json& flavor : flavors.array_range()) all += CountIn(flavor, "count");
  return all;
}

// The ENIs of HighPerformance, or of Standard.
inline int MostEnis(const Json& spec, bool erdma) {
  int all = 0;
  const Json& flavors = Part(spec, "flavor");
  for (const Json& flavor : flavors.array_range()) {
    const bool is = Text(flavor, "networkInterfaceTrafficMode") == "HighPerformance";
    if (is == erdma) all += CountIn(flavor, "count");
  }
  return all;
}

// Addresses that no pod has and that can be given to one.
inline int IdleOf(const std::map<std::string, NicAddress>& addresses) {
  return static_cast<int>(std::ranges::count_if(addresses, [](const auto& entry) {
    return entry.second.status == "Valid" && !entry.second.bound();
  }));
}

inline int IdleOf(const NicView& nic) {
  return nic.status == "InUse" && !nic.unschedulable && !nic.erdma ? IdleOf(nic.ipv4) : 0;
}

// Addresses that the cloud counts.
inline int HeldOf(const std::map<std::string, NicAddress>& addresses) {
  return static_cast<int>(std::ranges::count_if(
      addresses, [](const auto& entry) { return entry.second.status != "Invalid"; }));
}

}  // namespace berth::simulate
