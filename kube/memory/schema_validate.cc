#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "kube/memory/format.h"
#include "kube/memory/metadata.h"
#include "kube/memory/schema_node.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

using Node = Schema::Node;
using Type = Node::Type;

constexpr std::string_view kUnchecked =
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation";

std::string_view NameOf(Type type) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "", "object", "array", "string", "integer", "number", "boolean"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view KindOf(const Value& value) {
  if (value.is_object()) return "object";
  if (value.is_array()) return "array";
  if (value.is_string()) return "string";
  if (value.is_bool()) return "boolean";
  if (value.is_int64()) return "integer";
  if (value.is_number()) return "number";
  return "null";
}

bool HasType(const Value& value, Type type) {
  const std::string_view kind = KindOf(value);
  return type == Type::kAny || kind == NameOf(type) || (type == Type::kNumber && kind == "integer");
}

// Where a value is. Written out only when there is something to say about it.
struct Path {
  const Path* above = nullptr;
  std::string_view key{};
  std::size_t index = 0;

  std::string Text() const {
    if (!above) return std::string(key);
    std::string text = above->Text();
    if (key.empty()) return text + Format("[{}]", index);
    return text + (text.empty() ? "" : ".") + std::string(key);
  }
  Path operator[](std::size_t i) const { return {this, {}, i}; }
  Path operator[](std::string_view member) const { return {this, member, 0}; }
};

// Walks an object beside its schema and, after an update, beside what it was.
class Validation {
 public:
  // `prefix` comes before the path in the causes' fields, but not in their words.
  Validation(Causes& causes, std::string prefix) : causes_(causes), prefix_(std::move(prefix)) {}

  void Check(const Node& node, const Value& value, const Value* old, const Path& path) {
    const std::size_t before = causes_.size();
    if (!value.is_null() || !node.nullable) CheckAll(node, value, old, path);
    // A value that was wrong before may stay as it is.
    if (causes_.size() > before && old && value == *old) causes_.resize(before);
  }

 private:
  void CheckAll(const Node& node, const Value& value, const Value* old, const Path& path) {
    CheckCombined(node, value, path);
    if (!CheckType(node, value, path)) return;
    CheckAllowed(node, value, path);
    if (value.is_string()) CheckString(node, value.as_string_view(), path);
    if (value.is_number()) CheckNumber(node, value, path);
    if (value.is_array()) CheckArray(node, value, old, path);
    if (value.is_object()) CheckObject(node, value, old, path);
    if (!old || value == *old) return;
    for (const std::string& message : node.immutable)
      Add("FieldValueInvalid", path, Format("Invalid value: {}: {}", value.to_string(), message));
  }

  void Add(std::string_view reason, const Path& path, std::string message) {
    std::string field = path.Text();
    if (!prefix_.empty()) field = prefix_ + (field.empty() ? "" : ".") + field;
    causes_.push_back({std::string(reason), std::move(message), std::move(field)});
  }
  void AddInvalid(const Path& path, std::string_view value, std::string_view why) {
    Add("FieldValueInvalid", path,
        Format("Invalid value: {}: {} in body {}", value, path.Text(), why));
  }
  // A sentence that kube-apiserver says without a field.
  void AddLoose(std::string_view why) {
    causes_.push_back({"FieldValueInvalid", Format("Invalid value: \"\": {}", why), "<nil>"});
  }

  bool CheckType(const Node& node, const Value& value, const Path& path) {
    const bool fits =
        node.int_or_string ? value.is_int64() || value.is_string() : HasType(value, node.type);
    if (fits) return true;
    const std::string_view wanted = node.int_or_string ? "integer,string" : NameOf(node.type);
    if (node.type == Type::kInteger && value.is_number()) {
      AddLoose(Format("Checked value must be of type integer (default format) in {}", path.Text()));
    }
    Add("FieldValueTypeInvalid", path,
        Format(R"(Invalid value: "{0}": {1} in body must be of type {2}: "{0}")", KindOf(value),
               path.Text(), wanted));
    return false;
  }

