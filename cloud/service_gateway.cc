#include "cloud/service_gateway.h"

#include <algorithm>
#include <cctype>

namespace berth::cloud {
namespace {

bool HasCode(const Error& error, std::string_view code) {
  return std::ranges::equal(error.reason, code, [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  });
}

constexpr std::string_view kQuota[] = {"QuotaExceeded", "PublicIPCountLimitReached",
                                       "MaxPublicIPCountLimitReached"};

}  // namespace

bool IsQuota(const Error& error) {
  return std::ranges::any_of(kQuota, [&](auto code) { return HasCode(error, code); });
}

bool IsForbidden(const Error& error) { return error.code == 401 || error.code == 403; }

bool HasMappings(const Error& error) {
  return HasCode(error, "ServiceWithOverlayMappingsCannotBeDeleted");
}

}  // namespace berth::cloud
