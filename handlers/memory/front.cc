#include "handlers/memory/front.h"

#include <openssl/crypto.h>
#include <trantor/net/EventLoop.h>

#include <optional>

#include "handlers/apis/resource.h"
#include "kube/memory/call.h"

namespace berth::memory {
namespace {

constexpr std::string_view kBearer = "Bearer ";

std::optional<kube::Method> MethodOf(const drogon::HttpRequestPtr& request) {
  switch (request->method()) {
    case drogon::Get:
      return kube::Method::kGet;
    case drogon::Post:
      return kube::Method::kPost;
    case drogon::Put:
      return kube::Method::kPut;
    case drogon::Patch:
      return kube::Method::kPatch;
    case drogon::Delete:
      return kube::Method::kDelete;
    default:
      return std::nullopt;
  }
}

drogon::HttpResponsePtr Respond(kube::memory::Response answer) {
  const auto response = http::Respond(answer.code, std::move(answer.body), answer.content_type);
  // One header for all, as Drogon has it; RFC 9110 allows a list.
  std::string warnings;
  for (const std::string& warning : answer.warnings)
    warnings.append(warnings.empty() ? "" : ", ").append(warning);
  if (!warnings.empty()) response->addHeader("Warning", std::move(warnings));
  if (answer.retry_after > 0)
    response->addHeader("Retry-After", std::to_string(answer.retry_after));
  return response;
}

bool IsAtOrBelow(std::string_view path, const std::string& root) {
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

bool IsAggregated(std::string_view path) {
  static const std::string group = std::string("/apis/") + apis::kGroup;
  return IsAtOrBelow(path, group) || IsAtOrBelow(path, "/openapi/v3" + group);
}

kube::Request Read(const drogon::HttpRequestPtr& request, kube::Method method) {
  kube::Request read{.method = method, .path = std::string(http::RawPath(request))};
  if (!request->query().empty()) read.path += "?" + request->query();
  read.body = request->body();
  read.content_type = request->getHeader("content-type");
  read.accept = request->getHeader("accept");
  return read;
}

apis::User Administrator() {
  return {.name = "berth-demo",
          .uid = {},
          .groups = {"system:masters", "system:authenticated"},
          .extra = {}};
}

}  // namespace

// In a time that does not tell how much of it was right.
bool Front::HasToken(const drogon::HttpRequestPtr& request) const {
  const std::string_view given = request->getHeader("authorization");
  return given.starts_with(kBearer) && given.size() == kBearer.size() + token_.size() &&
         CRYPTO_memcmp(given.data() + kBearer.size(), token_.data(), token_.size()) == 0;
}

void Front::Serve(const drogon::HttpRequestPtr& request, http::Callback callback) {
  if (!HasToken(request)) return callback(http::Respond(kube::Unauthorized()));
  // Taken for the administrator, whoever is tried out would be allowed everything.
  if (const std::string& other = request->getHeader("impersonate-user"); !other.empty())
    return callback(http::Respond(
        kube::Forbidden("", "users", other, "there is no impersonation, for there is one user")));
  if (IsAggregated(http::RawPath(request)))
    return aggregated_.ServeAs(Administrator(), request, std::move(callback));
  Forward(request, std::move(callback));
}

void Front::Forward(const drogon::HttpRequestPtr& request, http::Callback callback) {
  const auto method = MethodOf(request);
  if (!method) return callback(Respond(kube::memory::NoSuchMethod()));
  kube::Request read = Read(request, *method);
  // As in kube-apiserver; of other paths, as /version, there is a HEAD.
  if (request->isHead() && ServerThread::Server::IsResource(read))
    return callback(Respond(kube::memory::NoSuchMethod()));
  if (ServerThread::Server::IsWatch(read))
    return watches_.Start(request, std::move(read), std::move(callback));
  auto* loop = trantor::EventLoop::getEventLoopOfCurrentThread();
  server_.Send(std::move(read),
               [loop, callback = std::move(callback)](kube::memory::Response response) {
                 loop->queueInLoop([callback, response = std::move(response)]() mutable {
                   callback(Respond(std::move(response)));
                 });
               });
}

}  // namespace berth::memory
