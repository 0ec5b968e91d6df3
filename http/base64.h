#pragma once

#include <optional>
#include <string>
#include <string_view>

// RFC 4648, section 4. O(length).
namespace berth {

std::string EncodeBase64(std::string_view bytes);
// The URL's alphabet and no padding are understood too. None when it is malformed.
std::optional<std::string> DecodeBase64(std::string_view text);
// Where the text stops being base64, as Go counts; none when it is.
std::optional<std::size_t> Base64Problem(std::string_view text);

}  // namespace berth
