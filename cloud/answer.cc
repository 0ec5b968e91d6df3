#include "cloud/answer.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "log/escape.h"
#include "log/format.h"

namespace berth::cloud {
namespace {

constexpr int kMaxDepth = 32;
constexpr std::string_view kBlot = "***";

}  // namespace

std::optional<Json> ParseObject(std::string_view text, std::size_t most) {
  if (text.size() > most) return std::nullopt;
  auto value = Json::Parse(text, kMaxDepth);
  if (!value || !value->is_object()) return std::nullopt;
  return *std::move(value);
}

std::string WithoutSecrets(std::string text, Secrets secrets) {
  for (const std::string_view secret : secrets) {
    if (secret.empty()) continue;
    for (auto at = text.find(secret); at != text.npos; at = text.find(secret, at)) {
      text.replace(at, secret.size(), kBlot);
      at += kBlot.size();
    }
  }
  return log::ToUtf8(text, kMaxMessage);
}

std::string HeaderOf(const http::Response& response, std::string_view name) {
  const auto header = std::ranges::find(response.headers, name, &http::Header::name);
  return header == response.headers.end() ? std::string() : header->value;
}

std::chrono::milliseconds RetryAfter(const http::Response& response) {
  const std::string value = HeaderOf(response, "retry-after");
  int seconds = 0;
  std::from_chars(value.data(), value.data() + value.size(), seconds);
  return std::chrono::seconds(std::clamp(seconds, 0, 3600));
}

Error NoAnswer(Error error, bool writes, Secrets secrets) {
  const bool was_sent = error.error_class == ErrorClass::kAmbiguous;
  if (!was_sent || !writes) error.error_class = ErrorClass::kRetry;
  error.message = WithoutSecrets(std::move(error.message), secrets);
  return error;
}

Error Unreadable(const http::Response& response, bool writes) {
  const int code = response.code;
  Error error;
  if (code == 429) {
    error.error_class = ErrorClass::kThrottled;
  } else if (code >= 300 && code < 500) {
    error.error_class = ErrorClass::kRetry;
  } else {
    error.error_class = writes ? ErrorClass::kAmbiguous : ErrorClass::kRetry;
  }
  error.message = Format("the cloud's answer cannot be read (HTTP status {})", code);
  error.code = code;
  error.retry_after = RetryAfter(response);
  return error;
}

Error Named(std::string_view call, Error error) {
  const bool has_code = !error.reason.empty() && error.reason != error.message;
  error.message = has_code ? Format("{}: {}: {}", call, error.reason, error.message)
                           : Format("{}: {}", call, error.message);
  return error;
}

void Complete(CallRecord& record, const Answer& answer, async::Duration timeout) {
  record.request_id = answer.request_id;
  record.http_code = 200;
  record.code = "OK";
  if (answer.outcome) return;
  const Error& error = answer.outcome.error();
  record.http_code = error.code;
  record.message = error.message;
  record.throttled = error.error_class == ErrorClass::kThrottled && error.code != 0;
  record.code = error.reason;
  if (record.code.empty()) {
    const bool in_time = record.latency < timeout;
    record.code = error.code != 0 ? "Unreadable" : in_time ? "Network" : "Timeout";
  }
}

const Json& Member(const Json& object, std::string_view name) {
  static const Json kNone = Json::null();
  const Json* found = object.find(name);
  return found ? *found : kNone;
}

std::string Text(const Json& object, std::string_view name) {
  const Json& value = Member(object, name);
  const bool is_plain = value.is_string() || value.is_number() || value.is_bool();
  return is_plain ? value.as<std::string>() : std::string();
}

}  // namespace berth::cloud
