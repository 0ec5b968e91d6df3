#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/memory/resource.h"

// What the server says about what it serves. All documents are made when they are asked for:
// O(size).
namespace berth::kube::memory {

// Groups that somebody else serves, with their versions.
using AggregatedGroups = std::map<std::string, std::string>;

// Versions in the order of preference: v2 before v1 before v1beta1.
bool IsPreferred(std::string_view version, std::string_view to);

Value CoreVersions();                                                        // /api
Value Groups(const Registry& registry, const AggregatedGroups& aggregated);  // /apis
// Null for a group or a version that is not there.
Value Group(const Registry& registry, const AggregatedGroups& aggregated, std::string_view group);
Value Resources(const Registry& registry, std::string_view group, std::string_view version);

}  // namespace berth::kube::memory
