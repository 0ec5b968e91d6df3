#include "kube/json_members.h"

#include <cstdint>

namespace berth::kube {
namespace {

constexpr std::uint64_t Bit(std::size_t length) { return std::uint64_t{1} << (length % 64); }

}  // namespace

void FindMembers(JsonView object, std::span<const std::string_view> keys,
                 std::span<JsonView> found) {
  // Most members are told apart from the wanted ones by the length of their keys.
  std::uint64_t lengths = 0;
  for (const std::string_view key : keys) lengths |= Bit(key.size());
  std::size_t left = keys.size();
  object.ForEach([&](std::string_view key, JsonView value) {
    if ((lengths & Bit(key.size())) == 0) return true;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].size() != key.size() || found[i].exists() || keys[i] != key) continue;
      found[i] = value;
      --left;
    }
    return left > 0;
  });
}

}  // namespace berth::kube
