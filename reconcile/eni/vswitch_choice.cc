#include "reconcile/eni/vswitch_choice.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "log/format.h"

namespace berth::eni {
namespace {

constexpr int kVeryMany = std::numeric_limits<int>::max();

std::string Refusal(const NodeSpec& spec, std::size_t in_zone, std::size_t full) {
  if (spec.vswitches.empty()) return "spec.eni.vSwitchOptions names no vSwitch";
  if (in_zone == 0) {
    return Format("none of the {} vSwitches of spec.eni.vSwitchOptions is in zone {}",
                  spec.vswitches.size(), spec.zone);
  }
  if (full == 0) return Format("no vSwitch of zone {} has IPv6", spec.zone);
  return Format("no vSwitch of zone {} has free addresses", spec.zone);
}

}  // namespace

int FreeAddressesOf(const VSwitches& vswitches, const std::string& id, async::WallTime now) {
  const auto full = vswitches.full_until.find(id);
  if (full != vswitches.full_until.end() && full->second > now) return 0;
  const auto known = vswitches.known.find(id);
  if (known == vswitches.known.end()) return kVeryMany;
  return static_cast<int>(std::min<std::size_t>(known->second.free_addresses, kVeryMany));
}

VSwitchChoice ChooseVSwitch(const NodeSpec& spec, const VSwitches& vswitches, async::WallTime now,
                            double random) {
  std::vector<const cloud::VSwitch*> candidates;
  std::size_t in_zone = 0;
  std::size_t full = 0;
  for (const std::string& id : spec.vswitches) {
    const auto known = vswitches.known.find(id);
    if (known == vswitches.known.end() || known->second.zone_id != spec.zone) continue;
    ++in_zone;
    if (spec.ipv6 && known->second.ipv6_cidr.empty()) continue;
    if (FreeAddressesOf(vswitches, id, now) == 0) {
      ++full;
    } else {
      candidates.push_back(&known->second);
    }
  }
  if (candidates.empty()) return {.vswitch = nullptr, .refusal = Refusal(spec, in_zone, full)};
  if (spec.vswitch_policy == "random") {
    const auto at = static_cast<std::size_t>(random * static_cast<double>(candidates.size()));
    return {.vswitch = candidates[std::min(at, candidates.size() - 1)], .refusal = {}};
  }
  if (spec.vswitch_policy == "most")
    return {.vswitch = *std::ranges::max_element(candidates, {}, &cloud::VSwitch::free_addresses),
            .refusal = {}};
  return {.vswitch = candidates.front(), .refusal = {}};
}

}  // namespace berth::eni
