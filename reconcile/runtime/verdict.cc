#include "reconcile/runtime/verdict.h"

#include <algorithm>

#include "log/escape.h"
#include "log/format.h"

namespace berth::runtime {
namespace {

// A value as a message shows it: whoever sends megabytes knows what they are.
std::string Shown(std::string_view value) {
  constexpr std::size_t kMost = 256;
  std::string shown = log::ToUtf8(value, kMost);
  if (value.size() > kMost) shown += "...";
  return shown;
}

}  // namespace

void Verdict::Required(std::string field, std::string_view what) {
  causes.push_back({"FieldValueRequired", Format("Required value: {}", what), std::move(field)});
}

void Verdict::Invalid(std::string field, std::string_view value, std::string_view why) {
  causes.push_back({"FieldValueInvalid", Format("Invalid value: \"{}\": {}", Shown(value), why),
                    std::move(field)});
}

void Verdict::Invalid(std::string field, std::int64_t value, std::string_view why) {
  causes.push_back(
      {"FieldValueInvalid", Format("Invalid value: {}: {}", value, why), std::move(field)});
}

void Verdict::NotSupported(std::string field, std::string_view value, std::string_view supported) {
  causes.push_back(
      {"FieldValueNotSupported",
       Format("Unsupported value: \"{}\": supported values: {}", Shown(value), supported),
       std::move(field)});
}

void Verdict::Forbidden(std::string field, std::string_view why) {
  causes.push_back({"FieldValueForbidden", Format("Forbidden: {}", why), std::move(field)});
}

void Verdict::Duplicate(std::string field, std::string_view value, std::string_view of) {
  causes.push_back({"FieldValueDuplicate", Format("Duplicate value: \"{}\": {}", Shown(value), of),
                    std::move(field)});
}

void Verdict::TooLong(std::string field, std::size_t most) {
  causes.push_back({"FieldValueTooLong",
                    Format("Too long: may not be more than {} characters", most),
                    std::move(field)});
}

void Verdict::TooMany(std::string field, std::size_t count, std::size_t most) {
  causes.push_back({"FieldValueTooMany",
                    Format("Too many: {}: must have at most {} items", count, most),
                    std::move(field)});
}

void Verdict::Immutable(std::string field, std::string_view before, std::string_view now) {
  if (before == now) return;
  Invalid(std::move(field), now, Format("field is immutable; it is \"{}\"", Shown(before)));
}

void Verdict::Immutable(std::string field, std::optional<int> before, std::optional<int> now) {
  if (before == now) return;
  const auto text = [](std::optional<int> size) { return size ? std::to_string(*size) : "null"; };
  causes.push_back(
      {"FieldValueInvalid",
       Format("Invalid value: {}: field is immutable; it is {}", text(now), text(before)),
       std::move(field)});
}

void Verdict::Ratchet(const Verdict& before) {
  std::erase_if(causes, [&](const kube::StatusCause& cause) {
    const bool old = std::ranges::any_of(before.causes, [&](const kube::StatusCause& one) {
      return one.field == cause.field && one.message == cause.message;
    });
    if (old) warnings.push_back(Format("{}: {}", cause.field, cause.message));
    return old;
  });
}

}  // namespace berth::runtime
