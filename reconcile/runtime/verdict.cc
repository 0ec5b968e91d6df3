#include "reconcile/runtime/verdict.h"

#include <set>
#include <utility>

#include "log/escape.h"
#include "log/format.h"

namespace berth::runtime {
void Verdict::Add(kube::StatusCause cause) {
  if (causes.size() < kMostCauses) {
    causes.push_back(std::move(cause));
  } else {
    ++more;
  }
}

void Verdict::Required(std::string field, std::string_view what) {
  Add({"FieldValueRequired", Format("Required value: {}", what), std::move(field)});
}

void Verdict::Invalid(std::string field, std::string_view value, std::string_view why) {
  Add({"FieldValueInvalid", Format("Invalid value: \"{}\": {}", log::Excerpt(value), why),
       std::move(field)});
}

void Verdict::Invalid(std::string field, std::int64_t value, std::string_view why) {
  Add({"FieldValueInvalid", Format("Invalid value: {}: {}", value, why), std::move(field)});
}

void Verdict::NotSupported(std::string field, std::string_view value, std::string_view supported) {
  Add({"FieldValueNotSupported",
       Format("Unsupported value: \"{}\": supported values: {}", log::Excerpt(value), supported),
       std::move(field)});
}

void Verdict::Forbidden(std::string field, std::string_view why) {
  Add({"FieldValueForbidden", Format("Forbidden: {}", why), std::move(field)});
}

void Verdict::Duplicate(std::string field, std::string_view value, std::string_view of) {
  Add({"FieldValueDuplicate", Format("Duplicate value: \"{}\": {}", log::Excerpt(value), of),
       std::move(field)});
}

void Verdict::TooLong(std::string field, std::size_t most) {
  Add({"FieldValueTooLong", Format("Too long: may not be more than {} characters", most),
       std::move(field)});
}

void Verdict::TooMany(std::string field, std::size_t count, std::size_t most) {
  Add({"FieldValueTooMany", Format("Too many: {}: must have at most {} items", count, most),
       std::move(field)});
}

void Verdict::Immutable(std::string field, std::string_view before, std::string_view now) {
  if (before == now) return;
  Invalid(std::move(field), now, Format("field is immutable; it is \"{}\"", log::Excerpt(before)));
}

void Verdict::Immutable(std::string field, std::optional<int> before, std::optional<int> now) {
  if (before == now) return;
  const auto text = [](std::optional<int> size) { return size ? std::to_string(*size) : "null"; };
  Add({"FieldValueInvalid",
       Format("Invalid value: {}: field is immutable; it is {}", text(now), text(before)),
       std::move(field)});
}

void Verdict::Ratchet(const Verdict& before) {
  if (more > 0) return;
  std::set<std::pair<std::string_view, std::string_view>> known;
  for (const auto& cause : before.causes) known.emplace(cause.field, cause.message);
  std::erase_if(causes, [&](const kube::StatusCause& cause) {
    const bool old = known.contains({cause.field, cause.message});
    if (old) warnings.push_back(Format("{}: {}", cause.field, cause.message));
    return old;
  });
}

}  // namespace berth::runtime
