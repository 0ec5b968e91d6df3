#pragma once

#include "kube/memory/cluster.h"

namespace berth::kube::memory {

// Serves the kinds that every API server has, and makes the objects that are always there.
void AddBuiltinResources(Cluster& cluster);

}  // namespace berth::kube::memory
