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
    Row{"InvalidOperation.InvalidEcsState", ErrorClass::kRetry},
    // Every try has its own.
    Row{"SignatureNonceUsed", ErrorClass::kRetry},

    Row{"InvalidAllocationId.NotFound", ErrorClass::kNotFound},
    Row{"InvalidResourceId.NotFound", ErrorClass::kNotFound},
    Row{"OperationUnsupported.IpNotInCbwp", ErrorClass::kNotFound},
    Row{"InvalidEniId.NotFound", ErrorClass::kNotFound},
    Row{"InvalidEcsId.NotFound", ErrorClass::kNotFound},
    Row{"InvalidIp.IpUnassigned", ErrorClass::kNotFound},
    Row{"1011", ErrorClass::kNotFound},  // of EFLO: a network interface, an address, a node

    Row{"InvalidOperation.InvalidEniState", ErrorClass::kConflict},
    Row{"IdempotentFailed", ErrorClass::kConflict},
    Row{"1017", ErrorClass::kConflict},  // of EFLO: the state of a network interface or address

    // Refusals of the request itself. A code belongs here only if a retry cannot succeed.
    Row{"Forbidden.ChargeTypeIsPrepaid", ErrorClass::kTerminal},
    Row{"InvalidOperation.DeletionProtection", ErrorClass::kTerminal},
    Row{"OperationUnsupported.ServiceManaged", ErrorClass::kTerminal},
    Row{"InvalidParameter*", ErrorClass::kTerminal},
    Row{"MissingParameter*", ErrorClass::kTerminal},
    Row{"IllegalParam*", ErrorClass::kTerminal},
    Row{"COMMODITY.*", ErrorClass::kTerminal},
    Row{"ResourceNotFound.PublicIpAddressPool", ErrorClass::kTerminal},
    Row{"InvalidBandwidthPackageId.NotFound", ErrorClass::kTerminal},
    Row{"InvalidResourceGroupId*", ErrorClass::kTerminal},
    Row{"InvalidBandwidth.Malformed", ErrorClass::kTerminal},
    Row{"InvalidComponent.*", ErrorClass::kTerminal},
    Row{"IpInstanceId.ChargeType.NotSupport", ErrorClass::kTerminal},
    Row{"InvalidTagKey.Malformed", ErrorClass::kTerminal},
    Row{"InvalidTagValue.Malformed", ErrorClass::kTerminal},
    Row{"NumberExceed.Tags", ErrorClass::kTerminal},
    Row{"InvalidOperation.AvailabilityZoneMismatch", ErrorClass::kTerminal},
    Row{"InvalidOperation.VpcMismatch", ErrorClass::kTerminal},
    Row{"InvalidOperation.EniServiceManaged", ErrorClass::kTerminal},
    Row{"InvalidOperation.DetachPrimaryEniNotAllowed", ErrorClass::kTerminal},
    Row{"InvalidVSwitchId.NotFound", ErrorClass::kTerminal},
    Row{"InvalidVSwitchId.Ipv6NotTurnOn", ErrorClass::kTerminal},
    Row{"InvalidIPAddress.AlreadyUsed", ErrorClass::kTerminal},
    // Errors of the account: permission, quota, money.
    Row{"Forbidden", ErrorClass::kTerminal},
    Row{"Forbidden.RAM", ErrorClass::kTerminal},
    Row{"Forbidden.Unauthorized", ErrorClass::kTerminal},
    Row{"NoPermission*", ErrorClass::kTerminal},
    Row{"QuotaExceed*", ErrorClass::kTerminal},
    Row{"ResourceNotEnough.PublicIpAddressPool", ErrorClass::kTerminal},
    Row{"InsufficientBalance*", ErrorClass::kTerminal},
    Row{"EniPerInstanceLimitExceeded", ErrorClass::kTerminal},
    Row{"MaxEniCountExceeded", ErrorClass::kTerminal},
    Row{"SecurityGroupInstanceLimitExceed", ErrorClass::kTerminal},
    Row{"InvalidOperation.Ipv4CountExceeded", ErrorClass::kTerminal},
    Row{"InvalidOperation.Ipv6CountExceeded", ErrorClass::kTerminal},
    Row{"1013", ErrorClass::kTerminal},  // of EFLO: the addresses of a network interface
    Row{"InvalidVSwitchId.IpNotEnough", ErrorClass::kTerminal},
    Row{"IdempotentParameterMismatch", ErrorClass::kTerminal},
};

bool Matches(std::string_view pattern, std::string_view code) {
  if (!pattern.ends_with('*')) return code == pattern;
  return code.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

ErrorClass ClassOf(std::string_view code) {
  const auto row =
      std::ranges::find_if(kTable, [&](const Row& r) { return Matches(r.code, code); });
  return row != kTable.end() ? row->error_class : ErrorClass::kRetry;
}

bool RefusesKey(std::string_view code) {
  return std::ranges::any_of(kRefusedKey, [&](auto pattern) { return Matches(pattern, code); });
}

}  // namespace berth::cloud::aliyun
