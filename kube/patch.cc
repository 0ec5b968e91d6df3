#include "kube/patch.h"

#include <utility>

namespace berth::kube {
namespace {

const Json* Member(const Json& object, std::string_view key) {
  const Json* found = object.find(key);
  return found && !found->is_null() ? found : nullptr;
}

std::optional<Json> Difference(const Json& from, const Json& to);

bool SameItems(const Json& from, const Json& to) {
  if (from.size() != to.size()) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (Difference(from[i], to[i])) return false;
  }
  return true;
}

std::optional<Json> ObjectDifference(const Json& from, const Json& to) {
  Json patch;
  for (const auto& member : from.object_range()) {
    if (Member(from, member.key()) && !Member(to, member.key())) {
      patch.try_emplace(member.key(), Json::null());
    }
  }
  for (const auto& member : to.object_range()) {
    const Json* wanted = Member(to, member.key());
    if (!wanted) continue;
    const Json* present = Member(from, member.key());
    auto difference = present ? Difference(*present, *wanted) : std::optional(*wanted);
    if (difference) patch.try_emplace(member.key(), std::move(*difference));
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

std::optional<Json> Difference(const Json& from, const Json& to) {
  if (from.is_object() && to.is_object()) return ObjectDifference(from, to);
  const bool same = from.is_array() && to.is_array() ? SameItems(from, to) : from == to;
  if (same) return std::nullopt;
  return to;
}

}  // namespace

std::optional<Json> MergePatch(const Json& from, const Json& to) {
  auto patch = Difference(from, to);
  if (!patch) return std::nullopt;
  const Json* metadata = Member(from, "metadata");
  const Json* version = metadata ? Member(*metadata, "resourceVersion") : nullptr;
  if (version) (*patch)["metadata"]["resourceVersion"] = *version;
  return patch;
}

}  // namespace berth::kube
