#pragma once

#include "reconcile/eni/objects.h"

namespace berth::eni {

// Addresses for one kind of pod, counted in pods: a pair is one.
struct Lane {
  int idle = 0;         // on Nics of the pool
  int room = 0;         // that could be assigned to these
  int coming = 0;       // of attempts and Attaching Nics
  int coming_room = 0;  // that could be assigned to these later
};

// A node's pool at one moment.
struct PoolSurvey {
  Lane standard;
  Lane erdma;
  // ENIs that may still be made: in all, and of each flavor.
  int adapters = 0;
  int trunks = 0;
  int erdmas = 0;
  int secondaries = 0;
  int most_adapters = 0;  // beside the primary one

  static PoolSurvey Of(const Node& node, const NodeStatus& status);  // O(A)
};

}  // namespace berth::eni
