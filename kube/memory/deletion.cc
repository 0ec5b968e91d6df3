#include "kube/memory/deletion.h"

#include <algorithm>
#include <charconv>

#include "kube/age.h"
#include "kube/memory/body.h"
#include "kube/memory/kinds.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

Status InvalidOptions(StatusCause cause) {
  return Invalid("DeleteOptions", "meta.k8s.io", "", {std::move(cause)});
}

Outcome<void> CheckPolicy(const Value& options) {
  const std::string_view policy = TextAt(options, "propagationPolicy");
  if (policy.empty()) return {};
  const Value* orphan = Find(options, "orphanDependents");
  if (orphan && !orphan->is_null()) {
    return std::unexpected(InvalidOptions(
        InvalidValue("propagationPolicy", Value(policy),
                     "orphanDependents and deletionPropagation cannot be both set")));
  }
  if (policy == "Foreground" || policy == "Background" || policy == "Orphan") return {};
  return std::unexpected(
      InvalidOptions({"FieldValueNotSupported",
                      Format(R"(Unsupported value: "{}": supported values: "Foreground", )"
                             R"("Background", "Orphan", "nil")",
                             policy),
                      "propagationPolicy"}));
}

// The finalizer that is asked for, of the two that decide about the dependents.
Value Finalizers(const Value& object, const Value& options) {
  const std::string_view policy = TextAt(options, "propagationPolicy");
  const Value* orphan_flag = Find(options, "orphanDependents");
  const bool flag = orphan_flag && orphan_flag->is_bool();
  const bool orphan = policy == "Orphan" || (flag && orphan_flag->as<bool>());
  const bool foreground = policy == "Foreground";
  // Without a word on it, what the object says itself stays.
  const bool silent = policy.empty() && !flag;
  Value finalizers = Value::Array();
  bool has_orphan = false, has_foreground = false;
  if (const Value* present = Find(object, "metadata", "finalizers")) {
    for (const Value& name : present->array_range()) {
      const bool is_orphan = name.as_string_view() == kOrphanFinalizer;
      const bool is_foreground = name.as_string_view() == kForegroundFinalizer;
      if (!silent && ((is_orphan && !orphan) || (is_foreground && !foreground))) continue;
      has_orphan = has_orphan || is_orphan;
      has_foreground = has_foreground || is_foreground;
      finalizers.push_back(name);
    }
  }
  if (orphan && !has_orphan) finalizers.push_back(kOrphanFinalizer);
  if (foreground && !has_foreground) finalizers.push_back(kForegroundFinalizer);
  return finalizers;
}

}  // namespace

Outcome<Value> ReadDeleteOptions(const Call& call, Decoder& decoder) {
  Value options = Value::Object();
  if (!call.body.empty()) {
    auto decoded = ReadBody({.type = call.content_type,
                             .text = call.body,
                             .api_version = "v1",
                             .kind = "DeleteOptions"},
                            decoder);
    if (!decoded) return std::unexpected(BadRequest(std::move(decoded.error().why)));
    options = std::move(*decoded);
    const std::string_view kind = TextAt(options, "kind");
    if (!kind.empty() && kind != "DeleteOptions") {
      return std::unexpected(BadRequest(Format(
          R"(no kind "{}" is registered for version "{}" in scheme "pkg/runtime/scheme.go:111")",
          kind, TextAt(options, "apiVersion"))));
    }
  }
  if (const auto policy = call.target.Parameter("propagationPolicy"); !policy.empty())
    options.insert_or_assign("propagationPolicy", policy);
  const std::string_view grace = call.target.Parameter("gracePeriodSeconds");
  std::int64_t seconds = 0;
  if (std::from_chars(grace.data(), grace.data() + grace.size(), seconds).ec == std::errc{})
    options.insert_or_assign("gracePeriodSeconds", seconds);
  if (auto fine = CheckPolicy(options); !fine) return std::unexpected(fine.error());
  return options;
}

Outcome<void> CheckDeletion(const Call& call, const Object& current, const Value& options) {
  const Resource& resource = call.resource();
  const bool is_namespace = resource.group.empty() && resource.plural == "namespaces";
  if (is_namespace && IsImmortal(call.name)) {
    return std::unexpected(
        Forbidden("", "namespaces", call.name, "this namespace may not be deleted"));
  }
  const auto refused = [&](std::string why) {
    return std::unexpected(Conflict(resource.group, resource.kind, call.name, why));
  };
  const std::string_view uid = TextAt(options, "preconditions", "uid");
  if (is_namespace && !uid.empty() && uid != current.uid()) {
    return std::unexpected(ConflictHere(
        call, Format("Precondition failed: UID in precondition: {}, UID in object meta: {}", uid,
                     current.uid())));
  }
  if (!uid.empty() && uid != current.uid()) {
    return refused(
        Format("the UID in the precondition ({}) does not match the UID in record ({}). The "
               "object might have been deleted and then recreated",
               uid, current.uid()));
  }
  const std::string_view version = TextAt(options, "preconditions", "resourceVersion");
  if (!version.empty() && version != std::to_string(current.version)) {
    return refused(Format(
        "the ResourceVersion in the precondition ({}) does not match the ResourceVersion in record "
        "({}). The object might have been modified",
        version, current.version));
  }
  return {};
}

Deletion MarkDeleted(const Resource& resource, const Object& current, const Value& options,
                     std::int64_t now) {
  Value object = current.value;
  if (resource.rules.begin_deletion) {
    if (!current.deleting()) resource.rules.begin_deletion(object, Timestamp(now));
    return {std::move(object)};
  }
  const bool graceful = resource.rules.grace_period != nullptr;
  std::int64_t grace = graceful ? resource.rules.grace_period(object, options) : 0;
  const std::int64_t given =
      current.deleting() ? IntAt(object, "metadata", "deletionGracePeriodSeconds") : 0;
  if (given > 0) {
    // A grace period under way can only be shortened.
    if (!Find(options, "gracePeriodSeconds") || grace >= given) return {std::move(object)};
    const auto end = ParseTimestamp(TextAt(object, "metadata", "deletionTimestamp"));
    now = end.value_or(now + given) - given;
  } else if (current.deleting()) {
    grace = 0;
  }
  Value finalizers = Finalizers(object, options);
  const bool ends = finalizers.empty() && grace == 0;
  if (ends && !graceful) return {std::nullopt, true};
  Value& metadata = object["metadata"];
  if (!finalizers.empty()) metadata.insert_or_assign("finalizers", std::move(finalizers));
  if (current.deleting() && given == 0) return {std::move(object), ends};
  metadata.insert_or_assign("deletionTimestamp", Timestamp(now + grace));
  metadata.insert_or_assign("deletionGracePeriodSeconds", grace);
  if (const std::int64_t generation = IntAt(metadata, "generation");
      generation > 0 && !current.deleting())
    metadata.insert_or_assign("generation", generation + 1);
  return {std::move(object), ends};
}

}  // namespace berth::kube::memory
