#include "handlers/apis/selector.h"

#include <algorithm>
#include <cctype>

namespace berth::apis {
namespace {

constexpr std::size_t kMaxRequirements = 64;
constexpr std::size_t kMaxValues = 256;

std::string_view Trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool IsLabelText(std::string_view text, bool slash_allowed) {
  return std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ||
           (slash_allowed && c == '/');
  });
}

// Commas inside the parentheses of a set belong to the set.
std::vector<std::string_view> SplitRequirements(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(Trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  parts.push_back(Trim(text.substr(start)));
  return parts;
}

std::vector<std::string> SplitValues(std::string_view text) {
  std::vector<std::string> values;
  while (true) {
    const auto comma = text.find(',');
    values.emplace_back(Trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

struct Split {
  std::string_view key;
  std::string_view value;
  bool negated = false;
};

std::optional<Split> SplitEquality(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) return std::nullopt;
  const bool negated = text[equals - 1] == '!';
  const bool doubled = equals + 1 < text.size() && text[equals + 1] == '=';
  return Split{Trim(text.substr(0, equals - (negated ? 1 : 0))),
               Trim(text.substr(equals + (doubled ? 2 : 1))), negated};
}

}  // namespace

std::expected<Selector::Requirement, std::string> Selector::ParseRequirement(
    std::string_view text) {
  Requirement requirement;
  if (const auto split = SplitEquality(text)) {
    requirement = {std::string(split->key),
                   split->negated ? Operator::kNotIn : Operator::kIn,
                   {std::string(split->value)}};
  } else if (text.ends_with(')')) {
    const auto open = text.find('(');
    if (open == std::string_view::npos) return std::unexpected("unbalanced parenthesis");
    const std::string_view head = Trim(text.substr(0, open));
    const auto space = head.find_first_of(" \t");
    const std::string_view word =
        space == std::string_view::npos ? std::string_view() : Trim(head.substr(space));
    if (word != "in" && word != "notin")
      return std::unexpected("expected `in` or `notin` before the parenthesis");
    requirement = {std::string(head.substr(0, space)),
                   word == "in" ? Operator::kIn : Operator::kNotIn,
                   SplitValues(text.substr(open + 1, text.size() - open - 2))};
  } else if (text.starts_with('!')) {
    requirement = {std::string(Trim(text.substr(1))), Operator::kNotExists, {}};
  } else {
    requirement = {std::string(text), Operator::kExists, {}};
  }
  if (requirement.key.empty() || !IsLabelText(requirement.key, true)) {
    return std::unexpected("`" + requirement.key + "` is not a label key");
  }
  if (requirement.values.size() > kMaxValues) return std::unexpected("too many values");
  for (const auto& value : requirement.values) {
    if (value.size() > 63 || !IsLabelText(value, false))
      return std::unexpected("`" + value + "` is not a label value");
  }
  return requirement;
}

std::expected<Selector, std::string> Selector::ParseLabels(std::string_view text) {
  Selector selector;
  if (Trim(text).empty()) return selector;
  for (const auto part : SplitRequirements(text)) {
    auto requirement = ParseRequirement(part);
    if (!requirement) return std::unexpected("labelSelector: " + requirement.error());
    selector.requirements_.push_back(std::move(*requirement));
    if (selector.requirements_.size() > kMaxRequirements)
      return std::unexpected("labelSelector: too many requirements");
  }
  return selector;
}

std::expected<Selector, std::string> Selector::ParseFields(std::string_view text,
                                                           const std::vector<std::string>& known) {
  Selector selector;
  if (Trim(text).empty()) return selector;
  for (const auto part : SplitRequirements(text)) {
    const auto split = SplitEquality(part);
    if (!split) return std::unexpected("fieldSelector: expected field=value");
    const bool metadata = split->key == "metadata.name" || split->key == "metadata.namespace";
    if (!metadata && std::ranges::find(known, split->key) == known.end()) {
      return std::unexpected("fieldSelector: field label not supported: " +
                             std::string(split->key));
    }
    selector.requirements_.push_back({std::string(split->key),
                                      split->negated ? Operator::kNotIn : Operator::kIn,
                                      {std::string(split->value)}});
    if (selector.requirements_.size() > kMaxRequirements)
      return std::unexpected("fieldSelector: too many requirements");
  }
  return selector;
}

bool Selector::Holds(const Requirement& requirement, const std::string* value) {
  switch (requirement.op) {
    case Operator::kExists:
      return value != nullptr;
    case Operator::kNotExists:
      return value == nullptr;
    case Operator::kIn:
      return value && std::ranges::find(requirement.values, *value) != requirement.values.end();
    case Operator::kNotIn:
      return !value || std::ranges::find(requirement.values, *value) == requirement.values.end();
  }
  std::unreachable();
}

bool Selector::MatchesLabels(const Labels& labels) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& requirement) {
    const auto found = labels.find(requirement.key);
    return Holds(requirement, found == labels.end() ? nullptr : &found->second);
  });
}

bool Selector::MatchesFields(const Object& object) const {
  return std::ranges::all_of(requirements_, [&](const Requirement& requirement) {
    if (requirement.key == "metadata.name") return Holds(requirement, &object.name);
    if (requirement.key == "metadata.namespace") return Holds(requirement, &object.ns);
    const auto found = object.fields.find(requirement.key);
    return Holds(requirement, found == object.fields.end() ? nullptr : &found->second);
  });
}

}  // namespace berth::apis
