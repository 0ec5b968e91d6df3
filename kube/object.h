#pragma once

#include <string_view>

#include "kube/error.h"
#include "kube/json_view.h"

namespace berth::kube {

// An object's JSON as a T: T::From(JsonView) picks what it needs and returns a T or a Result<T>.
// Nothing but what it picked is built. `document` may be used for many, one after the other.
template <typename T>
Result<T> Decode(JsonDocument& document, std::string_view json) {
  const auto object = document.Parse(json);
  if (!object) return std::unexpected(object.error());
  return T::From(*object);
}

template <typename T>
Result<T> Decode(std::string_view json) {
  JsonDocument document;
  return Decode<T>(document, json);
}

}  // namespace berth::kube
