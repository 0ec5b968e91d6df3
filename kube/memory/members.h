#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "kube/memory/value.h"

namespace berth::kube::memory {

// An object of these members: Members({{"kind", "Pod"}, {"name", name}}). Values are copied.
inline Value Members(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value object = Value::Object();
  for (const auto& [key, value] : members) object.insert_or_assign(key, value);
  return object;
}

}  // namespace berth::kube::memory
