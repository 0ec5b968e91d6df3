// Any body as an AdmissionReview: an error or a request, never a crash.
#include <cstdint>
#include <string_view>

#include "handlers/admission/review.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static berth::kube::JsonDocument document;
  const auto parsed = document.Parse({reinterpret_cast<const char*>(data), size});
  if (!parsed) return 0;
  const auto request = berth::admission::Decode(*parsed);
  if (request)
    static_cast<void>(berth::admission::Response::Allow().Warn(request->name).ToJson(request->uid));
  return 0;
}
