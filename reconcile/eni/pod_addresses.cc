#include "reconcile/eni/pod_addresses.h"

#include <algorithm>
#include <expected>

namespace berth::eni {
namespace {

std::expected<ipam::Cidr, std::string> ParseAddress(const std::string& address) {
  return ipam::Cidr::Parse(address + (address.contains(':') ? "/128" : "/32"));
}

}  // namespace

std::string CanonicalAddress(const std::string& address) {
  if (!address.contains(':')) return address;
  const auto parsed = ParseAddress(address);
  return parsed ? parsed->ToString() : address;
}

PodAddresses::PodAddresses(const PodsView& pods) {
  for (const PodView& pod : pods.pods) {
    for (const std::string& address : pod.addresses) {
      if (const auto parsed = ParseAddress(address))
        sorted_.emplace_back(parsed->family(), parsed->address());
    }
  }
  std::ranges::sort(sorted_);
}

bool PodAddresses::Has(const std::string& address) const {
  const auto parsed = ParseAddress(address);
  return parsed && std::ranges::binary_search(sorted_, Key{parsed->family(), parsed->address()});
}

bool PodAddresses::HasAnyIn(const std::string& prefix) const {
  const auto parsed = ipam::Cidr::Parse(prefix);
  if (!parsed) return true;
  const auto first = std::ranges::lower_bound(sorted_, Key{parsed->family(), parsed->First()});
  return first != sorted_.end() && *first <= Key{parsed->family(), parsed->Last()};
}

bool PodAddresses::HasAnyOf(const Nic& nic) const {
  if (nic.HasPod()) return true;
  const auto has_address = [this](const auto& entry) { return Has(entry.first); };
  const auto has_prefix = [this](const Prefix& prefix) { return HasAnyIn(prefix.prefix); };
  return std::ranges::any_of(nic.ipv4, has_address) || std::ranges::any_of(nic.ipv6, has_address) ||
         std::ranges::any_of(nic.ipv4_prefixes, has_prefix) ||
         std::ranges::any_of(nic.ipv6_prefixes, has_prefix);
}

}  // namespace berth::eni
