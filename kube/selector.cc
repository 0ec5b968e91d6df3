#include "kube/selector.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "kube/names.h"
#include "log/format.h"

namespace berth::kube {
namespace {

enum class Token : std::uint8_t {
  kEnd,
  kIdentifier,
  kComma,
  kNot,
  kOpen,
  kClosed,
  kEquals,
  kDoubleEquals,
  kNotEquals,
  kGreater,
  kLess,
};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsSpecial(char c) { return std::string_view("=!(),><").contains(c); }

// Cuts a selector into words and signs.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text) { Advance(); }

  Token token() const { return token_; }
  std::string_view text() const { return text_; }

  void Advance() {
    while (!rest_.empty() && IsSpace(rest_.front())) rest_.remove_prefix(1);
    if (rest_.empty()) {
      Take(Token::kEnd, 0);
    } else if (rest_.starts_with("==")) {
      Take(Token::kDoubleEquals, 2);
    } else if (rest_.starts_with("!=")) {
      Take(Token::kNotEquals, 2);
    } else if (IsSpecial(rest_.front())) {
      static constexpr std::string_view kSigns = "=!(),><";
      static constexpr Token kTokens[] = {Token::kEquals, Token::kNot,   Token::kOpen,
                                          Token::kClosed, Token::kComma, Token::kGreater,
                                          Token::kLess};
      Take(kTokens[kSigns.find(rest_.front())], 1);
    } else {
      const auto end =
          std::ranges::find_if(rest_, [](char c) { return IsSpace(c) || IsSpecial(c); });
      Take(Token::kIdentifier, static_cast<std::size_t>(end - rest_.begin()));
    }
  }

 private:
  void Take(Token token, std::size_t size) {
    token_ = token;
    text_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }

  std::string_view rest_;
  Token token_ = Token::kEnd;
  std::string_view text_;
};

std::string Quoted(std::string_view text) { return Format("\"{}\"", text); }

std::optional<std::int64_t> ParseInt(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

// Recursive descent over the lexer's words. The first error stays.
class LabelSelectorParser {
 public:
  explicit LabelSelectorParser(std::string_view text) : lexer_(text) {}

  std::expected<Selector, std::string> Parse() {
    while (lexer_.token() != Token::kEnd) {
      if (!AtRequirement())
        return std::unexpected(Found(", expected: !, identifier, or 'end of string'"));
      ParseRequirement();
      if (!error_.empty()) return std::unexpected("unable to parse requirement: " + error_);
      if (lexer_.token() == Token::kEnd) break;
      if (lexer_.token() != Token::kComma)
        return std::unexpected(Found(", expected: ',' or 'end of string'"));
      lexer_.Advance();
      if (!AtRequirement()) return std::unexpected(Found(", expected: identifier after ','"));
      if (selector_.requirements_.size() == Selector::kMaxRequirements)
        return std::unexpected(std::string("too many requirements"));
    }
    return std::move(selector_);
  }

 private:
  using Operator = Selector::Operator;

  bool AtRequirement() const {
    return lexer_.token() == Token::kIdentifier || lexer_.token() == Token::kNot;
  }
  std::string Found(std::string_view rest) const {
    return Format("found '{}'{}", lexer_.text(), rest);
  }
  void Fail(std::string error) {
    if (error_.empty()) error_ = std::move(error);
  }

  void ParseRequirement() {
    Selector::Requirement requirement;
    const bool negated = lexer_.token() == Token::kNot;
    if (negated) lexer_.Advance();
    if (lexer_.token() != Token::kIdentifier) return Fail(Found(", expected: identifier"));
    requirement.key = lexer_.text();
    for (const std::string& problem : QualifiedNameProblems(requirement.key))
      return Fail(Format("key: Invalid value: {}: {}", Quoted(requirement.key), problem));
    lexer_.Advance();
    if (negated) {
      requirement.op = Operator::kNotExists;
    } else if (lexer_.token() == Token::kEnd || lexer_.token() == Token::kComma) {
      requirement.op = Operator::kExists;
    } else {
      ParseOperatorAndValues(requirement);
    }
    if (error_.empty()) selector_.requirements_.push_back(std::move(requirement));
  }

  void ParseOperatorAndValues(Selector::Requirement& requirement) {
    const Token token = lexer_.token();
    const bool in = token == Token::kIdentifier && lexer_.text() == "in";
    const bool not_in = token == Token::kIdentifier && lexer_.text() == "notin";
    if (in || not_in) {
      requirement.op = in ? Operator::kIn : Operator::kNotIn;
      lexer_.Advance();
      ParseValues(requirement);
    } else if (token == Token::kEquals || token == Token::kDoubleEquals ||
               token == Token::kNotEquals || token == Token::kGreater || token == Token::kLess) {
      requirement.op = token == Token::kNotEquals ? Operator::kNotIn
                       : token == Token::kGreater ? Operator::kGreater
                       : token == Token::kLess    ? Operator::kLess
                                                  : Operator::kIn;
      lexer_.Advance();
      ParseValue(requirement);
    } else {
      return Fail(Found(", expected: in, notin, =, ==, !=, gt, lt"));
    }
    CheckValues(requirement);
  }

  void ParseValue(Selector::Requirement& requirement) {
    if (lexer_.token() == Token::kEnd || lexer_.token() == Token::kComma) {
      requirement.values.emplace_back();
    } else if (lexer_.token() == Token::kIdentifier) {
      requirement.values.emplace_back(lexer_.text());
      lexer_.Advance();
    } else {
      Fail(Found(", expected: identifier"));
    }
  }

  // "(a,b)"; an empty place between commas is an empty value.
  void ParseValues(Selector::Requirement& requirement) {
    if (lexer_.token() != Token::kOpen) return Fail(Found(" expected: '('"));
    lexer_.Advance();
    bool after_value = false;
    bool after_comma = false;
    for (;; lexer_.Advance()) {
      if (lexer_.token() == Token::kIdentifier && !after_value) {
        requirement.values.emplace_back(lexer_.text());
        after_value = true;
      } else if (lexer_.token() == Token::kComma) {
        if (!after_value) requirement.values.emplace_back();
        after_value = false;
        after_comma = true;
        continue;
      } else if (lexer_.token() == Token::kClosed) {
        if (after_comma) requirement.values.emplace_back();
        return lexer_.Advance();
      } else {
        return Fail(
            Found(after_value ? ", expected: ',' or ')'" : ", expected: ',', ')' or identifier"));
      }
      after_comma = false;
    }
  }

  void CheckValues(const Selector::Requirement& requirement) {
    if (requirement.values.empty())
      Fail("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty");
    if (requirement.values.size() > Selector::kMaxValues) Fail("too many values");
    const bool number = requirement.op == Operator::kGreater || requirement.op == Operator::kLess;
    for (std::size_t i = 0; i < requirement.values.size(); ++i) {
      const std::string& value = requirement.values[i];
      if (number && !ParseInt(value)) {
        Fail(
            Format("values[{}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must "
                   "be an integer",
                   i, Quoted(value)));
      }
      for (const std::string& problem : LabelValueProblems(value)) {
        Fail(Format("values[{}][{}]: Invalid value: {}: {}", i, requirement.key, Quoted(value),
                    problem));
      }
    }
  }

  Lexer lexer_;
  Selector selector_;
  std::string error_;
};

std::expected<Selector, std::string> Selector::ParseLabels(std::string_view text) {
  return LabelSelectorParser(text).Parse();
}

namespace {

struct Term {
  std::string key;
  std::string value;
  bool negated = false;
};

bool IsEscaped(char c) { return c == ',' || c == '=' || c == '\\'; }

// "key=value", with a backslash before a comma, an equals sign or a backslash that is meant as
// such.
std::optional<Term> ParseTerm(std::string_view text) {
  Term term;
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  term.negated = equals > 0 && text[equals - 1] == '!';
  term.key = text.substr(0, equals - (term.negated ? 1 : 0));
  std::string_view value = text.substr(equals + 1);
  if (!term.negated && value.starts_with('=')) value.remove_prefix(1);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '\\' && i + 1 < value.size() && IsEscaped(value[i + 1])) {
      ++i;
    } else if (value[i] == '=' || value[i] == '\\') {
      return std::nullopt;
    }
    term.value += value[i];
  }
  return term;
}

std::vector<std::string_view> SplitTerms(std::string_view text) {
  std::vector<std::string_view> terms;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == ',') {
      terms.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  terms.push_back(text.substr(begin));
  return terms;
}

}  // namespace

