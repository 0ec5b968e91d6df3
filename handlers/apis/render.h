#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handlers/apis/resource.h"

// The forms a client may ask an object, a list or a watch event in, and how each is written.
namespace berth::apis {

enum class IncludeObject { kNone, kMetadata, kObject };

struct Form {
  enum class Kind { kObject, kTable, kPartial } kind = Kind::kObject;
  IncludeObject include = IncludeObject::kMetadata;  // of table rows
  bool operator==(const Form&) const = default;
};

// The first form of the Accept header that is served; none: 406. Weights are ignored, as kubectl
// lists by preference.
std::optional<Form::Kind> NegotiateForm(std::string_view accept);
// True when aggregated discovery v2 is asked for before plain JSON.
bool WantsAggregatedDiscovery(std::string_view accept);

std::string RenderObject(const ResourceType& type, const Object& object, Form form);

struct ListMetadata {
  std::uint64_t version = 0;
  std::string continue_token;
};
std::string RenderList(const ResourceType& type, const std::vector<ObjectPtr>& objects,
                       const ListMetadata& metadata, Form form);

// Lines of a watch, each with its newline. A table names its columns in a stream's first event
// only.
std::string RenderEvent(const ResourceType& type, std::string_view event_type, const Object& object,
                        Form form, bool with_columns);
std::string RenderBookmark(const ResourceType& type, std::uint64_t version, bool initial_events_end,
                           Form form);
std::string RenderErrorEvent(const kube::Status& status);

std::string_view Name(EventType type);

// RFC 3339 in UTC, whole seconds.
std::string Timestamp(std::int64_t unix_seconds);
// As kubectl shows ages: 90s, 5m3s, 3h, 2d4h.
std::string HumanDuration(std::int64_t seconds);

}  // namespace berth::apis
