#include "reconcile/eip/refusal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::eip {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

Error Refusal(std::string code) {
  return {.error_class = ErrorClass::kTerminal, .reason = std::move(code), .code = 400};
}

TEST(RefusalTest, OnlyWhatTheSpecCanChangeIsBlamedOnIt) {
  EXPECT_TRUE(BlamesSpec(Refusal("InvalidParameter")));
  EXPECT_TRUE(BlamesSpec(Refusal("COMMODITY.INVALID_COMPONENT")));
  EXPECT_FALSE(BlamesSpec(Refusal("Forbidden.RAM")));
  EXPECT_FALSE(BlamesSpec(Refusal("QuotaExceeded.Eip")));
  EXPECT_FALSE(BlamesSpec(Refusal("InsufficientBalance.Eip")));
  EXPECT_FALSE(BlamesSpec(Refusal("IdempotentParameterMismatch")));
  EXPECT_FALSE(BlamesSpec({.error_class = ErrorClass::kRetry, .reason = "InternalError"}));
}

// An earlier request without an answer may still arrive, and find that there is quota again.
TEST(RefusalTest, AnAttemptEndsOnlyWhenNothingCanComeOfIt) {
  EXPECT_TRUE(EndsAttempt(Refusal("QuotaExceeded.Eip"), true, 0s, true));
  EXPECT_FALSE(EndsAttempt(Refusal("QuotaExceeded.Eip"), false, 15min, true));
  EXPECT_TRUE(EndsAttempt(Refusal("QuotaExceeded.Eip"), false, 18min, true));
  EXPECT_FALSE(EndsAttempt(Refusal("QuotaExceeded.Eip"), false, 18min, false)) << "no tag";
  EXPECT_FALSE(EndsAttempt(Refusal("InvalidParameter"), false, 15min, true))
      << "the cloud may have taken the same before";
  EXPECT_FALSE(EndsAttempt(Refusal("Forbidden.RAM"), false, 18min, true)) << "who is not let in";
  EXPECT_FALSE(EndsAttempt(Refusal("Forbidden.RAM"), true, 18min, true))
      << "the same is asked for once it is allowed";
  EXPECT_FALSE(EndsAttempt(Refusal("IdempotentParameterMismatch"), true, 18min, true));
  EXPECT_FALSE(EndsAttempt(Refusal(""), true, 18min, true)) << "not the cloud's word";
  EXPECT_FALSE(
      EndsAttempt({.error_class = ErrorClass::kAmbiguous, .reason = "X"}, true, 18min, true));
}

TEST(RefusalTest, ASentenceSaysWhatToDo) {
  const auto sentence = [](std::string code) { return Sentence(Refusal(std::move(code))); };
  EXPECT_THAT(sentence("InvalidAccessKeyId.NotFound"), HasSubstr("access key"));
  EXPECT_THAT(sentence("SignatureDoesNotMatch"), HasSubstr("access key"));
  EXPECT_THAT(sentence("Forbidden.RAM"), HasSubstr("RAM policy"));
  EXPECT_THAT(sentence("InvalidTimeStamp.Expired"), HasSubstr("clock"));
  EXPECT_THAT(sentence("QuotaExceeded.Eip"), HasSubstr("quota"));
  EXPECT_THAT(sentence("QuotaExceed.TagsPerResource"), HasSubstr("remove tags from spec.tags"));
  EXPECT_THAT(sentence("InvalidBandwidthPackageId.NotFound"), HasSubstr("change spec"));
  EXPECT_THAT(sentence("InvalidParameter"), HasSubstr("change spec"));
}

TEST(RefusalTest, ASentenceHasNoTimes) {
  const auto sentence = [](std::string message) {
    return Sentence({.error_class = ErrorClass::kRetry, .reason = "X", .message = message});
  };
  EXPECT_EQ(sentence("cannot connect to localhost port 7 after 2 ms: refused"),
            sentence("cannot connect to localhost port 7 after 17 ms: refused"));
  EXPECT_EQ(sentence("timed out after 1000 milliseconds with 0 bytes"),
            sentence("timed out after 1001 milliseconds with 0 bytes"));
  EXPECT_THAT(sentence("it was after 5 tries"), HasSubstr("after 5 tries"));
}

TEST(RefusalTest, ARequestIdCanBeTakenOut) {
  EXPECT_EQ(WithoutRequestId("no quota (request ID 7); raise it"), "no quota; raise it");
  EXPECT_EQ(WithoutRequestId("no quota (request ID 7)"), "no quota");
  EXPECT_EQ(WithoutRequestId("no quota"), "no quota");
}

// A request that was not carried out may be forgotten; the others may have bought an address.
TEST(RefusalTest, OnlyARequestThatMayBeCarriedOutLeavesADoubt) {
  const auto of = [](ErrorClass error_class, std::string reason, int code) {
    return MayBeDone({.error_class = error_class, .reason = std::move(reason), .code = code});
  };
  EXPECT_FALSE(of(ErrorClass::kTerminal, "InvalidParameter", 400));
  EXPECT_FALSE(of(ErrorClass::kThrottled, "Throttling", 400));
  EXPECT_FALSE(of(ErrorClass::kRetry, "InvalidTimeStamp.Expired", 400)) << "not let in";
  EXPECT_FALSE(of(ErrorClass::kRetry, "InvalidAccessKeyId.NotFound", 404)) << "not let in";
  EXPECT_FALSE(of(ErrorClass::kThrottled, "NotSent", 0));
  EXPECT_TRUE(of(ErrorClass::kRetry, "Unheard.Of", 400)) << "nobody knows";
  EXPECT_TRUE(of(ErrorClass::kConflict, "IdempotentFailed", 400));
  EXPECT_TRUE(of(ErrorClass::kRetry, "SignatureNonceUsed", 400)) << "sent twice on the way";
  EXPECT_FALSE(of(ErrorClass::kRetry, "", 0)) << "not sent";
  EXPECT_TRUE(of(ErrorClass::kAmbiguous, "", 0)) << "sent, and no answer";
  EXPECT_TRUE(of(ErrorClass::kRetry, "InternalError", 500));
  EXPECT_TRUE(of(ErrorClass::kRetry, "LastTokenProcessing", 400));
  EXPECT_TRUE(of(ErrorClass::kRetry, "", 404)) << "a gateway's word";
}

}  // namespace
}  // namespace berth::eip