std::expected<Selector, std::string> Selector::ParseFields(std::string_view text,
                                                           const std::vector<std::string>& known) {
  Selector selector;
  for (const std::string_view part : SplitTerms(text)) {
    if (part.empty()) continue;
    auto term = ParseTerm(part);
    if (!term) {
      return std::unexpected(Format("invalid selector: '{}'; can't understand '{}'", text, part));
    }
    const bool metadata = term->key == "metadata.name" || term->key == "metadata.namespace";
    if (!metadata && std::ranges::find(known, term->key) == known.end())
      return std::unexpected("field label not supported: " + term->key);
    if (selector.requirements_.size() == kMaxRequirements)
      return std::unexpected(std::string("too many requirements"));
    selector.requirements_.push_back({std::move(term->key),
                                      term->negated ? Operator::kNotIn : Operator::kIn,
                                      {std::move(term->value)}});
  }
  return selector;
}

const std::string* Selector::ExactValue(std::string_view key) const {
  const auto found = std::ranges::find_if(requirements_, [&](const Requirement& requirement) {
    return requirement.key == key && requirement.op == Operator::kIn &&
           requirement.values.size() == 1;
  });
  return found == requirements_.end() ? nullptr : &found->values.front();
}

bool Selector::Holds(const Requirement& requirement, std::string_view value) {
  const auto listed = [&] {
    return std::ranges::find(requirement.values, value) != requirement.values.end();
  };
  switch (requirement.op) {
    case Operator::kExists:
      return true;
    case Operator::kNotExists:
      return false;
    case Operator::kIn:
      return listed();
    case Operator::kNotIn:
      return !listed();
    case Operator::kGreater:
    case Operator::kLess: {
      const auto number = ParseInt(value);
      const auto bound = ParseInt(requirement.values.front());
      if (!number || !bound) return false;
      return requirement.op == Operator::kGreater ? *number > *bound : *number < *bound;
    }
  }
  std::unreachable();
}

bool Selector::HoldsWithout(const Requirement& requirement) {
  return requirement.op == Operator::kNotIn || requirement.op == Operator::kNotExists;
}

bool Selector::Matches(const Labels& labels) const {
  return Matches([&](const std::string& key) {
    const auto found = labels.find(key);
    return found == labels.end() ? nullptr : &found->second;
  });
}

}  // namespace berth::kube
