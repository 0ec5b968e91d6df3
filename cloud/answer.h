#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "cloud/call_log.h"
#include "http/transport.h"
#include "json/json.h"

// Answers of clouds: the part that all providers share.
namespace berth::cloud {

inline constexpr std::size_t kMaxAnswer = std::size_t{4} << 20;
inline constexpr std::size_t kMaxMessage = 512;  // of an error, in bytes

// Texts that must not stand in messages; empty ones do not count.
using Secrets = std::initializer_list<std::string_view>;

// The result of a call.
struct Answer {
  Result<Json> outcome;    // an object
  std::string request_id;  // the cloud's; empty when it said none
};

// The JSON object that an answer is; none for all else and beyond `most` bytes.
std::optional<Json> ParseObject(std::string_view text, std::size_t most = kMaxAnswer);
// The text with the secrets blotted out, cut at kMaxMessage.
std::string WithoutSecrets(std::string text, Secrets secrets);
// Seconds, as clouds write the header; an hour at most.
std::chrono::milliseconds RetryAfter(const http::Response& response);
// The value of a header; empty for none.
std::string HeaderOf(const http::Response& response, std::string_view name);

// The error of a call without an answer: kAmbiguous if it was sent and `writes`, else kRetry.
Error NoAnswer(Error error, bool writes, Secrets secrets);
// The error of an answer from a gateway on the way, or from a cloud in great trouble, with an empty
// reason. A 3xx or 4xx says plainly that nothing was done, and gateways get mended: kRetry, and
// 429 kThrottled. All else is kAmbiguous if it `writes`.
Error Unreadable(const http::Response& response, bool writes);
// The error as people read it: the call it was, and the code to look up.
Error Named(std::string_view call, Error error);

// Completes the record of a call with its answer. Without one it was a "Timeout" if `timeout` has
// passed.
void Complete(CallRecord& record, const Answer& answer, async::Duration timeout);

// The member of an object; null for none, and when it is no object.
const Json& Member(const Json& object, std::string_view name);

// The value of a member as text: a string as it is, a number or a bool as written; empty for all
// else, and for none. Clouds are not of one mind about which of these a field is.
std::string Text(const Json& object, std::string_view name);

}  // namespace berth::cloud
