#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace re2 {
class RE2;
}  // namespace re2

namespace berth::kube::memory {

// A regular expression of a schema. RE2 has the syntax of Go's regexp and does not backtrack: no
// pattern and no text takes long. std::regex would overflow the stack on a long text.
class Pattern {
 public:
  // The limit of one pattern, for its program and for the states that matching keeps.
  static constexpr int kMaxBytes = 8 << 20;

  // The error is worded as Go's regexp words it.
  static std::expected<Pattern, std::string> Parse(std::string_view text);

  // True if some part of the text matches. O(length).
  bool Matches(std::string_view text) const;

 private:
  explicit Pattern(std::shared_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const re2::RE2> compiled_;
};

}  // namespace berth::kube::memory
