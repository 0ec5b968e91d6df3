#include "cloud/aliyun/answer.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "cloud/aliyun/error_table.h"
#include "log/escape.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

constexpr int kMaxDepth = 32;
constexpr std::string_view kBlot = "***";

std::optional<Json> ParseObject(std::string_view text) {
  if (text.size() > kMaxAnswer) return std::nullopt;
  auto value = Json::Parse(text, kMaxDepth);
  if (!value || !value->is_object()) return std::nullopt;
  return *std::move(value);
}

std::string WithoutSecrets(std::string text, std::initializer_list<std::string_view> secrets) {
  text = text.substr(0, text.find("string to sign"));
  for (const std::string_view secret : secrets) {
    if (secret.empty()) continue;
    for (auto at = text.find(secret); at != text.npos; at = text.find(secret, at)) {
      text.replace(at, secret.size(), kBlot);
      at += kBlot.size();
    }
  }
  return log::ToUtf8(text, kMaxMessage);
}

// Seconds, as the header has them here.
std::chrono::milliseconds RetryAfter(const http::Response& response) {
  const auto header = std::ranges::find(response.headers, "retry-after", &http::Header::name);
  int seconds = 0;
  if (header != response.headers.end()) {
    std::from_chars(header->value.data(), header->value.data() + header->value.size(), seconds);
  }
  return std::chrono::seconds(std::clamp(seconds, 0, 3600));
}

// EFLO tells errors with an HTTP status of 200.
bool HasErrorNumber(const Json& body) {
  const Json& code = Member(body, "Code");
  return code.is_number() && Text(body, "Code") != "0";
}

// From a gateway on the way, or from a cloud in great trouble. A 3xx or 4xx says plainly that
// nothing was done, and gateways get mended: it is never the last word.
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

Error FromCloud(const http::Response& response, const Json& body, const std::string& request_id,
                std::initializer_list<std::string_view> secrets) {
  Error error;
  error.reason = WithoutSecrets(Text(body, "Code"), secrets);
  error.error_class = ClassOf(error.reason);
  error.message = WithoutSecrets(Text(body, "Message"), secrets);
  if (error.message.empty()) error.message = error.reason;
  if (!request_id.empty()) error.message += Format(" (request ID {})", request_id);
  error.code = response.code;
  error.retry_after = RetryAfter(response);
  return error;
}

}  // namespace

Answer ReadAnswer(const Result<http::Response>& response, bool writes,
                  std::initializer_list<std::string_view> secrets) {
  if (!response) {
    Error error = response.error();
    const bool was_sent = error.error_class == ErrorClass::kAmbiguous;
    if (!was_sent || !writes) error.error_class = ErrorClass::kRetry;
    error.message = WithoutSecrets(std::move(error.message), secrets);
    return {std::unexpected(std::move(error)), {}};
  }
  const int code = response->code;
  std::optional<Json> body = ParseObject(response->body);
  std::string request_id = body ? WithoutSecrets(Text(*body, "RequestId"), secrets) : "";
  // Callers put it into messages of their own.
  if (body && !request_id.empty()) (*body)["RequestId"] = request_id;
  if (code >= 200 && code < 300 && body && !HasErrorNumber(*body)) {
    return {std::move(*body), std::move(request_id)};
  }
  if (body && !Text(*body, "Code").empty()) {
    return {std::unexpected(FromCloud(*response, *body, request_id, secrets)), request_id};
  }
  return {std::unexpected(Unreadable(*response, writes)), request_id};
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

}  // namespace berth::cloud::aliyun
