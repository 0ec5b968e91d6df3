#include "reconcile/ipam/stamp.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <array>
#include <charconv>

#include "log/format.h"

namespace berth::ipam {
namespace {

std::string Sign(const Stamp& stamp, std::string_view key, std::string_view ns,
                 std::string_view name, std::string_view pool) {
  const std::string text =
      Format("{}\n{}\n{}\n{}\n{:x}", ns, name, pool, stamp.block.ToString(), stamp.token);
  std::array<unsigned char, 32> mac{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * mac.size());
  for (const unsigned char byte : mac) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 0xf];
  }
  return hex;
}

bool Same(std::string_view left, std::string_view right) {
  return left.size() == right.size() && CRYPTO_memcmp(left.data(), right.data(), left.size()) == 0;
}

}  // namespace

std::string WriteStamp(const Stamp& stamp, std::string_view key, std::string_view ns,
                       std::string_view name, std::string_view pool) {
  return Format("{} {:x} {}", stamp.block.ToString(), stamp.token,
                Sign(stamp, key, ns, name, pool));
}

std::optional<Stamp> ReadStamp(std::string_view text, std::string_view key, std::string_view ns,
                               std::string_view name, std::string_view pool) {
  const auto first = text.find(' ');
  const auto second = text.find(' ', first + 1);
  if (key.empty() || first == std::string_view::npos || second == std::string_view::npos) {
    return std::nullopt;
  }
  const auto block = Cidr::Parse(text.substr(0, first));
  if (!block || !block->IsCanonical()) return std::nullopt;
  Stamp stamp{.block = *block};
  const std::string_view token = text.substr(first + 1, second - first - 1);
  const auto [end, error] =
      std::from_chars(token.data(), token.data() + token.size(), stamp.token, 16);
  if (error != std::errc{} || end != token.data() + token.size()) return std::nullopt;
  const std::string_view mac = text.substr(second + 1);
  for (const std::string_view of : {name, std::string_view()}) {
    if (Same(mac, Sign(stamp, key, ns, of, pool))) return stamp;
  }
  return std::nullopt;
}

}  // namespace berth::ipam
