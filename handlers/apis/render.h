#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "handlers/apis/resource.h"
#include "kube/accept.h"

// The forms a client may ask an object, a list or a watch event in, and how each is written.
namespace berth::apis {

using kube::Form;
using kube::IncludeObject;

std::string RenderObject(const ResourceType& type, const Object& object, Form form);

struct ListMetadata {
  std::uint64_t version = 0;
  std::string continue_token;
  std::size_t remaining = 0;  // 0: not told
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

}  // namespace berth::apis
