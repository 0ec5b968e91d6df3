#pragma once

#include <string>
#include <string_view>

#include "json/json.h"

// Parts of an object as the API server has it; what is not there is empty.
namespace berth::simulate {

inline std::string Text(const Json& object, std::string_view member) {
  return object.get_value_or<std::string>(member, "");
}
// Of the object itself: not of one that is gone with the expression.
inline const Json& Part(const Json& object, std::string_view member) { return object[member]; }
const Json& Part(Json&& object, std::string_view member) = delete;

inline std::string NameOf(const Json& object) { return Text(object["metadata"], "name"); }
inline std::string UidOf(const Json& object) { return Text(object["metadata"], "uid"); }
inline bool Deleting(const Json& object) {
  return object["metadata"].contains("deletionTimestamp");
}

inline const Json& ConditionOf(const Json& object, std::string_view type) {
  static const Json kNone;
  for (const Json& condition : Part(Part(object, "status"), "conditions").array_range()) {
    if (Text(condition, "type") == type) return condition;
  }
  return kNone;
}
const Json& ConditionOf(Json&& object, std::string_view type) = delete;

}  // namespace berth::simulate
