#include "reconcile/runtime/identity.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "log/format.h"

namespace berth::runtime {
namespace {

std::string Text(kube::JsonView view) { return std::string(view.StringOr("")); }

// Of "2026-01-02T03:04:05Z"; 0 when it is none.
std::int64_t UnixSeconds(std::string_view time) {
  int year = 0;
  unsigned month = 0;
  unsigned day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
  // NOLINTNEXTLINE(cert-err34-c): the count says whether all were numbers
  if (std::sscanf(std::string(time).c_str(), "%d-%u-%uT%d:%d:%d", &year, &month, &day, &hour,
                  &minute, &second) != 6) {
    return 0;
  }
  const std::chrono::sys_days date = std::chrono::year(year) / std::chrono::month(month) / day;
  return std::chrono::duration_cast<std::chrono::seconds>(date.time_since_epoch()).count() +
         hour * 3600 + minute * 60 + second;
}

}  // namespace

std::string KeyBeside(std::string_view key, std::string_view name) {
  return std::string(key.substr(0, key.find('/') + 1)).append(name);
}

std::pair<std::string_view, std::string_view> SplitKey(std::string_view key) {
  const auto slash = key.find('/');
  if (slash == std::string_view::npos) return {std::string_view(), key};
  return {key.substr(0, slash), key.substr(slash + 1)};
}

Identity Identity::From(kube::JsonView object, std::string_view our_finalizer) {
  const kube::JsonView metadata = object["metadata"];
  Identity id{.ns = Text(metadata["namespace"]),
              .name = Text(metadata["name"]),
              .uid = Text(metadata["uid"]),
              .version = Text(metadata["resourceVersion"]),
              .generation = metadata["generation"].Int().value_or(0),
              .created = UnixSeconds(metadata["creationTimestamp"].StringOr("")),
              .deleting = 0,
              .finalizer = false,
              .other_finalizers = {}};
  if (const auto since = metadata["deletionTimestamp"].String()) {
    id.deleting = std::max<std::int64_t>(UnixSeconds(*since), 1);
  }
  metadata["finalizers"].ForEachItem([&](kube::JsonView finalizer) {
    if (finalizer.StringOr("") == our_finalizer) {
      id.finalizer = true;
    } else {
      id.other_finalizers.push_back(Text(finalizer));
    }
  });
  return id;
}

kube::ObjectReference Identity::Reference(const kube::Resource& resource) const {
  return {.api_version = resource.group.empty() ? std::string(resource.version)
                                                : Format("{}/{}", resource.group, resource.version),
          .kind = std::string(resource.kind),
          .ns = ns,
          .name = name,
          .uid = uid};
}

Json PatchOf(const Identity& id) {
  Json patch;
  patch["metadata"] = Json::Object();
  patch["metadata"]["resourceVersion"] = id.version;
  return patch;
}

Json FinalizersOf(const Identity& id, std::string_view ours) {
  Json list = Json::Array();
  for (const std::string& finalizer : id.other_finalizers) list.push_back(finalizer);
  if (!ours.empty()) list.push_back(ours);
  return list;
}

bool IsGone(const kube::Error& error) { return error.error_class == kube::ErrorClass::kNotFound; }

}  // namespace berth::runtime
