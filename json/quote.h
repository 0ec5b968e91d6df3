#pragma once

#include <string>
#include <string_view>

namespace berth {

// Appends `text`, which is UTF-8, as a JSON string with its quotes. O(bytes).
void AppendQuoted(std::string& out, std::string_view text);

}  // namespace berth
