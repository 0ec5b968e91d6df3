#pragma once

namespace berth {

// Whether a sanitizer watches this program, for tests: it takes memory of its own and twenty times
// the time, and makes no tail calls.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace berth
