#include "handlers/apis/render.h"

#include <chrono>

#include "kube/age.h"

namespace berth::apis {
namespace {

constexpr std::string_view kTableHead =
    R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":)";
constexpr std::string_view kPartialHead =
    R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":)";

std::int64_t UnixNow() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void AppendVersion(std::string& out, std::uint64_t version) {
  out.append(R"({"resourceVersion":")").append(std::to_string(version)).append("\"");
}

void AppendColumns(std::string& out, const ResourceType& type) {
  out.append(
      R"({"name":"Name","type":"string","format":"name","description":"Name of the object.","priority":0})");
  for (const Column& column : type.columns) {
    Json definition;
    definition["name"] = column.name;
    // Ages are sent as text, as the API server does.
    definition["type"] = column.type == "date" ? "string" : column.type;
    definition["format"] = "";
    definition["description"] = column.description;
    definition["priority"] = column.priority;
    out.append(",").append(definition.to_string());
  }
}

void AppendPartial(std::string& out, const Object& object) {
  out.append(kPartialHead).append(object.metadata).append("}");
}

void AppendRow(std::string& out, const Object& object, IncludeObject include) {
  out.append(R"({"cells":[)").append(Json(object.name).to_string());
  for (const Cell cell : object.cells) {
    out.append(",");
    if (cell.since) {
      out.append("\"").append(kube::HumanDuration(UnixNow() - *cell.since)).append("\"");
    } else {
      out.append(cell.json);
    }
  }
  out.append("]");
  if (include != IncludeObject::kNone) {
    out.append(R"(,"object":)");
    if (include == IncludeObject::kObject) {
      out.append(object.json);
    } else {
      AppendPartial(out, object);
    }
  }
  out.append("}");
}

void AppendObject(std::string& out, const ResourceType& type, const Object& object, Form form,
                  bool with_columns) {
  switch (form.kind) {
    case Form::Kind::kObject:
      out.append(object.json);
      return;
    case Form::Kind::kPartial:
      AppendPartial(out, object);
      return;
    case Form::Kind::kTable:
      out.append(kTableHead);
      AppendVersion(out, object.version);
      out.append(R"(},"columnDefinitions":[)");
      if (with_columns) AppendColumns(out, type);
      out.append(R"(],"rows":[)");
      AppendRow(out, object, form.include);
      out.append("]}");
  }
}

}  // namespace

std::string RenderObject(const ResourceType& type, const Object& object, Form form) {
  std::string out;
  AppendObject(out, type, object, form, true);
  return out;
}

std::string RenderList(const ResourceType& type, const std::vector<ObjectPtr>& objects,
                       const ListMetadata& metadata, Form form) {
  std::string out;
  switch (form.kind) {
    case Form::Kind::kObject:
      out.append(R"({"kind":")")
          .append(type.kind)
          .append(R"(List","apiVersion":")")
          .append(kGroupVersion);
      out.append(R"(","metadata":)");
      break;
    case Form::Kind::kPartial:
      out.append(
          R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":)");
      break;
    case Form::Kind::kTable:
      out.append(kTableHead);
  }
  AppendVersion(out, metadata.version);
  if (!metadata.continue_token.empty())
    out.append(R"(,"continue":")").append(metadata.continue_token).append("\"");
  if (metadata.remaining > 0)
    out.append(R"(,"remainingItemCount":)").append(std::to_string(metadata.remaining));
  out.append("}");
  if (form.kind == Form::Kind::kTable) {
    out.append(R"(,"columnDefinitions":[)");
    AppendColumns(out, type);
    out.append(R"(],"rows":[)");
  } else {
    out.append(R"(,"items":[)");
  }
  bool first = true;
  for (const ObjectPtr& object : objects) {
    if (!first) out.append(",");
    first = false;
    if (form.kind == Form::Kind::kTable) {
      AppendRow(out, *object, form.include);
    } else {
      AppendObject(out, type, *object, form, false);
    }
  }
  return out.append("]}");
}

std::string RenderEvent(const ResourceType& type, std::string_view event_type, const Object& object,
                        Form form, bool with_columns) {
  std::string out;
  out.reserve(object.json.size() + 64);
  out.append(R"({"type":")").append(event_type).append(R"(","object":)");
  AppendObject(out, type, object, form, with_columns);
  return out.append("}\n");
}

std::string RenderBookmark(const ResourceType& type, std::uint64_t version, bool initial_events_end,
                           Form form) {
  Object bookmark;
  bookmark.version = version;
  bookmark.cells = std::vector<Cell>(type.columns.size());
  AppendVersion(bookmark.metadata, version);
  if (initial_events_end)
    bookmark.metadata.append(R"(,"annotations":{"k8s.io/initial-events-end":"true"})");
  bookmark.metadata.append("}");
  bookmark.json = R"({"kind":")" + type.kind + R"(","apiVersion":")" + kGroupVersion +
                  R"(","metadata":)" + bookmark.metadata + "}";
  return RenderEvent(type, "BOOKMARK", bookmark, form, false);
}

std::string RenderErrorEvent(const kube::Status& status) {
  return R"({"type":"ERROR","object":)" + kube::ToJson(status) + "}\n";
}

std::string_view Name(EventType type) {
  switch (type) {
    case EventType::kAdded:
      return "ADDED";
    case EventType::kModified:
      return "MODIFIED";
    case EventType::kDeleted:
      return "DELETED";
  }
  std::unreachable();
}

}  // namespace berth::apis
