#pragma once

#include <prometheus/registry.h>

#include "handlers/http.h"

namespace berth::metrics {

// GET /metrics: everything in the registry, in Prometheus' text form. Thread-safe.
void Serve(const prometheus::Registry& registry, const drogon::HttpRequestPtr& request,
           http::Callback callback);

}  // namespace berth::metrics
