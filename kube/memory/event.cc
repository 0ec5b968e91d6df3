#include "kube/memory/event.h"

#include <algorithm>
#include <array>

#include "kube/memory/render.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

// Members that have another name in core/v1 than in events.k8s.io/v1; the others have one name.
constexpr std::array kNames = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"count", "deprecatedCount"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"involvedObject", "regarding"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"message", "note"},
    {"reportingComponent", "reportingController"},
    {"source", "deprecatedSource"},
});

void Rename(Value& event, std::string_view from, std::string_view to) {
  if (const Value* found = Find(event, from)) {
    Value member = *found;
    event.erase(from);
    event.insert_or_assign(to, std::move(member));
  }
}

// core/v1 writes these even where they are empty.
void FillIn(Value& event) {
  for (const std::string_view key : {"eventTime", "firstTimestamp", "lastTimestamp"}) {
    if (!event.contains(key)) event.insert_or_assign(key, Value::null());
  }
  for (const std::string_view key : {"reportingComponent", "reportingInstance"}) {
    if (!event.contains(key)) event.insert_or_assign(key, "");
  }
  for (const std::string_view key : {"source", "involvedObject"}) ObjectAt(event, key);
  if (IntAt(event, "count") == 0) event.erase("count");
}

void Prepare(Value& event, const Value* /*old*/) { FillIn(event); }

bool IsNew(const Value& event) { return !TextAt(event, "eventTime").empty(); }

void Validate(const Value& event, const Value* old, Causes& causes) {
  const std::string_view about = TextAt(event, "involvedObject", "namespace");
  const std::string_view ns = TextAt(event, "metadata", "namespace");
  if (about.empty() ? ns != "default" : about != ns) {
    causes.push_back(
        InvalidValue("involvedObject.namespace", Value(about), "does not match event.namespace"));
  }
  if (!old && IsNew(event)) {
    for (const auto& [key, name] : {std::pair("reportingComponent", "reportingController"),
                                    std::pair("reportingInstance", "reportingInstance"),
                                    std::pair("action", "action"), std::pair("reason", "reason")}) {
      if (TextAt(event, key).empty()) causes.push_back(RequiredValue(name));
    }
    const std::string_view controller = TextAt(event, "reportingComponent");
    for (const std::string& problem : QualifiedNameProblems(controller))
      causes.push_back(InvalidValue("reportingController", Value(controller), problem));
  }
  if (!old || !IsNew(*old)) return;
  for (const std::string_view key :
       {"involvedObject", "reason", "action", "message", "reportingComponent", "reportingInstance",
        "type", "eventTime", "related"}) {
    const Value* now = Find(event, key);
    const Value* before = Find(*old, key);
    if (now && before ? *now == *before : now == before) continue;
    causes.push_back(
        InvalidValue(std::string(key), now ? *now : Value::null(), "field is immutable"));
  }
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

template <const char* member>
Value Text(const Value& event, std::int64_t /*now*/) {
  return Value(TextAt(event, member));
}
constexpr char kType[] = "type", kReason[] = "reason", kMessage[] = "message";

Value LastSeen(const Value& event, std::int64_t now) {
  for (const std::string_view key : {"lastTimestamp", "eventTime", "firstTimestamp"}) {
    if (const std::string_view date = TextAt(event, key); !date.empty()) return AgeOf(date, now);
  }
  return Value("<unknown>");
}

Value About(const Value& event, std::int64_t /*now*/) {
  return Value(Format("{}/{}", Lower(TextAt(event, "involvedObject", "kind")),
                      TextAt(event, "involvedObject", "name")));
}

}  // namespace

Rules EventRules() { return {.prepare = Prepare, .validate = Validate}; }

void ValidateNewEvent(const Value& event, Causes& causes) {
  if (!IsNew(event)) causes.push_back(RequiredValue("eventTime"));
  if (const auto type = TextAt(event, "type"); type != "Normal" && type != "Warning") {
    causes.push_back(InvalidValue("type", Value(""), Format("has invalid value: {}", type)));
  }
}

Value EventFromStored(const Value& stored) {
  Value event = stored;
  event.insert_or_assign("apiVersion", "events.k8s.io/v1");
  for (const auto& [core, face] : kNames) Rename(event, core, face);
  for (const std::string_view key : {"reportingController", "reportingInstance"}) {
    if (TextAt(event, key).empty()) event.erase(key);
  }
  return event;
}

Value EventToStored(const Value& event) {
  Value stored = event;
  stored.insert_or_assign("apiVersion", "v1");
  for (const auto& [core, face] : kNames) Rename(stored, face, core);
  FillIn(stored);
  return stored;
}

std::vector<Column> EventColumns() {
  return {
      {.name = "Last Seen", .type = "string", .make = LastSeen},
      {.name = "Type", .type = "string", .make = Text<kType>},
      {.name = "Reason", .type = "string", .make = Text<kReason>},
      {.name = "Object", .type = "string", .make = About},
      {.name = "Message", .type = "string", .make = Text<kMessage>},
  };
}

}  // namespace berth::kube::memory
