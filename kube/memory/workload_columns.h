#pragma once

#include <vector>

#include "kube/memory/resource.h"

// kubectl's columns of pods, nodes, services and endpoint slices. Columns of `-o wide` have
// priority 1.
namespace berth::kube::memory {

std::vector<Column> PodColumns();
std::vector<Column> NodeColumns();
std::vector<Column> ServiceColumns();
std::vector<Column> EndpointSliceColumns();

}  // namespace berth::kube::memory
