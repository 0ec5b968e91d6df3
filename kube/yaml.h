#pragma once

#include <cstddef>
#include <string_view>

#include "json/json.h"
#include "kube/error.h"

namespace berth::kube {

inline constexpr std::size_t kMaxYaml = std::size_t{1} << 20;
inline constexpr std::size_t kMaxYamlValues = 100'000;             // aliases written out
inline constexpr std::size_t kMaxYamlText = std::size_t{8} << 20;  // the same, as JSON
inline constexpr int kMaxYamlDepth = 64;

// One YAML document as JSON. Plain scalars are typed as kubectl types them, by YAML 1.1: nothing,
// ~ and null; true, yes, on and their opposites; whole numbers, also 0x, 0o and 0b; numbers with a
// fraction or an exponent. What is quoted or tagged !!str is a string, as is every key. Refused as
// kTerminal, with the line: malformed text, a key twice in a map, a key that is no scalar, other
// tags, text that isn't UTF-8, no or several documents, and whatever is over the bounds above.
// O(n log n) in the size, aliases written out. A whole number is an integer, also 1e3.
Result<Json> YamlToJson(std::string_view text);

}  // namespace berth::kube
