#include "handlers/metrics.h"

#include <prometheus/text_serializer.h>

namespace berth::metrics {

void Serve(const prometheus::Registry& registry, const drogon::HttpRequestPtr& request,
           http::Callback callback) {
  if (request->path() != "/metrics") return callback(http::Respond(http::NoSuchPath()));
  if (request->method() != drogon::Get) {
    return callback(http::Respond(kube::MethodNotAllowed("", "/metrics", request->methodString())));
  }
  callback(http::Respond(200, prometheus::TextSerializer().Serialize(registry.Collect()),
                         "text/plain; version=0.0.4; charset=utf-8"));
}

}  // namespace berth::metrics
