#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>

namespace berth::http {

// Whether a Content-Type is of this media type, given in lower case; parameters do not count.
inline bool IsMediaType(std::string_view content_type, std::string_view media_type) {
  const std::string_view given = content_type.substr(0, content_type.find_first_of("; \t"));
  return std::ranges::equal(given, media_type, {},
                            [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
}

}  // namespace berth::http
