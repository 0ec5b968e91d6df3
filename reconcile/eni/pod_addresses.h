#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reconcile/eni/objects.h"
#include "reconcile/eni/pool.h"
#include "reconcile/ipam/cidr.h"

namespace berth::eni {

// The form of an address in which two are compared: IPv6 has many. An unparsable one as it is.
std::string CanonicalAddress(const std::string& address);

// The addresses that pods report in their status: all that is known of pods in prefix mode.
class PodAddresses {
 public:
  explicit PodAddresses(const PodsView& pods);  // O(P log P)

  bool Has(const std::string& address) const;  // O(log P)
  // Whether one of them is in the prefix; of an unparsable prefix, that cannot be excluded.
  bool HasAnyIn(const std::string& prefix) const;  // O(log P)
  // Whether one of them is an address of the Nic or in a prefix of it, or is bound to it.
  bool HasAnyOf(const Nic& nic) const;  // O(A log P)

 private:
  using Key = std::pair<ipam::Family, ipam::Address>;
  std::vector<Key> sorted_;
};

}  // namespace berth::eni
