#include "kube/yaml.h"

#include <simdjson.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <unordered_set>
#include <utility>

#include "log/format.h"

namespace berth::kube {
namespace {

constexpr std::array<std::string_view, 11> kTrue = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                    "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalse = {"n",     "N",     "no",  "No",  "NO", "false",
                                                     "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull = {"", "~", "null", "Null", "NULL"};
constexpr std::string_view kQuoted = "!";
constexpr std::string_view kPlain = "?";
constexpr std::string_view kString = "tag:yaml.org,2002:str";

std::unexpected<Error> At(const YAML::Mark& mark, std::string_view why) {
  return Terminal(Format("line {}: {}", mark.line + 1, why));
}

template <typename Number>
std::optional<Number> Whole(std::string_view digits, int base) {
  Number number{};
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return number;
}

// The base that a prefix names, which is taken off; a 0 alone before other digits is octal too.
int TakeBase(std::string_view& digits) {
  const std::string_view prefix = digits.substr(0, 2);
  const int base = prefix == "0x" ? 16 : prefix == "0o" ? 8 : prefix == "0b" ? 2 : 0;
  if (base != 0) digits.remove_prefix(2);
  return base != 0 ? base : digits.size() > 1 && digits.front() == '0' ? 8 : 10;
}

std::optional<Json> WholeNumber(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const int base = TakeBase(text);
  const auto magnitude = Whole<std::uint64_t>(text, base);
  if (!magnitude) return std::nullopt;
  if (!negative) return Json(*magnitude);
  if (*magnitude > std::uint64_t{1} << 63) return std::nullopt;
  return Json(static_cast<std::int64_t>(-*magnitude));
}

std::optional<Json> Number(std::string_view text) {
  if (auto whole = WholeNumber(text)) return whole;
  if (text.starts_with('+')) text.remove_prefix(1);
  // strtod also takes words, "inf" and "nan", which are strings here; so are numbers beyond a
  // double's range. One that is too small for a double is 0, as in JSON.
  if (text.empty() || text.find_first_not_of("+-.0123456789eE") != text.npos) return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || !std::isfinite(number)) return std::nullopt;
  return Json(number);
}

// A document being written as JSON text. Maps become values in the end, all at once: adding members
// one by one would take time that grows with the square of their number.
class Conversion {
 public:
  Result<void> Convert(const YAML::Node& node, int depth = 0) {
    if (++values_ > kMaxYamlValues || text_.size() > kMaxYamlText) {
      return At(node.Mark(), "too many values");
    }
    if (depth >= kMaxYamlDepth) return At(node.Mark(), "nested too deeply");
    if (node.IsNull()) return Write(Json::null());
    if (node.IsScalar()) return Scalar(node);
    const std::string& tag = node.Tag();
    if (!tag.empty() && tag != kPlain) return At(node.Mark(), "the tag is not supported");
    return node.IsMap() ? Map(node, depth) : Sequence(node, depth);
  }

  const std::string& text() const { return text_; }

 private:
  Result<void> Write(const Json& value) {
    value.AppendTo(text_);
    return {};
  }

  // yaml-cpp passes wrong bytes through, and writes some for the escapes \N and \_.
  static Result<void> CheckUtf8(const YAML::Node& node) {
    if (simdjson::validate_utf8(node.Scalar())) return {};
    return At(node.Mark(), "the text is not UTF-8");
  }

  Result<void> Scalar(const YAML::Node& node) {
    if (auto fine = CheckUtf8(node); !fine) return fine;
    const std::string& text = node.Scalar();
    const std::string& tag = node.Tag();
    if (tag == kQuoted || tag == kString) return Write(text);
    if (!tag.empty() && tag != kPlain) return At(node.Mark(), "the tag is not supported");
    if (std::ranges::contains(kNull, text)) return Write(Json::null());
    if (std::ranges::contains(kTrue, text)) return Write(true);
    if (std::ranges::contains(kFalse, text)) return Write(false);
    if (const auto number = Number(text)) return Write(*number);
    return Write(text);
  }

  Result<void> Map(const YAML::Node& node, int depth) {
    std::unordered_set<std::string_view> keys;
    text_ += '{';
    for (const std::pair<YAML::Node, YAML::Node>& member : node) {
      const auto& [key, value] = member;
      if (!key.IsScalar()) return At(key.Mark(), "a key must be a scalar");
      if (auto fine = CheckUtf8(key); !fine) return fine;
      if (!keys.empty()) text_ += ',';
      if (!keys.insert(key.Scalar()).second) {
        return At(key.Mark(), Format("the key \"{}\" is there twice", key.Scalar()));
      }
      Json(key.Scalar()).AppendTo(text_);
      text_ += ':';
      if (auto done = Convert(value, depth + 1); !done) return done;
    }
    text_ += '}';
    return {};
  }

  Result<void> Sequence(const YAML::Node& node, int depth) {
    const char* separator = "";
    text_ += '[';
    for (const YAML::Node& item : node) {
      text_ += std::exchange(separator, ",");
      if (auto done = Convert(item, depth + 1); !done) return done;
    }
    text_ += ']';
    return {};
  }

  std::size_t values_ = 0;
  std::string text_;
};

}  // namespace

Result<Json> YamlToJson(std::string_view text) {
  if (text.size() > kMaxYaml) return Terminal("the YAML is over 1 MiB");
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() != 1) {
      return Terminal(Format("{} YAML documents where one is wanted", documents.size()));
    }
    Conversion conversion;
    if (auto done = conversion.Convert(documents.front()); !done) {
      return std::unexpected(std::move(done.error()));
    }
    auto json = Json::Parse(conversion.text());
    if (!json) return Terminal(std::move(json.error()));
    return std::move(*json);
  } catch (const YAML::Exception& error) {
    return At(error.mark, error.msg);
  }
}

}  // namespace berth::kube
