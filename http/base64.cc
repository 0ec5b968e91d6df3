#include "http/base64.h"

#include <cstdint>

namespace berth {
namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::optional<std::uint32_t> ValueOf(char c, bool url) {
  if (url && c == '-') c = '+';
  if (url && c == '_') c = '/';
  const std::size_t found = kLetters.find(c);
  if (found == std::string_view::npos) return std::nullopt;
  return static_cast<std::uint32_t>(found);
}

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      text += i + j <= bytes.size() ? kLetters[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const auto value = ValueOf(c, true);
    if (!value) return std::nullopt;
    group = group << 6 | *value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(group >> bits & 0xFF);
  }
  return bytes;
}

std::optional<std::size_t> Base64Problem(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (ValueOf(text[i], false)) continue;
    const bool padding = text.size() % 4 == 0 && text.substr(i).size() <= 2 &&
                         text.substr(i).find_first_not_of('=') == std::string_view::npos;
    return padding ? std::nullopt : std::optional(i);
  }
  return text.size() % 4 == 0 ? std::nullopt : std::optional(text.size());
}

}  // namespace berth
