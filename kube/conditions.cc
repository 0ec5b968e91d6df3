#include "kube/conditions.h"

#include <string_view>
#include <utility>

#include "log/escape.h"
#include "log/timestamp.h"

namespace berth::kube {
namespace {

constexpr std::size_t kMaxMessage = 32'768;

const char* Name(ConditionStatus status) {
  switch (status) {
    case ConditionStatus::kTrue:
      return "True";
    case ConditionStatus::kFalse:
      return "False";
    case ConditionStatus::kUnknown:
      break;
  }
  return "Unknown";
}

Json& FindOrAdd(Json& conditions, const std::string& type) {
  if (!conditions.is_array()) conditions = Json::Array();
  for (Json& each : conditions.array_range()) {
    if (each.is_object() && each.get_value_or<std::string>("type", "") == type) return each;
  }
  Json added;
  added["type"] = type;
  conditions.push_back(std::move(added));
  return conditions[conditions.size() - 1];
}

bool Set(Json& condition, std::string_view key, const Json& value) {
  const Json* found = condition.find(key);
  if (found && *found == value) return false;
  condition.insert_or_assign(key, value);
  return true;
}

}  // namespace

bool SetCondition(Json& conditions, const Condition& condition, async::WallTime now) {
  Json& entry = FindOrAdd(conditions, condition.type);
  bool changed = Set(entry, "status", Name(condition.status));
  if (changed) Set(entry, "lastTransitionTime", FormatTime(now));
  changed |= Set(entry, "reason", condition.reason);
  changed |= Set(entry, "message", log::ToUtf8(condition.message, kMaxMessage));
  if (condition.observed_generation != 0) {
    changed |= Set(entry, "observedGeneration", condition.observed_generation);
  }
  return changed;
}

}  // namespace berth::kube
