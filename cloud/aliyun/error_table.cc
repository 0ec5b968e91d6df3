#include "cloud/aliyun/error_table.h"

#include <algorithm>
#include <array>

namespace berth::cloud::aliyun {
namespace {

struct Row {
  std::string_view code;  // a '*' at its end stands for anything
  ErrorClass error_class;
};

constexpr std::array<std::string_view, 3> kRefusedKey = {
    "InvalidAccessKeyId*",
    "InvalidSecurityToken*",
    "SignatureDoesNotMatch",
};

constexpr std::array kTable = {
    Row{"Throttling*", ErrorClass::kThrottled},
    Row{"RequestLimitExceeded", ErrorClass::kThrottled},

    Row{"InternalError", ErrorClass::kRetry},
    Row{"ServiceUnavailable", ErrorClass::kRetry},
    Row{"SystemBusy", ErrorClass::kRetry},
    Row{"OperationConflict", ErrorClass::kRetry},
    Row{"Operation.Conflict", ErrorClass::kRetry},
    Row{"LastTokenProcessing", ErrorClass::kRetry},
    Row{"TaskConflict*", ErrorClass::kRetry},
    Row{"IncorrectStatus*", ErrorClass::kRetry},
    Row{"IncorrectEipStatus", ErrorClass::kRetry},
    Row{"BandwidthPackageOperation.conflict", ErrorClass::kRetry},
    Row{"EipOperation.TooFrequently", ErrorClass::kRetry},
    Row{"FrequentPurchase.EIP", ErrorClass::kRetry},
    // Every try has its own.
    Row{"SignatureNonceUsed", ErrorClass::kRetry},

    Row{"InvalidAllocationId.NotFound", ErrorClass::kNotFound},
    Row{"InvalidResourceId.NotFound", ErrorClass::kNotFound},
    Row{"OperationUnsupported.IpNotInCbwp", ErrorClass::kNotFound},
    Row{"InvalidEniId.NotFound", ErrorClass::kNotFound},
    Row{"InvalidEcsId.NotFound", ErrorClass::kNotFound},

    Row{"InvalidOperation.InvalidEniState", ErrorClass::kConflict},

    Row{"Forbidden.ChargeTypeIsPrepaid", ErrorClass::kTerminal},
    Row{"InvalidOperation.DeletionProtection", ErrorClass::kTerminal},
    Row{"OperationUnsupported.ServiceManaged", ErrorClass::kTerminal},
    Row{"Forbidden.RAM", ErrorClass::kTerminal},
    Row{"InsufficientBalance.Eip", ErrorClass::kTerminal},
    Row{"InvalidParameter", ErrorClass::kTerminal},
    Row{"COMMODITY.INVALID_COMPONENT", ErrorClass::kTerminal},
    Row{"EniPerInstanceLimitExceeded", ErrorClass::kTerminal},
    Row{"InvalidVSwitchId.IpNotEnough", ErrorClass::kTerminal},
    Row{"IdempotentParameterMismatch", ErrorClass::kTerminal},
};

bool Matches(std::string_view pattern, std::string_view code) {
  if (!pattern.ends_with('*')) return code == pattern;
  return code.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

ErrorClass ClassOf(std::string_view code, int http_code) {
  const auto row =
      std::ranges::find_if(kTable, [&](const Row& r) { return Matches(r.code, code); });
  if (row != kTable.end()) return row->error_class;
  // Another key may be on its way: a rotation is no reason to give an object up.
  if (RefusesKey(code)) return ErrorClass::kRetry;
  return http_code >= 500 ? ErrorClass::kRetry : ErrorClass::kTerminal;
}

bool RefusesKey(std::string_view code) {
  return std::ranges::any_of(kRefusedKey, [&](auto pattern) { return Matches(pattern, code); });
}

}  // namespace berth::cloud::aliyun
