#pragma once

#include <cstdint>
#include <string>

#include "async/executor.h"
#include "json/json.h"

namespace berth::kube {

enum class ConditionStatus { kTrue, kFalse, kUnknown };

// One entry of `status.conditions`: metav1.Condition.
struct Condition {
  std::string type;  // "Ready"
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string reason;   // one word, for programs; the API wants one
  std::string message;  // a sentence, for people; cut at 32,768 bytes, the API's bound
  std::int64_t observed_generation = 0;  // of the object this was seen of; 0 for none
};

// Puts the condition into the list, in the place of the one of its type. lastTransitionTime becomes
// `now` only when the status is another one, and the list is left alone when nothing is new: true
// says that there is something to write. Members it does not know stay. O(conditions).
bool SetCondition(Json& conditions, const Condition& condition, async::WallTime now);

}  // namespace berth::kube
