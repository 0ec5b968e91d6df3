#include "kube/memory/pattern.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>

#include "log/format.h"

namespace berth::kube::memory {
namespace {

// Takes one character off the text; what is no UTF-8 counts byte by byte.
char32_t NextCharacter(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t size = lead < 0x80    ? 1
                           : lead >= 0xF0 ? 4
                           : lead >= 0xE0 ? 3
                           : lead >= 0xC0 ? 2
                                          : 1;
  char32_t c = size == 1 ? lead : lead & (0xFF >> (size + 1));
  const std::size_t taken = std::min(size, text.size());
  for (std::size_t i = 1; i < taken; ++i) c = c << 6 | (static_cast<unsigned char>(text[i]) & 0x3F);
  text.remove_prefix(taken);
  return c;
}

using Ranges = std::vector<std::pair<char32_t, char32_t>>;

const Ranges kDigits = {{'0', '9'}};
const Ranges kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Ranges kSpaces = {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};

// The other characters.
Ranges Without(Ranges ranges) {
  std::ranges::sort(ranges);
  Ranges rest;
  char32_t next = 0;
  for (const auto& [from, to] : ranges) {
    if (from > next) rest.emplace_back(next, from - 1);
    next = std::max<char32_t>(next, to + 1);
  }
  rest.emplace_back(next, 0x10FFFF);
  return rest;
}

std::optional<Ranges> NamedClass(std::string_view name) {
  static const std::vector<std::pair<std::string_view, Ranges>> kNamed = {
      {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}},
      {"alpha", {{'A', 'Z'}, {'a', 'z'}}},
      {"digit", kDigits},
      {"lower", {{'a', 'z'}}},
      {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
      {"space", {{'\t', '\r'}, {' ', ' '}}},
      {"upper", {{'A', 'Z'}}},
      {"word", kWord},
      {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}}},
  };
  for (const auto& [known, ranges] : kNamed) {
    if (known == name) return ranges;
  }
  return std::nullopt;
}

}  // namespace

// Reads a pattern and numbers the places where a character is taken; of each part it knows with
// which of them it can begin and end. A part that is repeated a number of times is read again for
// every time.
class PatternParser {
 public:
  explicit PatternParser(std::string_view text) : whole_(text), rest_(text) {}

  std::expected<Pattern, std::string> Parse() {
    const Part part = ReadChoice();
    if (error_.empty() && !rest_.empty()) Fail(Format("unexpected ): `{}`", whole_));
    if (!error_.empty()) return std::unexpected("error parsing regexp: " + error_);
    pattern_.empty_ = part.nullable;
    pattern_.first_ = BitsOf(part.first);
    pattern_.last_ = BitsOf(part.last);
    for (const auto& follow : follow_) pattern_.follow_.push_back(BitsOf(follow));
    pattern_.Index();
    return std::move(pattern_);
  }

 private:
  using Places = std::vector<std::uint32_t>;
  struct Part {
    bool nullable = true;
    Places first, last;
  };

