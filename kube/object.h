#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/error.h"
#include "kube/json_view.h"

namespace berth::kube {

using Labels = std::map<std::string, std::string, std::less<>>;

struct Owner {
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
};

// What of an object's metadata our code goes by. What is absent is empty.
struct Metadata {
  std::string ns;  // "" for objects of the whole cluster
  std::string name;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  bool deleting = false;  // there is a deletionTimestamp
  Labels labels;
  Labels annotations;  // only when asked for: they may be large and few read them
  std::vector<std::string> finalizers;
  std::vector<Owner> owners;
};

enum class Annotations { kSkip, kRead };

Metadata ReadMetadata(JsonView object, Annotations annotations = Annotations::kSkip);

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
