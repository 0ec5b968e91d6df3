#include "log/escape.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace berth::log {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool IsContinuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// The length of the well-formed UTF-8 sequence at the start of `text` (Unicode table 3-7), or 0.
std::size_t SequenceLength(std::string_view text) {
  auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  // Overlong forms, surrogates and code points past U+10FFFF show in the second byte.
  unsigned char low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (!IsContinuation(at(i))) return 0;
  }
  return length;
}

// How many characters at the start stand for themselves.
std::size_t PlainPrefix(std::string_view text) {
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; };
  return static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
}

void AppendCodeUnit(std::string& out, unsigned unit) {
  char buffer[8];
  std::snprintf(buffer, sizeof(buffer), "\\u%04x", unit & 0xFFFF);
  out += buffer;
}

void AppendAscii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      break;
  }
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20 || byte == 0x7F) {
    AppendCodeUnit(out, byte);
  } else {
    out += c;
  }
}

}  // namespace

void AppendEscaped(std::string& out, std::string_view text) {
  out.reserve(out.size() + text.size());
  while (!text.empty()) {
    // Most text is plain: it goes in one piece.
    const std::size_t plain = PlainPrefix(text);
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) return;
    const std::size_t length = SequenceLength(text);
    if (length == 1) {
      AppendAscii(out, text[0]);
    } else if (length == 0) {
      out += kReplacement;
    } else if (length == 2 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0) {
      AppendCodeUnit(out, static_cast<unsigned char>(text[1]));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

std::string_view Prefix(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return text;
  std::size_t end = bytes;
  // A sequence has at most three continuation bytes; longer runs are not UTF-8 and may be cut
  // anywhere.
  for (int i = 0; i < 3 && end > 0 && IsContinuation(static_cast<unsigned char>(text[end])); ++i) {
    --end;
  }
  if (IsContinuation(static_cast<unsigned char>(text[end]))) end = bytes;
  return text.substr(0, end);
}

std::string ToUtf8(std::string_view text, std::size_t bytes) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = SequenceLength(text);
    const std::string_view next = length == 0 ? kReplacement : text.substr(0, length);
    if (out.size() + next.size() > bytes) break;
    out += next;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string Excerpt(std::string_view value) {
  constexpr std::size_t kMost = 256;
  std::string shown = ToUtf8(value, kMost);
  if (value.size() > kMost) shown += "...";
  return shown;
}

}  // namespace berth::log