  void Fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
    rest_ = {};
  }

  Pattern::Bits BitsOf(const Places& places) const {
    Pattern::Bits bits((pattern_.positions_.size() + 63) / 64);
    for (const std::uint32_t place : places) bits[place / 64] |= 1ULL << place % 64;
    return bits;
  }

  static void Append(Places& to, const Places& more) {
    to.insert(to.end(), more.begin(), more.end());
  }

  Part Place(Pattern::Set set) {
    if (pattern_.positions_.size() == Pattern::kMaxPositions) {
      Fail("expression too large");
      return {};
    }
    const auto place = static_cast<std::uint32_t>(pattern_.positions_.size());
    pattern_.positions_.push_back(std::move(set));
    follow_.emplace_back();
    return {false, {place}, {place}};
  }

  Part Then(Part a, const Part& b) {
    for (const std::uint32_t place : a.last) Append(follow_[place], b.first);
    if (a.nullable) Append(a.first, b.first);
    Places last = b.last;
    if (b.nullable) Append(last, a.last);
    return {a.nullable && b.nullable, std::move(a.first), std::move(last)};
  }

  Part Repeated(Part part) {
    for (const std::uint32_t place : part.last) Append(follow_[place], part.first);
    return part;
  }

  bool Take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  Part ReadChoice() {
    Part choice = ReadSequence();
    while (Take("|")) {
      const Part other = ReadSequence();
      choice.nullable = choice.nullable || other.nullable;
      Append(choice.first, other.first);
      Append(choice.last, other.last);
    }
    return choice;
  }

  Part ReadSequence() {
    Part sequence;
    while (!rest_.empty() && rest_.front() != '|' && rest_.front() != ')')
      sequence = Then(std::move(sequence), ReadRepetition());
    return sequence;
  }

  Part ReadRepetition() {
    const std::string_view atom = rest_;
    Part part = ReadAtom();
    while (!rest_.empty() && error_.empty()) {
      const std::string_view before = rest_;
      if (Take("*")) {
        part = Repeated(std::move(part));
        part.nullable = true;
      } else if (Take("+")) {
        part = Repeated(std::move(part));
      } else if (Take("?")) {
        part.nullable = true;
      } else if (const auto times = ReadTimes()) {
        part = Times(std::move(part), atom, times->first, times->second);
      } else {
        break;
      }
      Take("?");  // whether it takes much or little does not change whether it matches
      if (before.size() == rest_.size()) break;
    }
    return part;
  }

  // "{2}", "{2,}" (then the second is -1) or "{2,5}"; anything else is no repetition.
  std::optional<std::pair<int, int>> ReadTimes() {
    if (!rest_.starts_with('{')) return std::nullopt;
    const std::size_t close = rest_.find('}');
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view inside = rest_.substr(1, close - 1);
    int least = 0;
    const auto [end, error] = std::from_chars(inside.begin(), inside.end(), least);
    if (error != std::errc{} || least > 1000) return std::nullopt;
    int most = least;
    if (end != inside.end()) {
      if (*end != ',') return std::nullopt;
      most = -1;
      if (end + 1 != inside.end()) {
        const auto [last, wrong] = std::from_chars(end + 1, inside.end(), most);
        if (wrong != std::errc{} || last != inside.end()) return std::nullopt;
        if (most > 1000 || most < least) {
          Fail(Format("invalid repeat count: `{}`", rest_.substr(0, close + 1)));
          return std::nullopt;
        }
      }
    }
    rest_.remove_prefix(close + 1);
    return std::pair(least, most);
  }

  Part Times(Part once, std::string_view atom, int least, int most) {
    const std::string_view after = rest_;
    const auto again = [&] {
      rest_ = atom;
      Part part = ReadAtom();
      rest_ = after;
      return part;
    };
    if (most == 0) return {};
    Part all = std::move(once);
    if (most < 0 && least <= 1) all = Repeated(std::move(all));
    if (least == 0) all.nullable = true;
    for (int i = 1; i < std::max(least, most) && error_.empty(); ++i) {
      Part next = again();
      if (most < 0 && i + 1 == least) next = Repeated(std::move(next));
      if (i >= least) next.nullable = true;
      all = Then(std::move(all), next);
    }
    return all;
  }

  Part ReadAtom() {
    if (Take("(")) return ReadGroup();
    if (Take("[")) return ReadClass();
    if (Take("^") || Take("\\A")) return Place({{{Pattern::kBegin, Pattern::kBegin}}});
    if (Take("$") || Take("\\z")) return Place({{{Pattern::kEnd, Pattern::kEnd}}});
    if (Take(".")) return Place({{{'\n', '\n'}}, true});
    if (rest_.front() == '*' || rest_.front() == '+' || rest_.front() == '?') {
      Fail(Format("missing argument to repetition operator: `{}`", rest_.front()));
      return {};
    }
    if (Take("\\")) return Place({ReadEscape()});
    const char32_t c = NextCharacter(rest_);
    return Place({{{c, c}}});
  }

  Part ReadGroup() {
    if (Take("?")) {
      const std::size_t close = rest_.find('>');
      if (!Take(":") && (!(rest_.starts_with("P<") || rest_.starts_with("<")) ||
                         close == std::string_view::npos)) {
        Fail("flags are not supported here: `(?`");
        return {};
      }
      if (rest_.starts_with("P<") || rest_.starts_with("<")) rest_.remove_prefix(close + 1);
    }
    if (++depth_ > 100) Fail("expression nests too deeply");
    Part part = ReadChoice();
    --depth_;
    if (!Take(")")) Fail(Format("missing closing ): `{}`", whole_));
    return part;
  }

  Ranges ReadEscape() {
    if (rest_.empty()) {
      Fail("trailing backslash at end of expression: ``");
      return {};
    }
    const char32_t c = NextCharacter(rest_);
    switch (c) {
      case 'd':
        return kDigits;
      case 'D':
        return Without(kDigits);
      case 'w':
        return kWord;
      case 'W':
        return Without(kWord);
      case 's':
        return kSpaces;
      case 'S':
        return Without(kSpaces);
      case 't':
        return {{'\t', '\t'}};
      case 'n':
        return {{'\n', '\n'}};
      case 'r':
        return {{'\r', '\r'}};
      case 'f':
        return {{'\f', '\f'}};
      case 'v':
        return {{'\v', '\v'}};
      default:
        if (c >= 128 || (!IsWordCharacter(c) || c == '_')) return {{c, c}};
        Fail(Format("invalid escape sequence: `\\{}`", static_cast<char>(c)));
        return {};
    }
  }
  static bool IsWordCharacter(char32_t c) {
    return std::ranges::any_of(kWord, [&](const auto& r) { return c >= r.first && c <= r.second; });
  }

  Part ReadClass() {
    const std::string_view begin = rest_;
    Pattern::Set set;
    set.negated = Take("^");
    bool first = true;
    while (!rest_.empty() && (first || rest_.front() != ']')) {
      first = false;
      if (rest_.starts_with("[:")) {
        const std::size_t close = rest_.find(":]");
        const auto named =
            close == std::string_view::npos ? std::nullopt : NamedClass(rest_.substr(2, close - 2));
        if (!named) {
          Fail(Format("invalid character class range: `{}`", rest_));
          return {};
        }
        set.ranges.insert(set.ranges.end(), named->begin(), named->end());
        rest_.remove_prefix(close + 2);
        continue;
      }
      ReadClassRange(set);
    }
    if (!Take("]")) {
      Fail(Format("missing closing ]: `[{}`", begin));
      return {};
    }
    return Place(std::move(set));
  }

  void ReadClassRange(Pattern::Set& set) {
    const auto character = [&]() -> Ranges {
      if (Take("\\")) return ReadEscape();
      const char32_t c = NextCharacter(rest_);
      return {{c, c}};
    };
    Ranges from = character();
    const bool one = from.size() == 1 && from[0].first == from[0].second;
    if (one && rest_.size() > 1 && rest_[0] == '-' && rest_[1] != ']') {
      rest_.remove_prefix(1);
      const Ranges to = character();
      if (to.empty() || to[0].second < from[0].first) return Fail("invalid character class range");
      from[0].second = to[0].second;
    }
    set.ranges.insert(set.ranges.end(), from.begin(), from.end());
  }

  std::string_view whole_, rest_;
  std::string error_;
  int depth_ = 0;
  Pattern pattern_;
  std::vector<Places> follow_;
};

