#include "log/timestamp.h"

#include <format>
#include <sstream>

namespace berth {
namespace {

template <typename Unit>
std::string FormatAs(std::chrono::system_clock::time_point time) {
  return std::format("{:%FT%T}Z", std::chrono::floor<Unit>(time));
}

}  // namespace

std::string FormatTime(std::chrono::system_clock::time_point time) {
  return FormatAs<std::chrono::seconds>(time);
}

std::string FormatMilliTime(std::chrono::system_clock::time_point time) {
  return FormatAs<std::chrono::milliseconds>(time);
}

std::string FormatMicroTime(std::chrono::system_clock::time_point time) {
  return FormatAs<std::chrono::microseconds>(time);
}

std::optional<std::chrono::system_clock::time_point> ParseTime(std::string_view text) {
  for (const char* format : {"%FT%TZ", "%FT%T%Ez"}) {
    std::istringstream in{std::string(text)};
    std::chrono::sys_time<std::chrono::nanoseconds> time;
    in >> std::chrono::parse(format, time);
    if (!in.fail() && in.peek() == std::istringstream::traits_type::eof()) return time;
  }
  return std::nullopt;
}

}  // namespace berth
