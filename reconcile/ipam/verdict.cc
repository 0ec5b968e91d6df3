#include "reconcile/ipam/verdict.h"

#include <algorithm>
#include <format>

namespace berth::ipam {
namespace {

constexpr std::size_t kMostOfClusterId = 63;

bool IsClusterId(std::string_view text) {
  return !text.empty() && text.size() <= kMostOfClusterId && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
  });
}

}  // namespace

void Verdict::Required(std::string field, std::string_view what) {
  causes.push_back(
      {"FieldValueRequired", std::format("Required value: {}", what), std::move(field)});
}

void Verdict::Invalid(std::string field, std::string_view value, std::string_view why) {
  causes.push_back({"FieldValueInvalid", std::format("Invalid value: \"{}\": {}", value, why),
                    std::move(field)});
}

void Verdict::Invalid(std::string field, std::int64_t value, std::string_view why) {
  causes.push_back(
      {"FieldValueInvalid", std::format("Invalid value: {}: {}", value, why), std::move(field)});
}

void Verdict::NotSupported(std::string field, std::string_view value, std::string_view supported) {
  causes.push_back(
      {"FieldValueNotSupported",
       std::format("Unsupported value: \"{}\": supported values: {}", value, supported),
       std::move(field)});
}

void Verdict::Forbidden(std::string field, std::string_view why) {
  causes.push_back({"FieldValueForbidden", std::format("Forbidden: {}", why), std::move(field)});
}

void Verdict::Immutable(std::string field, std::string_view before, std::string_view now) {
  if (before == now) return;
  Invalid(std::move(field), now, std::format("field is immutable; it is \"{}\"", before));
}

void Verdict::Immutable(std::string field, std::optional<int> before, std::optional<int> now) {
  if (before == now) return;
  const auto text = [](std::optional<int> size) { return size ? std::to_string(*size) : "null"; };
  causes.push_back(
      {"FieldValueInvalid",
       std::format("Invalid value: {}: field is immutable; it is {}", text(now), text(before)),
       std::move(field)});
}

void Verdict::Ratchet(const Verdict& before) {
  std::erase_if(causes, [&](const kube::StatusCause& cause) {
    const bool old = std::ranges::any_of(before.causes, [&](const kube::StatusCause& one) {
      return one.field == cause.field && one.message == cause.message;
    });
    if (old) warnings.push_back(std::format("{}: {}", cause.field, cause.message));
    return old;
  });
}

std::optional<Cidr> CheckCidr(Verdict& verdict, const std::string& field, std::string_view text,
                              std::string_view what) {
  if (text.empty()) {
    verdict.Required(field, what);
    return std::nullopt;
  }
  const auto parsed = Cidr::Parse(text);
  if (!parsed) {
    verdict.Invalid(field, text, parsed.error());
    return std::nullopt;
  }
  const std::string canonical = parsed->Canonical().ToString();
  if (!parsed->IsCanonical()) {
    verdict.Invalid(field, text,
                    std::format("host bits are set; the canonical form is \"{}\"", canonical));
    return std::nullopt;
  }
  if (canonical != text) {
    verdict.Invalid(field, text, std::format("not in canonical form, which is \"{}\"", canonical));
    return std::nullopt;
  }
  return *parsed;
}

void CheckClusterId(Verdict& verdict, std::string_view cluster) {
  if (cluster.empty()) return verdict.Required("spec.clusterID", "the cluster the block is for");
  if (!IsClusterId(cluster))
    verdict.Invalid("spec.clusterID", cluster,
                    "must be 1 to 63 lower-case letters, digits, dots and hyphens");
}

}  // namespace berth::ipam
