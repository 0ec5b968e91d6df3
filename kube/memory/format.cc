#include "kube/memory/format.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "kube/memory/pattern.h"

namespace berth::kube::memory {
namespace {

// Two digits that are a number up to `most`, taken off the text.
bool TakeNumber(std::string_view& text, std::size_t digits, int least, int most) {
  int number = 0;
  if (text.size() < digits) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (error != std::errc{} || end != text.data() + digits || number < least || number > most)
    return false;
  text.remove_prefix(digits);
  return true;
}

bool Take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || !any_of.contains(text.front())) return false;
  text.remove_prefix(1);
  return true;
}

bool TakeDate(std::string_view& text) {
  return TakeNumber(text, 4, 0, 9999) && Take(text, "-") && TakeNumber(text, 2, 1, 12) &&
         Take(text, "-") && TakeNumber(text, 2, 1, 31);
}

bool IsDateTime(std::string_view text) {
  if (!TakeDate(text) || !Take(text, "Tt") || !TakeNumber(text, 2, 0, 23) || !Take(text, ":") ||
      !TakeNumber(text, 2, 0, 59) || !Take(text, ":") || !TakeNumber(text, 2, 0, 60))
    return false;
  if (Take(text, ".")) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0) return false;
    text.remove_prefix(digits);
  }
  if (Take(text, "Zz")) return text.empty();
  return Take(text, "+-") && TakeNumber(text, 2, 0, 23) && Take(text, ":") &&
         TakeNumber(text, 2, 0, 59) && text.empty();
}

bool IsDate(std::string_view text) { return TakeDate(text) && text.empty(); }

template <int family, std::size_t size>
bool IsAddress(std::string_view text) {
  std::array<unsigned char, size> address;
  return inet_pton(family, std::string(text).c_str(), address.data()) == 1;
}
bool IsIpv4(std::string_view text) { return IsAddress<AF_INET, 4>(text); }
bool IsIpv6(std::string_view text) { return IsAddress<AF_INET6, 16>(text); }

bool IsCidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view address = text.substr(0, slash);
  std::string_view length = text.substr(slash + 1);
  const bool v4 = IsIpv4(address);
  if (!v4 && !IsIpv6(address)) return false;
  return length.size() <= 3 && TakeNumber(length, length.size(), 0, v4 ? 32 : 128);
}

bool IsBase64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  });
}

bool IsUri(std::string_view text) {
  const std::size_t colon = text.find(':');
  return colon != 0 && colon != std::string_view::npos && text.size() > colon + 1;
}

bool IsEmail(std::string_view text) {
  const std::size_t at = text.find('@');
  return at != 0 && at != std::string_view::npos && at + 1 < text.size();
}

template <const char* pattern>
bool Fits(std::string_view text) {
  static const Pattern kPattern = *Pattern::Parse(pattern);
  return kPattern.Matches(text);
}
constexpr char kDuration[] =
    "^(([0-9]+(\\.[0-9]+)?(ns|us|ms|s|m|h))+|0|[0-9]+ *(d|day|days|w|week|weeks|h|hour|hours|m|min|"
    "mins|minute|minutes|s|sec|secs|second|seconds))$";
constexpr char kUuid[] =
    "^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$";
constexpr char kHostname[] =
    "^([a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?\\.)*"
    "([a-zA-Z]{2,63}|[a-zA-Z0-9]([-a-zA-Z0-9]{0,61}[a-zA-Z0-9])?)$";
constexpr char kMac[] = "^([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$";

}  // namespace

bool HasFormat(std::string_view text, std::string_view format) {
  struct Check {
    std::string_view format;
    bool (*holds)(std::string_view);
  };
  static constexpr std::array kChecks = std::to_array<Check>({
      {"byte", IsBase64},
      {"cidr", IsCidr},
      {"date", IsDate},
      {"date-time", IsDateTime},
      {"datetime", IsDateTime},
      {"duration", Fits<kDuration>},
      {"email", IsEmail},
      {"hostname", Fits<kHostname>},
      {"ipv4", IsIpv4},
      {"ipv6", IsIpv6},
      {"mac", Fits<kMac>},
      {"uri", IsUri},
      {"uuid", Fits<kUuid>},
  });
  const auto* check = std::ranges::find(kChecks, format, &Check::format);
  return check == kChecks.end() || check->holds(text);
}

}  // namespace berth::kube::memory
