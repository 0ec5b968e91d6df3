#include "reconcile/sandbox/scaling.h"

#include <algorithm>
#include <tuple>

namespace berth::sandbox {

std::size_t DesiredPods(const Pool& pool, const Demand& demand) {
  const auto of_pod = static_cast<std::size_t>(std::max(pool.slots_per_pod, 1));
  const std::size_t slots =
      demand.active + demand.pending + static_cast<std::size_t>(pool.buffer_min);
  std::size_t pods = (slots + of_pod - 1) / of_pod;
  pods = std::max(pods, static_cast<std::size_t>(pool.pool_min));
  if (pool.pool_max > 0) pods = std::min(pods, static_cast<std::size_t>(pool.pool_max));
  return pods;
}

ScalingStep Scale(const Pool& pool, const Demand& demand, std::vector<PoolPod> pods,
                  std::size_t expected) {
  ScalingStep step;
  const std::size_t desired = DesiredPods(pool, demand);
  auto usable = static_cast<std::size_t>(std::ranges::count_if(pods, &PoolPod::usable));
  const std::size_t all = pods.size() + expected;
  if (usable + expected < desired) {
    step.create = desired - usable - expected;
    if (pool.pool_max > 0) {
      const auto most = static_cast<std::size_t>(pool.pool_max);
      step.create = std::min(step.create, most > all ? most - all : 0);
    }
    return step;
  }
  std::size_t free = 0;
  for (const PoolPod& pod : pods) {
    const auto capacity = static_cast<std::size_t>(pod.capacity);
    if (pod.usable && capacity > pod.slots) free += capacity - pod.slots;
  }
  // Pods that serve nobody yet go first, then the newest by name.
  std::ranges::sort(pods, {}, [](const PoolPod& pod) { return std::tuple(pod.open, pod.name); });
  for (const PoolPod& pod : pods) {
    if (usable <= desired) break;
    if (!pod.usable || pod.slots > 0) continue;
    if (pool.buffer_max > 0 && free <= static_cast<std::size_t>(pool.buffer_max)) break;
    step.remove.push_back(pod.pod_uid);
    --usable;
    free -= std::min(free, static_cast<std::size_t>(pod.capacity));
  }
  return step;
}

}  // namespace berth::sandbox
