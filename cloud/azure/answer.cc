#include "cloud/azure/answer.h"

#include <optional>
#include <utility>

#include "cloud/azure/error_table.h"
#include "cloud/names.h"
#include "log/format.h"

namespace berth::cloud::azure {
namespace {

constexpr std::size_t kMaxPage = std::size_t{32} << 20;

bool HasFailed(std::string_view status) {
  return IsSameName(status, "Failed") || IsSameName(status, "Canceled");
}

// {"error":{"code":"…","message":"…"}}; of some answers without the outer object.
const Json& ErrorIn(const Json& body) {
  const Json& error = Member(body, "error");
  return error.is_object() ? error : body;
}

Error FromCloud(int status, const Json& body, const std::string& request_id, bool writes,
                Secrets secrets) {
  const Json& told = ErrorIn(body);
  Error error;
  error.reason = WithoutSecrets(Text(told, "code"), secrets);
  if (error.reason.empty()) error.reason = WithoutSecrets(Text(body, "status"), secrets);
  error.code = status;
  error.error_class = ClassOf(status, error.reason, writes);
  if (RefusesIdentity(error.reason)) {
    error.error_class = ErrorClass::kTerminal;
    error.code = 403;
  }
  error.message = WithoutSecrets(Text(told, "message"), secrets);
  if (error.message.empty()) error.message = error.reason;
  if (!request_id.empty()) error.message += Format(" (request ID {})", request_id);
  return error;
}

}  // namespace

ArmAnswer ReadArmAnswer(const Result<http::Response>& response, bool writes, Secrets secrets) {
  if (!response) {
    return {.answer = {std::unexpected(NoAnswer(response.error(), writes, secrets)), {}}};
  }
  const int status = response->code;
  const bool is_good = status >= 200 && status < 300;
  ArmAnswer read{
      .answer = {Json(), WithoutSecrets(HeaderOf(*response, "x-ms-request-id"), secrets)},
      .status = status,
      .async_operation = HeaderOf(*response, "azure-asyncoperation"),
      .location = HeaderOf(*response, "location"),
      .retry_after = RetryAfter(*response)};
  std::optional<Json> body =
      response->body.empty() ? Json() : ParseObject(response->body, kMaxPage);
  const bool has_code = body && !Text(ErrorIn(*body), "code").empty();
  if (!body || (!is_good && !has_code)) {
    read.answer.outcome = std::unexpected(Unreadable(*response, writes));
  } else if (!is_good) {
    Error error = FromCloud(status, *body, read.answer.request_id, writes, secrets);
    error.retry_after = read.retry_after;
    read.answer.outcome = std::unexpected(std::move(error));
  } else if (HasFailed(Text(*body, "status")) || !Text(Member(*body, "error"), "code").empty()) {
    read.answer.outcome =
        std::unexpected(FromCloud(0, *body, read.answer.request_id, writes, secrets));
  } else {
    read.answer.outcome = *std::move(body);
  }
  return read;
}

OperationState StateOf(const ArmAnswer& answer) {
  if (!answer.answer.outcome) return OperationState::kFailed;
  const Json& body = *answer.answer.outcome;
  std::string state = Text(body, "status");
  if (state.empty()) state = Text(Member(body, "properties"), "provisioningState");
  if (state.empty()) {
    return answer.status == 202 ? OperationState::kUnderWay : OperationState::kSucceeded;
  }
  if (IsSameName(state, "Succeeded")) return OperationState::kSucceeded;
  return HasFailed(state) ? OperationState::kFailed : OperationState::kUnderWay;
}

}  // namespace berth::cloud::azure
