#include "reconcile/ipam/cidr.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cstring>

#include "log/format.h"

namespace berth::ipam {
namespace {

// inet_pton refuses leading zeros, zones and trailing bytes; it wants a terminated string.
std::expected<Address, std::string> ParseAddress(std::string_view text, Family family) {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  if (text.size() >= buffer.size()) return std::unexpected("the address is too long");
  std::memcpy(buffer.data(), text.data(), text.size());
  std::array<unsigned char, 16> bytes{};
  const bool v4 = family == Family::kIpv4;
  if (inet_pton(v4 ? AF_INET : AF_INET6, buffer.data(), bytes.data()) != 1) {
    return std::unexpected(std::string("not an ") + (v4 ? "IPv4" : "IPv6") +
                           " address before the slash");
  }
  Address address = 0;
  for (std::size_t i = 0; i < (v4 ? 4U : 16U); ++i) address = (address << 8) | bytes[i];
  if (!v4 && (address >> 32) == 0xffff) {
    return std::unexpected("an IPv4-mapped IPv6 address; write it as IPv4");
  }
  return address;
}

}  // namespace

std::expected<Cidr, std::string> Cidr::Parse(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) {
    return std::unexpected(
        "no prefix length: expected an address, a slash and a length, as in 10.0.0.0/16");
  }
  const std::string_view length = text.substr(slash + 1);
  const Family family = text.substr(0, slash).contains(':') ? Family::kIpv6 : Family::kIpv4;
  const auto address = ParseAddress(text.substr(0, slash), family);
  if (!address) return std::unexpected(address.error());

  int prefix = -1;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), prefix);
  const bool digits = !length.empty() && length.front() >= '0' && length.front() <= '9' &&
                      (length.size() == 1 || length.front() != '0');
  if (!digits || error != std::errc{} || end != length.data() + length.size() ||
      prefix > Width(family)) {
    return std::unexpected("the prefix length must be a number from 0 to " +
                           std::to_string(Width(family)));
  }
  return Cidr(family, *address, prefix);
}

std::string Cidr::ToString() const {
  std::array<unsigned char, 16> bytes{};
  const bool v4 = family_ == Family::kIpv4;
  Address rest = address_;
  for (int i = (v4 ? 4 : 16) - 1; i >= 0; --i, rest >>= 8) {
    bytes[static_cast<std::size_t>(i)] = static_cast<unsigned char>(rest & 0xff);
  }
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  inet_ntop(v4 ? AF_INET : AF_INET6, bytes.data(), buffer.data(), buffer.size());
  std::string text = buffer.data();
  if (const auto last = text.rfind(':'); !v4 && text.contains('.')) {
    // inet_ntop writes the end of some IPv6 addresses as IPv4; other programs do not.
    const auto low = static_cast<std::uint32_t>(address_);
    text = Format("{}:{:x}:{:x}", text.substr(0, last), low >> 16, low & 0xffff);
  }
  return text + "/" + std::to_string(prefix_);
}

}  // namespace berth::ipam
