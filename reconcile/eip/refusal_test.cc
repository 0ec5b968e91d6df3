#include "reconcile/eip/refusal.h"

#include <gtest/gtest.h>

namespace berth::eip {
namespace {

using namespace std::chrono_literals;

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
  EXPECT_TRUE(EndsAttempt(Refusal("QuotaExceeded.Eip"), true, 0s));
  EXPECT_FALSE(EndsAttempt(Refusal("QuotaExceeded.Eip"), false, 15min));
  EXPECT_TRUE(EndsAttempt(Refusal("QuotaExceeded.Eip"), false, 17min));
  EXPECT_TRUE(EndsAttempt(Refusal("InvalidParameter"), false, 0s)) << "whenever it is asked";
  EXPECT_FALSE(EndsAttempt(Refusal("Forbidden.RAM"), false, 17min)) << "who is not let in";
  EXPECT_FALSE(EndsAttempt(Refusal("IdempotentParameterMismatch"), true, 17min));
  EXPECT_FALSE(EndsAttempt(Refusal(""), true, 17min)) << "not the cloud's word";
  EXPECT_FALSE(EndsAttempt({.error_class = ErrorClass::kAmbiguous, .reason = "X"}, true, 17min));
}

TEST(RefusalTest, ASentenceIsTheSameEachTime) {
  EXPECT_EQ(Sentence({.message = "no quota (request ID 7)"}), "no quota");
  EXPECT_EQ(Sentence({.message = "no quota"}), "no quota");
}

}  // namespace
}  // namespace berth::eip
