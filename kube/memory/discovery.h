#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/memory/resource.h"

// The server's description of its resources. All documents are made when they are asked for:
// O(size).
namespace berth::kube::memory {

// A group that somebody else serves.
struct AggregatedGroup {
  std::string version;
  Value resources;  // as in APIVersionDiscovery; null when they are not known here
};
using AggregatedGroups = std::map<std::string, AggregatedGroup>;

// Versions in the order of preference: v2 before v1 before v1beta1.
bool IsPreferred(std::string_view version, std::string_view to);

Value CoreVersions();                                                        // /api
Value Groups(const Registry& registry, const AggregatedGroups& aggregated);  // /apis
// Null for a group or a version that is not there.
Value Group(const Registry& registry, const AggregatedGroups& aggregated, std::string_view group);
Value Resources(const Registry& registry, std::string_view group, std::string_view version);

// The verbs of a resource, in kube-apiserver's order.
std::vector<std::string> VerbsOf(const Resource& resource);
// The versions of every group, those to prefer first.
std::map<std::string, std::vector<std::string>> ServedVersions(const Registry& registry,
                                                               const AggregatedGroups& aggregated);

// Discovery in two documents, APIGroupDiscoveryList of apidiscovery.k8s.io/v2: of the core group
// (/api) or of all others (/apis). Null when an aggregated group's resources are not known: then
// clients have to ask for the documents above.
inline constexpr std::string_view kAggregatedDiscovery =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
Value AggregatedCore(const Registry& registry);
Value AggregatedGroupList(const Registry& registry, const AggregatedGroups& aggregated);

}  // namespace berth::kube::memory
