#include <array>
#include <map>
#include <mutex>

#include "kube/memory/schema_node.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

using Node = Schema::Node;

constexpr std::size_t kMaxNodes = 10'000;

// Reads a schema node by node and notes what is wrong with it.
class Parser {
 public:
  explicit Parser(Causes& causes) : causes_(causes) {}

  std::unique_ptr<Node> Read(const Value& schema, const std::string& path) {
    auto node = std::make_unique<Node>();
    if (++nodes_ > kMaxNodes || !schema.is_object()) {
      Fail(path, "Invalid value", "must be a schema, of at most 10000 parts");
      return node;
    }
    ReadType(schema, path, *node);
    ReadLimits(schema, *node);
    ReadPattern(schema, path, *node);
    ReadLists(schema, path, *node);
    ReadRules(schema, path, *node);
    ReadParts(schema, path, *node);
    ReadCombined(schema, path, *node);
    return node;
  }

  bool has_rules() const { return has_rules_; }

 private:
  void Fail(std::string path, std::string_view kind, std::string_view why) {
    const std::string_view reason = kind == "Forbidden"           ? "FieldValueForbidden"
                                    : kind == "Required value"    ? "FieldValueRequired"
                                    : kind == "Unsupported value" ? "FieldValueNotSupported"
                                                                  : "FieldValueInvalid";
    causes_.push_back({std::string(reason), Format("{}: {}", kind, why), std::move(path)});
  }

  static bool FlagAt(const Value& schema, std::string_view key) {
    const Value* found = Find(schema, key);
    return found && found->is_bool() && found->as<bool>();
  }

  void ReadType(const Value& schema, const std::string& path, Node& node) {
    static constexpr std::array<std::pair<std::string_view, Node::Type>, 7> kTypes = {{
        {"", Node::Type::kAny},
        {"object", Node::Type::kObject},
        {"array", Node::Type::kArray},
        {"string", Node::Type::kString},
        {"integer", Node::Type::kInteger},
        {"number", Node::Type::kNumber},
        {"boolean", Node::Type::kBoolean},
    }};
    const std::string_view type = TextAt(schema, "type");
    const auto* found = std::ranges::find(kTypes, type, &decltype(kTypes)::value_type::first);
    if (found == kTypes.end()) {
      Fail(path + ".type", "Unsupported value",
           Format("\"{}\": supported values: \"array\", \"boolean\", \"integer\", \"number\", "
                  "\"object\", \"string\"",
                  type));
    } else {
      node.type = found->second;
    }
    node.nullable = FlagAt(schema, "nullable");
    node.int_or_string = FlagAt(schema, "x-kubernetes-int-or-string");
    node.preserve_unknown = FlagAt(schema, "x-kubernetes-preserve-unknown-fields");
    node.embedded_resource = FlagAt(schema, "x-kubernetes-embedded-resource");
    if (const Value* fallback = Find(schema, "default")) node.fallback = *fallback;
    node.format = TextAt(schema, "format");
  }

  static void ReadLimits(const Value& schema, Node& node) {
    const auto number = [&](std::string_view key) -> std::optional<double> {
      const Value* found = Find(schema, key);
      if (!found || !found->is_number()) return std::nullopt;
      return found->as<double>();
    };
    const auto count = [&](std::string_view key) -> std::optional<std::int64_t> {
      const Value* found = Find(schema, key);
      if (!found || !found->is_int64()) return std::nullopt;
      return found->as<std::int64_t>();
    };
    node.minimum = number("minimum");
    node.maximum = number("maximum");
    node.multiple_of = number("multipleOf");
    node.exclusive_minimum = FlagAt(schema, "exclusiveMinimum");
    node.exclusive_maximum = FlagAt(schema, "exclusiveMaximum");
    node.min_length = count("minLength");
    node.max_length = count("maxLength");
    node.min_items = count("minItems");
    node.max_items = count("maxItems");
    node.min_properties = count("minProperties");
    node.max_properties = count("maxProperties");
    node.unique_items = FlagAt(schema, "uniqueItems");
  }

  void ReadLists(const Value& schema, const std::string& path, Node& node) {
    if (const Value* allowed = Find(schema, "enum"); allowed && allowed->is_array())
      node.allowed.assign(allowed->array_range().begin(), allowed->array_range().end());
    node.required = Strings(schema, "required");
    const std::string_view list_type = TextAt(schema, "x-kubernetes-list-type");
    if (list_type == "set") node.list_type = Node::ListType::kSet;
    if (list_type == "map") node.list_type = Node::ListType::kMap;
    node.list_map_keys = Strings(schema, "x-kubernetes-list-map-keys");
    if (node.list_type == Node::ListType::kMap && node.list_map_keys.empty())
      Fail(path + ".x-kubernetes-list-map-keys", "Required value",
           "must not be empty if x-kubernetes-list-type is map");
  }

