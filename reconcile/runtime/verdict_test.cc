#include "reconcile/runtime/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::runtime {
namespace {

Verdict WithFaults(std::size_t count) {
  Verdict verdict;
  for (std::size_t i = 0; i < count; ++i) verdict.Required("spec." + std::to_string(i), "a value");
  return verdict;
}

TEST(VerdictTest, KeepsAFixedNumberOfCausesAndCountsTheOthers) {
  const Verdict verdict = WithFaults(100'000);
  EXPECT_EQ(verdict.causes.size(), Verdict::kMostCauses);
  EXPECT_EQ(verdict.more, 100'000 - Verdict::kMostCauses);
}

TEST(VerdictTest, AFaultThatWasThereBeforeIsAWarning) {
  Verdict verdict = WithFaults(Verdict::kMostCauses);
  verdict.Ratchet(WithFaults(Verdict::kMostCauses - 1));
  ASSERT_EQ(verdict.causes.size(), 1);
  EXPECT_EQ(verdict.causes.front().field, "spec.2047");
  EXPECT_EQ(verdict.warnings.size(), Verdict::kMostCauses - 1);
}

TEST(VerdictTest, NothingIsForgivenWhereNotAllFaultsAreKnown) {
  Verdict verdict = WithFaults(Verdict::kMostCauses + 1);
  verdict.Ratchet(WithFaults(Verdict::kMostCauses + 1));
  EXPECT_FALSE(verdict.allowed());
  EXPECT_TRUE(verdict.warnings.empty());
}

}  // namespace
}  // namespace berth::runtime
