#pragma once

#include <string_view>
#include <vector>

#include "kube/memory/collection.h"
#include "kube/transport.h"

// The work of the EndpointSlice controller as a plain function.
namespace berth::kube::memory {

inline constexpr std::string_view kServiceNameLabel = "kubernetes.io/service-name";

// The Service whose slice it is: the label's value, if the stand-in manages the slice; else "".
std::string_view ServiceOfSlice(const Value& slice);

// The requests that make a Service's slices as they should be. `pods` are those that it selects, in
// the order of their keys; `slices` are those whose ServiceOfSlice it is. An endpoint stays in its
// slice; a new one goes into the first that has room. Named ports may differ between pods: then the
// pods are in different slices. A Service without endpoints has an empty slice.
// O(pods + slices' endpoints), times log.
std::vector<Request> SyncSlices(const Object& service, const std::vector<ObjectPtr>& pods,
                                const std::vector<ObjectPtr>& slices, std::size_t max_endpoints);

}  // namespace berth::kube::memory
