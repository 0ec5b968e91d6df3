#include "kube/memory/json_path.h"

#include <charconv>

namespace berth::kube::memory {

JsonPath JsonPath::Parse(std::string_view text) {
  JsonPath path;
  if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
  if (text.starts_with('$')) text.remove_prefix(1);
  while (!text.empty() && path.valid_) path.valid_ = path.ReadStep(text);
  return path;
}

bool JsonPath::ReadStep(std::string_view& rest) {
  if (rest.starts_with('[')) return ReadBracket(rest);
  if (!rest.starts_with('.')) return false;
  rest.remove_prefix(1);
  Step step;
  // A backslash takes the next character as it is: .metadata.labels.x\.dev/y
  while (!rest.empty() && rest.front() != '.' && rest.front() != '[') {
    if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
    step.name += rest.front();
    rest.remove_prefix(1);
  }
  if (step.name == "*") step.kind = Step::Kind::kAny;
  if (!step.name.empty()) steps_.push_back(std::move(step));
  return true;
}

bool JsonPath::ReadBracket(std::string_view& rest) {
  const std::size_t close = rest.find(']');
  if (close == std::string_view::npos) return false;
  std::string_view inside = rest.substr(1, close - 1);
  rest.remove_prefix(close + 1);
  Step step;
  if (inside == "*") {
    step.kind = Step::Kind::kAny;
  } else if (inside.size() > 2 && (inside.front() == '\'' || inside.front() == '"')) {
    step.name = inside.substr(1, inside.size() - 2);
  } else if (inside.starts_with("?(@.") && inside.ends_with(')')) {
    inside = inside.substr(4, inside.size() - 5);
    const std::size_t equals = inside.find("==");
    if (equals == std::string_view::npos) return false;
    std::string_view wanted = inside.substr(equals + 2);
    while (wanted.starts_with(' ')) wanted.remove_prefix(1);
    if (wanted.size() < 2) return false;
    step.kind = Step::Kind::kFilter;
    step.name = inside.substr(0, inside.find_first_of(" ="));
    step.wanted = wanted.substr(1, wanted.size() - 2);
  } else {
    step.kind = Step::Kind::kIndex;
    const auto [end, error] = std::from_chars(inside.begin(), inside.end(), step.index);
    if (error != std::errc{} || end != inside.end()) return false;
  }
  steps_.push_back(std::move(step));
  return true;
}

const Value* JsonPath::First(const Value& value) const {
  return valid_ ? Walk(value, steps_.data(), steps_.data() + steps_.size()) : nullptr;
}

const Value* JsonPath::Walk(const Value& value, const Step* step, const Step* end) {
  if (step == end) return &value;
  if (step->kind == Step::Kind::kMember) {
    const Value* member = Find(value, step->name);
    return member ? Walk(*member, step + 1, end) : nullptr;
  }
  if (!value.is_array()) return nullptr;
  if (step->kind == Step::Kind::kIndex)
    return step->index < value.size() ? Walk(value[step->index], step + 1, end) : nullptr;
  for (const Value& item : value.array_range()) {
    if (step->kind == Step::Kind::kFilter && TextAt(item, step->name) != step->wanted) continue;
    if (const Value* found = Walk(item, step + 1, end)) return found;
  }
  return nullptr;
}

}  // namespace berth::kube::memory