  bool Passes(const Node& node, const Value& value, const Path& path) const {
    Causes found;
    Validation(found, prefix_).Check(node, value, nullptr, path);
    return found.empty();
  }

  void CheckCombined(const Node& node, const Value& value, const Path& path) {
    const auto passing = [&](const Node::Nodes& nodes) {
      return std::ranges::count_if(nodes, [&](const auto& n) { return Passes(*n, value, path); });
    };
    if (!node.any_of.empty() && passing(node.any_of) == 0)
      AddLoose(Format("\"{}\" must validate at least one schema (anyOf)", path.Text()));
    if (!node.one_of.empty()) {
      if (const auto count = passing(node.one_of); count != 1) {
        AddLoose(Format("\"{}\" must validate one and only one schema (oneOf). Found {} valid{}",
                        path.Text(), count == 0 ? "none" : std::to_string(count),
                        count == 0 ? "" : " alternatives"));
      }
    }
    if (std::ssize(node.all_of) != passing(node.all_of))
      AddLoose(Format("\"{}\" must validate all the schemas (allOf)", path.Text()));
    if (node.none_of && Passes(*node.none_of, value, path))
      AddLoose(Format("\"{}\" must not validate the schema (not)", path.Text()));
  }

  void CheckAllowed(const Node& node, const Value& value, const Path& path) {
    if (node.allowed.empty() || std::ranges::find(node.allowed, value) != node.allowed.end())
      return;
    std::string supported;
    for (const Value& allowed : node.allowed) {
      supported += supported.empty() ? "" : ", ";
      supported += Format("\"{}\"", allowed.as<std::string>());
    }
    Add("FieldValueNotSupported", path,
        Format("Unsupported value: {}: supported values: {}", value.to_string(), supported));
  }

  void CheckString(const Node& node, std::string_view text, const Path& path) {
    const auto length = std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    if (node.max_length && length > *node.max_length) {
      Add("FieldValueTooLong", path,
          Format("Too long: may not be more than {} bytes", *node.max_length));
    }
    if (node.min_length && length < *node.min_length) {
      AddInvalid(path, Value(text).to_string(),
                 Format("should be at least {} chars long", *node.min_length));
    }
    if (node.pattern && !node.pattern->Matches(text))
      AddInvalid(path, Value(text).to_string(), Format("should match '{}'", node.pattern_text));
    if (!node.format.empty() && !HasFormat(text, node.format)) {
      Add("FieldValueTypeInvalid", path,
          Format("Invalid value: {0}: {1} in body must be of type {2}: {0}",
                 Value(text).to_string(), path.Text(), node.format));
    }
  }

  void CheckNumber(const Node& node, const Value& value, const Path& path) {
    const double number = value.as<double>();
    if (node.format == "int32" && (number > std::numeric_limits<std::int32_t>::max() ||
                                   number < std::numeric_limits<std::int32_t>::min())) {
      AddLoose(
          Format("Checked value must be of type integer with format int32 in {}", path.Text()));
    }
    const auto check = [&](bool holds, std::string_view relation, std::optional<double> bound) {
      if (bound && !holds)
        AddInvalid(path, value.to_string(), Format("should be {} {}", relation, *bound));
    };
    const double least = node.minimum.value_or(0), most = node.maximum.value_or(0);
    const double factor = number / node.multiple_of.value_or(1);
    check(factor == std::trunc(factor), "a multiple of", node.multiple_of);
    if (node.exclusive_maximum) {
      check(number < most, "less than", node.maximum);
    } else {
      check(number <= most, "less than or equal to", node.maximum);
    }
    if (node.exclusive_minimum) {
      check(number > least, "greater than", node.minimum);
    } else {
      check(number >= least, "greater than or equal to", node.minimum);
    }
  }

  void CheckCount(std::size_t count, std::optional<std::int64_t> least,
                  std::optional<std::int64_t> most, std::string_view what, const Path& path) {
    const auto size = static_cast<std::int64_t>(count);
    if (most && size > *most) {
      Add("FieldValueTooMany", path,
          Format("Too many: {}: must have at most {} item{}", size, *most, *most == 1 ? "" : "s"));
    }
    if (least && size < *least)
      AddInvalid(path, std::to_string(size), Format("should have at least {} {}", *least, what));
  }

