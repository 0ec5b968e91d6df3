#pragma once

#include <optional>
#include <string>

#include "reconcile/eni/pool.h"
#include "reconcile/eni/pool_survey.h"

// The two ways in which a pool grows. NextJob takes the one that its mode needs.
namespace berth::eni {

// The facts that growth goes by.
struct PoolState {
  const Node& node;
  const NodeStatus& status;
  const Bound& bound;
  const VSwitches& vswitches;
  async::WallTime now;
  double random;
  PoolSurvey survey;
};

Wanted GrowAddresses(const PoolState& pool);
Wanted GrowPrefixes(const PoolState& pool);

// An ENI to make, without its counts: of the first flavor that there may be more of, in the order
// trunk, ERDMA, secondary, among those that are asked for. Otherwise `refusal` tells why none.
struct NewEni {
  std::optional<cloud::EniRequest> request;
  int free_addresses = 0;  // of its vSwitch
  std::string refusal;
};
struct Flavors {
  bool trunk = false;
  bool erdma = false;
  bool secondary = false;
};
NewEni MakeEni(const PoolState& pool, Flavors flavors);

}  // namespace berth::eni
