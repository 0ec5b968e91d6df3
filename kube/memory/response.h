#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/transport.h"

namespace berth::kube::memory {

// An answer with what its headers say. Whoever has no use for headers takes it as a kube::Response.
struct Response : kube::Response {
  Response() = default;
  Response(int http_code, std::string text) : kube::Response{http_code, std::move(text)} {}

  std::string_view content_type = "application/json";  // a constant
  std::vector<std::string> warnings;                   // values of Warning headers
  int retry_after = 0;                                 // seconds; 0: no Retry-After header
};

}  // namespace berth::kube::memory
