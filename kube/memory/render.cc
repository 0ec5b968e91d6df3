#include "kube/memory/render.h"

#include "kube/age.h"

namespace berth::kube::memory {
namespace {

std::string_view NameOf(ChangeType type) {
  switch (type) {
    case ChangeType::kAdded:
      return "ADDED";
    case ChangeType::kModified:
      return "MODIFIED";
    case ChangeType::kDeleted:
      return "DELETED";
  }
  std::unreachable();
}

void AppendPartial(std::string& out, const Value& object) {
  out += R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":)";
  const Value* metadata = Find(object, "metadata");
  (metadata ? *metadata : Value::Object()).AppendTo(out);
  out += "}";
}

void AppendWhole(std::string& out, const Shape& shape, const Object& object) {
  if (&shape.version == &shape.resource.stored()) {
    out += object.text;
  } else {
    out += EncodeObject(FromStored(shape.resource, shape.version, object.value));
  }
}

// Lists of built-in kinds leave out what all of their items would repeat.
void AppendItem(std::string& out, const Shape& shape, const Object& object) {
  const std::size_t begin = out.size();
  AppendWhole(out, shape, object);
  if (shape.resource.custom) return;
  const std::size_t head = shape.version.api_version.size() + shape.resource.kind.size() +
                           std::string_view(R"("apiVersion":"","kind":"",)").size();
  out.erase(begin + 1, head);
}

Value CellOf(const Column& column, const Value& object, std::int64_t now) {
  if (column.make) return column.make(object, now);
  const Value* found = column.path.First(object);
  if (!found) return Value::null();
  if (column.type == "date")
    return found->is_string() ? AgeOf(found->as_string_view(), now) : Value::null();
  const bool fits = column.type == "string"    ? !found->is_object() && !found->is_array()
                    : column.type == "integer" ? found->is_int64()
                    : column.type == "number"  ? found->is_number()
                                               : found->is_bool();
  if (!fits) return Value::null();
  return column.type == "string" ? Value(found->as<std::string>()) : *found;
}

void AppendColumns(std::string& out, const Version& version) {
  if (version.name_column) {
    out += R"({"name":"Name","type":"string","format":"name",)";
    out += R"("description":"Name of the object, unique in its scope.","priority":0})";
  }
  for (const Column& column : version.columns) {
    if (!out.ends_with('[')) out += ",";
    Value definition = Value::Object();
    definition.insert_or_assign("name", column.name);
    definition.insert_or_assign("type", column.type);
    definition.insert_or_assign("format", column.format);
    definition.insert_or_assign("description", column.description);
    definition.insert_or_assign("priority", column.priority);
    definition.AppendTo(out);
  }
}

void AppendRow(std::string& out, const Shape& shape, const Object& object) {
  const Value& value = object.value;
  out += R"({"cells":[)";
  if (shape.version.name_column) Value(object.name()).AppendTo(out);
  for (const Column& column : shape.version.columns) {
    if (!out.ends_with('[')) out += ",";
    CellOf(column, value, shape.now).AppendTo(out);
  }
  out += R"(],"object":)";
  switch (shape.form.include) {
    case IncludeObject::kNone:
      out += "null";
      break;
    case IncludeObject::kMetadata:
      AppendPartial(out, value);
      break;
    case IncludeObject::kObject:
      AppendWhole(out, shape, object);
  }
  out += "}";
}

void AppendTableHead(std::string& out, const Shape& shape, bool with_columns) {
  out += R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","columnDefinitions":)";
  if (with_columns) {
    out += "[";
    AppendColumns(out, shape.version);
    out += "]";
  } else {
    out += "null";
  }
}

void AppendVersion(std::string& out, std::uint64_t version) {
  out.append(R"("resourceVersion":")").append(std::to_string(version)).append("\"");
}

void AppendObject(std::string& out, const Shape& shape, const Object& object, bool with_columns) {
  switch (shape.form.kind) {
    case Form::Kind::kObject:
      return AppendWhole(out, shape, object);
    case Form::Kind::kPartial:
      return AppendPartial(out, object.value);
    case Form::Kind::kTable:
      AppendTableHead(out, shape, with_columns);
      out += R"(,"metadata":{)";
      AppendVersion(out, object.version);
      out += R"(},"rows":[)";
      AppendRow(out, shape, object);
      out += "]}";
  }
}

}  // namespace

Value AgeOf(std::string_view date, std::int64_t now) {
  const auto since = ParseTimestamp(date);
  return since ? Value(HumanDuration(now - *since)) : Value("<unknown>");
}

std::string RenderObject(const Shape& shape, const Object& object) {
  std::string out;
  AppendObject(out, shape, object, true);
  return out;
}

std::string RenderList(const Shape& shape, const std::vector<ObjectPtr>& objects,
                       const ListMetadata& metadata) {
  std::string out;
  const bool table = shape.form.kind == Form::Kind::kTable;
  if (table) {
    AppendTableHead(out, shape, true);
  } else {
    const bool partial = shape.form.kind == Form::Kind::kPartial;
    out.append(R"({"kind":")");
    out.append(partial ? "PartialObjectMetadataList" : shape.resource.list_kind);
    out.append(R"(","apiVersion":")");
    out.append(partial ? "meta.k8s.io/v1" : shape.version.api_version).append("\"");
  }
  out += R"(,"metadata":{)";
  AppendVersion(out, metadata.version);
  // Custom resources say so when there is no more.
  if (!metadata.continue_token.empty() || (shape.resource.custom && shape.form == Form()))
    out.append(R"(,"continue":")").append(metadata.continue_token).append("\"");
  if (metadata.remaining)
    out.append(R"(,"remainingItemCount":)").append(std::to_string(*metadata.remaining));
  out.append(table ? R"(},"rows":[)" : R"(},"items":[)");
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (i > 0) out += ",";
    if (table) {
      AppendRow(out, shape, *objects[i]);
    } else if (shape.form.kind == Form::Kind::kPartial) {
      AppendPartial(out, objects[i]->value);
    } else {
      AppendItem(out, shape, *objects[i]);
    }
  }
  return out.append("]}");
}

std::string RenderEvent(const Shape& shape, ChangeType type, const Object& object,
                        bool with_columns) {
  std::string out;
  out.reserve(object.text.size() + 64);
  out.append(R"({"type":")").append(NameOf(type)).append(R"(","object":)");
  AppendObject(out, shape, object, with_columns);
  return out.append("}\n");
}

std::string RenderBookmark(const Shape& shape, std::uint64_t version, bool initial_events_end,
                           bool with_columns) {
  Value metadata = Value::Object();
  metadata.insert_or_assign("resourceVersion", std::to_string(version));
  if (initial_events_end)
    ObjectAt(metadata, "annotations").insert_or_assign("k8s.io/initial-events-end", "true");
  Value object = Value::Object();
  object.insert_or_assign("kind", shape.resource.kind);
  object.insert_or_assign("apiVersion", shape.version.api_version);
  object.insert_or_assign("metadata", std::move(metadata));
  std::string out = R"({"type":"BOOKMARK","object":)";
  // Not converted: it is in every version what it is in the stored one.
  if (shape.form.kind == Form::Kind::kObject) {
    object.AppendTo(out);
  } else {
    AppendObject(out, shape, Object(std::move(object)), with_columns);
  }
  return out.append("}\n");
}

std::string RenderError(const Status& status) {
  return R"({"type":"ERROR","object":)" + ToJson(status) + "}\n";
}

}  // namespace berth::kube::memory
