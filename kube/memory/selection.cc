#include "kube/memory/selection.h"

#include <algorithm>

#include "log/format.h"

namespace berth::kube::memory {
namespace {

std::string TextAtPath(const Value& object, std::string_view path) {
  const Value* value = &object;
  while (value && !path.empty()) {
    const std::size_t dot = path.find('.');
    value = Find(*value, path.substr(0, dot));
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  }
  return !value || value->is_null() ? "" : value->as<std::string>();
}

// A selectable field is always there; one that the object does not have is "".
std::optional<std::string> FieldAt(const Version& version, const Value& object,
                                   const std::string& name) {
  if (name == "metadata.name") return std::string(TextAt(object, "metadata", "name"));
  if (name == "metadata.namespace") return std::string(TextAt(object, "metadata", "namespace"));
  const auto found = std::ranges::find(version.selectable_fields, name, &SelectableField::name);
  if (found == version.selectable_fields.end()) return std::nullopt;
  return TextAtPath(object, found->path);
}

std::optional<std::string_view> LabelAt(const Value* labels, const std::string& key) {
  const Value* value = labels ? Find(*labels, key) : nullptr;
  if (!value || !value->is_string()) return std::nullopt;
  return value->as_string_view();
}

}  // namespace

bool Selection::Matches(const std::string& key, const Object& object) const {
  if (!key.starts_with(prefix)) return false;
  if (!labels.empty()) {
    const Value* all = Find(object.value, "metadata", "labels");
    if (!labels.Matches([&](const std::string& label) { return LabelAt(all, label); }))
      return false;
  }
  return fields.empty() || fields.Matches([&](const std::string& field) {
    return FieldAt(*version, object.value, field);
  });
}

Outcome<Selection> ReadSelection(const Call& call) {
  Selection selection;
  selection.version = call.view.version;
  selection.form = call.form;
  if (!call.ns.empty()) selection.prefix = call.ns + "/";
  auto labels = Selector::ParseLabels(call.target.Parameter("labelSelector"));
  if (!labels) return std::unexpected(BadRequest(labels.error()));
  selection.labels = std::move(*labels);
  std::vector<std::string> known;
  for (const SelectableField& field : call.view.version->selectable_fields)
    known.push_back(field.name);
  auto fields = Selector::ParseFields(call.target.Parameter("fieldSelector"), known);
  if (!fields) {
    static constexpr std::string_view kUnknown = "field label not supported: ";
    std::string error = fields.error();
    if (call.resource().selects_known_fields && error.starts_with(kUnknown)) {
      error = Format(R"("{}" is not a known field selector: only "metadata.name", )"
                     R"("metadata.namespace")",
                     error.substr(kUnknown.size()));
    }
    return std::unexpected(BadRequest(std::move(error)));
  }
  selection.fields = std::move(*fields);
  return selection;
}

}  // namespace berth::kube::memory
