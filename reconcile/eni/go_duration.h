#pragma once

#include <optional>
#include <string_view>

#include "async/executor.h"

namespace berth::eni {

// Reads a duration as Go writes it: "2m", "10m30s", "1.5h", "300ms", "0". None for any other text,
// a negative duration, or one beyond Go's 292 years. O(size).
std::optional<async::Duration> ParseGoDuration(std::string_view text);

}  // namespace berth::eni
