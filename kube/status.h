#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/error.h"

namespace berth::kube {

// One thing that is wrong with a request, as kubectl shows it below the message.
struct StatusCause {
  std::string reason;   // "FieldValueInvalid", "FieldValueRequired", …
  std::string message;  // "Invalid value: \"10.0.0.0/40\": the prefix is longer than 32"
  std::string field;    // "spec.cidr"
};

// Causes that one Status tells. kube-apiserver tells all.
inline constexpr std::size_t kMaxCauses = 64;

// StatusDetails of the API. `kind` is the plural resource name except in Invalid, as in
// kube-apiserver.
struct StatusDetails {
  std::string name;
  std::string group;
  std::string kind;
  std::string uid;
  std::vector<StatusCause> causes;
  std::int32_t retry_after_seconds = 0;
};

// The API's answer when it isn't an object. A code of 200–299 is a success.
struct Status {
  int code = 0;
  std::string reason;
  std::string message;
  StatusDetails details;
  std::string continue_token;  // where a list that is too old can go on
};

// kube-apiserver's own form: members in its order, empty ones left out, always valid UTF-8.
std::string ToJson(const Status& status);

// The answers of an API server, worded as kube-apiserver words them.
Status Success(StatusDetails details);
Status BadRequest(std::string message);
Status Unauthorized();
Status Forbidden(std::string_view group, std::string_view plural, std::string_view name,
                 std::string_view why);
Status NotFound(std::string_view group, std::string_view plural, std::string_view name);
Status AlreadyExists(std::string_view group, std::string_view plural, std::string_view name);
Status Conflict(std::string_view group, std::string_view plural, std::string_view name,
                std::string_view why);
// Keeps kMaxCauses causes; the message says how many more there are, and `more` counts causes that
// the caller has left out.
Status Invalid(std::string_view kind, std::string_view group, std::string_view name,
               std::vector<StatusCause> causes, std::size_t more = 0);
Status MethodNotAllowed(std::string_view group, std::string_view plural, std::string_view verb);
Status NotAcceptable(std::string_view accepted_types);
Status UnsupportedMediaType(std::string_view accepted_types);
Status RequestEntityTooLarge(std::size_t limit_bytes);
Status TooManyRequests(int retry_after_seconds);
Status Expired(std::string message);
Status InternalError(std::string_view why);
Status ServiceUnavailable(std::string message);

// The error for an answer outside 200–299, from its Status body where it has one. `retry_after` is
// the header's, 0 for none; the body's retryAfterSeconds counts when there is no header. `write`
// says that the request was one: then an answer that leaves open whether it was carried out (a
// gateway's failure, a time-out, an etcd error) is kAmbiguous instead of kRetry. AlreadyExists is
// kTerminal, not kConflict: reading again would not help the writer.
Error ErrorFromStatus(int http_code, std::string_view body, std::chrono::seconds retry_after,
                      bool write);

}  // namespace berth::kube
