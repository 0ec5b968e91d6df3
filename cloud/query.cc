#include "cloud/query.h"

#include <charconv>
#include <ranges>

#include "log/format.h"

namespace berth::cloud {
namespace {

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.' || c == '~';
}

std::string Decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(&text[i + 1], &text[i + 1] + 2, byte, 16).ptr == &text[i + 1] + 2) {
      decoded += static_cast<char>(byte);
      i += 2;
    } else {
      decoded += text[i] == '+' ? ' ' : text[i];
    }
  }
  return decoded;
}

}  // namespace

std::string Encode(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    if (IsUnreserved(c)) {
      encoded += c;
    } else {
      encoded += Format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

std::string Query(const Parameters& parameters) {
  std::string query;
  for (const auto& [name, value] : parameters) {
    if (!query.empty()) query += '&';
    query += Encode(name) + '=' + Encode(value);
  }
  return query;
}

Parameters ParseQuery(std::string_view query) {
  Parameters parameters;
  for (const auto part : std::views::split(query, '&')) {
    const std::string_view text(part.begin(), part.end());
    if (text.empty()) continue;
    const auto equals = text.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
    parameters[Decode(text.substr(0, equals))] = Decode(value);
  }
  return parameters;
}

}  // namespace berth::cloud
