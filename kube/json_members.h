#pragma once

#include <array>
#include <span>
#include <string_view>

#include "kube/json_view.h"

namespace berth::kube {

// Puts the members of an object with these keys into `found`, in the order of the keys; of members
// with the same key the first counts. O(members × keys) in one walk.
void FindMembers(JsonView object, std::span<const std::string_view> keys,
                 std::span<JsonView> found);

// The same for reading many members at once, which costs much less than as many lookups:
//   const auto [name, uid] = Members(metadata, "name", "uid");
template <typename... Keys>
std::array<JsonView, sizeof...(Keys)> Members(JsonView object, const Keys&... keys) {
  std::array<JsonView, sizeof...(Keys)> found;
  FindMembers(object, std::array<std::string_view, sizeof...(Keys)>{keys...}, found);
  return found;
}

}  // namespace berth::kube
