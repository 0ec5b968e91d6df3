#include "handlers/metrics.h"

#include <prometheus/text_serializer.h>

namespace berth::metrics {

void Serve(const prometheus::Registry& registry, const ProcessMetrics& process,
           const drogon::HttpRequestPtr& request, http::Callback callback) {
  if (request->path() != "/metrics") return callback(http::Respond(http::NoSuchPath()));
  if (request->method() != drogon::Get) {
    return callback(http::Respond(kube::MethodNotAllowed("", "/metrics", request->methodString())));
  }
  auto families = registry.Collect();
  families.append_range(process.Collect());
  callback(http::Respond(200, prometheus::TextSerializer().Serialize(families),
                         "text/plain; version=0.0.4; charset=utf-8"));
}

}  // namespace berth::metrics