  static std::vector<std::string> Strings(const Value& schema, std::string_view key) {
    std::vector<std::string> strings;
    const Value* found = Find(schema, key);
    if (!found || !found->is_array()) return strings;
    for (const Value& item : found->array_range()) {
      if (item.is_string()) strings.push_back(item.as<std::string>());
    }
    return strings;
  }

  // There is no interpreter of CEL here; immutability is the one rule that needs none.
  void ReadRules(const Value& schema, const std::string& path, Node& node) {
    const Value* rules = Find(schema, "x-kubernetes-validations");
    if (!rules || !rules->is_array()) return;
    has_rules_ = true;
    for (std::size_t i = 0; i < rules->size(); ++i) {
      const std::string_view rule = TextAt((*rules)[i], "rule");
      if (rule != "self == oldSelf") {
        Fail(Format("{}.x-kubernetes-validations[{}].rule", path, i), "Forbidden",
             Format("the in-memory API server has no CEL: of all rules it knows "
                    "\"self == oldSelf\" only, not \"{}\"",
                    rule));
      }
      const std::string_view message = TextAt((*rules)[i], "message");
      node.immutable.emplace_back(message.empty() ? "failed rule: self == oldSelf" : message);
    }
  }

  void ReadPattern(const Value& schema, const std::string& path, Node& node) {
    node.pattern_text = TextAt(schema, "pattern");
    if (node.pattern_text.empty()) return;
    auto pattern = Pattern::Parse(node.pattern_text);
    if (pattern) {
      node.pattern = std::move(*pattern);
    } else {
      Fail(path + ".pattern", "Invalid value",
           Format("{}: must be a valid regular expression, but isn't: {}",
                  Value(node.pattern_text).to_string(), pattern.error()));
    }
  }

  void ReadParts(const Value& schema, const std::string& path, Node& node) {
    if (const Value* properties = Find(schema, "properties");
        properties && properties->is_object()) {
      for (const auto& member : properties->object_range()) {
        node.properties.emplace(
            member.key(),
            Read(member.value(), Format("{}.properties[{}]", path, std::string(member.key()))));
      }
    }
    if (const Value* items = Find(schema, "items")) node.items = Read(*items, path + ".items");
    const Value* additional = Find(schema, "additionalProperties");
    if (!additional) return;
    if (additional->is_object()) {
      node.additional = Read(*additional, path + ".additionalProperties");
    } else if (additional->is_bool() && additional->as<bool>()) {
      node.additional = std::make_unique<Node>();
      node.additional->preserve_unknown = true;
    }
  }

  void ReadCombined(const Value& schema, const std::string& path, Node& node) {
    const auto read = [&](std::string_view key, Node::Nodes& nodes) {
      const Value* list = Find(schema, key);
      if (!list || !list->is_array()) return;
      for (std::size_t i = 0; i < list->size(); ++i)
        nodes.push_back(Read((*list)[i], Format("{}.{}[{}]", path, key, i)));
    };
    read("allOf", node.all_of);
    read("anyOf", node.any_of);
    read("oneOf", node.one_of);
    if (const Value* none = Find(schema, "not")) node.none_of = Read(*none, path + ".not");
  }

  Causes& causes_;
  std::size_t nodes_ = 0;
  bool has_rules_ = false;
};

// The sound schemas that were read last, by their text. A definition's are read when it is
// validated and when it is served, in each of the process's servers, and never change. Thread-safe.
class KnownSchemas {
 public:
  std::shared_ptr<const Schema> Find(const std::string& text) {
    const std::lock_guard lock(mutex_);
    const auto found = schemas_.find(text);
    return found == schemas_.end() ? nullptr : found->second;
  }
  void Add(std::string text, std::shared_ptr<const Schema> schema) {
    if (text.size() > kMaxText) return;
    const std::lock_guard lock(mutex_);
    if (schemas_.size() == kMost) schemas_.clear();
    schemas_.try_emplace(std::move(text), std::move(schema));
  }

 private:
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kMaxText = std::size_t{64} << 10;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Schema>> schemas_;
};

}  // namespace

std::shared_ptr<const Schema> Schema::Parse(const Value& schema, const std::string& path,
                                            Causes& causes) {
  static KnownSchemas known;
  std::string text = schema.to_string();
  if (auto found = known.Find(text)) return found;
  const std::size_t before = causes.size();
  auto parsed = std::make_shared<Schema>();
  Parser parser(causes);
  parsed->root_ = parser.Read(schema, path);
  parsed->has_rules_ = parser.has_rules();
  if (causes.size() == before) known.Add(std::move(text), parsed);
  return parsed;
}

}  // namespace berth::kube::memory
