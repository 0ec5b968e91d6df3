#include "cloud/eni.h"

#include <algorithm>
#include <ranges>
#include <string_view>
#include <utility>

namespace berth::cloud {
namespace {

constexpr std::string_view kVSwitchFull[] = {"InvalidVSwitchId.IpNotEnough",
                                             "QuotaExceeded.PrivateIpAddress"};
constexpr std::string_view kCapacityExceeded[] = {
    "EniPerInstanceLimitExceeded", "InvalidOperation.Ipv4CountExceeded",
    "InvalidOperation.Ipv6CountExceeded", "1013"};  // of EFLO

}  // namespace

async::Task<Result<std::vector<Eni>>> Enis::AvailableTagged(std::string key, std::string value) {
  auto tagged = co_await Tagged(std::move(key), std::move(value));
  if (tagged) std::erase_if(*tagged, [](const Eni& eni) { return eni.status != "Available"; });
  co_return tagged;
}

bool IsVSwitchFull(const Error& error) { return std::ranges::contains(kVSwitchFull, error.reason); }

bool IsCapacityExceeded(const Error& error) {
  return std::ranges::contains(kCapacityExceeded, error.reason);
}

std::vector<std::string> AddressesOf(const Eni& eni) {
  return eni.ipv4 | std::views::transform(&EniAddress::address) | std::ranges::to<std::vector>();
}

}  // namespace berth::cloud
