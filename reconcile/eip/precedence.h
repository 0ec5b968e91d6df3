#pragma once

#include <tuple>

#include "reconcile/eip/objects.h"

namespace berth::eip {

// Whether an address that both objects claim is the first one's: the one that has it in its status
// goes before, then the one that it was allocated for, then the older one.
inline bool GoesBefore(const Object& one, const Object& other) {
  const auto rank = [](const Object& object) {
    return std::tuple(object.allocation_id.empty(), object.origin != Origin::kCreated,
                      object.id.created, object.id.uid);
  };
  return rank(one) < rank(other);
}

}  // namespace berth::eip
