#pragma once

#include <cstddef>
#include <string_view>

#include "fuzz/require.h"
#include "http/error.h"

// Errors of clouds, whatever their answers were.
namespace berth {

inline constexpr std::string_view kSecret = "the-secret";
inline constexpr std::size_t kLongestMessage = 4096;

inline void CheckError(const Error& error) {
  Require(!error.message.contains(kSecret), "no message has a secret");
  Require(!error.reason.contains(kSecret), "no reason has a secret");
  Require(error.message.size() <= kLongestMessage, "messages are bounded");
}

}  // namespace berth
