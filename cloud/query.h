#pragma once

#include <map>
#include <string>
#include <string_view>

namespace berth::cloud {

// Sorted by name. Neither name nor value is encoded.
using Parameters = std::map<std::string, std::string>;

// Encodes as RFC 3986 says: all but letters, digits, '-', '_', '.' and '~'.
std::string Encode(std::string_view text);
// "a=1&b=x%20y", encoded.
std::string Query(const Parameters& parameters);
// Reads the output of Query, or of a browser: '+' is a space. No '=' means an empty value.
Parameters ParseQuery(std::string_view query);

}  // namespace berth::cloud
