#include "reconcile/ipam/verdict.h"

#include <algorithm>

#include "log/format.h"

namespace berth::ipam {
namespace {

constexpr std::size_t kMostOfClusterId = 63;

bool IsClusterId(std::string_view text) {
  return !text.empty() && text.size() <= kMostOfClusterId && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
  });
}

}  // namespace

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
  // An IPv4 block is written in one way only.
  if (parsed->family() == Family::kIpv4 && parsed->IsCanonical()) return *parsed;
  const std::string canonical = parsed->Canonical().ToString();
  if (!parsed->IsCanonical()) {
    verdict.Invalid(field, text,
                    Format("host bits are set; the canonical form is \"{}\"", canonical));
    return std::nullopt;
  }
  if (canonical != text) {
    verdict.Invalid(field, text, Format("not in canonical form, which is \"{}\"", canonical));
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
