#pragma once

#include <format>
#include <string>
#include <string_view>

namespace berth {

// std::vformat, compiled once: where a source calls std::format itself, the compiler spends
// seconds on every formatter there is.
std::string VFormat(std::string_view text, std::format_args args);

// std::format. The text is checked against the arguments when it is compiled.
template <typename... Args>
std::string Format(std::format_string<Args...> text, Args&&... args) {
  return VFormat(text.get(), std::make_format_args(args...));
}

}  // namespace berth
