#include "handlers/http.h"

#include <drogon/utils/Utilities.h>

namespace berth::http {
namespace {

constexpr char kSeparator = '\x1f';
constexpr std::size_t kMaxRequestId = 64;

}  // namespace

drogon::HttpResponsePtr Respond(int code, std::string body, std::string_view content_type) {
  auto response = drogon::HttpResponse::newHttpResponse(static_cast<drogon::HttpStatusCode>(code),
                                                        drogon::CT_CUSTOM);
  // Drogon need not know it among its own types.
  response->setContentTypeCodeAndCustomString(drogon::CT_CUSTOM, content_type);
  response->setBody(std::move(body));
  return response;
}

drogon::HttpResponsePtr Respond(const kube::Status& status) {
  auto response = Respond(status.code, kube::ToJson(status));
  if (status.details.retry_after_seconds > 0) {
    response->addHeader("Retry-After", std::to_string(status.details.retry_after_seconds));
  }
  return response;
}

drogon::HttpResponsePtr Respond(kube::Response response) {
  return Respond(response.code, std::move(response.body));
}

kube::Status NoSuchPath() {
  return {.code = 404,
          .reason = "NotFound",
          .message = "the server could not find the requested resource",
          .details = {}};
}

std::vector<std::string> Values(const drogon::HttpRequestPtr& request, const std::string& name) {
  std::vector<std::string> values;
  std::string_view rest = request->getHeader(name);
  if (rest.empty()) return values;
  while (true) {
    const std::size_t end = rest.find(kSeparator);
    values.emplace_back(rest.substr(0, end));
    if (end == std::string_view::npos) return values;
    rest.remove_prefix(end + 1);
  }
}

std::string RequestId(std::string_view audit_id) {
  if (!audit_id.empty() && audit_id.size() <= kMaxRequestId) return std::string(audit_id);
  return drogon::utils::getUuid();
}

std::string RequestId(const drogon::HttpRequestPtr& request) {
  return RequestId(request->getHeader("audit-id"));
}

std::string_view RawPath(const drogon::HttpRequestPtr& request) {
  return request->getOriginalPath();
}

}  // namespace berth::http
