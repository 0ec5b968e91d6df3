#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "kube/memory/value.h"

// Requests' bodies: JSON, YAML or protobuf, as their Content-Type says.
namespace berth::kube::memory {

inline constexpr std::string_view kBodyTypes =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";
inline constexpr std::string_view kCustomBodyTypes = "application/json, application/yaml";

// Without a Content-Type it is JSON. `type` is without parameters.
bool IsBodyType(std::string_view type);
bool IsProtobuf(std::string_view type);

struct BodyProblem {
  std::string why;   // for people
  std::string kind;  // of the object, when it is known nevertheless
};

struct Body {
  std::string_view type;
  std::string_view text;
  // For an object in protobuf that does not say what it is.
  std::string_view api_version;
  std::string_view kind;
};

// Paths of members that JSON has twice are added to `duplicates`; YAML that has some is refused.
// O(size).
std::expected<Value, BodyProblem> ReadBody(const Body& body, Decoder& decoder,
                                           std::vector<std::string>* duplicates = nullptr);

// A body as an error shows it: its beginning, in hexadecimal unless it is JSON.
std::string SummaryOf(std::string_view text);

}  // namespace berth::kube::memory
