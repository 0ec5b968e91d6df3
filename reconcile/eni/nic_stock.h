#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "reconcile/eni/objects.h"

// Counts of a Nic's addresses, which the rules of a pool go by.
namespace berth::eni {

bool InPrefixMode(const Node& node);
bool IsErdma(const Nic& nic);
// InUse, and ours to bind to pods, to grow and to shrink.
bool IsInPool(const Nic& nic);
// Attaching, and in the pool thereafter.
bool IsOnItsWay(const Nic& nic);
// Whether it counts for the pool: Valid or Frozen.
bool IsOccupied(const Prefix& prefix);
// Addresses or prefixes that one call takes.
int MostOfOneCall(const Node& node);

// The addresses of one family.
struct FamilyStock {
  int held = 0;  // that the cloud counts, the prefixes among them
  int idle = 0;  // Valid, without a pod
};

// The addresses of a Nic, or of one to come.
struct NicStock {
  FamilyStock ipv4;
  FamilyStock ipv6;

  static NicStock Of(const Nic& nic);  // O(A)
  static NicStock Of(const cloud::EniRequest& request);

  // Pods that it has idle addresses for: one of each family that is enabled.
  int Idle(const NodeSpec& spec) const;
  // Further pods that it can get addresses for.
  int Room(const NodeSpec& spec) const;
};

// The Nics of the pool, in the order in which they are filled: first those that are never deleted,
// then those with the most addresses, so that the others become unused. O(n log n) for n of them.
template <typename Status>  // NodeStatus, const or not
auto PoolNics(Status& status) {
  std::vector<decltype(&status.nics.begin()->second)> nics;
  for (auto& [id, nic] : status.nics) {
    if (IsInPool(nic)) nics.push_back(&nic);
  }
  std::ranges::stable_sort(nics, {}, [](const Nic* nic) {
    return std::tuple(nic->type != kTrunkType, !IsErdma(*nic),
                      -static_cast<long>(std::max(nic->ipv4.size(), nic->ipv6.size())));
  });
  return nics;
}

}  // namespace berth::eni
