#include "cloud/simulator/aliyun/vswitch.h"

#include <arpa/inet.h>

#include <charconv>

#include "log/format.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::uint32_t kPrefixSize = 16;

std::optional<std::uint32_t> ParseAddress(const std::string& text) {
  in_addr address{};
  if (inet_pton(AF_INET, text.c_str(), &address) != 1) return std::nullopt;
  return ntohl(address.s_addr);
}

std::string FormatAddress(std::uint32_t address) {
  return Format("{}.{}.{}.{}", address >> 24, (address >> 16) & 255, (address >> 8) & 255,
                address & 255);
}

// "2001:db8:0:1::/64" without its "::/64".
std::string_view NetworkOf(const std::string& ipv6_cidr) {
  return std::string_view(ipv6_cidr).substr(0, ipv6_cidr.find("::"));
}

}  // namespace

std::optional<AddressPool> AddressPool::Of(const std::string& cidr) {
  const auto slash = cidr.find('/');
  if (slash == cidr.npos) return std::nullopt;
  const auto first = ParseAddress(cidr.substr(0, slash));
  int length = 0;
  const char* end = cidr.data() + cidr.size();
  if (std::from_chars(cidr.data() + slash + 1, end, length).ptr != end) return std::nullopt;
  if (!first || length < 8 || length > 29) return std::nullopt;
  const std::uint32_t size = 1u << (32 - length);
  if (*first % size != 0) return std::nullopt;
  return AddressPool(*first, size);
}

bool AddressPool::IsFree(std::uint32_t offset) const {
  return offset >= 1 && offset < size_ - 3 && !used_.contains(offset) &&
         !prefixes_.contains(offset / kPrefixSize * kPrefixSize);
}

std::optional<std::string> AddressPool::Take() {
  if (free() == 0) return std::nullopt;
  do {
    last_ = (last_ + 1) % size_;
  } while (!IsFree(last_));
  used_.insert(last_);
  return FormatAddress(first_ + last_);
}

bool AddressPool::Take(const std::string& address) {
  const auto parsed = ParseAddress(address);
  if (!parsed || *parsed < first_ || !IsFree(*parsed - first_)) return false;
  used_.insert(*parsed - first_);
  return true;
}

std::optional<std::string> AddressPool::TakePrefix() {
  // The first and the last block have addresses that the cloud keeps.
  for (std::uint32_t offset = kPrefixSize; offset + kPrefixSize < size_; offset += kPrefixSize) {
    const auto used = used_.lower_bound(offset);
    if (prefixes_.contains(offset) || (used != used_.end() && *used < offset + kPrefixSize)) {
      continue;
    }
    prefixes_.insert(offset);
    return FormatAddress(first_ + offset) + "/28";
  }
  return std::nullopt;
}

void AddressPool::Give(const std::string& block) {
  const auto slash = block.find('/');
  const auto address = ParseAddress(block.substr(0, slash));
  if (address) (slash == block.npos ? used_ : prefixes_).erase(*address - first_);
}

// Addresses and prefixes differ in the fifth group.
std::string VSwitchRecord::TakeIpv6() {
  return Format("{}::{:x}", NetworkOf(facts.ipv6_cidr), ++last_ipv6);
}

std::string VSwitchRecord::TakeIpv6Prefix() {
  return Format("{}:{:x}::/80", NetworkOf(facts.ipv6_cidr), ++last_ipv6_prefix);
}

}  // namespace berth::cloud::simulator
