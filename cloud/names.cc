#include "cloud/names.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

namespace berth::cloud {
namespace {

char LowerOf(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), LowerOf);
  return lower;
}

bool IsSameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, LowerOf, LowerOf);
}

std::optional<std::string> CanonicalAddress(const std::string& address) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, address.c_str(), bytes.data()) == 1) {
      return inet_ntop(family, bytes.data(), text.data(), text.size());
    }
  }
  return std::nullopt;
}

}  // namespace berth::cloud
