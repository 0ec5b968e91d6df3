#pragma once

#include <drogon/HttpRequest.h>
#include <drogon/HttpResponse.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "http/media_type.h"
#include "kube/status.h"
#include "kube/transport.h"

// The little HTTP that all handlers share.
namespace berth::http {

using Callback = std::function<void(const drogon::HttpResponsePtr&)>;
using Handler = std::function<void(const drogon::HttpRequestPtr&, Callback)>;

inline constexpr const char* kJson = "application/json";

drogon::HttpResponsePtr Respond(int code, std::string body, std::string_view content_type = kJson);
drogon::HttpResponsePtr Respond(const kube::Status& status);
drogon::HttpResponsePtr Respond(kube::Response response);

// The answer for a path that nothing is served on.
kube::Status NoSuchPath();

// All values of a header, which the framing layer joined with 0x1f (server/framing.h).
std::vector<std::string> Values(const drogon::HttpRequestPtr& request, const std::string& name);

// The ID that logs and answers carry: the API server's Audit-Id, or one made here.
std::string RequestId(std::string_view audit_id);
std::string RequestId(const drogon::HttpRequestPtr& request);

// The path as sent, still percent-encoded: names are compared and split before any decoding.
std::string_view RawPath(const drogon::HttpRequestPtr& request);

}  // namespace berth::http
