#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <utility>

namespace berth {

// A failure by what a caller may do about it, which is all most callers ask.
enum class ErrorClass {
  kRetry,      // passing: try again with back-off
  kThrottled,  // the other side asked for less; see retry_after
  kConflict,   // somebody else wrote first: read again
  kNotFound,
  kTerminal,   // will not get better by itself
  kAmbiguous,  // it may have happened: look before doing it again
};

// An error is a value: its class, the other side's reason where there is one (the API server's
// "NotFound", a cloud's "Throttling.User"), and a sentence for people.
struct Error {
  ErrorClass error_class = ErrorClass::kTerminal;
  std::string reason;
  std::string message;
  int code = 0;  // HTTP status, 0 when there was no answer
  std::chrono::milliseconds retry_after{0};
};

template <typename T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> Terminal(std::string message) {
  return std::unexpected(Error{ErrorClass::kTerminal, {}, std::move(message)});
}

}  // namespace berth
