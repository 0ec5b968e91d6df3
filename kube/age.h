#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace berth::kube {

// RFC 3339 in UTC, whole seconds.
std::string Timestamp(std::int64_t unix_seconds);
// The Unix seconds of such a text; a fraction of a second is cut off.
std::optional<std::int64_t> ParseTimestamp(std::string_view text);
// As kubectl shows ages: 90s, 5m3s, 3h, 2d4h.
std::string HumanDuration(std::int64_t seconds);

}  // namespace berth::kube
