#pragma once

#include "kube/memory/discovery.h"
#include "kube/memory/resource.h"

// The kinds' schemas as clients ask for them: enough for `kubectl explain`, and for kubectl to see
// that the server validates fields itself.
namespace berth::kube::memory {

Value OpenApiV2(const Registry& registry);                                           // /openapi/v2
Value OpenApiV3Index(const Registry& registry, const AggregatedGroups& aggregated);  // /openapi/v3
// /openapi/v3/apis/group/version; null when there is none.
Value OpenApiV3(const Registry& registry, std::string_view group, std::string_view version);

}  // namespace berth::kube::memory
