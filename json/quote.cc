#include "json/quote.h"

#include <cstdint>
#include <cstring>

namespace berth {
namespace {

bool IsPlain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; }

// IsPlain for eight bytes at once. The highest bit of a byte tells whether it is below the bound;
// an exclusive or makes 0 of the byte that is looked for.
bool ArePlain(const char* eight) {
  constexpr std::uint64_t kOnes = 0x0101010101010101, kHighest = 0x8080808080808080;
  std::uint64_t bytes;
  std::memcpy(&bytes, eight, sizeof bytes);
  const auto is_below = [](std::uint64_t values, std::uint64_t bound) {
    return (values - kOnes * bound) & ~values & kHighest;
  };
  return (is_below(bytes, 0x20) | is_below(bytes ^ (kOnes * '"'), 1) |
          is_below(bytes ^ (kOnes * '\\'), 1)) == 0;
}

std::size_t PlainPrefix(std::string_view text) {
  std::size_t size = 0;
  while (text.size() - size >= 8 && ArePlain(text.data() + size)) size += 8;
  while (size < text.size() && IsPlain(text[size])) ++size;
  return size;
}

void AppendEscape(std::string& out, char c) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  out += '\\';
  if (c == '"' || c == '\\') {
    out += c;
  } else if (c == '\n') {
    out += 'n';
  } else if (c == '\t') {
    out += 't';
  } else if (c == '\r') {
    out += 'r';
  } else {
    const auto byte = static_cast<unsigned char>(c);
    out.append("u00");
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  }
}

}  // namespace

void AppendQuoted(std::string& out, std::string_view text) {
  out += '"';
  while (true) {
    const std::size_t plain = PlainPrefix(text);
    out.append(text, 0, plain);
    if (plain == text.size()) break;
    AppendEscape(out, text[plain]);
    text.remove_prefix(plain + 1);
  }
  out += '"';
}

}  // namespace berth
