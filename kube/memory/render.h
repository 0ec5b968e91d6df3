#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/accept.h"
#include "kube/memory/resource.h"

// Objects, lists and watch events in the form and the version a client asked for.
namespace berth::kube::memory {

// The shape of an object in an answer: a view's version and a form, at a time (for ages).
struct Shape {
  const Resource& resource;
  const Version& version;
  Form form;
  std::int64_t now = 0;  // Unix seconds
};

std::string RenderObject(const Shape& shape, const Object& object);

struct ListMetadata {
  std::uint64_t version = 0;
  std::string continue_token;
  std::optional<std::uint64_t> remaining;
};
std::string RenderList(const Shape& shape, const std::vector<ObjectPtr>& objects,
                       const ListMetadata& metadata);

// Lines of a watch, each with its newline. A table names its columns in a stream's first event
// only.
std::string RenderEvent(const Shape& shape, ChangeType type, const Object& object,
                        bool with_columns);
std::string RenderBookmark(const Shape& shape, std::uint64_t version, bool initial_events_end,
                           bool with_columns);
std::string RenderError(const Status& status);

// How long ago a date was, as kubectl shows it.
Value AgeOf(std::string_view date, std::int64_t now);

}  // namespace berth::kube::memory
