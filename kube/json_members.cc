#include "kube/json_members.h"

namespace berth::kube {

void FindMembers(JsonView object, std::span<const std::string_view> keys,
                 std::span<JsonView> found) {
  std::size_t left = keys.size();
  object.ForEach([&](std::string_view key, JsonView value) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] != key || found[i].exists()) continue;
      found[i] = value;
      --left;
    }
    return left > 0;
  });
}

}  // namespace berth::kube
