#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "cloud/eni.h"

namespace berth::cloud::simulator {

// The addresses of a vSwitch, each of which is given out once. The cloud keeps the first and the
// last three for itself. O(log n), but a prefix costs what it looks through.
class AddressPool {
 public:
  // None when this is no IPv4 block with host bits of 0 and a size from /8 to /29.
  static std::optional<AddressPool> Of(const std::string& cidr);

  // In turn, so that an address comes again as late as it can.
  std::optional<std::string> Take();
  // An address by name; false when it is not free.
  bool Take(const std::string& address);
  // A /28.
  std::optional<std::string> TakePrefix();
  // Takes back an address or a prefix.
  void Give(const std::string& block);
  std::size_t free() const { return size_ - kReserved - used_.size() - 16 * prefixes_.size(); }

 private:
  static constexpr std::size_t kReserved = 4;

  AddressPool(std::uint32_t first, std::uint32_t size) : first_(first), size_(size) {}
  bool IsFree(std::uint32_t offset) const;

  std::uint32_t first_;
  std::uint32_t size_;
  std::uint32_t last_ = 0;
  std::set<std::uint32_t> used_;      // offsets of addresses
  std::set<std::uint32_t> prefixes_;  // offsets of their first addresses
};

// A vSwitch, and the addresses that it still has.
struct VSwitchRecord {
  VSwitch facts;  // but not free_addresses, which `pool` knows
  AddressPool pool;
  std::uint32_t last_ipv6 = 0;
  std::uint32_t last_ipv6_prefix = 0;

  // The vSwitch has IPv6. There are always more.
  std::string TakeIpv6();
  std::string TakeIpv6Prefix();
};

// By ID.
using VSwitchRecords = std::map<std::string, VSwitchRecord>;

}  // namespace berth::cloud::simulator
