#include "cloud/aliyun/error_table.h"

#include <gtest/gtest.h>

#include <string_view>

namespace berth::cloud::aliyun {
namespace {

struct Case {
  std::string_view code;
  int http_code;
  ErrorClass error_class;
};

// With the HTTP status that would mislead.
constexpr Case kCases[] = {
    {"Throttling", 400, ErrorClass::kThrottled},
    {"Throttling.User", 400, ErrorClass::kThrottled},
    {"Throttling.Api", 503, ErrorClass::kThrottled},
    {"RequestLimitExceeded", 400, ErrorClass::kThrottled},

    {"InternalError", 400, ErrorClass::kRetry},
    {"ServiceUnavailable", 400, ErrorClass::kRetry},
    {"SystemBusy", 400, ErrorClass::kRetry},
    {"OperationConflict", 400, ErrorClass::kRetry},
    {"Operation.Conflict", 400, ErrorClass::kRetry},
    {"LastTokenProcessing", 400, ErrorClass::kRetry},
    {"TaskConflict", 400, ErrorClass::kRetry},
    {"TaskConflict.AssociateEip", 400, ErrorClass::kRetry},
    {"IncorrectStatus", 400, ErrorClass::kRetry},
    {"IncorrectStatus.Eip", 400, ErrorClass::kRetry},
    {"IncorrectEipStatus", 400, ErrorClass::kRetry},
    {"BandwidthPackageOperation.conflict", 400, ErrorClass::kRetry},
    {"EipOperation.TooFrequently", 400, ErrorClass::kRetry},
    {"FrequentPurchase.EIP", 400, ErrorClass::kRetry},
    {"SignatureNonceUsed", 400, ErrorClass::kRetry},
    {"Unheard.Of", 500, ErrorClass::kRetry},
    {"Unheard.Of", 503, ErrorClass::kRetry},

    {"InvalidAllocationId.NotFound", 400, ErrorClass::kNotFound},
    {"InvalidResourceId.NotFound", 404, ErrorClass::kNotFound},
    {"OperationUnsupported.IpNotInCbwp", 400, ErrorClass::kNotFound},
    {"InvalidEniId.NotFound", 404, ErrorClass::kNotFound},
    {"InvalidEcsId.NotFound", 404, ErrorClass::kNotFound},

    {"InvalidOperation.InvalidEniState", 403, ErrorClass::kConflict},

    {"Forbidden.ChargeTypeIsPrepaid", 500, ErrorClass::kTerminal},
    {"InvalidOperation.DeletionProtection", 500, ErrorClass::kTerminal},
    {"OperationUnsupported.ServiceManaged", 500, ErrorClass::kTerminal},
    {"Forbidden.RAM", 500, ErrorClass::kTerminal},
    {"InsufficientBalance.Eip", 500, ErrorClass::kTerminal},
    {"InvalidParameter", 500, ErrorClass::kTerminal},
    {"COMMODITY.INVALID_COMPONENT", 500, ErrorClass::kTerminal},
    {"EniPerInstanceLimitExceeded", 500, ErrorClass::kTerminal},
    {"InvalidVSwitchId.IpNotEnough", 500, ErrorClass::kTerminal},
    {"IdempotentParameterMismatch", 500, ErrorClass::kTerminal},
    {"Unheard.Of", 400, ErrorClass::kTerminal},
    // Only where the table says so does the beginning of a code decide.
    {"IncorrectEipStatus.Other", 400, ErrorClass::kTerminal},
    {"InvalidVpcId.NotFound", 404, ErrorClass::kTerminal},
    {"throttling", 400, ErrorClass::kTerminal},
};

TEST(ErrorTableTest, ClassesEveryCodeOfTheSpecification) {
  for (const Case& c : kCases) {
    EXPECT_EQ(ClassOf(c.code, c.http_code), c.error_class) << c.code << ' ' << c.http_code;
  }
}

TEST(ErrorTableTest, ARefusedKeyIsKnownAndMayBeTriedAgain) {
  for (const std::string_view code :
       {"InvalidAccessKeyId.NotFound", "InvalidAccessKeyId.Inactive", "SignatureDoesNotMatch",
        "InvalidSecurityToken.Expired", "InvalidSecurityToken.Malformed"}) {
    EXPECT_TRUE(RefusesKey(code)) << code;
    EXPECT_EQ(ClassOf(code, 403), ErrorClass::kRetry) << code;
  }
  EXPECT_FALSE(RefusesKey("Forbidden.RAM"));
  EXPECT_FALSE(RefusesKey(""));
}

}  // namespace
}  // namespace berth::cloud::aliyun
