#pragma once

#include <optional>
#include <string>
#include <string_view>

// Names and addresses as clouds compare them.
namespace berth::cloud {

// In lower case, of ASCII.
std::string Lower(std::string_view text);
// Whether both are the same but for their case.
bool IsSameName(std::string_view a, std::string_view b);
// An IP address as RFC 5952 writes it; none for any other text.
std::optional<std::string> CanonicalAddress(const std::string& address);

}  // namespace berth::cloud
