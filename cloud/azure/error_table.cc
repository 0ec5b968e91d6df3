#include "cloud/azure/error_table.h"

#include <algorithm>
#include <array>

#include "cloud/names.h"

namespace berth::cloud::azure {
namespace {

struct Row {
  std::string_view code;  // a '*' at its beginning stands for anything
  ErrorClass error_class;
};

constexpr std::array kTable = {
    Row{"TooManyRequests", ErrorClass::kThrottled},
    Row{"SubscriptionRequestsThrottled", ErrorClass::kThrottled},
    Row{"OperationNotAllowedDueToThrottling", ErrorClass::kThrottled},

    Row{"PreconditionFailed", ErrorClass::kConflict},

    Row{"ResourceNotFound", ErrorClass::kNotFound},
    Row{"NotFound", ErrorClass::kNotFound},
    Row{"ParentResourceNotFound", ErrorClass::kNotFound},

    // Quotas.
    Row{"QuotaExceeded", ErrorClass::kTerminal},
    Row{"PublicIPCountLimitReached", ErrorClass::kTerminal},
    Row{"MaxPublicIPCountLimitReached", ErrorClass::kTerminal},
    // Locations still name the service.
    Row{"ServiceWithOverlayMappingsCannotBeDeleted", ErrorClass::kTerminal},
    Row{"RulesUseSameBackendPortProtocolAndPool", ErrorClass::kTerminal},

    // Another write is at it, or was: of the same resource, or of one that it refers to.
    Row{"CanceledAndSupersededDueToAnotherOperation", ErrorClass::kRetry},
    Row{"AnotherOperationInProgress", ErrorClass::kRetry},
    Row{"ReferencedResourceNotProvisioned", ErrorClass::kRetry},
    Row{"InvalidResourceReference", ErrorClass::kRetry},
    Row{"RetryableError", ErrorClass::kRetry},
    // PublicIPAddressCannotBeDeleted, InUse…CannotBeDeleted: its user goes first.
    Row{"*CannotBeDeleted", ErrorClass::kRetry},
};

constexpr std::array<std::string_view, 4> kRefusedIdentity = {
    "AuthorizationFailed", "LinkedAuthorizationFailed", "LinkedAccessCheckFailed",
    "RequestDisallowedByPolicy"};

bool Matches(std::string_view pattern, std::string_view code) {
  if (!pattern.starts_with('*')) return IsSameName(pattern, code);
  pattern.remove_prefix(1);
  return code.size() >= pattern.size() &&
         IsSameName(pattern, code.substr(code.size() - pattern.size()));
}

ErrorClass ClassOfStatus(int status, bool writes) {
  const ErrorClass unknown = writes ? ErrorClass::kAmbiguous : ErrorClass::kRetry;
  switch (status) {
    case 0:
    case 409:
      return ErrorClass::kRetry;
    case 404:
      return ErrorClass::kNotFound;
    case 408:  // a time-out of the cloud, or of a gateway: the write may still be under way
    case 502:
    case 504:
      return unknown;
    case 412:
      return ErrorClass::kConflict;
    case 429:
      return ErrorClass::kThrottled;
    default:
      return status >= 400 && status < 500 ? ErrorClass::kTerminal : ErrorClass::kRetry;
  }
}

}  // namespace

ErrorClass ClassOf(int status, std::string_view code, bool writes) {
  if (status == 401 || status == 403) return ErrorClass::kTerminal;
  const auto row =
      std::ranges::find_if(kTable, [&](const Row& r) { return Matches(r.code, code); });
  return row != kTable.end() ? row->error_class : ClassOfStatus(status, writes);
}

bool RefusesIdentity(std::string_view code) {
  return std::ranges::any_of(kRefusedIdentity, [&](auto known) { return IsSameName(known, code); });
}

}  // namespace berth::cloud::azure
