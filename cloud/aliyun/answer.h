#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "cloud/call_log.h"
#include "http/transport.h"
#include "json/json.h"

namespace berth::cloud::aliyun {

inline constexpr std::size_t kMaxAnswer = std::size_t{4} << 20;
inline constexpr std::size_t kMaxMessage = 512;  // of an error, in bytes

// The result of a call.
struct Answer {
  Result<Json> outcome;    // an object
  std::string request_id;  // the cloud's; empty when it said none
};

// Reads what came back of a call. An error has an HTTP status above 299, or, of EFLO, a Code that
// is a number other than 0. An error's reason is the cloud's code, its class that of the
// table in error_table.h, and its message the cloud's, cut at kMaxMessage, with the request ID at
// its end. Without an answer, or with one that is no JSON object or over kMaxAnswer, the reason is
// empty and a call that was sent is kAmbiguous if it `writes`, else kRetry; but an HTTP status of
// 3xx or 4xx is kRetry, 429 kThrottled, and a connection that was not made, a TLS failure among
// them, kRetry. `secrets` are blotted out of messages, codes and request IDs, and so is the
// text that the cloud says it signed, where keys may stand in other forms.
Answer ReadAnswer(const Result<http::Response>& response, bool writes,
                  std::initializer_list<std::string_view> secrets);

// Completes the record of a call with its answer. Without one it was a "Timeout" if `timeout` has
// passed.
void Complete(CallRecord& record, const Answer& answer, async::Duration timeout);

// The member of an object; null for none, and when it is no object.
const Json& Member(const Json& object, std::string_view name);

// The value of a member as text: a string as it is, a number or a bool as written; empty for all
// else, and for none. The cloud is not of one mind about which of these a field is.
std::string Text(const Json& object, std::string_view name);

}  // namespace berth::cloud::aliyun
