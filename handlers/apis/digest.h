#pragma once

#include <string>
#include <string_view>

namespace berth::apis {

// The SHA-256 of a text: a cache's key that is short, and says nothing of a secret. 32 bytes.
std::string Digest(std::string_view text);

}  // namespace berth::apis
