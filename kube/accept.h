#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// The forms a client may ask for an object, a list or a watch event in.
namespace berth::kube {

enum class IncludeObject { kNone, kMetadata, kObject };

struct Form {
  enum class Kind { kObject, kTable, kPartial } kind = Kind::kObject;
  IncludeObject include = IncludeObject::kMetadata;  // of table rows
  bool operator==(const Form&) const = default;
};

// The first form of the Accept header that is served; none: 406. Weights are ignored, as kubectl
// lists by preference.
std::optional<Form::Kind> NegotiateForm(std::string_view accept);
// True when aggregated discovery v2 is asked for before plain JSON.
bool WantsAggregatedDiscovery(std::string_view accept);

}  // namespace berth::kube
