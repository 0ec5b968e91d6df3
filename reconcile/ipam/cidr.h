#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

// Address blocks, IPv4 and IPv6 alike, in 128-bit arithmetic.
namespace berth::ipam {

__extension__ using Address = unsigned __int128;  // an IPv4 address is held in the low 32 bits

enum class Family { kIpv4, kIpv6 };

constexpr int Width(Family family) { return family == Family::kIpv4 ? 32 : 128; }

// A CIDR as written: the address may have host bits set; Canonical() clears them. A value type, 32
// bytes.
class Cidr {
 public:
  Cidr(Family family, Address address, int prefix)
      : address_(address), prefix_(prefix), family_(family) {}

  // Strict: decimal octets without leading zeros, a prefix length without sign or leading zeros, no
  // zone, no IPv4-mapped IPv6. The error is a sentence that says what is wrong, without the input
  // itself. O(length).
  static std::expected<Cidr, std::string> Parse(std::string_view text);

  Family family() const { return family_; }
  Address address() const { return address_; }
  int prefix() const { return prefix_; }

  bool IsCanonical() const { return (address_ & HostMask()) == 0; }
  Cidr Canonical() const { return Cidr(family_, address_ & ~HostMask(), prefix_); }
  Address First() const { return address_ & ~HostMask(); }
  Address Last() const { return address_ | HostMask(); }

  // Whether all of the other block is in this one. Two blocks that overlap are one inside the
  // other.
  bool Contains(const Cidr& other) const {
    return family_ == other.family_ && prefix_ <= other.prefix_ &&
           ((address_ ^ other.address_) & ~HostMask()) == 0;
  }
  // Blocks overlap only by containing each other.
  bool Overlaps(const Cidr& other) const { return Contains(other) || other.Contains(*this); }

  // RFC 5952 for IPv6.
  std::string ToString() const;

  friend bool operator==(const Cidr&, const Cidr&) = default;

 private:
  Address HostMask() const {
    const int bits = Width(family_) - prefix_;
    return bits == 128 ? ~Address{0} : (Address{1} << bits) - 1;
  }

  Address address_;
  int prefix_;
  Family family_;
};

}  // namespace berth::ipam
