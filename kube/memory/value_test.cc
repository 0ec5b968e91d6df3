#include "kube/memory/value.h"

#include <gtest/gtest.h>

namespace berth::kube::memory {
namespace {

TEST(MemoryDecoder, NumbersThatFitNo64BitsAreDoubles) {
  const auto value = Decoder().Decode(
      R"([18446744073709551616,-9223372036854775809,123456789012345678901234567890,)"
      R"("18446744073709551616"])");
  ASSERT_TRUE(value) << value.error();
  EXPECT_EQ((*value)[0], Value(18446744073709551616.0));
  EXPECT_EQ((*value)[1], Value(-9223372036854775808.0));
  EXPECT_EQ((*value)[2], Value(1.2345678901234568e29));
  EXPECT_EQ((*value)[3], Value("18446744073709551616"));
  EXPECT_FALSE(Decoder().Decode("1" + std::string(400, '0')));
}

TEST(MemoryDecoder, ReadsWhatItsValuesWrite) {
  const auto value = Decoder().Decode("[18446744073709551615,1e20,123456789012345680000]");
  ASSERT_TRUE(value) << value.error();
  const auto again = Decoder().Decode(value->to_string());
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(*again, *value);
}

}  // namespace
}  // namespace berth::kube::memory
