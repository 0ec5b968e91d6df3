#include "json/quote.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

std::string Quoted(std::string_view text) {
  std::string out;
  AppendQuoted(out, text);
  return out;
}

std::string Escaped(unsigned char c) {
  if (c == '"') return "\\\"";
  if (c == '\\') return "\\\\";
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  if (c == '\r') return "\\r";
  constexpr std::string_view kHex = "0123456789abcdef";
  if (c < 0x20) return {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]};
  return {static_cast<char>(c)};
}

TEST(AppendQuotedTest, EveryByteAtEveryPlaceIsItselfOrEscaped) {
  constexpr std::size_t kLongest = 20;
  // Bytes of which one bit less would have to be escaped, and the highest.
  for (const char around : {'a', '#', ' ', '\xa2', '\xff'}) {
    for (int byte = 0; byte < 256; ++byte) {
      for (std::size_t at = 0; at < kLongest; ++at) {
        std::string text(kLongest, around);
        text[at] = static_cast<char>(byte);
        const std::string before(at, around), after(kLongest - at - 1, around);
        ASSERT_EQ(Quoted(text),
                  '"' + before + Escaped(static_cast<unsigned char>(byte)) + after + '"')
            << byte << " at " << at;
      }
    }
  }
}

TEST(AppendQuotedTest, GoesAfterWhatIsThere) {
  std::string out = "x";
  AppendQuoted(out, "");
  AppendQuoted(out, "a\"\"b");
  EXPECT_EQ(out, R"(x"""a\"\"b")");
}

}  // namespace
}  // namespace berth
