#include "kube/object.h"

namespace berth::kube {
namespace {

Labels ReadTexts(JsonView object) {
  Labels texts;
  object.ForEach([&](std::string_view key, JsonView value) {
    if (const auto text = value.String()) texts.emplace(key, *text);
  });
  return texts;
}

Owner ReadOwner(JsonView reference) {
  return {.kind = std::string(reference["kind"].StringOr("")),
          .name = std::string(reference["name"].StringOr("")),
          .uid = std::string(reference["uid"].StringOr("")),
          .controller = reference["controller"].Bool().value_or(false)};
}

}  // namespace

Metadata ReadMetadata(JsonView object, Annotations annotations) {
  const JsonView meta = object["metadata"];
  Metadata out;
  out.ns = meta["namespace"].StringOr("");
  out.name = meta["name"].StringOr("");
  out.uid = meta["uid"].StringOr("");
  out.resource_version = meta["resourceVersion"].StringOr("");
  out.generation = meta["generation"].Int().value_or(0);
  out.deleting = meta["deletionTimestamp"].is_string();
  out.labels = ReadTexts(meta["labels"]);
  if (annotations == Annotations::kRead) out.annotations = ReadTexts(meta["annotations"]);
  meta["finalizers"].ForEachItem([&](JsonView item) {
    if (const auto text = item.String()) out.finalizers.emplace_back(*text);
  });
  meta["ownerReferences"].ForEachItem(
      [&](JsonView item) { out.owners.push_back(ReadOwner(item)); });
  return out;
}

}  // namespace berth::kube
