#include "kube/names.h"

#include <algorithm>

#include "log/format.h"

namespace berth::kube {
namespace {

constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxSubdomain = 253;

constexpr std::string_view kSubdomain =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kDnsLabel =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kName =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kLabelValue =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
    "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

bool IsAlnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
}
bool IsLowerAlnum(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool IsDnsLabel(std::string_view text) {
  return !text.empty() && IsLowerAlnum(text.front()) && IsLowerAlnum(text.back()) &&
         std::ranges::all_of(text, [](char c) { return IsLowerAlnum(c) || c == '-'; });
}

bool IsSubdomain(std::string_view text) {
  while (true) {
    const std::size_t dot = text.find('.');
    if (!IsDnsLabel(text.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    text.remove_prefix(dot + 1);
  }
}

bool IsNameCharacter(char c) { return IsAlnum(c) || c == '-' || c == '_' || c == '.'; }

bool IsName(std::string_view text) {
  return !text.empty() && IsAlnum(text.front()) && IsAlnum(text.back()) &&
         std::ranges::all_of(text, IsNameCharacter);
}

constexpr std::string_view kConfigKey =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
    "'[-._a-zA-Z0-9]+')";

void CheckName(std::string_view part, Problems& problems) {
  if (part.empty()) problems.emplace_back("name part must be non-empty");
  if (part.size() > kMaxLabel)
    problems.push_back(Format("name part must be no more than {} bytes", kMaxLabel));
  if (!IsName(part)) problems.push_back(Format("name part {}", kName));
}

}  // namespace

Problems SubdomainProblems(std::string_view name) {
  Problems problems;
  if (name.size() > kMaxSubdomain)
    problems.push_back(Format("must be no more than {} characters", kMaxSubdomain));
  if (!IsSubdomain(name)) problems.emplace_back(kSubdomain);
  return problems;
}

Problems DnsLabelProblems(std::string_view name) {
  Problems problems;
  if (name.size() > kMaxLabel)
    problems.push_back(Format("must be no more than {} bytes", kMaxLabel));
  if (!IsDnsLabel(name)) problems.emplace_back(kDnsLabel);
  return problems;
}

Problems QualifiedNameProblems(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) {
    Problems problems;
    CheckName(name, problems);
    return problems;
  }
  const std::string_view part = name.substr(slash + 1);
  if (part.contains('/')) {
    return {
        Format("a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. "
               "'example.com/MyName')",
               kName)};
  }
  Problems problems;
  if (slash == 0) {
    problems.emplace_back("prefix part must be non-empty");
  } else {
    for (const std::string& problem : SubdomainProblems(name.substr(0, slash)))
      problems.push_back("prefix part " + problem);
  }
  CheckName(part, problems);
  return problems;
}

Problems LabelValueProblems(std::string_view value) {
  Problems problems;
  if (value.size() > kMaxLabel)
    problems.push_back(Format("must be no more than {} bytes", kMaxLabel));
  if (!value.empty() && !IsName(value)) problems.emplace_back(kLabelValue);
  return problems;
}

Problems ConfigKeyProblems(std::string_view key) {
  Problems problems;
  if (key.size() > kMaxSubdomain)
    problems.push_back(Format("must be no more than {} characters", kMaxSubdomain));
  if (key.empty() || !std::ranges::all_of(key, IsNameCharacter)) problems.emplace_back(kConfigKey);
  if (key == "." || key == "..") problems.push_back(Format("must not be '{}'", key));
  return problems;
}

std::string NameSuffix(std::uint64_t random) {
  static constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string suffix;
  for (int i = 0; i < 5; ++i, random /= kLetters.size())
    suffix += kLetters[random % kLetters.size()];
  return suffix;
}

}  // namespace berth::kube
