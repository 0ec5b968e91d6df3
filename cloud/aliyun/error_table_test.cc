#include "cloud/aliyun/error_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
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
    {"InvalidOperation.InvalidEcsState", ErrorClass::kRetry},

    {"InvalidAllocationId.NotFound", ErrorClass::kNotFound},
    {"InvalidResourceId.NotFound", ErrorClass::kNotFound},
    {"OperationUnsupported.IpNotInCbwp", ErrorClass::kNotFound},
    {"InvalidEniId.NotFound", ErrorClass::kNotFound},
    {"InvalidEcsId.NotFound", ErrorClass::kNotFound},
    {"InvalidIp.IpUnassigned", ErrorClass::kNotFound},
    {"1011", ErrorClass::kNotFound},

    {"InvalidOperation.InvalidEniState", ErrorClass::kConflict},
    {"IdempotentFailed", ErrorClass::kConflict},
    {"1017", ErrorClass::kConflict},

    {"Forbidden.ChargeTypeIsPrepaid", ErrorClass::kTerminal},
    {"InvalidOperation.DeletionProtection", ErrorClass::kTerminal},
    {"OperationUnsupported.ServiceManaged", ErrorClass::kTerminal},
    {"Forbidden.RAM", ErrorClass::kTerminal},
    {"InsufficientBalance.Eip", ErrorClass::kTerminal},
    {"1013", ErrorClass::kTerminal},
    {"InvalidParameter", ErrorClass::kTerminal},
    {"COMMODITY.INVALID_COMPONENT", ErrorClass::kTerminal},
    {"EniPerInstanceLimitExceeded", ErrorClass::kTerminal},
    {"InvalidVSwitchId.IpNotEnough", ErrorClass::kTerminal},
    {"IdempotentParameterMismatch", ErrorClass::kTerminal},
    {"InvalidParameter.Bandwidth", ErrorClass::kTerminal},
    {"MissingParameter", ErrorClass::kTerminal},
    {"NoPermission.SLR", ErrorClass::kTerminal},
    {"QuotaExceeded.Eip", ErrorClass::kTerminal},
    {"QuotaExceed.TagsPerResource", ErrorClass::kTerminal},
    {"InvalidBandwidthPackageId.NotFound", ErrorClass::kTerminal},
    {"ResourceNotFound.PublicIpAddressPool", ErrorClass::kTerminal},
    {"ResourceNotEnough.PublicIpAddressPool", ErrorClass::kTerminal},
    {"InvalidResourceGroupId", ErrorClass::kTerminal},
    {"InvalidBandwidth.Malformed", ErrorClass::kTerminal},
    {"InvalidComponent.EipBandwidthMax", ErrorClass::kTerminal},
    {"IpInstanceId.ChargeType.NotSupport", ErrorClass::kTerminal},
    {"InvalidTagKey.Malformed", ErrorClass::kTerminal},
    {"InvalidTagValue.Malformed", ErrorClass::kTerminal},
    {"NumberExceed.Tags", ErrorClass::kTerminal},
    {"QuotaExceeded.PrivateIpAddress", ErrorClass::kTerminal},
    {"InvalidOperation.Ipv4CountExceeded", ErrorClass::kTerminal},
    {"InvalidOperation.Ipv6CountExceeded", ErrorClass::kTerminal},
    {"MaxEniCountExceeded", ErrorClass::kTerminal},
    {"SecurityGroupInstanceLimitExceed", ErrorClass::kTerminal},
    {"InvalidOperation.AvailabilityZoneMismatch", ErrorClass::kTerminal},
    {"InvalidOperation.VpcMismatch", ErrorClass::kTerminal},
    {"InvalidOperation.EniServiceManaged", ErrorClass::kTerminal},
};

// Codes that a retry may get over, and those of calls that Berth never makes.
constexpr std::string_view kRetried[] = {
    "LastTokenProcessing",
    "IncorrectEipStatus",
    "InvalidOperation.InvalidEcsState",
    "BandwidthPackageOperation.conflict",
    "ServiceUnavailable",
    "InternalError",
    "IpInstanceId.AlreadyInBandwidthPackage",  // the next look shows it
    // The clock, the key, the signature and the region: of no object, and mended while Berth runs.
    "IncompleteSignature",
    "InvalidAccessKeyId.NotFound",
    "InvalidRegionId.NotFound",
    "InvalidSecurityToken.Expired",
    "InvalidSecurityToken.Malformed",
    "InvalidSecurityToken.MismatchWithAccessKey",
    "InvalidTimeStamp.Expired",
    "InvalidTimeStamp.Format",
    "SignatureDoesNotMatch",
    "SignatureNonceUsed",
    "AuthenticationFail.OIDCToken.Invalid",
    // Never of a request as Berth makes it.
    "DryRunOperation",
    "Duplicate.TagKey",
    "InvalidAction.NotFound",
    "InvalidResourceType.NotFound",
    "InvalidSignatureMethod",
    "NumberExceed.ResourceIds",
    "UnsupportedHTTPMethod",
};

// All codes that the simulated cloud's sources name.
std::set<std::string> SimulatedCodes() {
  std::set<std::string> codes;
  const std::regex refusal(R"re((?:Refuse\(|return \{)\d{3},\s*"([A-Za-z_.]+)")re");
  for (const auto& file :
       std::filesystem::directory_iterator(BERTH_SOURCE_DIR "/cloud/simulator/aliyun")) {
    if (file.path().filename().string().ends_with("_test.cc")) continue;
    std::ifstream stream(file.path());
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    for (std::sregex_iterator match(text.begin(), text.end(), refusal), end; match != end;
         ++match) {
      codes.insert((*match)[1]);
    }
  }
  return codes;
}

TEST(ErrorTableTest, EveryCodeOfTheSimulatedCloudIsRetriedOnPurposeOrNotAtAll) {
  const auto codes = SimulatedCodes();
  ASSERT_GT(codes.size(), 40u);
  for (const std::string& code : codes) {
    const bool retried = std::ranges::contains(kRetried, code);
    EXPECT_EQ(ClassOf(code) == ErrorClass::kRetry, retried) << code;
  }
}

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
