#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reconcile/difftracker/objects.h"
#include "reconcile/runtime/verdict.h"

namespace berth::difftracker {

inline constexpr int kLeastIdleMinutes = 4;
inline constexpr int kMostIdleMinutes = 30;
inline constexpr int kHighestPort = 65534;

// A rule that a Service breaks: a service gateway cannot do it.
struct Refusal {
  std::string_view reason;  // "UnsupportedDualStack"
  std::string field;
  std::string value;
  std::string why;
};

// All rules that the Service breaks; none for one that is not ours. O(ports log ports).
std::vector<Refusal> RefusalsOf(const Service& service);

// The verdict on a Service to be stored. A mistake that it had before is a warning.
runtime::Verdict JudgeService(const Service& now, const Service* before);

// The minutes of the annotation, kLeastIdleMinutes without one or with one that is refused.
int IdleTimeoutOf(const Service& service);

}  // namespace berth::difftracker
