#include "kube/big_numbers.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace berth::kube {
namespace {

template <typename Number>
bool Fits(std::string_view digits) {
  Number number = 0;
  return std::from_chars(digits.data(), digits.data() + digits.size(), number).ec == std::errc{};
}

// Whether it is a whole number that fits no 64 bits. Those are at least 19 digits long.
bool IsBig(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with('-') ? 1 : 0);
  if (digits.size() < 19 || digits.find_first_not_of("0123456789") != digits.npos) return false;
  return !Fits<std::int64_t>(text) && !Fits<std::uint64_t>(text);
}

}  // namespace

std::string WithFractions(std::string_view text) {
  constexpr std::string_view kInNumbers = "0123456789+-.eE";
  std::string out;
  bool in_string = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_not_of(kInNumbers), text.size());
    const std::string_view number = text.substr(0, end);
    out += number;
    if (!in_string && IsBig(number)) out += ".0";
    // The next character, which ends a string, begins one, or escapes its successor.
    const std::size_t taken = in_string && text.substr(end).starts_with('\\') ? 2 : 1;
    if (text.substr(end).starts_with('"')) in_string = !in_string;
    out += text.substr(end, taken);
    text.remove_prefix(std::min(text.size(), end + taken));
  }
  return out;
}

}  // namespace berth::kube
