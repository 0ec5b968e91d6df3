#include "reconcile/difftracker/names.h"

#include <algorithm>

namespace berth::difftracker {
namespace {

constexpr std::size_t kMostOfEgress = 73;  // "-pip-v6" follows in the name of a public IP

bool IsAlphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsHex(char c) {
  return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || (c >= '0' && c <= '9');
}

}  // namespace

bool IsUidShaped(std::string_view name) {
  if (name.size() != 36) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? name[i] != '-' : !IsHex(name[i])) return false;
  }
  return true;
}

std::optional<EgressRefusal> CheckEgress(std::string_view egress) {
  if (egress == kDefaultNatGateway) return EgressRefusal::kReserved;
  const auto inner = [](char c) { return IsAlphanumeric(c) || c == '.' || c == '_' || c == '-'; };
  const bool valid = !egress.empty() && egress.size() <= kMostOfEgress &&
                     IsAlphanumeric(egress.front()) &&
                     (IsAlphanumeric(egress.back()) || egress.back() == '_') &&
                     std::ranges::all_of(egress, inner) && !IsUidShaped(egress);
  return valid ? std::nullopt : std::optional(EgressRefusal::kInvalid);
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

}  // namespace berth::difftracker