std::expected<Pattern, std::string> Pattern::Parse(std::string_view text) {
  return PatternParser(text).Parse();
}

bool Pattern::Set::Has(char32_t c) const {
  const bool listed = std::ranges::any_of(
      ranges, [&](const auto& range) { return c >= range.first && c <= range.second; });
  // A negated set takes characters, not the ends of the text.
  return negated ? !listed && c < kBegin : listed;
}

void Pattern::Index() {
  for (char32_t c = 0; c < ascii_.size(); ++c) {
    ascii_[c].assign(first_.size(), 0);
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      if (positions_[i].Has(c)) ascii_[c][i / 64] |= 1ULL << i % 64;
    }
  }
}

// Goes one symbol on from the active positions and from the beginning; true once a match has ended.
bool Pattern::Step(Bits& active, char32_t symbol) const {
  Bits next = first_;
  for (std::size_t word = 0; word < active.size(); ++word) {
    for (std::uint64_t bits = active[word]; bits != 0; bits &= bits - 1) {
      const Bits& follow = follow_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      for (std::size_t i = 0; i < next.size(); ++i) next[i] |= follow[i];
    }
  }
  bool ended = false;
  for (std::size_t word = 0; word < next.size(); ++word) {
    if (symbol < ascii_.size()) {
      next[word] &= ascii_[symbol][word];
    } else {
      for (std::uint64_t bits = next[word]; bits != 0; bits &= bits - 1) {
        const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
        if (!positions_[word * 64 + bit].Has(symbol)) next[word] &= ~(1ULL << bit);
      }
    }
    ended = ended || (next[word] & last_[word]) != 0;
  }
  active = std::move(next);
  return ended;
}

bool Pattern::Matches(std::string_view text) const {
  if (empty_) return true;
  Bits active(first_.size());
  if (Step(active, kBegin)) return true;
  while (!text.empty()) {
    if (Step(active, NextCharacter(text))) return true;
  }
  return Step(active, kEnd);
}

}  // namespace berth::kube::memory