  void CheckArray(const Node& node, const Value& value, const Value* old, const Path& path) {
    CheckCount(value.size(), node.min_items, node.max_items, "items", path);
    CheckDuplicates(node, value, path);
    if (!node.items) return;
    // Only the items of a map have a past; those of sets and atomic lists have no names.
    std::map<std::string, const Value*> past;
    if (old && old->is_array() && node.list_type == Node::ListType::kMap) {
      for (const Value& item : old->array_range()) past.emplace(KeysOf(node, item), &item);
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto was = past.empty() ? past.end() : past.find(KeysOf(node, value[i]));
      Check(*node.items, value[i], was == past.end() ? nullptr : was->second, path[i]);
    }
  }

  // The keys by which a list of type map knows its items.
  static std::string KeysOf(const Node& node, const Value& item) {
    Value keys = Value::Object();
    for (const std::string& key : node.list_map_keys) {
      if (const Value* found = Find(item, key)) keys.insert_or_assign(key, *found);
    }
    return keys.to_string();
  }

  void CheckDuplicates(const Node& node, const Value& value, const Path& path) {
    if (node.list_type == Node::ListType::kAtomic && !node.unique_items) return;
    const bool is_map = node.list_type == Node::ListType::kMap;
    std::set<std::string> seen;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const auto [found, added] =
          seen.insert(is_map ? KeysOf(node, value[i]) : value[i].to_string());
      if (!added) Add("FieldValueDuplicate", path[i], Format("Duplicate value: {}", *found));
    }
  }

  void CheckObject(const Node& node, const Value& value, const Value* old, const Path& path) {
    CheckCount(value.size(), node.min_properties, node.max_properties, "properties", path);
    for (const std::string& key : node.required) {
      if (!value.contains(key)) Add("FieldValueRequired", path[key], "Required value");
    }
    if (node.embedded_resource) CheckEmbedded(value, path);
    for (const auto& member : value.object_range()) {
      const auto known = node.properties.find(member.key());
      const Node* below =
          known != node.properties.end() ? known->second.get() : node.additional.get();
      if (!below) continue;
      Check(*below, member.value(), old ? Find(*old, member.key()) : nullptr, path[member.key()]);
    }
  }

  void CheckEmbedded(const Value& value, const Path& path) {
    for (const std::string_view key : {"apiVersion", "kind"}) {
      if (TextAt(value, key).empty()) Add("FieldValueRequired", path[key], "Required value");
    }
    if (const Value* metadata = Find(value, "metadata"))
      ValidateLabelsAndAnnotations(*metadata, path["metadata"].Text(), causes_);
  }

  Causes& causes_;
  std::string prefix_;
};

}  // namespace

void Schema::Validate(const Value& object, const Value* old, Causes& causes) const {
  const std::size_t before = causes.size();
  Validation(causes, "").Check(*root_, object, old, {});
  NoteUncheckedRules(before, causes);
}

void Schema::ValidateStatus(const Value& object, const Value* old, Causes& causes) const {
  const auto status = root_->properties.find("status");
  const Value* value = Find(object, "status");
  if (status == root_->properties.end() || !value) return;
  const std::size_t before = causes.size();
  Validation(causes, "status")
      .Check(*status->second, *value, old ? Find(*old, "status") : nullptr, {});
  NoteUncheckedRules(before, causes);
}

// Rules may rely on types and limits, so kube-apiserver does not run them where those do not hold.
void Schema::NoteUncheckedRules(std::size_t before, Causes& causes) const {
  static constexpr std::array<std::string_view, 4> kBlocking = {
      "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid"};
  const bool blocked =
      std::any_of(causes.begin() + static_cast<std::ptrdiff_t>(before), causes.end(),
                  [](const StatusCause& cause) {
                    return std::ranges::find(kBlocking, cause.reason) != kBlocking.end();
                  });
  if (has_rules_ && blocked)
    causes.push_back({"FieldValueInvalid", std::string(kUnchecked), "<nil>"});
}

}  // namespace berth::kube::memory
