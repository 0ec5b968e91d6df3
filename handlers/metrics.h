#pragma once

#include <prometheus/registry.h>

#include "handlers/http.h"
#include "handlers/process_metrics.h"

namespace berth::metrics {

// GET /metrics: everything in the registry and about the process, in Prometheus' text form.
// Thread-safe.
void Serve(const prometheus::Registry& registry, const ProcessMetrics& process,
           const drogon::HttpRequestPtr& request, http::Callback callback);

}  // namespace berth::metrics
