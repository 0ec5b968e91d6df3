#include "cloud/service_gateway.h"

#include <algorithm>

#include "cloud/names.h"

namespace berth::cloud {
namespace {

constexpr std::string_view kQuota[] = {"QuotaExceeded", "PublicIPCountLimitReached",
                                       "MaxPublicIPCountLimitReached"};

}  // namespace

bool IsQuota(const Error& error) {
  return std::ranges::any_of(kQuota, [&](auto code) { return IsSameName(error.reason, code); });
}

bool IsForbidden(const Error& error) { return error.code == 401 || error.code == 403; }

bool HasMappings(const Error& error) {
  return IsSameName(error.reason, "ServiceWithOverlayMappingsCannotBeDeleted");
}

}  // namespace berth::cloud
