#pragma once

#include <optional>

#include "json/json.h"

namespace berth::kube {

// The smallest merge patch (RFC 7386) that makes of `from`, an object as it was read, `to`, as it
// is wanted; none when there is nothing to write. It carries `from`'s metadata.resourceVersion,
// where it has one, so that it fails with a conflict if somebody has written since. As the API
// server does, a null counts as nothing and the order of members as no difference. A list is
// replaced as a whole. O(size of both), for objects with few members each.
std::optional<Json> MergePatch(const Json& from, const Json& to);

}  // namespace berth::kube
