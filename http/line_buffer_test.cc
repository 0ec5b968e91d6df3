#include "http/line_buffer.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace berth::http {
namespace {

TEST(LineBufferTest, KeepsAPartialLineUntilItsNewline) {
  LineBuffer buffer(100);
  EXPECT_EQ(buffer.Take(), "");
  ASSERT_TRUE(buffer.Append("on"));
  EXPECT_EQ(buffer.Take(), "");
  EXPECT_TRUE(buffer.has_partial());
  ASSERT_TRUE(buffer.Append("e\ntwo\nth"));
  EXPECT_EQ(buffer.whole(), 8u);
  EXPECT_EQ(buffer.Take(), "one\ntwo\n");
  EXPECT_EQ(buffer.whole(), 0u);
  EXPECT_TRUE(buffer.has_partial());
  ASSERT_TRUE(buffer.Append("ree"));
  ASSERT_TRUE(buffer.Append("\n"));
  EXPECT_FALSE(buffer.has_partial());
  EXPECT_EQ(buffer.Take(), "three\n");
}

TEST(LineBufferTest, ALineMayBeAsLongAsAllowedAndNoLonger) {
  LineBuffer buffer(4);
  ASSERT_TRUE(buffer.Append("1234"));
  EXPECT_FALSE(buffer.Append("5"));
  EXPECT_FALSE(buffer.Append("5\n"));
  ASSERT_TRUE(buffer.Append("\n1234\n\n"));
  EXPECT_FALSE(buffer.Append("1\n12345\n"));
  EXPECT_FALSE(buffer.Append("1\n12345"));
  EXPECT_EQ(buffer.Take(), "1234\n1234\n\n");
  EXPECT_FALSE(buffer.has_partial());
}

TEST(LineBufferTest, NothingIsLostHoweverItIsCut) {
  EXPECT_TRUE(rc::check([](const std::vector<std::string>& parts) {
    LineBuffer buffer(1 << 20);
    std::string in, out;
    for (std::string part : parts) {
      std::ranges::replace(part, 'a', '\n');
      RC_ASSERT(buffer.Append(part));
      in += part;
      const std::string lines = buffer.Take();
      RC_ASSERT(lines.empty() || lines.ends_with('\n'));
      out += lines;
      RC_ASSERT(buffer.has_partial() == (!in.empty() && !in.ends_with('\n')));
    }
    RC_ASSERT(out == in.substr(0, in.rfind('\n') + 1));
  }));
}

}  // namespace
}  // namespace berth::http
