#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

// Times as text, RFC 3339 in UTC. Out of line: <chrono>'s formatting is slow to compile.
namespace berth {

std::string FormatTime(std::chrono::system_clock::time_point time);       // 2026-01-02T03:04:05Z
std::string FormatMilliTime(std::chrono::system_clock::time_point time);  // …05.000Z
std::string FormatMicroTime(std::chrono::system_clock::time_point time);  // …05.000000Z

// Reads such a text, with or without a fraction of a second, in UTC ("Z") or with an offset.
std::optional<std::chrono::system_clock::time_point> ParseTime(std::string_view text);

}  // namespace berth
