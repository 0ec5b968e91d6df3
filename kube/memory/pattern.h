#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth::kube::memory {

// A regular expression of a schema. RE2's syntax without flags, word boundaries and Unicode
// classes. Glushkov's automaton, run on bits: no backtracking, so that no pattern and no text can
// take long. std::regex would overflow the stack on a long text.
class Pattern {
 public:
  static constexpr std::size_t kMaxPositions = 4096;

  // The error is worded as Go's regexp words it. O(length), repetitions written out.
  static std::expected<Pattern, std::string> Parse(std::string_view text);

  // Whether some part of the text matches. O(length × positions / 64) as a rule.
  bool Matches(std::string_view text) const;

 private:
  friend class PatternParser;
  using Bits = std::vector<std::uint64_t>;
  static constexpr char32_t kBegin = 0x110000;  // what ^ matches, before the first character
  static constexpr char32_t kEnd = 0x110001;    // what $ matches, after the last

  // The characters a position takes.
  struct Set {
    std::vector<std::pair<char32_t, char32_t>> ranges;
    bool negated = false;
    bool Has(char32_t c) const;
  };

  void Index();
  bool Step(Bits& active, char32_t symbol) const;

  bool empty_ = false;  // matches nothing at all, and so everything
  std::vector<Set> positions_;
  Bits first_, last_;
  std::vector<Bits> follow_;
  std::array<Bits, 128> ascii_;  // the positions that take a character
};

}  // namespace berth::kube::memory
