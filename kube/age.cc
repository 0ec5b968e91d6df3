#include "kube/age.h"

#include <cstring>
#include <ctime>

namespace berth::kube {

std::string Timestamp(std::int64_t unix_seconds) {
  const std::time_t time = unix_seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::string text(sizeof("2026-11-16T00:00:00Z"), '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}

std::optional<std::int64_t> ParseTimestamp(std::string_view text) {
  std::tm parts{};
  const std::string copy(text);
  const char* end = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (!end) return std::nullopt;
  if (*end == '.') end += 1 + std::strspn(end + 1, "0123456789");
  if (std::string_view(end) != "Z") return std::nullopt;
  return timegm(&parts);
}

std::string HumanDuration(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour, kYear = 365 * kDay;
  const auto two = [](std::int64_t whole, const char* unit, std::int64_t part,
                      const char* part_unit) {
    std::string text = std::to_string(whole) + unit;
    if (part != 0) text += std::to_string(part) + part_unit;
    return text;
  };
  if (seconds < 0) return "0s";
  if (seconds < 2 * kMinute) return std::to_string(seconds) + "s";
  if (seconds < 10 * kMinute) return two(seconds / kMinute, "m", seconds % kMinute, "s");
  if (seconds < 3 * kHour) return std::to_string(seconds / kMinute) + "m";
  if (seconds < 8 * kHour) return two(seconds / kHour, "h", seconds / kMinute % 60, "m");
  if (seconds < 2 * kDay) return std::to_string(seconds / kHour) + "h";
  if (seconds < 8 * kDay) return two(seconds / kDay, "d", seconds / kHour % 24, "h");
  if (seconds < 2 * kYear) return std::to_string(seconds / kDay) + "d";
  if (seconds < 8 * kYear) return two(seconds / kYear, "y", seconds / kDay % 365, "d");
  return std::to_string(seconds / kYear) + "y";
}

}  // namespace berth::kube
