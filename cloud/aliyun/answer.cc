#include "cloud/aliyun/answer.h"

#include <optional>
#include <utility>

#include "cloud/aliyun/error_table.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

// Without the text that the cloud says it signed, where keys may stand in other forms.
std::string Shown(const std::string& text, Secrets secrets) {
  return WithoutSecrets(text.substr(0, text.find("string to sign")), secrets);
}

// EFLO tells errors with an HTTP status of 200.
bool HasErrorNumber(const Json& body) {
  const Json& code = Member(body, "Code");
  return code.is_number() && Text(body, "Code") != "0";
}

Error FromCloud(const http::Response& response, const Json& body, const std::string& request_id,
                Secrets secrets) {
  Error error;
  error.reason = Shown(Text(body, "Code"), secrets);
  error.error_class = ClassOf(error.reason);
  error.message = Shown(Text(body, "Message"), secrets);
  if (error.message.empty()) error.message = error.reason;
  if (!request_id.empty()) error.message += Format(" (request ID {})", request_id);
  error.code = response.code;
  error.retry_after = RetryAfter(response);
  return error;
}

}  // namespace

Answer ReadAnswer(const Result<http::Response>& response, bool writes, Secrets secrets) {
  if (!response) return {std::unexpected(NoAnswer(response.error(), writes, secrets)), {}};
  const int code = response->code;
  std::optional<Json> body = ParseObject(response->body);
  std::string request_id = body ? Shown(Text(*body, "RequestId"), secrets) : "";
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

}  // namespace berth::cloud::aliyun
