#include "reconcile/eni/go_duration.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace berth::eni {
namespace {

struct Unit {
  std::string_view name;
  double nanoseconds;
};

// "µs" is written with the micro sign or with the Greek letter.
constexpr std::array kUnits = {Unit{"ns", 1},        Unit{"us", 1e3},  Unit{"\u00b5s", 1e3},
                               Unit{"\u03bcs", 1e3}, Unit{"ms", 1e6},  Unit{"s", 1e9},
                               Unit{"m", 60e9},      Unit{"h", 3600e9}};

bool IsOfNumber(char c) { return (c >= '0' && c <= '9') || c == '.'; }

// Takes a number such as "1.5", "1." or ".5" from the front of the text.
std::optional<double> TakeNumber(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && IsOfNumber(text[size])) ++size;
  double number = 0;
  const auto end = std::from_chars(text.data(), text.data() + size, number,  //
                                   std::chars_format::fixed);
  if (end.ec != std::errc() || end.ptr != text.data() + size) return std::nullopt;
  text.remove_prefix(size);
  return number;
}

std::optional<double> TakeUnit(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && !IsOfNumber(text[size])) ++size;
  for (const Unit& unit : kUnits) {
    if (text.substr(0, size) != unit.name) continue;
    text.remove_prefix(size);
    return unit.nanoseconds;
  }
  return std::nullopt;
}

}  // namespace

std::optional<async::Duration> ParseGoDuration(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return async::Duration::zero();
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    const auto number = TakeNumber(text);
    const auto unit = number ? TakeUnit(text) : std::nullopt;
    if (!unit) return std::nullopt;
    total += *number * *unit;
  }
  constexpr double kBeyond = 9223372036854775808.0;  // 2^63 ns
  if (total >= kBeyond) return std::nullopt;
  return std::chrono::duration_cast<async::Duration>(std::chrono::nanoseconds(std::llround(total)));
}

}  // namespace berth::eni
