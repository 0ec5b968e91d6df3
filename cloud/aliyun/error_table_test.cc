#include "cloud/aliyun/error_table.h"

#include <gtest/gtest.h>

#include <string_view>

namespace berth::cloud::aliyun {
namespace {

struct Case {
  std::string_view code;
  ErrorClass error_class;
};

constexpr Case kCases[] = {
    {"Throttling", ErrorClass::kThrottled},
    {"Throttling.User", ErrorClass::kThrottled},
    {"Throttling.Api", ErrorClass::kThrottled},
    {"RequestLimitExceeded", ErrorClass::kThrottled},

    {"InternalError", ErrorClass::kRetry},
    {"ServiceUnavailable", ErrorClass::kRetry},
    {"SystemBusy", ErrorClass::kRetry},
    {"OperationConflict", ErrorClass::kRetry},
    {"Operation.Conflict", ErrorClass::kRetry},
    {"LastTokenProcessing", ErrorClass::kRetry},
    {"TaskConflict", ErrorClass::kRetry},
    {"TaskConflict.AssociateEip", ErrorClass::kRetry},
    {"IncorrectStatus", ErrorClass::kRetry},
    {"IncorrectStatus.Eip", ErrorClass::kRetry},
    {"IncorrectEipStatus", ErrorClass::kRetry},
    {"BandwidthPackageOperation.conflict", ErrorClass::kRetry},
    {"EipOperation.TooFrequently", ErrorClass::kRetry},
    {"FrequentPurchase.EIP", ErrorClass::kRetry},
    {"SignatureNonceUsed", ErrorClass::kRetry},

    {"InvalidAllocationId.NotFound", ErrorClass::kNotFound},
    {"InvalidResourceId.NotFound", ErrorClass::kNotFound},
    {"OperationUnsupported.IpNotInCbwp", ErrorClass::kNotFound},
    {"InvalidEniId.NotFound", ErrorClass::kNotFound},
    {"InvalidEcsId.NotFound", ErrorClass::kNotFound},

    {"InvalidOperation.InvalidEniState", ErrorClass::kConflict},

    {"Forbidden.ChargeTypeIsPrepaid", ErrorClass::kTerminal},
    {"InvalidOperation.DeletionProtection", ErrorClass::kTerminal},
    {"OperationUnsupported.ServiceManaged", ErrorClass::kTerminal},
    {"Forbidden.RAM", ErrorClass::kTerminal},
    {"InsufficientBalance.Eip", ErrorClass::kTerminal},
    {"InvalidParameter", ErrorClass::kTerminal},
    {"COMMODITY.INVALID_COMPONENT", ErrorClass::kTerminal},
    {"EniPerInstanceLimitExceeded", ErrorClass::kTerminal},
    {"InvalidVSwitchId.IpNotEnough", ErrorClass::kTerminal},
    {"IdempotentParameterMismatch", ErrorClass::kTerminal},
    {"InvalidParameter.Bandwidth", ErrorClass::kTerminal},
    {"MissingParameter", ErrorClass::kTerminal},
    {"NoPermission.SLR", ErrorClass::kTerminal},
    {"QuotaExceeded.Eip", ErrorClass::kTerminal},
};

TEST(ErrorTableTest, ClassesEveryCodeOfTheSpecification) {
  for (const Case& c : kCases) {
    EXPECT_EQ(ClassOf(c.code), c.error_class) << c.code;
  }
}

TEST(ErrorTableTest, ACodeThatIsNotInTheTableIsTriedAgain) {
  for (const std::string_view code :
       {"InvalidTimeStamp.Expired", "IncompleteSignature", "ReserveIpFail", "OrderError.EIP",
        "InvalidRegionId.NotFound", "Unheard.Of", "InvalidVpcId.NotFound",
        // Only where the table says so does the beginning of a code decide.
        "throttling", "IncorrectEipStatus.Other"}) {
    EXPECT_EQ(ClassOf(code), ErrorClass::kRetry) << code;
  }
}

TEST(ErrorTableTest, ARefusedKeyIsKnownAndMayBeTriedAgain) {
  for (const std::string_view code :
       {"InvalidAccessKeyId.NotFound", "InvalidAccessKeyId.Inactive", "SignatureDoesNotMatch",
        "InvalidSecurityToken.Expired", "InvalidSecurityToken.Malformed"}) {
    EXPECT_TRUE(RefusesKey(code)) << code;
    EXPECT_EQ(ClassOf(code), ErrorClass::kRetry) << code;
  }
  EXPECT_FALSE(RefusesKey("Forbidden.RAM"));
  EXPECT_FALSE(RefusesKey(""));
}

}  // namespace
}  // namespace berth::cloud::aliyun
