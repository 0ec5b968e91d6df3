#include "reconcile/runtime/identity.h"

#include <algorithm>
#include <chrono>

#include "log/format.h"

namespace berth::runtime {
namespace {

std::string Text(kube::JsonView view) { return std::string(view.StringOr("")); }

// Reads "2026-01-02T03:04:05Z"; 0 for any other form. Every object that is read has a time.
std::int64_t UnixSeconds(std::string_view time) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  if (time.size() < kForm.size()) return 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool is_digit = time[i] >= '0' && time[i] <= '9';
    if (kForm[i] == '0' ? !is_digit : time[i] != kForm[i]) return 0;
  }
  const auto number = [time](std::size_t first, std::size_t digits) {
    int value = 0;
    for (const char c : time.substr(first, digits)) value = value * 10 + (c - '0');
    return value;
  };
  const int hour = number(11, 2);
  const int minute = number(14, 2);
  const int second = number(17, 2);
  const std::chrono::sys_days date = std::chrono::year(number(0, 4)) /
                                     std::chrono::month(static_cast<unsigned>(number(5, 2))) /
                                     std::chrono::day(static_cast<unsigned>(number(8, 2)));
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
  const auto [ns, name, uid, version, generation, created, deleting, finalizers] =
      object["metadata"].Members("namespace", "name", "uid", "resourceVersion", "generation",
                                 "creationTimestamp", "deletionTimestamp", "finalizers");
  Identity id{.ns = Text(ns),
              .name = Text(name),
              .uid = Text(uid),
              .version = Text(version),
              .generation = generation.Int().value_or(0),
              .created = UnixSeconds(created.StringOr("")),
              .deleting = 0,
              .finalizer = false,
              .other_finalizers = {}};
  if (const auto since = deleting.String()) {
    id.deleting = std::max<std::int64_t>(UnixSeconds(*since), 1);
  }
  finalizers.ForEachItem([&](kube::JsonView finalizer) {
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
