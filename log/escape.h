#pragma once

#include <string>
#include <string_view>

namespace berth::log {

// Appends what stands between the quotes of a JSON string for `text`, whatever bytes it holds:
// quotes, backslashes and control characters are escaped, those of Latin-1 and DEL too because
// terminals obey them; each byte that is not UTF-8 becomes U+FFFD. The result is valid UTF-8 and
// has no line break.
void AppendEscaped(std::string& out, std::string_view text);

// The longest prefix of `text` of at most `bytes` bytes that doesn't end inside a UTF-8 sequence.
std::string_view Prefix(std::string_view text, std::size_t bytes);

// `text` as valid UTF-8 of at most `bytes` bytes, for what others read: each byte that is not UTF-8
// becomes U+FFFD, and what is too much is cut off between characters.
std::string ToUtf8(std::string_view text, std::size_t bytes);

// A value that somebody else chose, as a message shows it: 256 bytes at most, then "...".
std::string Excerpt(std::string_view value);

}  // namespace berth::log
