#include "handlers/apis/render.h"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace berth::apis {
namespace {

constexpr std::string_view kTableHead =
    R"({"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":)";
constexpr std::string_view kPartialHead =
    R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":)";

std::string_view Trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Calls `visit(media_type, parameters)` for each range of an Accept header until it returns true.
template <typename Visit>
bool VisitAccept(std::string_view accept, Visit visit) {
  while (!accept.empty()) {
    const auto end = accept.find_first_of(",\x1f");  // a repeated header is joined with 0x1f
    const std::string_view range = accept.substr(0, end);
    const auto semicolon = range.find(';');
    const std::string_view parameters =
        semicolon == std::string_view::npos ? "" : range.substr(semicolon);
    if (visit(Trim(range.substr(0, semicolon)), parameters)) return true;
    if (end == std::string_view::npos) return false;
    accept.remove_prefix(end + 1);
  }
  return false;
}

bool HasParameter(std::string_view parameters, std::string_view name, std::string_view value) {
  while (!parameters.empty()) {
    parameters.remove_prefix(1);
    const auto end = parameters.find(';');
    const std::string_view parameter = Trim(parameters.substr(0, end));
    if (parameter.size() == name.size() + 1 + value.size() && parameter.starts_with(name) &&
        parameter[name.size()] == '=' && parameter.ends_with(value)) {
      return true;
    }
    if (end == std::string_view::npos) return false;
    parameters.remove_prefix(end);
  }
  return false;
}

bool IsJsonRange(std::string_view media_type) {
  return media_type == "application/json" || media_type == "*/*" || media_type == "application/*";
}

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
    Json definition(jsoncons::json_object_arg);
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
  for (const Cell& cell : object.cells) {
    out.append(",");
    if (cell.since) {
      out.append("\"").append(HumanDuration(UnixNow() - *cell.since)).append("\"");
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

std::optional<Form::Kind> NegotiateForm(std::string_view accept) {
  if (Trim(accept).empty()) return Form::Kind::kObject;
  std::optional<Form::Kind> kind;
  VisitAccept(accept, [&](std::string_view media_type, std::string_view parameters) {
    if (!IsJsonRange(media_type)) return false;
    if (parameters.find("as=") == std::string_view::npos) {
      kind = Form::Kind::kObject;
      return true;
    }
    if (!HasParameter(parameters, "g", "meta.k8s.io") || !HasParameter(parameters, "v", "v1"))
      return false;
    if (HasParameter(parameters, "as", "Table")) kind = Form::Kind::kTable;
    if (HasParameter(parameters, "as", "PartialObjectMetadata") ||
        HasParameter(parameters, "as", "PartialObjectMetadataList")) {
      kind = Form::Kind::kPartial;
    }
    return kind.has_value();
  });
  return kind;
}

bool WantsAggregatedDiscovery(std::string_view accept) {
  bool wanted = false;
  VisitAccept(accept, [&](std::string_view media_type, std::string_view parameters) {
    if (!IsJsonRange(media_type)) return false;
    if (parameters.find("as=") == std::string_view::npos) return true;
    wanted = HasParameter(parameters, "as", "APIGroupDiscoveryList") &&
             HasParameter(parameters, "v", "v2") &&
             HasParameter(parameters, "g", "apidiscovery.k8s.io");
    return wanted;
  });
  return wanted;
}

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
  bookmark.cells.resize(type.columns.size());
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

std::string Timestamp(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::string text(sizeof("2026-11-16T00:00:00Z"), '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}

std::string HumanDuration(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour, kYear = 365 * kDay;
  const auto two = [](std::int64_t whole, const char* unit, std::int64_t part,
                      const char* part_unit) {
    std::string text = std::to_string(whole) + unit;
    if (part != 0) text += std::to_string(part) + part_unit;
    return text;
  };
  if (seconds < 0) return "0s";
  if (seconds < 2 * kMinute) return std::to_string(seconds) + "s";
  if (seconds < 10 * kMinute) return two(seconds / kMinute, "m", seconds % kMinute, "s");
  if (seconds < 3 * kHour) return std::to_string(seconds / kMinute) + "m";
  if (seconds < 8 * kHour) return two(seconds / kHour, "h", seconds / kMinute % 60, "m");
  if (seconds < 2 * kDay) return std::to_string(seconds / kHour) + "h";
  if (seconds < 8 * kDay) return two(seconds / kDay, "d", seconds / kHour % 24, "h");
  if (seconds < 2 * kYear) return std::to_string(seconds / kDay) + "d";
  if (seconds < 8 * kYear) return two(seconds / kYear, "y", seconds / kDay % 365, "d");
  return std::to_string(seconds / kYear) + "y";
}

}  // namespace berth::apis
