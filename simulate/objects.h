#pragma once

#include <string>
#include <string_view>

#include "json/json.h"

// Parts of an object as the API server has it; what is not there is empty.
namespace berth::simulate {

inline std::string Text(const Json& object, std::string_view member) {
  return object.get_value_or<std::string>(member, "");
}
inline Json Part(const Json& object, std::string_view member) {
  return object.get_value_or<Json>(member, Json::Object());
}

inline std::string NameOf(const Json& object) { return Text(object["metadata"], "name"); }
inline std::string UidOf(const Json& object) { return Text(object["metadata"], "uid"); }
inline bool Deleting(const Json& object) {
  return object["metadata"].contains("deletionTimestamp");
}

inline Json ConditionOf(const Json& object, std::string_view type) {
  const Json conditions = Part(object, "status").get_value_or<Json>("conditions", Json::Array());
  for (const Json& condition : conditions.array_range()) {
    if (Text(condition, "type") == type) return condition;
  }
  return Json::Object();
}

}  // namespace berth::simulate
