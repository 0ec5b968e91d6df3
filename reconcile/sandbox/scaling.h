#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reconcile/sandbox/objects.h"

namespace berth::sandbox {

// The figures that decide a pool's size.
struct Demand {
  std::size_t active = 0;   // sandboxes that are Bound or Running and not being deleted
  std::size_t pending = 0;  // that are Pending, and reservations
};

// An agent pod of the pool that is neither being deleted nor ended.
struct PoolPod {
  std::string pod_uid;
  std::string name;
  bool usable = true;     // gets new sandboxes, or will once it is ready
  bool open = false;      // gets new sandboxes now
  std::size_t slots = 0;  // taken
  int capacity = 0;
};

// Pods that the demand needs: ceil((active + pending + bufferMin) / slots of a pod), within poolMin
// and poolMax. A sandbox that is Expired, Failed or Lost needs none.
std::size_t DesiredPods(const Pool& pool, const Demand& demand);

struct ScalingStep {
  std::size_t create = 0;
  std::vector<std::string> remove;  // UIDs of idle pods, in the order to try
};

// The next step. Creates when usable pods, and those `expected` that are created and not
// seen yet, are fewer than desired, never above poolMax in all. Removes idle pods only, beyond
// the desired ones; with a bufferMax those alone whose slots are too many to be kept free. O(n log
// n).
ScalingStep Scale(const Pool& pool, const Demand& demand, std::vector<PoolPod> pods,
                  std::size_t expected);

}  // namespace berth::sandbox
