// Any two JSON texts, parted by a NUL, as an object and a patch of each kind, and as an object
// before and after a change. A patched object stays within the bounds of a request, and the merge
// patch between two objects makes one of the other.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "json/json.h"
#include "kube/memory/patch.h"
#include "kube/patch.h"

namespace {

using namespace berth;
using kube::memory::Value;

void CheckPatches(const Value& object, const Value& patch) {
  static kube::memory::Decoder decoder;
  Value edited = object;
  if (patch.is_array() && kube::memory::JsonPatch(edited, patch))
    Require(decoder.Decode(edited.to_string()).has_value(), "an edited object can be read");
  if (!object.is_object() || !patch.is_object()) return;
  Value merged = object;
  kube::memory::MergePatch(merged, patch);
  Value twice = merged;
  kube::memory::MergePatch(twice, patch);
  Require(twice == merged, "a merge patch changes nothing the second time");
  Value strategic = object;
  kube::memory::StrategicMergePatch(strategic, patch);
  Require(decoder.Decode(strategic.to_string()).has_value(), "a merged object can be read");
}

// The patch carries the version of `from`, whatever `to` says.
void KeepVersion(const Json& from, Json& to) {
  const Json* version = from["metadata"].find("resourceVersion");
  if (!version || version->is_null()) return;
  if (!to["metadata"].is_object()) to["metadata"] = Json::Object();
  to["metadata"]["resourceVersion"] = *version;
}

void CheckDifference(const Json& from, Json to) {
  KeepVersion(from, to);
  const auto patch = kube::MergePatch(from, to);
  if (!patch) return;
  auto made = SortedJson::Parse(from.to_string());
  const auto change = SortedJson::Parse(patch->to_string());
  Require(made && change, "a patch can be read");
  kube::memory::MergePatch(*made, *change);
  const auto result = Json::Parse(made->to_string());
  Require(result && !kube::MergePatch(*result, to), "a patch leaves nothing to change");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.find('\0');
  if (cut == std::string_view::npos) return 0;
  const std::string_view first = input.substr(0, cut), second = input.substr(cut + 1);
  static kube::memory::Decoder decoder;
  const auto object = decoder.Decode(first), patch = decoder.Decode(second);
  if (object && patch) CheckPatches(*object, *patch);
  const auto from = Json::Parse(first), to = Json::Parse(second);
  if (from && to && from->is_object() && to->is_object()) CheckDifference(*from, *to);
  return 0;
}
