#include "kube/memory/value.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "kube/big_numbers.h"

namespace berth::kube::memory {

namespace dom = simdjson::dom;

// Makes a Value of a simdjson document. Members of the objects being built are kept on one stack,
// so that sorting them allocates nothing.
class Decoder::Builder {
 public:
  std::expected<Value, std::string> Run(std::string_view text,
                                        std::vector<std::string>* duplicates) {
    if (parser_.capacity() > kKeep && text.size() <= kKeep) parser_ = dom::parser();
    if (parser_.max_depth() != kMaxDepth) {
      if (const auto error = parser_.allocate(kFirstCapacity, kMaxDepth)) return Failed(error);
    }
    dom::element root;
    auto error = parser_.parse(text.data(), text.size()).get(root);
    if (error == simdjson::BIGINT_ERROR || error == simdjson::NUMBER_ERROR)
      error = parser_.parse(WithFractions(text)).get(root);
    if (error) return Failed(error);
    duplicates_ = duplicates;
    path_.clear();
    return Build(root);
  }

 private:
  static constexpr std::size_t kFirstCapacity = std::size_t{16} << 10;
  static constexpr std::size_t kKeep = std::size_t{1} << 20;
  using Member = std::pair<std::string_view, dom::element>;

  static std::unexpected<std::string> Failed(simdjson::error_code error) {
    return std::unexpected(std::string(WordsFor(error)));
  }

  static std::string_view WordsFor(simdjson::error_code error) {
    switch (error) {
      case simdjson::EMPTY:
      case simdjson::UNCLOSED_STRING:
        return "unexpected end of JSON input";
      case simdjson::UTF8_ERROR:
        return "the text is not UTF-8";
      case simdjson::DEPTH_ERROR:
        return "exceeded max depth";
      case simdjson::NUMBER_ERROR:
      case simdjson::BIGINT_ERROR:
        return "a number is malformed or too large";
      case simdjson::STRING_ERROR:
      case simdjson::UNESCAPED_CHARS:
        return "a string is malformed";
      default:
        return "the text is not JSON: a comma, a brace, a bracket, a key or a value is missing or "
               "superfluous";
    }
  }

  Value Build(dom::element element) {
    switch (element.type()) {
      case dom::element_type::OBJECT:
        return BuildObject(dom::object(element));
      case dom::element_type::ARRAY:
        return BuildArray(dom::array(element));
      case dom::element_type::STRING:
        return Value(std::string_view(element));
      case dom::element_type::INT64:
        return Value(std::int64_t(element));
      case dom::element_type::UINT64:
        return Value(static_cast<double>(std::uint64_t(element)));
      case dom::element_type::DOUBLE:
        return BuildNumber(double(element));
      case dom::element_type::BOOL:
        return Value(bool(element));
      default:
        return Value::null();
    }
  }

  static Value BuildNumber(double number) {
    constexpr double kExact = 1LL << 53;
    if (std::trunc(number) == number && std::abs(number) <= kExact)
      return Value(static_cast<std::int64_t>(number));
    return Value(number);
  }

  Value BuildArray(dom::array array) {
    Value value = Value::Array();
    value.reserve(array.size());
    std::size_t index = 0;
    for (const dom::element item : array) {
      path_.push_back({{}, index++});
      value.push_back(Build(item));
      path_.pop_back();
    }
    return value;
  }

  Value BuildObject(dom::object object) {
    const std::size_t begin = members_.size();
    bool sorted = true;
    for (const auto& [key, value] : object) {
      sorted = sorted && (members_.size() == begin || members_.back().first < key);
      members_.emplace_back(key, value);
    }
    const std::size_t end = members_.size();
    if (!sorted) {
      std::stable_sort(members_.begin() + static_cast<std::ptrdiff_t>(begin), members_.end(),
                       [](const Member& a, const Member& b) { return a.first < b.first; });
    }
    Value value = Value::Object();
    value.reserve(end - begin);
    for (std::size_t i = begin; i < end; ++i) {
      const Member member = members_[i];
      if (i + 1 < end && members_[i + 1].first == member.first) {
        if (duplicates_) duplicates_->push_back(PathOf(path_, member.first));
        continue;
      }
      path_.push_back({member.first});
      value.insert_or_assign(member.first, Build(member.second));
      path_.pop_back();
    }
    members_.resize(begin);
    return value;
  }

  dom::parser parser_;
  std::vector<Member> members_;
  std::vector<std::string>* duplicates_ = nullptr;
  std::vector<PathStep> path_;
};

Decoder::Decoder() : builder_(std::make_unique<Builder>()) {}
Decoder::~Decoder() = default;

std::expected<Value, std::string> Decoder::Decode(std::string_view text,
                                                  std::vector<std::string>* duplicates) {
  return builder_->Run(text, duplicates);
}

Value& ObjectAt(Value& value, std::string_view key) {
  Value& member = value[key];
  if (!member.is_object()) member = Value::Object();
  return member;
}

void CopyMember(const Value& from, Value& to, std::string_view key) {
  if (const Value* member = Find(from, key)) {
    to.insert_or_assign(key, *member);
  } else {
    to.erase(key);
  }
}

std::string PathOf(const std::vector<PathStep>& steps, std::string_view last) {
  std::string path;
  const auto add = [&](std::string_view key) { path.append(path.empty() ? "" : ".").append(key); };
  for (const PathStep& step : steps) {
    if (step.key.data()) {
      add(step.key);
    } else {
      path.append("[").append(std::to_string(step.index)).append("]");
    }
  }
  add(last);
  return path;
}

bool Contains(const Value& list, const Value& item) {
  const auto items = list.array_range();
  return std::any_of(items.begin(), items.end(), [&](const Value& one) { return one == item; });
}

bool IsEmpty(const Value& value) {
  return value.is_null() || (value.is_string() && value.as_string_view().empty()) ||
         ((value.is_object() || value.is_array()) && value.empty());
}

}  // namespace berth::kube::memory
